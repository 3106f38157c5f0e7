"""Images from an archive to a registry: blobs first, then what names them, the version last.

So a version that can be pulled is whole, whenever a push is cut off. What is there already is not sent again, and the
same push may be repeated until it is through. The version alone names all platforms; with the name of an architecture
behind it, it names that one, for tools that take no more; a version that ends with the architecture has that name
already.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Protocol

import msgspec
from yarl import URL

from tangram.services.images.addresses import Target
from tangram.services.images.archive import INDEX, MANIFEST, Archive, Descriptor, NamedImage
from tangram.services.images.errors import ImagesError
from tangram.services.images.logins import Login, find_login, login_files
from tangram.services.images.patience import Sleep, patiently
from tangram.services.images.refusals import Speaker
from tangram.services.images.registry import Answer, Registry
from tangram.services.images.sending import PIECE, Sending
from tangram.services.images.trust import trust_for

TOGETHER: Final = 3
"""Blobs on their way at once: more gain nothing on one line, and registries count requests."""
_DOCKER: Final = "application/vnd.docker.distribution.manifest"
_ACCEPT: Final = {"Accept": f"{INDEX}, {MANIFEST}, {_DOCKER}.list.v2+json, {_DOCKER}.v2+json"}


class Watcher(Protocol):
    """Who is told how a push gets on."""

    def begun(self, blob: Descriptor) -> None: ...

    def moved(self, blob: Descriptor, arrived: int) -> None: ...

    def ended(self, blob: Descriptor, *, sent: bool) -> None: ...

    def told(self, sentence: str) -> None: ...


class Pushed(msgspec.Struct, frozen=True):
    """One name that can be pulled now."""

    name: str
    digest: str
    platforms: tuple[str, ...]
    was_there: bool
    """Whether the registry had exactly this already."""


class Door(msgspec.Struct, frozen=True):
    """How the registry is reached: who one is, which authority is believed, or no encryption at all."""

    login: Login | None = None
    authority: Path | None = None
    plain_http: bool = False


async def push(
    archive: Archive,
    target: Target,
    door: Door,
    watcher: Watcher,
    *,
    environment: Mapping[str, str],
    pause: Sleep = asyncio.sleep,
    piece: int = PIECE,
) -> list[Pushed]:
    """Bring all images of the archive below `target`; the names under which they can be pulled."""
    repositories = [repository_of(target, image) for image in archive.images]
    async with at_door(target, door, repositories, environment=environment, pause=pause) as registry:
        made: list[Pushed] = []
        for image, repository in zip(archive.images, repositories, strict=True):
            one = _Push(registry, repository, archive, watcher)
            await one.blobs(image, piece)
            made += await one.names(image)
        return made


@asynccontextmanager
async def at_door(
    target: Target,
    door: Door,
    repositories: Sequence[str],
    *,
    environment: Mapping[str, str],
    pause: Sleep,
    only_reading: bool = False,
) -> AsyncGenerator[Registry]:
    """The registry, greeted and with the rights for these repositories, while the block runs."""
    login = door.login or await asyncio.to_thread(find_login, target, environment)
    looked = [str(path) for path in login_files(environment)]
    rights = "pull" if only_reading else "pull,push"
    async with Registry(
        target,
        Speaker(target, login, looked, only_reading=only_reading),
        login=login,
        scopes=[f"repository:{one}:{rights}" for one in dict.fromkeys(repositories)],
        trust=None if door.plain_http else trust_for(target, door.authority, environment),
        environment=environment,
        pause=pause,
    ) as registry:
        await registry.greet()
        yield registry


def repository_of(target: Target, image: NamedImage) -> str:
    """Where an image is kept below the target."""
    return f"{target.project}/{image.repository}"


def tags_of(image: NamedImage) -> list[tuple[str, Descriptor, tuple[str, ...]]]:
    """The tags of an image with what each stands for and the platforms of that; the version alone comes last."""
    found = [
        (f"{image.tag}-{one.platform.architecture}", one.manifest, (str(one.platform),))
        for one in image.platforms
        if not image.tag.endswith(f"-{one.platform.architecture}")
    ]
    return [*found, (image.tag, image.top, tuple(str(one.platform) for one in image.platforms))]


class _Push:
    """One image on its way to one repository."""

    def __init__(self, registry: Registry, repository: str, archive: Archive, watcher: Watcher) -> None:
        self._registry = registry
        self._repository = repository
        self._archive = archive
        self._watcher = watcher

    async def blobs(self, image: NamedImage, piece: int) -> None:
        """All configurations and layers, some at once."""
        turns = asyncio.Semaphore(TOGETHER)

        async def one(blob: Descriptor) -> None:
            async with turns:
                sending = Sending(
                    self._registry,
                    self._repository,
                    self._archive,
                    blob,
                    moved=lambda arrived: self._watcher.moved(blob, arrived),
                    piece=piece,
                )
                self._watcher.ended(blob, sent=await sending.finish())

        # The largest first: the last ones to end are then short.
        blobs = sorted(image.blobs(), key=lambda blob: -blob.size)
        for blob in blobs:
            self._watcher.begun(blob)
        try:
            async with asyncio.TaskGroup() as group:
                for blob in blobs:
                    group.create_task(one(blob))
        except ExceptionGroup as failed:
            # Whatever went wrong first ended the others.
            raise failed.exceptions[0] from None

    async def names(self, image: NamedImage) -> list[Pushed]:
        """The manifests, and at last the version."""
        return [await self._name(document, tag, platforms) for tag, document, platforms in tags_of(image)]

    async def _name(self, document: Descriptor, tag: str, platforms: tuple[str, ...]) -> Pushed:
        url = self._registry.base / self._repository / "manifests" / tag
        name = f"{self._registry.target.domain}/{self._repository}:{tag}"
        before = await digest_at(self._registry, url, name)
        if before == document.digest:
            return Pushed(name, document.digest, platforms, was_there=True)
        if before:
            self._watcher.told(f"{name} was {before[:19]} and becomes {document.digest[:19]}.")
        content = await asyncio.to_thread(self._archive.read, document)
        kind = {"Content-Type": document.media_type}
        await patiently(
            self._registry.pause,
            lambda: self._registry.ask("PUT", url, name, {200, 201}, headers=kind, body=content),
        )
        after = await digest_at(self._registry, url, name)
        if after != document.digest:
            raise ImagesError(
                f"{name} was pushed as {document.digest[:19]}, but the registry answers with "
                f"{after[:19] or 'nothing'}: it changes what is pushed, or somebody else pushes there; push again, "
                "and see its settings."
            )
        return Pushed(name, document.digest, platforms, was_there=False)


async def digest_at(registry: Registry, url: URL, name: str) -> str:
    """What a name stands for now; empty if the registry has no such name."""

    async def ask(method: str) -> Answer:
        return await patiently(
            registry.pause, lambda: registry.ask(method, url, name, {200, 404}, headers=_ACCEPT)
        )

    answer = await ask("HEAD")
    if answer.status == 404:
        return ""
    if told := answer.headers.get("Docker-Content-Digest"):
        return told
    return f"sha256:{hashlib.sha256((await ask('GET')).content).hexdigest()}"

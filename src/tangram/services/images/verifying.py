"""Whether images are what they should be: an archive by its own checksums, a registry by an archive.

Everything is looked at before anything is said, because whoever carries files between sites wants to know all that is
missing and not the first of it. Nothing is changed, here or there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from tangram.services.images.addresses import Target
from tangram.services.images.archive import Archive, Descriptor
from tangram.services.images.patience import Sleep, patiently
from tangram.services.images.pushing import TOGETHER, Door, at_door, digest_at, repository_of, tags_of
from tangram.services.images.registry import Registry

OnBytes = Callable[[int], None]
_PULLED: Final = {200, 404}


class State(StrEnum):
    WHOLE = "whole"
    """Every byte was compared."""
    THERE = "there"
    """It is kept with the right length; its bytes were not read."""
    MISSING = "missing"
    DIFFERENT = "different"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    where: str
    """The archive, or the registry with its project."""
    what: str
    """The name of an image, or the digest of a blob."""
    state: State
    digest: str
    """What it should have."""
    found: str = ""
    """What it has, where that is something else."""

    @property
    def well(self) -> bool:
        return self.state in {State.WHOLE, State.THERE}


class Verified(msgspec.Struct, frozen=True):
    file: str
    registry: str
    """Empty where only the file was looked at."""
    well: bool
    findings: tuple[Finding, ...]


def verify_archive(archive: Archive, on_bytes: OnBytes = lambda _: None) -> list[Finding]:
    """Each blob of an archive against its name. What names them was compared when it was opened."""
    found: list[Finding] = []
    for blob in archive.blobs():
        digest = archive.digest_of(blob, on_bytes)
        state = State.WHOLE if digest == blob.digest else State.DIFFERENT
        found.append(_finding(str(archive.path), blob.digest, state, blob.digest, digest))
    return found


async def verify_registry(
    archive: Archive,
    target: Target,
    door: Door,
    *,
    environment: Mapping[str, str],
    read: bool = False,
    on_bytes: OnBytes = lambda _: None,
    pause: Sleep = asyncio.sleep,
) -> list[Finding]:
    """What a registry keeps of the images of an archive. With `read` every byte of it is fetched and compared."""
    found: list[Finding] = []
    repositories = [repository_of(target, image) for image in archive.images]
    async with at_door(
        target, door, repositories, environment=environment, pause=pause, only_reading=True
    ) as registry:
        for image, repository in zip(archive.images, repositories, strict=True):
            looking = _Looking(registry, repository, str(target), on_bytes)
            for tag, document, _ in tags_of(image):
                found.append(await looking.name(tag, document))
            turns = asyncio.Semaphore(TOGETHER)

            async def one(
                blob: Descriptor, looking: _Looking = looking, turns: asyncio.Semaphore = turns
            ) -> Finding:
                async with turns:
                    return await (looking.content(blob) if read else looking.blob(blob))

            try:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(one(blob)) for blob in image.blobs()]
            except ExceptionGroup as failed:
                raise failed.exceptions[0] from None
            found += [task.result() for task in tasks]
    return found


def verified(archive: Archive, target: Target | None, findings: list[Finding]) -> Verified:
    """The answer to all of it."""
    well = all(one.well for one in findings)
    return Verified(str(archive.path), "" if target is None else str(target), well, tuple(findings))


class _Looking:
    """One repository, looked at."""

    def __init__(self, registry: Registry, repository: str, where: str, on_bytes: OnBytes) -> None:
        self._registry = registry
        self._base = registry.base / repository
        self._name = f"{registry.target.domain}/{repository}"
        self._where = where
        self._on_bytes = on_bytes

    async def name(self, tag: str, document: Descriptor) -> Finding:
        what = f"{self._name}:{tag}"
        digest = await digest_at(self._registry, self._base / "manifests" / tag, what)
        state = State.WHOLE if digest == document.digest else State.DIFFERENT if digest else State.MISSING
        return _finding(self._where, what, state, document.digest, digest)

    async def blob(self, blob: Descriptor) -> Finding:
        url, what = self._base / "blobs" / blob.digest, f"{self._name}@{blob.digest[:19]}"
        answer = await patiently(self._registry.pause, lambda: self._registry.ask("HEAD", url, what, _PULLED))
        self._on_bytes(blob.size)
        if answer.status == 404:
            return _finding(self._where, blob.digest, State.MISSING, blob.digest)
        told = answer.headers.get("Content-Length", str(blob.size))
        if told != str(blob.size):
            return _finding(self._where, blob.digest, State.DIFFERENT, blob.digest, f"{told} bytes")
        return _finding(self._where, blob.digest, State.THERE, blob.digest)

    async def content(self, blob: Descriptor) -> Finding:
        url, what = self._base / "blobs" / blob.digest, f"{self._name}@{blob.digest[:19]}"
        digest = await patiently(
            self._registry.pause, lambda: self._registry.digest(url, what, self._on_bytes)
        )
        state = State.WHOLE if digest == blob.digest else State.DIFFERENT if digest else State.MISSING
        return _finding(self._where, blob.digest, state, blob.digest, digest)


def _finding(where: str, what: str, state: State, digest: str, found: str = "") -> Finding:
    told = found if state is State.DIFFERENT else ""
    return Finding(where=where, what=what, state=state, digest=digest, found=told)

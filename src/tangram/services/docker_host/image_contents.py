"""What an image brings by itself: its variables, and whether it has a folder of its own.

The variables are in its configuration. A folder is in its layers, and the cheapest reliable way to see it is a
container that is created and never started, of which the folder is copied out and the copy broken off at its second
entry: no program of the image runs, nothing of its gigabytes is read, and a link or an empty folder is told from a full
one. What was found is kept by the image's id, which is a digest and never means anything else.
"""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from tangram.services.docker_host.engines import Engine, documents, unreachable
from tangram.services.docker_host.errors import HostError
from tangram.wire import loose

_KEPT: Final = 256
_FILE: Final = "images.json"


class Image(msgspec.Struct, frozen=True):
    id: str
    env: Mapping[str, str] = {}


def find_image(engine: Engine, name: str, platform: str) -> Image | None:
    """The image that is here under that name and for that platform, or None; fetching it tells why it is not."""
    found = documents(engine.ask("image", "inspect", name))
    if not found:
        return None
    image = found[0]
    wanted = platform.split("/")
    built = [loose.text(image.get("Os")), loose.text(image.get("Architecture"))]
    if platform and wanted[: len(built)] != built[: len(wanted)]:
        return None
    entries = (
        loose.text(each).partition("=")
        for each in loose.elements(loose.members(image.get("Config")).get("Env"))
    )
    return Image(loose.text(image.get("Id")), {name: value for name, _, value in entries})


def pull(engine: Engine, name: str, platform: str, *, quiet: bool) -> None:
    """Fetch an image as `run` would, with its progress on standard error. Raises `HostError` if that fails."""
    words = [
        "pull",
        *(["--platform", platform] if platform else []),
        *(["--quiet"] if quiet else []),
        "--",
        name,
    ]
    if engine.show(*words) != 0:
        raise HostError(f"image {name!r:.200} could not be fetched; {engine.name} said why.")


class Contents:
    """Which of some folders images have, asked once for each image."""

    def __init__(self, engine: Engine, cache: Path | None) -> None:
        self._engine = engine
        self._cache = cache

    def own_folders(self, image: Image, name: str, platform: str, folders: Sequence[str]) -> frozenset[str]:
        """Those of the folders that the image has, with something in them."""
        kept = self._kept().get(image.id, {})
        if not set(folders) <= kept.keys():
            kept = {**kept, **self._look(name, platform, [each for each in folders if each not in kept])}
            self._keep(image.id, kept)
        return frozenset(each for each in folders if kept[each])

    def _look(self, name: str, platform: str, folders: Sequence[str]) -> dict[str, bool]:
        # A command is given because an image without one cannot be created from; it is never run.
        chosen = ["--platform", platform] if platform else []
        created = self._engine.ask(
            "create", *chosen, "--network", "none", "--entrypoint", "none", name, "none"
        )
        if created.status != 0:
            raise unreachable(self._engine, created)
        container = created.out.split()[-1]
        try:
            return {folder: self._has(container, folder) for folder in folders}
        finally:
            self._engine.ask("rm", "--force", "--volumes", container)

    def _has(self, container: str, folder: str) -> bool:
        with self._engine.stream("cp", f"{container}:{folder}", "-") as copying:
            assert copying.stdout is not None  # noqa: S101 - it is a pipe
            try:
                with tarfile.open(fileobj=copying.stdout, mode="r|") as archive:
                    first = archive.next()
                    return first is not None and (not first.isdir() or archive.next() is not None)
            except tarfile.TarError:
                return False
            finally:
                copying.kill()

    def _kept(self) -> dict[str, dict[str, bool]]:
        if self._cache is None:
            return {}
        try:
            content = (self._cache / _FILE).read_bytes()
            return msgspec.json.decode(content, type=dict[str, dict[str, bool]])
        except (OSError, msgspec.DecodeError):
            return {}

    def _keep(self, image: str, found: Mapping[str, bool]) -> None:
        """What cannot be kept is looked up again the next time."""
        if self._cache is None or not image:
            return
        newest = {**{key: value for key, value in self._kept().items() if key != image}, image: dict(found)}
        text = json.dumps(dict(list(newest.items())[-_KEPT:]))
        with suppress(OSError):
            self._cache.mkdir(parents=True, exist_ok=True)
            written = self._cache / f".{_FILE}.{os.getpid()}"
            written.write_text(text, encoding="utf-8")
            written.replace(self._cache / _FILE)


def cache_folder(environment: Mapping[str, str]) -> Path | None:
    """Where findings are kept; None for somebody without a home."""
    common = environment.get("XDG_CACHE_HOME", "")
    if common.startswith("/"):
        return Path(common) / "metax-docker"
    home = environment.get("HOME", "")
    return Path(home) / ".cache" / "metax-docker" if home.startswith("/") else None

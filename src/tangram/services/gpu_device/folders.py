"""Folders of the host that a container with MetaX cards sees: MXMACA, and the driver's programs.

They are links to one version, and a container is given the version that they point to when it starts: a link that is
switched later must not change a stack under a running program. What the pod mounts there itself goes before, and a
folder that the host does not have is no reason not to start; a version that a pod names and the host lacks is one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from tangram.model.grants import GrantedMount
from tangram.model.refusals import Refusal
from tangram.services.gpu_device import refusing
from tangram.vendors.metax.maca import IMAGE, read_maca

_MACA: Final = "maca"


class HostFolders:
    """They are seen at the same path in our own container."""

    def __init__(self, folders: Sequence[str] = (), root: Path = Path("/")) -> None:
        self._folders = folders
        self._root = root

    def mounts(
        self, container: str, annotations: Mapping[str, str], taken: Collection[str]
    ) -> tuple[GrantedMount, ...] | Refusal:
        """What a container of a pod with these annotations sees, which itself mounts something at `taken`."""
        wanted = read_maca(annotations) if self._folders else None
        if isinstance(wanted, Refusal):
            return wanted
        found: list[GrantedMount] = []
        for folder in self._folders:
            source = folder
            if folder.rpartition("/")[2] == _MACA and wanted is not None:
                if wanted == IMAGE:
                    continue
                source = f"{folder}-{wanted}"
                if self._real(source) is None:
                    return refusing.maca_absent(container, wanted, source, self._versions(folder))
            host = self._real(source)
            if host is not None and not self._is_taken(folder, host, taken):
                found.append(GrantedMount(host=host, path=folder))
        return tuple(found)

    def _real(self, path: str) -> str | None:
        """The folder behind a path, all links followed; None where there is none."""
        try:
            real = (self._root / path.lstrip("/")).resolve(strict=True)
        except (OSError, RuntimeError):
            return None
        return f"/{real.relative_to(self._root.resolve())}" if real.is_dir() else None

    def _is_taken(self, folder: str, host: str, taken: Collection[str]) -> bool:
        for path in taken:
            plain = path.rstrip("/")
            if folder == plain or folder.startswith(f"{plain}/"):
                return True
            if plain.startswith(f"{folder}/"):
                # The runtime would have to make the place for it in a folder that cannot be written.
                inside = self._root / host.lstrip("/") / plain.removeprefix(f"{folder}/")
                if not inside.exists():
                    return True
        return False

    def _versions(self, folder: str) -> list[str]:
        place = self._root / folder.lstrip("/")
        try:
            names = sorted(each.name for each in place.parent.iterdir() if each.is_dir())
        except OSError:
            return []
        return [name.removeprefix(f"{place.name}-") for name in names if name.startswith(f"{place.name}-")]

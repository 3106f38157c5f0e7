"""Device nodes of simulated cards in a folder that stands in for `/dev`, made and removed as cards come and go.

With the right to make them they are character devices with the numbers of `/dev/null`: harmless, and enough for a
runtime to put into a container. Without it they are empty files, and `remark` says so. Nothing is removed that was
not made here, and what exists already is left as it is.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.model.devices import Device

DEV: Final = "/dev"

_HARMLESS: Final = os.makedev(1, 3)
_MODE: Final = 0o666


class DeviceFolder:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.remark = ""
        """One sentence about what is not as on a real node; empty when all is."""
        self._made: list[Path] = []
        self._found: set[Path] = set()
        """What was there before us."""
        self._lock = threading.Lock()

    def follow(self, devices: Iterable[Device]) -> None:
        """Make the nodes of these devices, and remove those of devices that are gone."""
        wanted = {
            self.root / Path(node).relative_to(DEV): None for device in devices for node in device.nodes.all
        }
        with self._lock:
            for path in [made for made in self._made if made not in wanted and not made.is_dir()]:
                self._remove(path)
            for path in wanted:
                if path not in self._made and path not in self._found:
                    self._make(path)

    def clear(self) -> None:
        """Remove exactly what was made, the last first."""
        with self._lock:
            for path in reversed(self._made):
                self._remove(path)

    def _make(self, path: Path) -> None:
        try:
            self._make_folder(path.parent)
            if path.exists():
                self._found.add(path)
                return
            try:
                os.mknod(path, stat.S_IFCHR | _MODE, _HARMLESS)
            except (PermissionError, OSError):
                path.touch(exist_ok=False)
                self.remark = (
                    f"the nodes under {self.root} are plain files, because this process may not make device "
                    "nodes there: run it as root, on a filesystem that allows them"
                )
            path.chmod(_MODE)
            self._made.append(path)
        except OSError as error:
            raise DriverError(
                Kind.NOT_PERMITTED,
                f"{path} cannot be made ({error.strerror}); choose a folder that may be written",
                call="mknod",
            ) from error

    def _make_folder(self, path: Path) -> None:
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir()
            self._made.append(folder)

    def _remove(self, path: Path) -> None:
        try:
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)
        except OSError:
            # Somebody put something of theirs into our folder: theirs is not ours to remove.
            pass
        self._made = [made for made in self._made if made != path]

"""Our file in the directory that koordlet reads, and whether somebody else's file lists our cards.

koordlet takes every file there at every look, whatever its name, and one that is half-written makes it drop all of
them. It takes no folders; so ours is written in a folder and moved out of it whole. The directory is never made: where
it is missing it was not mounted, and a file in a directory of our own would be read by nobody.

The file stays when the agent ends. koordlet would report a node without cards at once, and pods in flight would fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from tangram.model.cards import Card
from tangram.wire.errors import WireError
from tangram.wire.koordinator.device_info import DeviceInfo, decode_device_infos

FILE: Final = "tangram"
_WORKSHOP: Final = ".tangram"
_MODE: Final = 0o644
_LARGEST: Final = 1 << 20


class DeviceInfoFile:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path: Final = folder / FILE

    def exists(self) -> bool:
        return self.path.is_file()

    def listed_in(self, cards: Iterable[Card]) -> str:
        """The name of a file of somebody else that lists one of these cards; empty when there is none.

        A card is known by its bus address too: koord-device-daemon gets some ids of a node with many cards wrong.
        """
        ids, buses = {str(card.uuid) for card in cards}, {card.bdf.lower() for card in cards if card.bdf}
        for name, infos in self._others():
            for info in infos:
                bus = "" if info.place is None else info.place.bus_id.lower()
                if info.uuid in ids or bus in buses:
                    return name
        return ""

    def write(self, text: str) -> bool:
        """Make the file say this; False when it did already. Raises `OSError`, `FileNotFoundError` for no directory."""
        content = text.encode()
        if self._read(self.path) == content:
            return False
        workshop = self._folder / _WORKSHOP
        workshop.mkdir(exist_ok=True)
        unfinished = workshop / FILE
        try:
            with unfinished.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.chmod(_MODE)
            unfinished.replace(self.path)
        finally:
            unfinished.unlink(missing_ok=True)
            with suppress(OSError):
                workshop.rmdir()
        return True

    def remove(self) -> bool:
        """Take our file away; False when there was none. Raises `OSError`."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        return True

    def _others(self) -> Iterator[tuple[str, tuple[DeviceInfo, ...]]]:
        try:
            paths = sorted(self._folder.iterdir())
        except OSError:
            return
        for path in paths:
            content = self._read(path) if path.name != FILE and path.is_file() else None
            if content is None:
                continue
            try:
                yield path.name, decode_device_infos(content.decode())[0]
            except (UnicodeDecodeError, WireError):
                # koordlet cannot read it either, and takes nothing from anybody until it can.
                continue

    @staticmethod
    def _read(path: Path) -> bytes | None:
        try:
            with path.open("rb") as file:
                return file.read(_LARGEST)
        except OSError:
            return None

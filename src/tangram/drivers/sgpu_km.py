"""Moore Threads slices as the kernel module shows them under /proc/sgpu_km.

The vendor's container runtime writes there when it starts a container, and takes its slice away when the container
ends; a second writer would race with it. So nothing here writes anything about slices; the files that are written say
which cards have them at all, and how the slices of a card share its compute. Slices come and go while we look: a file
that vanished is a slice that ended, not an error, and a file whose content is not understood is `NA`.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.units.memory import MIB, Bytes, from_gib
from tangram.units.na import NA, Maybe, NotAvailable

DEFAULT_ROOT: Final = Path("/proc/sgpu_km")
CARDS_FILE: Final = "cores"
POLICY_FILE: Final = "policy"
"""Of each card."""
KERNEL_TIERS: Final = (Bytes(512 * MIB), *(from_gib(size) for size in (1, 2, 4, 8, 16, 32, 48, 64, 80)))
"""Sizes the kernel rounds a slice up to. What may be *asked for* on a card is `vendors.mthreads.tiers`."""

_LONGEST_FILE = 65536
_KINDS = {
    errno.EBUSY: Kind.BUSY,
    errno.EINVAL: Kind.INVALID,
    errno.ENOENT: Kind.NOT_SUPPORTED,
    errno.EACCES: Kind.NOT_PERMITTED,
    errno.EPERM: Kind.NOT_PERMITTED,
    errno.EROFS: Kind.NOT_PERMITTED,
}
_MOST_CARDS = 64
_NUMBER = re.compile(r"[0-9]{1,20}")
_CONTAINER = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.-]{0,63}")
_FREE = re.compile(r"\s*Free\s*:\s*([0-9]{1,20})\s*")
_PROCESS = re.compile(r"\s*PID\s*:\s*([0-9]{1,10})\s+Mem\s*:\s*([0-9]{1,20})\s*")


class Usage(msgspec.Struct, frozen=True):
    """What `meminfo` says of one slice."""

    free: Maybe[Bytes] = NA
    processes: tuple[tuple[int, Bytes], ...] = ()
    """Process ids with the bytes each holds."""


class KernelSlice(msgspec.Struct, frozen=True, kw_only=True):
    container: str
    """First 12 characters of the container's id."""
    minor: Maybe[int] = NA
    memory: Maybe[Bytes] = NA
    weight: Maybe[int] = NA
    usage: Maybe[Usage] = NA

    @property
    def number(self) -> Maybe[int]:
        """Which of the card's slices it is: the low four bits of the minor number."""
        return NA if isinstance(self.minor, NotAvailable) else self.minor & 0xF


class CardKnobs(msgspec.Struct, frozen=True, kw_only=True):
    """Per card settings; the kernel refuses to change them while a slice exists."""

    most_slices: Maybe[int] = NA
    policy: Maybe[int] = NA
    """0 best effort, 1 fair with preemption, 2 fair and fixed."""
    time_slice_ms: Maybe[int] = NA
    overcommit_percent: Maybe[int] = NA


class SgpuKm:
    """The module's tree of files. `reading` hears each path before it is opened, because a read may hang."""

    def __init__(self, root: Path = DEFAULT_ROOT, reading: Callable[[str], None] = lambda _: None) -> None:
        self.root = root
        self._reading = reading

    @property
    def present(self) -> bool:
        return self.root.is_dir()

    def version(self) -> Maybe[str]:
        text = self._text(self.root / "version")
        return NA if isinstance(text, NotAvailable) else text.strip() or NA

    def bound_cards(self) -> Maybe[tuple[int, ...]]:
        """The cards the module slices: none without the module, `NA` when it is there and does not say."""
        if not self.present:
            return ()
        text = self._text(self.root / CARDS_FILE)
        return NA if isinstance(text, NotAvailable) else parse_bound_cards(text)

    def bind(self, cards: Iterable[int]) -> None:
        """Let the module slice exactly these cards. Raises when it does not want to."""
        line = ",".join(map(str, cards))
        self._write(self.root / CARDS_FILE, line, f"the cards {line or 'none'}")

    def set_policy(self, card: int, policy: int) -> None:
        """Have the module share the card's compute by that policy. Raises when it does not want to."""
        self._write(self.root / str(card) / POLICY_FILE, str(policy), f"policy {policy}")

    def knobs(self, card: int) -> CardKnobs:
        folder = self.root / str(card)
        return CardKnobs(
            most_slices=self._number(folder / "max_inst"),
            policy=self._number(folder / POLICY_FILE),
            time_slice_ms=self._number(folder / "time_slice"),
            overcommit_percent=self._number(folder / "overcommit_ratio"),
        )

    def slices(self, card: int) -> tuple[KernelSlice, ...]:
        """The card's slices, by container. One that ended while it was read is left out."""
        found = (self._slice(folder) for folder in self._folders(self.root / str(card)))
        return tuple(each for each in found if each is not None)

    def _write(self, path: Path, text: str, meaning: str) -> None:
        self._reading(str(path))
        try:
            # Not created where it is missing: a file of ours there would be taken for the module.
            descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
            try:
                os.write(descriptor, f"{text}\n".encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            raise DriverError(
                _KINDS.get(error.errno or 0, Kind.FAILED),
                f"{path} does not take {meaning} ({error.strerror})",
                call=str(path),
                vendor_code=error.errno,
            ) from error

    def _slice(self, folder: Path) -> KernelSlice | None:
        minor = self._number(folder / "id")
        memory = self._number(folder / "memsize")
        weight = self._number(folder / "weight")
        usage = self._text(folder / "meminfo")
        if not folder.is_dir():
            return None
        return KernelSlice(
            container=folder.name,
            minor=minor,
            memory=NA if isinstance(memory, NotAvailable) else Bytes(memory),
            weight=weight,
            usage=NA if isinstance(usage, NotAvailable) else parse_usage(usage),
        )

    def _folders(self, parent: Path) -> list[Path]:
        self._reading(str(parent))
        try:
            return sorted(
                child for child in parent.iterdir() if child.is_dir() and _CONTAINER.fullmatch(child.name)
            )
        except OSError:
            return []

    def _number(self, path: Path) -> Maybe[int]:
        text = self._text(path)
        return NA if isinstance(text, NotAvailable) else parse_number(text)

    def _text(self, path: Path) -> Maybe[str]:
        self._reading(str(path))
        try:
            with path.open("rb") as file:
                return file.read(_LONGEST_FILE).decode("utf-8", errors="replace")
        except OSError:
            return NA


def parse_number(text: str) -> Maybe[int]:
    """The one number a file holds, or `NA`."""
    return int(text.strip()) if _NUMBER.fullmatch(text.strip()) else NA


def parse_bound_cards(text: str) -> Maybe[tuple[int, ...]]:
    """The comma list of bound cards; an empty file binds none. `NA` for anything that is no such list."""
    words = [word for word in re.split(r"[,\s]+", text.strip("\0 \t\r\n")) if word]
    numbers = [parse_number(word) for word in words]
    if any(isinstance(number, NotAvailable) or number >= _MOST_CARDS for number in numbers):
        return NA
    return tuple(sorted({number for number in numbers if not isinstance(number, NotAvailable)}))


def parse_usage(text: str) -> Usage:
    """The free bytes and the processes; lines of another shape are passed over, as newer modules may add some."""
    free: Maybe[Bytes] = NA
    processes: list[tuple[int, Bytes]] = []
    for line in text.splitlines():
        if found := _FREE.fullmatch(line):
            free = Bytes(int(found[1]))
        elif found := _PROCESS.fullmatch(line):
            processes.append((int(found[1]), Bytes(int(found[2]))))
    return Usage(free, tuple(processes))

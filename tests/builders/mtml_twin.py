"""Machines with Moore Threads cards, shown by the C twin of the vendor's library."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Protocol

from builders.hanging import LONG
from builders.native import shared_object
from tangram.drivers.mtml.driver import MtmlDriver

SOURCES = ("mtml/libmtml.c", "mtml/world.c")
VARIABLE = "TANGRAM_MTML_WORLD"
GIB = 2**30

Joint = tuple[int, int, int, int]
"""Card, port, card, port."""


@dataclass(frozen=True)
class TwinCard:
    number: int
    uuid: str
    name: str = "MTT S4000"
    sbdf: str = "00000000:08:00.0"
    memory: int = 48 * GIB
    numa: int = -1
    ports: int = 0
    more: dict[str, str | int] = field(default_factory=dict[str, "str | int"])
    """Any other property that `tests/native/mtml/world.h` lists."""

    def lines(self) -> list[str]:
        properties: dict[str, str | int] = {
            "uuid": self.uuid,
            "name": self.name,
            "serial": f"SN{self.number:04}",
            "sbdf": self.sbdf,
            "bios": "4.1.2",
            "control": f"/dev/mtgpu.{self.number}",
            # A management controller's display owns card0, as on real servers.
            "primary": f"/dev/dri/card{self.number + 1}",
            "render": f"/dev/dri/renderD{self.number + 128}",
            "memory": self.memory,
            "used": 4 * GIB,
            "utilisation": 37,
            "temperature": 45,
            "power": 123456,
            "clock": 1750,
            "memory-clock": 8000,
            "cores": 8,
            "numa": self.numa,
            "ports": self.ports,
        }
        return [f"card {self.number}", *(f"{key} {value}" for key, value in (properties | self.more).items())]


@dataclass(frozen=True)
class Machine:
    """A world for the twin: cards, links, and lines for what is broken."""

    cards: tuple[TwinCard, ...]
    joints: tuple[Joint, ...] = ()
    extra: tuple[str, ...] = ()
    driver: str = "3.3.5-server"
    library: str = "2.3.5-linux"

    def text(self) -> str:
        lines = [f"driver {self.driver}", f"library {self.library}"]
        lines += [line for card in self.cards for line in card.lines()]
        lines += [f"link {a} {p} {b} {q}" for a, p, b, q in self.joints]
        return "\n".join([*lines, *self.extra, ""])

    def having(self, *lines: str) -> "Machine":
        return replace(self, extra=(*self.extra, *lines))

    def without(self, *numbers: int) -> "Machine":
        return replace(self, cards=tuple(card for card in self.cards if card.number not in numbers))

    def changing(self, number: int, **more: str | int) -> "Machine":
        """The same machine where one card has other properties; an underscore in a key stands for a dash."""
        given = {key.replace("_", "-"): value for key, value in more.items()}
        cards = tuple(
            replace(card, more=card.more | given) if card.number == number else card for card in self.cards
        )
        return replace(self, cards=cards)


class Twin:
    """The twin's world file, which may be rewritten at any moment. Rewriting is atomic."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        self.folder = folder
        self.file = folder / "world"
        self.show(machine)

    def show(self, machine: Machine) -> None:
        beside = self.folder / "world.new"
        beside.write_text(machine.text())
        beside.replace(self.file)

    @property
    def library(self) -> str:
        """A copy of its own: what one test leaves started or hanging in it, the next one never meets."""
        copy = self.folder / "own-libmtml.so.2"
        if not copy.exists():
            shutil.copyfile(twin_library(), copy)
        return str(copy)


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class Show(Protocol):
    """Makes a machine the one that the twin shows in this process."""

    def __call__(self, machine: Machine) -> Twin: ...


class MakeDriver(Protocol):
    """A driver that is closed when the test ends; its kernel files are in the test's own folder."""

    def __call__(self, library: str | Path | None, *, limit: float = LONG) -> MtmlDriver: ...


def twin_library(
    *, left_out: Sequence[str] = (), flags: Iterable[str] = (), name: str = "libmtml.so.2"
) -> Path:
    return shared_object(SOURCES, name, exports="mtml*", left_out=tuple(left_out), flags=tuple(flags))


def uuid_of(number: int) -> str:
    return f"{number:08x}-43c9-89d9-703c-03c503e7fad4"


# Bus numbers of one real server: two groups of four.
_S4000_BUSES = (0x08, 0x09, 0x0E, 0x11, 0x32, 0x38, 0x3B, 0x3C)
_S5000_BUSES = (0x03, 0x24, 0x44, 0x63, 0x83, 0xA3, 0xC3, 0xE3)


def eight_s4000(joints: Iterable[Joint] = ()) -> Machine:
    made = tuple(joints)
    used = {(a, p) for a, p, _, _ in made} | {(b, q) for _, _, b, q in made}
    ports = 1 + max((port for _, port in used), default=-1)
    cards = tuple(
        TwinCard(at, uuid_of(at), sbdf=f"00000000:{bus:02x}:00.0", numa=at // 4, ports=ports)
        for at, bus in enumerate(_S4000_BUSES)
    )
    return Machine(cards, made)


def eight_s5000() -> Machine:
    """All pairs joined twice, fourteen ports each; four cards on each of two NUMA nodes; memory that counts errors."""
    cards = tuple(
        TwinCard(
            at,
            uuid_of(at),
            name="MTT S5000",
            sbdf=f"00000000:{bus:02x}:00.0",
            memory=80 * GIB,
            numa=at // 4,
            ports=14,
            more={"ecc": 1},
        )
        for at, bus in enumerate(_S5000_BUSES)
    )
    return Machine(cards, full_mesh(range(8), links=2))


def full_mesh(cards: Sequence[int], *, links: int = 1) -> tuple[Joint, ...]:
    return _joined([pair for pair in combinations(cards, 2) for _ in range(links)])


def ring(cards: Sequence[int]) -> tuple[Joint, ...]:
    return _joined(list(zip(cards, [*cards[1:], cards[0]], strict=True)))


def two_islands() -> tuple[Joint, ...]:
    return (*full_mesh(range(4)), *full_mesh(range(4, 8)))


def _joined(pairs: list[tuple[int, int]]) -> tuple[Joint, ...]:
    used: dict[int, int] = {}
    joints: list[Joint] = []
    for a, b in pairs:
        p, q = used.get(a, 0), used.get(b, 0)
        used[a], used[b] = p + 1, q + 1
        joints.append((a, p, b, q))
    return tuple(joints)

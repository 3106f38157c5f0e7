"""Machines with MetaX cards, shown by the C twin of the vendor's library over a made-up tree of the kernel's files."""

import ctypes
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from pathlib import Path
from typing import Any

from builders.hanging import LONG
from builders.metax_tree import METAXLINK, PCIE_LINKS, MetaxTree, TreeCard, TreeProcess, TreeSlice
from builders.native import shared_object
from tangram.drivers.errors import DriverError
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.drivers.mxsml.settings import Settings
from tangram.model.cards import QosPolicy
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib

_PARTS = ("libmxsml", "processes", "links", "slices", "inside", "seen", "rules", "kernel", "tree")
SOURCES = tuple(f"mxsml/{name}.c" for name in _PARTS)
RULES = "TANGRAM_MXSML_RULES"
SYSFS = "TANGRAM_MXSML_SYSFS"
NEWER_THAN_2_2_8 = ("mxSmlGetMetaXLinkInfo_v2",)
"""Of what we call, the functions the oldest library seen in the field does not have."""
FOUR_IN_A_RING = 2
"""The arrangement of four bridged cards, whose sockets are joined by ports 4 to 6."""
UP = 1

_EXPORTS = "mxSml*; twin_*"
_PORTS_OF_FOUR = (4, 5, 6)


@dataclass(frozen=True)
class Machine:
    """A node, and how single calls of the library fail on it."""

    tree: MetaxTree
    rules: tuple[str, ...] = ()

    @property
    def cards(self) -> tuple[TreeCard, ...]:
        return self.tree.cards

    def rule(self, word: str, **properties: str | int) -> "Machine":
        """The machine with one more rule, as `tests/native/mxsml/rules.h` has them."""
        pairs = " ".join(f"{key}={value}" for key, value in properties.items())
        return replace(self, rules=(*self.rules, f"{word} {pairs}"))

    def quirk(self, name: str) -> "Machine":
        return self.rule("quirk", name=name)

    def failing(self, function: str, code: int, **more: int) -> "Machine":
        return self.rule("fault", call=f"mxSml{function}", code=code, **more)

    def with_card(self, number: int, **changes: Any) -> "Machine":  # noqa: ANN401 - whatever TreeCard takes
        """The machine with other properties of one card."""
        cards = (replace(card, **changes) if card.number == number else card for card in self.cards)
        return self._but(cards=tuple(cards))

    def without(self, number: int) -> "Machine":
        """The machine after one card fell off the bus."""
        return self._but(cards=tuple(card for card in self.cards if card.number != number))

    def with_slice(self, card: int, number: int, **more: Any) -> "Machine":  # noqa: ANN401 - whatever TreeSlice takes
        present = next(each for each in self.cards if each.number == card).slices
        return self.with_card(card, slices=(*present, TreeSlice(number, **more)))

    def with_process(self, pid: int, card: int, **more: Any) -> "Machine":  # noqa: ANN401 - whatever TreeProcess takes
        return self._but(processes=(*self.tree.processes, TreeProcess(pid, card, **more)))

    def joined_by(self, a: int, b: int, kind: int | None) -> "Machine":
        """The machine with another type of layout link between two cards; None for none."""
        links = {pair: each for pair, each in self.tree.links.items() if set(pair) != {a, b}}
        return self._but(links=links if kind is None else links | {(a, b): kind})

    def _but(self, **changes: Any) -> "Machine":  # noqa: ANN401 - whatever MetaxTree takes
        return replace(self, tree=replace(self.tree, **changes))


def machine_of(*cards: TreeCard) -> Machine:
    """A machine of these cards, joined by nothing."""
    return Machine(MetaxTree(cards))


def c500(cards: int = 8, *, group: int = 4, **more: Any) -> Machine:  # noqa: ANN401 - whatever TreeCard takes
    """C500 cards bridged in groups; each group under a switch of its own, with its own NUMA node."""
    links = {
        (a, b): METAXLINK if a // group == b // group else PCIE_LINKS[6]
        for a, b in combinations(range(cards), 2)
    }
    made = tuple(_c500(number, group, cards, more) for number in range(cards))
    return Machine(MetaxTree(made, links=links))


def _c500(number: int, group: int, cards: int, more: dict[str, Any]) -> TreeCard:
    root, others = number // group * 0x40, min(group, cards - number // group * group) - 1
    usual: dict[str, Any] = {
        "bdf": f"0000:{root + 3 + number % 0x30:02x}:00.0",
        "uuid": f"00000000-1111-2222-3333-{number:012d}",
        "host_bridge": f"pci0000:{root:02x}",
        "bridges": (
            f"0000:{root:02x}:01.0",
            f"0000:{root + 1:02x}:00.0",
            f"0000:{root + 2:02x}:{number % 0x20:02x}.0",
        ),
        "numa": number // group,
        "serial": f"BOARD{number:04}",
        "model": "sgpu",
        "usage": 10 + number,
        "topology": (FOUR_IN_A_RING, number % group),
        "port_states": dict.fromkeys(_PORTS_OF_FOUR, UP)
        if others == len(_PORTS_OF_FOUR)
        else {6: UP}
        if others
        else {},
    }
    return TreeCard(number, **(usual | more))


class Twin:
    """A loaded-from-scratch copy of the twin library, its world, and a kernel tree that agrees with it."""

    def __init__(
        self,
        root: Path,
        machine: Machine,
        *,
        left_out: Sequence[str] = (),
        flags: tuple[str, ...] = (),
        opened: list[MxsmlDriver] | None = None,
    ) -> None:
        self.root = root
        self._opened: list[MxsmlDriver] = [] if opened is None else opened
        self.library = root / "libmxsml.so"
        self.sysfs = root / "sys"
        self.dev = root / "dev"
        self._rules = root / "rules"
        self._versions = count()
        self._changing = threading.Lock()
        self.install(left_out=left_out, flags=flags)
        self.show(machine)
        os.environ[RULES] = str(self._rules)
        os.environ[SYSFS] = str(self.sysfs)

    def install(self, *, left_out: Sequence[str] = (), flags: tuple[str, ...] = ()) -> None:
        """Put a fresh copy of the library in place, as a package manager does: beside it, then over it."""
        built = shared_object(
            SOURCES,
            "libmxsml.so",
            exports=_EXPORTS,
            left_out=tuple(left_out),
            # The original is never unloaded, as C++ libraries often are not.
            flags=("-Wl,-soname,libmxsml.so.2", "-Wl,-z,nodelete", *flags),
        )
        beside = self.root / "libmxsml.so.new"
        shutil.copy(built, beside)
        beside.replace(self.library)

    def show(self, machine: Machine, *, renew_slices: bool = False) -> None:
        """Change the world between two calls. Slices stay what was made of them, unless they are renewed."""
        with self._changing:
            machine.tree.grow(self.sysfs, self.dev, renew_slices=renew_slices)
            beside = self.root / f"rules.{next(self._versions)}"
            beside.write_text("".join(f"{line}\n" for line in machine.rules))
            beside.replace(self._rules)

    def settings(self, **changes: Any) -> Settings:  # noqa: ANN401 - whatever Settings takes
        usual: dict[str, Any] = {
            "library": str(self.library),
            "sysfs_root": str(self.sysfs),
            "dev_root": str(self.dev),
            "lock_directory": str(self.root / "locks"),
            "limit": LONG,
        }
        return Settings(**(usual | changes))

    def driver(self, **changes: Any) -> MxsmlDriver:  # noqa: ANN401 - whatever Settings takes
        driver = MxsmlDriver(self.settings(**changes), environment={})
        self._opened.append(driver)
        return driver

    def most_inside(self) -> int:
        """How many threads were inside the library at once."""
        return int(ctypes.CDLL(str(self.library)).twin_most_inside())


Outcome = object | DriverError


def every_question(driver: MxsmlDriver, uuid: CardUuid) -> dict[str, Callable[[], object]]:
    """All that can be asked and changed, by name, on a card with slicing on."""
    half = from_gib(1)
    return {
        "devices": driver.devices,
        "links": lambda: driver.links(driver.devices()),
        "figures": lambda: driver.figures(uuid),
        "health": driver.health,
        "slices": lambda: driver.slices(uuid),
        "room": lambda: driver.room(uuid),
        "create_slice": lambda: driver.create_slice(uuid, memory=half, cores=10, name="made"),
        "create_online_slice": lambda: driver.create_slice(uuid, memory=half, cores=10, online=True),
        "resize_slice": lambda: driver.resize_slice(uuid, 3, memory=half, cores=20),
        "set_policy": lambda: driver.set_policy(uuid, QosPolicy.BURST_SHARE),
        "remove_slice": lambda: driver.remove_slice(uuid, 3),
        "set_sliced": lambda: driver.set_sliced(uuid, on=False),
        "set_virtual_functions": lambda: driver.set_virtual_functions(uuid, 2),
    }


def outcome(question: Callable[[], object]) -> Outcome:
    """The answer, or the error in the one form callers may expect."""
    try:
        return question()
    except DriverError as error:
        return error

"""Machines with MetaX cards, shown by the C twin of the vendor's library and a made-up kernel tree beside it."""

import ctypes
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, count
from pathlib import Path
from typing import Any

from builders.hanging import LONG
from builders.native import shared_object
from tangram.drivers.errors import DriverError
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.drivers.mxsml.settings import Settings
from tangram.model.cards import QosPolicy
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib

SOURCES = ("mxsml/libmxsml.c", "mxsml/world.c")
VARIABLE = "TANGRAM_MXSML_WORLD"
NEWER_THAN_2_2_8 = ("mxSmlGetMetaXLinkInfo_v2",)
"""Of what we call, the functions the oldest library seen in the field does not have."""

_EXPORTS = "mxSml*; twin_*"


@dataclass(frozen=True)
class TwinCard:
    number: int
    bdf: str = ""
    uuid: str = ""
    host_bridge: str = "pci0000:00"
    """Under which the kernel's tree shows the card, with `bridges` between."""
    bridges: tuple[str, ...] = ()
    numa: int = 0
    more: dict[str, str | int] = field(default_factory=dict[str, "str | int"])
    """Any other key of a `card` line in `tests/native/mxsml/world.c`."""

    def but(self, **more: str | int) -> "TwinCard":
        """The same card with other properties."""
        return replace(self, more=self.more | more)

    def line(self) -> str:
        known: dict[str, str | int] = {
            "id": self.number,
            "bdf": self.bdf,
            "uuid": self.uuid,
            "numa": self.numa,
        }
        return _line("limited" if self.more.get("limited") else "card", known | self.more)


@dataclass(frozen=True)
class Machine:
    """A world for the twin: cards, what joins them, and lines for slices, processes and what is broken."""

    cards: tuple[TwinCard, ...] = ()
    lines: tuple[str, ...] = ()

    def text(self) -> str:
        return "".join(f"{line}\n" for line in (*(card.line() for card in self.cards), *self.lines))

    def plus(self, word: str, **properties: str | int) -> "Machine":
        """The machine with one more line."""
        return replace(self, lines=(*self.lines, _line(word, properties)))

    def with_card(self, number: int, **more: str | int) -> "Machine":
        """The machine with other properties of one card."""
        cards = tuple(card.but(**more) if card.number == number else card for card in self.cards)
        return replace(self, cards=cards)

    def failing(self, function: str, code: int, **more: int) -> "Machine":
        return self.plus("fault", call=f"mxSml{function}", code=code, **more)


def c500(cards: int = 8, *, group: int = 4, **more: str | int) -> Machine:
    """C500 cards bridged in groups; each group under a switch of its own, with its own NUMA node."""
    made = tuple(_c500(number, number // group, more) for number in range(cards))
    levels: list[str] = []
    ports: list[str] = []
    used = [0] * cards
    for a, b in combinations(range(cards), 2):
        joined = a // group == b // group
        levels.append(_line("level", {"a": a, "b": b, "is": 5 if joined else 6}))
        if joined:
            for here, there in ((a, b), (b, a)):
                ports.append(_line("port", {"card": here, "port": used[here], "to": there}))
                used[here] += 1
    return Machine(made, (*levels, *ports))


def _c500(number: int, group: int, more: dict[str, str | int]) -> TwinCard:
    root = group * 0x40
    return TwinCard(
        number,
        bdf=f"0000:{root + 3 + number % 0x30:02x}:00.0",
        uuid=f"GPU-00000000-1111-2222-3333-{number:012d}",
        host_bridge=f"pci0000:{root:02x}",
        bridges=(
            f"0000:{root:02x}:01.0",
            f"0000:{root + 1:02x}:00.0",
            f"0000:{root + 2:02x}:{number % 0x20:02x}.0",
        ),
        numa=group,
        more={"serial": f"BOARD{number:04}", "toggle": 1, "usage": 10 + number} | more,
    )


def _line(word: str, properties: dict[str, str | int]) -> str:
    pairs = (f"{key}={str(value).replace(' ', '%20')}" for key, value in properties.items())
    return f"{word} {' '.join(pairs)}"


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
        self._world = root / "world"
        self._versions = count()
        self.install(left_out=left_out, flags=flags)
        self.show(machine)
        grow_kernel_tree(self.sysfs, self.dev, machine.cards)
        os.environ[VARIABLE] = str(self._world)

    def install(self, *, left_out: Sequence[str] = (), flags: tuple[str, ...] = ()) -> None:
        """Put a fresh copy of the library in place, as a package manager does: beside it, then over it."""
        built = shared_object(
            SOURCES,
            "libmxsml.so",
            exports=_EXPORTS,
            left_out=tuple(left_out),
            flags=("-Wl,-soname,libmxsml.so.2", *flags),
        )
        beside = self.root / "libmxsml.so.new"
        shutil.copy(built, beside)
        beside.replace(self.library)

    def show(self, machine: Machine) -> None:
        """Change the world between two calls."""
        beside = self.root / f"world.{next(self._versions)}"
        beside.write_text(machine.text())
        beside.replace(self._world)

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
        "snapshot": driver.snapshot,
        "create_slice": lambda: driver.create_slice(uuid, memory=half, cores=10, name="made"),
        "create_online_slice": lambda: driver.create_slice(uuid, memory=half, cores=10, online=True),
        "resize_slice": lambda: driver.resize_slice(uuid, 3, memory=half, cores=20),
        "set_policy": lambda: driver.set_policy(uuid, QosPolicy.BURST_SHARE),
        "set_online": lambda: driver.set_online(uuid, 3, online=True),
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


def grow_kernel_tree(sysfs: Path, dev: Path, cards: Iterable[TwinCard]) -> None:
    """The kernel's files about these cards. A management controller's display owns the first graphics node."""
    devices = sysfs / "bus/pci/devices"
    driver = sysfs / "bus/pci/drivers/METAX"
    for directory in (devices, driver, dev / "dri"):
        directory.mkdir(parents=True, exist_ok=True)
    (dev / "mxcd").touch()
    for card in cards:
        home = sysfs.joinpath("devices", card.host_bridge, *card.bridges, card.bdf)
        drm = home / "drm"
        names = (f"card{card.number + 1}", f"renderD{card.number + 128}")
        for name in names:
            (drm / name).mkdir(parents=True, exist_ok=True)
            (dev / "dri" / name).touch()
        (home / "numa_node").write_text(f"{card.numa}\n")
        if card.more.get("sriov"):
            (home / "sriov_totalvfs").write_text("8\n")
            (home / "sriov_numvfs").write_text("0\n")
        for link, target in (
            (devices / card.bdf, home),
            (driver / card.bdf, home),
            (home / "driver", driver),
        ):
            if not link.is_symlink():
                link.symlink_to(os.path.relpath(target, link.parent))

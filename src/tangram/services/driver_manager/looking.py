"""What the machine says, at one moment: the kernel by the loader, the cards by the driver layer, /opt by the disk.

A driver is opened anew for every look and given back after it: a library that stays open keeps the module in use that
is to be unloaded, and goes on speaking for a driver that is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.modules.protocol import FunctionState, LoadedModule, LoaderError, ModuleLoader
from tangram.drivers.protocol import Driver
from tangram.drivers.snapshot import USUAL_LIMIT, CardReading, Reader
from tangram.model.cards import Vendor
from tangram.services.driver_manager.disk import Disk
from tangram.services.driver_manager.facts import Sight
from tangram.services.driver_manager.problems import Problem, ProblemError, problem_of_files
from tangram.services.driver_manager.staged import Checks, Ground, Staged, find
from tangram.services.driver_manager.unpacking import Installed, LinkState, installed_in, link_state
from tangram.units.na import NA, Maybe
from tangram.wire.operator.payloads import PayloadKind

_UNDRIVEN: Final = "no-driver"
BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"

Opening = Callable[[Callable[[str], None]], Driver]


class Look(msgspec.Struct, frozen=True, kw_only=True):
    cards: tuple[str, ...]
    kernel: str
    loaded: LoadedModule | None
    of_host: Maybe[str] | None
    functions: tuple[FunctionState, ...]
    sight: Sight
    payload: Staged | Problem | None
    installed: dict[str, Installed]
    link: LinkState


class Looker:
    """For one thread at a time."""

    def __init__(
        self,
        loader: ModuleLoader,
        opening: Opening,
        disk: Disk,
        *,
        payloads: Path,
        image: str,
        machine: str,
        signed_by: Checks | None = None,
        limit: float = USUAL_LIMIT,
    ) -> None:
        self._loader = loader
        self._opening = opening
        self._disk = disk
        self._payloads = payloads
        self._image = image
        self._machine = machine
        self._signed_by = signed_by
        self._limit = limit
        self._bad_looks = 0
        self._stuck: Reader | None = None

    def look(self) -> Look:
        """Everything, anew. Raises `LoaderError` when the kernel cannot be asked, `ProblemError` for a bad disk."""
        try:
            return self._look()
        except OSError as error:
            raise problem_of_files(error, "the files of this host cannot be looked at") from error

    def _look(self) -> Look:
        kernel, loaded = self._loader.kernel(), self._loader.loaded()
        return Look(
            cards=self._loader.cards(),
            kernel=kernel,
            loaded=loaded,
            of_host=self._loader.of_host(),
            functions=() if loaded is None else self._functions(),
            sight=Sight() if loaded is None else self._see(),
            payload=self._payload(kernel),
            installed=installed_in(self._disk, PayloadKind.DRIVER),
            link=link_state(self._disk, PayloadKind.DRIVER),
        )

    def _functions(self) -> tuple[FunctionState, ...]:
        try:
            return self._loader.functions()
        except LoaderError:
            # Asked of a driver that does not work, which its cards will tell.
            return ()

    def _payload(self, kernel: str) -> Staged | Problem | None:
        if not self._image:
            return None
        ground = Ground(kernel=kernel, machine=self._machine, signed_by=self._signed_by)
        try:
            return find(self._payloads, self._image, PayloadKind.DRIVER, ground)
        except ProblemError as error:
            return error.problem

    def _see(self) -> Sight:
        reader = self._stuck or Reader(self._opening, limit=self._limit)
        self._stuck = None
        try:
            snapshot = reader.read(figures=False)
        except DriverError as error:
            reader.close()
            if error.kind is Kind.INVALID:
                raise
            return self._blind(error.sentence)
        if snapshot.stuck:
            # Asked again instead of anew: every call that hangs keeps a thread for ever.
            self._stuck = reader
        else:
            reader.close()
        cards = [card for card in snapshot.cards if _is_driven(card)]
        trouble = "; ".join(each.sentence for each in snapshot.troubles)
        if not cards:
            return self._blind(trouble or "the driver lists no MetaX card")
        self._bad_looks = 0
        versions = {card.device.driver_version for card in cards}
        return Sight(
            well=tuple(card.device.bdf for card in cards if _ailment(card) == ""),
            sick={card.device.bdf: ailment for card in cards if (ailment := _ailment(card))},
            version=versions.pop() if len(versions) == 1 else NA,
            trouble=trouble,
        )

    def _blind(self, trouble: str) -> Sight:
        self._bad_looks += 1
        return Sight(trouble=trouble, bad_looks=self._bad_looks)


def _is_driven(card: CardReading) -> bool:
    """A whole card of the vendor that its driver holds; sysfs also lists those that none does."""
    if card.health is not None and card.health.code == _UNDRIVEN:
        return False
    return card.device.vendor is Vendor.METAX and card.device.virtual_function_of is None


def _ailment(card: CardReading) -> str:
    if card.health is None:
        return "its health cannot be read"
    return "" if card.health.healthy else card.health.message or card.health.code or "not healthy"


def boot_id(disk: Disk) -> str:
    """What tells one start of the machine from another. Every process of it sees the same, wherever its files are."""
    for place in (disk.at(BOOT_ID), Path(BOOT_ID)):
        with suppress(OSError):
            return place.read_text(errors="replace").strip()
    return ""

"""One self-test from the opening of the driver to its closing, told event by event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tangram.drivers.doctor.bus import cards_on_bus
from tangram.drivers.doctor.machine import Machine
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.opening import open_driver
from tangram.drivers.protocol import Driver
from tangram.drivers.self_test.choosing import card_named
from tangram.drivers.self_test.journal import SelfTestJournal
from tangram.drivers.self_test.leftovers import CHECK as CLEAN
from tangram.drivers.self_test.leftovers import clean
from tangram.drivers.self_test.reading import Subject, read_cards
from tangram.drivers.self_test.records import (
    Began,
    Finished,
    NothingToTest,
    Opened,
    SelfTestEvent,
    SelfTestRequest,
    TestedCard,
    Verdict,
    failed,
    passed,
    row,
    verdict_of,
)
from tangram.drivers.self_test.slice_card import CHECK as SLICE_CARD
from tangram.drivers.self_test.slice_card import choose_card
from tangram.drivers.self_test.slice_life import SliceLife
from tangram.drivers.self_test.walking import SelfTestStoppedError, Walk
from tangram.drivers.ways import Conditions
from tangram.model.devices import Device, Health
from tangram.units.ids import CardUuid

OPENING: Final = "open"
RUN_FOLDER: Final = "run/tangram"
_SIMULATED: Final = "simulated"
_SOCKET: Final = "simulated:unix:"
_ABSENT: Final = (Kind.NO_LIBRARY, Kind.NO_DRIVER)


class SelfTestRun:
    """The driver of a request, for one run."""

    def __init__(
        self, request: SelfTestRequest, tell: Callable[[SelfTestEvent], None], stopping: Callable[[], bool]
    ) -> None:
        self._request = request
        self._walk = Walk(tell, stopping)
        self._simulated = request.driver.partition(":")[0] == _SIMULATED
        self._machine = None if self._simulated else Machine(Path(request.root))
        self._journal = SelfTestJournal(_journal_path(request))
        self._conditions = Conditions(
            root=Path(request.root),
            limit=request.limit / 2,
            lock_directory=str(Path(request.root) / RUN_FOLDER),
        )

    def run(self) -> None:
        """Tell everything. Nothing is raised for what cards or drivers do."""
        self._walk.tell(Began(OPENING))
        try:
            driver = open_driver(self._request.driver, conditions=self._conditions)
            try:
                self._tested(driver)
            finally:
                with suppress(DriverError):
                    driver.close()
        except SelfTestStoppedError:
            self._walk.tell(Finished(stopped=True))
            return
        except DriverError as error:
            self._walk.tell(self._without_cards(error))
        self._walk.tell(Finished())

    def _tested(self, driver: Driver) -> None:
        devices = driver.devices()
        if not devices:
            raise DriverError(Kind.NO_DRIVER, f"{driver.name} answers and knows no card")
        self._walk.tell(
            Opened(
                driver=driver.name,
                cards=tuple(
                    TestedCard(uuid=each.uuid, index=each.index, bdf=each.bdf, product=each.product)
                    for each in devices
                ),
            )
        )
        if self._request.card:
            # Before anything is done for a card that is not there.
            card_named(devices, self._request.card)
        if self._request.clean:
            self._clean_only(driver, devices)
            return
        for found in read_cards(self._subject(driver, devices), self._walk, self._request.checks):
            self._walk.tell(found)
        if self._request.slices:
            self._slices(driver, devices)

    def _subject(self, driver: Driver, devices: Sequence[Device]) -> Subject:
        health: dict[CardUuid, Health] = {}
        with suppress(DriverError):
            health = dict(driver.health())
        return Subject(
            driver=driver,
            devices=devices,
            health=health,
            machine=self._machine,
            reopen=lambda: open_driver(self._request.driver, conditions=self._conditions),
            reopens=self._request.reopens,
            limit=self._request.limit,
            self_test_runs=self._journal.locked_elsewhere(),
        )

    def _without_cards(self, error: DriverError) -> SelfTestEvent:
        """Nothing to test, unless cards are on the bus and only their driver is missing."""
        on_bus: list[str] = []
        if self._machine is not None and error.kind in _ABSENT:
            with suppress(OSError):
                found = cards_on_bus(self._machine)
                on_bus = [*found.metax, *found.mthreads]
        if on_bus or error.kind not in (*_ABSENT, Kind.INVALID):
            return row("enumerate", failed(verdict_of(error).why, "tangram doctor says what is missing"))
        return NothingToTest(error.kind, error.sentence)

    # ------------------------------------------------------------------------------------------------- slices

    def _clean_only(self, driver: Driver, devices: Sequence[Device]) -> None:
        self._walk.begin(CLEAN)
        found = False
        try:
            with self._journal.held():
                for each in clean(driver, devices, self._journal, self._walk):
                    found = True
                    self._walk.tell(each)
        except DriverError as error:
            self._walk.tell(row(CLEAN, _refused(error)))
            return
        if not found:
            self._walk.tell(row(CLEAN, passed("nothing of an earlier self-test is left"), *devices))

    def _slices(self, driver: Driver, devices: Sequence[Device]) -> None:
        self._walk.begin(SLICE_CARD)
        try:
            with self._journal.held():
                for each in clean(driver, devices, self._journal, self._walk):
                    self._walk.tell(each)
                self._walk.begin(SLICE_CARD)
                chosen = choose_card(driver, self._request.card, self._walk)
                if chosen is not None:
                    SliceLife(driver, *chosen, self._journal, self._walk).live()
        except DriverError as error:
            self._walk.tell(row(SLICE_CARD, _refused(error)))


def _journal_path(request: SelfTestRequest) -> Path | None:
    """On the machine, or beside the socket of a simulation; cards of a file live and die with this process."""
    if request.driver.startswith(_SOCKET):
        return Path(request.driver.removeprefix(_SOCKET) + ".self-test")
    if request.driver.partition(":")[0] == _SIMULATED:
        return None
    return Path(request.root) / RUN_FOLDER / "self-test.json"


def _refused(error: DriverError) -> Verdict:
    """What was asked for explicitly and is not done has failed, whatever the reason."""
    verdict = verdict_of(error)
    return failed(verdict.why, verdict.todo)

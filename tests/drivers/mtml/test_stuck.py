"""A call that never returns: named within its limit, refused at once afterwards, forgotten when it comes back."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from builders.hanging import LONG, Gate, all_threads_home, eventually, time_is_up_while
from builders.mtml_twin import MakeDriver, Show, eight_s4000, twin_library, uuid_of
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml import library
from tangram.drivers.mtml.driver import MtmlDriver
from tangram.drivers.mtml.package import fresh_copy
from tangram.units.ids import CardUuid


def refused(ask: Callable[[], object]) -> DriverError:
    with pytest.raises(DriverError) as caught:
        ask()
    return caught.value


def answers_again(driver: MtmlDriver) -> bool:
    def answered() -> bool:
        try:
            return len(driver.devices()) == 8
        except DriverError as error:
            if error.kind is not Kind.STUCK:
                raise
            return False

    return eventually(answered)


QUESTIONS: dict[str, Callable[[MtmlDriver], object]] = {
    "mtmlLibraryInit": lambda driver: driver.devices(),
    "mtmlLibraryCountDevice": lambda driver: driver.devices(),
    "mtmlDeviceGetUUID": lambda driver: driver.health(),
    "mtmlDeviceGetMtLinkSpec": lambda driver: driver.links(driver.devices()),
    "mtmlGpuGetTemperature": lambda driver: driver.figures(CardUuid(uuid_of(0))),
}


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """Asked for before the driver, so that it ends after the driver was closed."""
    gate = Gate(tmp_path / "release")
    with all_threads_home("mtml-calls"):
        yield gate
        gate.release()


@pytest.mark.parametrize("function", QUESTIONS)
def test_a_hanging_call_is_named_when_time_is_up_and_work_goes_on_after_it(
    gate: Gate, show: Show, make_driver: MakeDriver, function: str
) -> None:
    driver = make_driver(show(eight_s4000().having(f"block {function} {gate.path}")).library)
    try:
        with time_is_up_while(gate.hangs):
            error = refused(lambda: QUESTIONS[function](driver))
        assert (error.kind, error.call) == (Kind.STUCK, function)
        assert function in error.sentence
        with time_is_up_while(gate.hangs) as waits:
            again = refused(driver.health)
        assert (again.kind, again.call) == (Kind.STUCK, function)
        assert waits == [], "while one call hangs nobody else waits for it"
    finally:
        gate.release()
    assert answers_again(driver)


def test_a_call_that_hangs_is_given_up_by_the_wall_clock(
    gate: Gate, show: Show, make_driver: MakeDriver
) -> None:
    machine = eight_s4000().having(f"block mtmlLibraryInit {gate.path}")
    driver = make_driver(show(machine).library, limit=0.2)
    error = refused(driver.devices)
    gate.release()
    assert error.kind is Kind.STUCK
    assert "within 0.2 s" in error.sentence


def test_the_card_on_which_a_call_hangs_is_named(gate: Gate, show: Show, make_driver: MakeDriver) -> None:
    driver = make_driver(show(eight_s4000().having(f"block mtmlDeviceGetName {gate.path} 5")).library)
    with time_is_up_while(gate.hangs):
        error = refused(driver.devices)
    gate.release()
    assert "mtmlDeviceGetName (card 5)" in error.sentence
    assert answers_again(driver)


def test_the_import_of_the_vendors_package_is_named_too(
    show: Show, make_driver: MakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes before every call, and takes the longest where the machine is slow."""
    entered, hold = threading.Event(), threading.Event()

    def slow_copy() -> ModuleType:
        entered.set()
        hold.wait(LONG)
        return fresh_copy()

    monkeypatch.setattr(library, "fresh_copy", slow_copy)
    with all_threads_home("mtml-calls"):
        driver = make_driver(show(eight_s4000()).library)
        with time_is_up_while(entered.is_set):
            error = refused(driver.devices)
        hold.set()
        driver.close()
    assert (error.kind, error.call) == (Kind.STUCK, "import pymtml")


def test_closing_does_not_wait_for_a_call_that_hangs(
    gate: Gate, show: Show, make_driver: MakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = make_driver(show(eight_s4000().having(f"block mtmlLibraryInit {gate.path}")).library)
    with time_is_up_while(gate.hangs):
        refused(driver.devices)
    joined: list[threading.Thread] = []

    def join(thread: threading.Thread, _timeout: float | None = None) -> None:
        joined.append(thread)

    with time_is_up_while(gate.hangs) as waits, monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "join", join)
        driver.close()
    assert (waits, joined) == ([], [])
    gate.release()
    # The thread was left behind on purpose; now that nothing holds it, it ends by itself.
    assert eventually(lambda: not any(thread.name == "mtml-calls" for thread in threading.enumerate()))


def test_the_vendors_own_search_for_its_library_does_not_hang_the_caller(make_driver: MakeDriver) -> None:
    error = refused(make_driver(twin_library().parent / "libmtml.so.9").devices)
    assert error.kind is Kind.NO_LIBRARY, "it would be given up as stuck"

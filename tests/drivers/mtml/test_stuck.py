"""A call that never returns: named within its limit, refused at once afterwards, forgotten when it comes back."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.mtml_twin import MakeDriver, Show, eight_s4000, twin_library, uuid_of
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.driver import MtmlDriver
from tangram.units.ids import CardUuid

LIMIT = 0.2


def stuck(ask: Callable[[], object]) -> tuple[DriverError, float]:
    began = time.monotonic()
    with pytest.raises(DriverError) as caught:
        ask()
    return caught.value, time.monotonic() - began


QUESTIONS: dict[str, Callable[[MtmlDriver], object]] = {
    "mtmlLibraryInit": lambda driver: driver.devices(),
    "mtmlLibraryCountDevice": lambda driver: driver.devices(),
    "mtmlDeviceGetUUID": lambda driver: driver.health(),
    "mtmlDeviceGetMtLinkSpec": lambda driver: driver.links(driver.devices()),
    "mtmlGpuGetTemperature": lambda driver: driver.figures(CardUuid(uuid_of(0))),
}


@pytest.mark.parametrize("function", QUESTIONS)
def test_a_hanging_call_is_named_within_the_limit_and_work_goes_on_after_it(
    show: Show, make_driver: MakeDriver, tmp_path: Path, function: str
) -> None:
    release = tmp_path / "release"
    driver = make_driver(show(eight_s4000().having(f"block {function} {release}")).library, limit=LIMIT)
    try:
        error, took = stuck(lambda: QUESTIONS[function](driver))
        assert (error.kind, error.call) == (Kind.STUCK, function)
        assert function in error.sentence
        assert took < LIMIT + 2
        again, took = stuck(driver.health)
        assert (again.kind, again.call) == (Kind.STUCK, function)
        assert took < LIMIT, "while one call hangs nobody else waits for it"
    finally:
        release.touch()
    assert eventually(lambda: len(driver.devices()) == 8)


def test_the_card_on_which_a_call_hangs_is_named(show: Show, make_driver: MakeDriver, tmp_path: Path) -> None:
    release = tmp_path / "release"
    driver = make_driver(
        show(eight_s4000().having(f"block mtmlDeviceGetName {release} 5")).library, limit=LIMIT
    )
    error, _ = stuck(driver.devices)
    release.touch()
    assert "mtmlDeviceGetName (card 5)" in error.sentence
    assert eventually(lambda: len(driver.devices()) == 8)


def test_closing_does_not_wait_for_a_call_that_hangs(
    show: Show, make_driver: MakeDriver, tmp_path: Path
) -> None:
    release = tmp_path / "release"
    driver = make_driver(show(eight_s4000().having(f"block mtmlLibraryInit {release}")).library, limit=LIMIT)
    stuck(driver.devices)
    began = time.monotonic()
    driver.close()
    assert time.monotonic() - began < 1
    release.touch()
    # The thread was left behind on purpose; now that nothing holds it, it ends by itself.
    assert eventually(lambda: not any(thread.name == "mtml-calls" for thread in threading.enumerate()))


def test_the_vendors_own_search_for_its_library_does_not_hang_the_caller(make_driver: MakeDriver) -> None:
    driver = make_driver(twin_library().parent / "libmtml.so.9", limit=LIMIT)
    error, took = stuck(driver.devices)
    assert error.kind is Kind.NO_LIBRARY
    assert took < LIMIT + 2


def eventually(true: Callable[[], bool], within: float = 10.0) -> bool:
    """Whether it becomes true; the only clock a hanging C call leaves us is a real one."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            if true():
                return True
        except DriverError:
            pass
        threading.Event().wait(0.005)
    return False

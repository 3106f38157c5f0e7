"""The driver behind a time limit: what hangs is named, and holds up neither the loop nor the end of the process."""

import asyncio
import subprocess
import sys
import threading

import pytest

from builders.fake_driver import FakeDriver, metax_card
from builders.waiting import until
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.protocol import Driver
from tangram.services.gpu_device.hardware import Hardware
from tangram.units.ids import CardUuid

CARD = CardUuid("GPU-0")


async def opened(driver: FakeDriver, limit: float) -> Hardware:
    """With the driver open, so that only what is asked for next can take too long."""
    hardware = Hardware(lambda: driver, limit=60)
    await hardware.devices()
    hardware.limit = limit
    return hardware


async def test_the_driver_is_opened_once_and_when_it_is_first_needed() -> None:
    opened: list[FakeDriver] = []

    def opening() -> Driver:
        opened.append(FakeDriver(metax_card(0)))
        return opened[-1]

    hardware = Hardware(opening)
    assert not opened
    await asyncio.gather(*(hardware.devices() for _ in range(8)))
    assert len(opened) == 1
    await hardware.close()
    assert opened[0].closed
    await hardware.close()


@pytest.mark.parametrize("kind", [Kind.NO_DRIVER, Kind.NO_LIBRARY])
async def test_a_driver_that_is_not_there_is_looked_for_anew(kind: Kind) -> None:
    drivers = [FakeDriver(), FakeDriver(metax_card(0))]
    drivers[0].errors["devices"] = DriverError(kind, "not there")
    waiting = iter(drivers)
    hardware = Hardware(lambda: next(waiting))
    with pytest.raises(DriverError, match="not there"):
        await hardware.devices()
    assert [device.uuid for device in await hardware.devices()] == [CARD]
    assert drivers[0].closed


async def test_an_opening_that_fails_is_tried_again() -> None:
    tries: list[None] = []

    def opening() -> Driver:
        tries.append(None)
        if len(tries) == 1:
            raise DriverError(Kind.NO_LIBRARY, "no library")
        return FakeDriver(metax_card(0))

    hardware = Hardware(opening)
    with pytest.raises(DriverError, match="no library"):
        await hardware.devices()
    assert await hardware.devices()


async def test_a_call_that_hangs_is_named_and_the_loop_goes_on() -> None:
    driver = FakeDriver(metax_card(0))
    let_go = driver.hang("slices")
    hardware = await opened(driver, 0.05)
    try:
        with pytest.raises(DriverError, match="listing slices has not returned within") as stuck:
            await hardware.slices(CARD)
        assert stuck.value.kind is Kind.STUCK
    finally:
        let_go()


async def test_calls_that_hang_keep_their_places_until_they_return() -> None:
    driver = FakeDriver(metax_card(0))
    let_go = driver.hang("slices")
    hardware = await opened(driver, 0.02)
    threads = threading.active_count()
    for _ in range(8):
        with pytest.raises(DriverError):
            await hardware.slices(CARD)
    assert threading.active_count() - threads <= 4
    with pytest.raises(DriverError) as stuck:
        await hardware.health()
    assert stuck.value.kind is Kind.STUCK
    let_go()
    del driver.hanging["slices"]
    await until(lambda: threading.active_count() <= threads)
    patient = Hardware(lambda: driver)
    assert await patient.health()


async def test_a_hanging_opening_holds_up_nobody_longer_than_the_limit() -> None:
    entered, let_go = threading.Event(), threading.Event()

    def opening() -> Driver:
        entered.set()
        let_go.wait(60)
        return FakeDriver()

    hardware = Hardware(opening, limit=0.5)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    try:
        answers = await asyncio.gather(*(hardware.devices() for _ in range(40)), return_exceptions=True)
    finally:
        let_go.set()
    assert all(isinstance(each, DriverError) and each.kind is Kind.STUCK for each in answers)
    # One after the other they would take twenty seconds; a busy machine does not make ten of a half.
    assert loop.time() - begun < 10


async def test_a_failure_that_nobody_waits_for_any_more_is_not_complained_about() -> None:
    driver = FakeDriver(metax_card(0))
    let_go = driver.hang("health")
    driver.errors["health"] = DriverError(Kind.FAILED, "in the end")
    hardware = await opened(driver, 0.02)
    with pytest.raises(DriverError, match="has not returned"):
        await hardware.health()
    let_go()
    await until(lambda: not driver.inside.is_set())


_HANGS = """
import asyncio, threading
from tangram.drivers.errors import DriverError
from tangram.services.gpu_device.hardware import Hardware

async def main():
    hardware = Hardware(lambda: threading.Event().wait(), limit=0.05)
    try:
        await hardware.devices()
    except DriverError:
        print("stuck")
    await hardware.close()

asyncio.run(main())
"""


def test_a_process_ends_though_its_driver_hangs_for_ever() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _HANGS], capture_output=True, text=True, timeout=120, check=True
    )
    assert ended.stdout == "stuck\n"

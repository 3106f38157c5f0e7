"""Every function the driver calls, with every code the library may return: a value, `NA`, or one of our errors."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pytest

from builders.mtml_twin import MakeDriver, Show, eight_s5000, uuid_of
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.calls import FUNCTIONS
from tangram.drivers.mtml.driver import MtmlDriver
from tangram.model.devices import Device, Figures, Health, LinkReport
from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.ids import CardUuid
from tangram.units.na import NA

CODES = (*range(13), 999, 42, -1)
CARD = CardUuid(uuid_of(1))
KINDS = {
    1: Kind.NO_DRIVER,
    2: Kind.FAILED,
    3: Kind.INVALID,
    4: Kind.NOT_SUPPORTED,
    5: Kind.NOT_PERMITTED,
    7: Kind.CARD_GONE,
    9: Kind.NO_DRIVER,
    10: Kind.NO_DRIVER,
    12: Kind.BUSY,
}


class Reading(NamedTuple):
    devices: Sequence[Device]
    links: LinkReport
    figures: Figures
    health: Mapping[CardUuid, Health]

    @property
    def card(self) -> Device:
        return self.devices[1]


def read(driver: MtmlDriver) -> Reading:
    devices = driver.devices()
    return Reading(devices, driver.links(devices), driver.figures(CARD), driver.health())


# What is not there when the function fails. Everything else must still be.
LOST: dict[str, Callable[[Reading], bool]] = {
    "mtmlLibraryShutDown": lambda _: True,
    "mtmlErrorString": lambda _: True,
    "mtmlLibraryInitSystem": lambda got: got.card.driver_version is NA,
    "mtmlSystemGetDriverVersion": lambda got: got.card.driver_version is NA,
    "mtmlDeviceGetIndex": lambda got: got.card.index == 1,
    "mtmlDeviceGetName": lambda got: not got.card.product,
    "mtmlDeviceGetBrand": lambda got: got.card.family == "MTT",
    "mtmlDeviceGetSerialNumber": lambda got: got.card.serial is NA,
    "mtmlDeviceGetPciInfo": lambda got: not got.card.bdf,
    "mtmlDeviceGetProperty": lambda got: len(got.devices) == 2,
    "mtmlDeviceGetGpuPath": lambda got: not got.card.nodes.control,
    "mtmlDeviceGetPrimaryPath": lambda got: not got.card.nodes.card,
    "mtmlDeviceGetRenderPath": lambda got: not got.card.nodes.render,
    "mtmlDeviceGetMtBiosVersion": lambda got: got.card.firmware_version is NA,
    "mtmlDeviceGetPowerUsage": lambda got: got.figures.power_watts is NA,
    "mtmlDeviceGetMemoryAffinityWithinNode": lambda got: got.card.numa is NA,
    "mtmlDeviceGetTopologyLevel": lambda got: got.links.links[0].pcie is PcieLevel.UNKNOWN,
    "mtmlDeviceGetMtLinkSpec": lambda got: not got.links.ports,
    "mtmlDeviceGetMtLinkState": lambda got: got.links.ports[0].up is NA,
    "mtmlDeviceGetMtLinkRemoteDevice": lambda got: got.links.ports[0].remote is None,
    "mtmlDeviceCountMtLinkLayouts": lambda got: got.links.links[0].lanes == 2,
    "mtmlDeviceGetMtLinkLayouts": lambda got: got.links.links[0].lanes == 2,
    "mtmlDeviceInitGpu": lambda got: got.figures.temperature_celsius is NA,
    "mtmlDeviceInitMemory": lambda got: got.card.memory is NA and got.figures.memory_used is NA,
    "mtmlGpuGetUtilization": lambda got: got.figures.utilisation_percent is NA,
    "mtmlGpuGetTemperature": lambda got: got.figures.temperature_celsius is NA,
    "mtmlGpuGetClock": lambda got: got.figures.clocks_mhz == {"memory": 8000},
    "mtmlMemoryGetTotal": lambda got: got.card.memory is NA and got.figures.memory_total is NA,
    "mtmlMemoryGetUsed": lambda got: got.figures.memory_used is NA,
    "mtmlMemoryGetClock": lambda got: got.figures.clocks_mhz == {"gpu": 1750},
    "mtmlMemoryGetEccMode": lambda got: got.figures.ecc_uncorrected is NA,
    "mtmlMemoryGetEccErrorCounter": lambda got: got.figures.ecc_uncorrected is NA,
    "mtmlMemoryGetRetiredPagesCount": lambda got: got.figures.retired_pages is NA,
    "mtmlMemoryGetRetiredPagesPendingStatus": lambda got: got.figures.retired_pages == 0,
}
NODE_LOST = ("mtmlLibraryInit", "mtmlLibraryCountDevice")
CARD_LOST = ("mtmlLibraryInitDeviceByIndex", "mtmlDeviceGetUUID")
FOUND_OTHERWISE = ("mtmlLibraryInitDeviceByUuid",)


def test_the_table_names_every_function_the_driver_calls() -> None:
    assert set(LOST) | {*NODE_LOST, *CARD_LOST, *FOUND_OTHERWISE} == set(FUNCTIONS)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("function", LOST)
def test_a_failing_function_costs_its_figure_and_no_other(
    show: Show, make_driver: MakeDriver, function: str, code: int
) -> None:
    driver = make_driver(show(eight_s5000().without(*range(2, 8)).having(f"fault {function} {code}")).library)
    got = read(driver)
    assert [device.uuid for device in got.devices] == [uuid_of(0), CARD]
    assert list(got.health) == [uuid_of(0), CARD]
    assert got.links.known
    assert got.links.links[0].kind is LinkKind.MTLINK
    if code != 0:
        assert LOST[function](got)
    else:
        assert got.card.memory == got.figures.memory_total
        assert all(each.healthy for each in got.health.values())


@pytest.mark.parametrize("code", CODES[1:])
@pytest.mark.parametrize("function", NODE_LOST)
def test_a_library_that_cannot_count_cards_raises_what_to_do_about_it(
    show: Show, make_driver: MakeDriver, function: str, code: int
) -> None:
    driver = make_driver(show(eight_s5000().having(f"fault {function} {code}")).library)
    for ask in (driver.devices, driver.health, lambda: driver.links(())):
        with pytest.raises(DriverError, match=f"{function} returned") as caught:
            ask()
        # The package reads the code as unsigned in some places only; the number is the vendor's either way.
        assert caught.value.vendor_code == code
        assert caught.value.call == function
        expected = Kind.NO_DRIVER if code == 2 else KINDS.get(code, Kind.FAILED)
        assert caught.value.kind is expected


@pytest.mark.parametrize("code", CODES[1:])
@pytest.mark.parametrize("function", CARD_LOST)
def test_a_card_that_does_not_tell_its_name_is_reported_under_its_place(
    show: Show, make_driver: MakeDriver, function: str, code: int
) -> None:
    driver = make_driver(show(eight_s5000().having(f"fault {function} {code} 1")).library)
    assert len(driver.devices()) == 7
    health = driver.health()[CardUuid("mthreads-place-1")]
    assert not health.healthy
    assert function in health.message
    assert health.code in {"driver-failure", "driver-not-loaded", "driver-timeout", "card-gone", "unreadable"}


@pytest.mark.parametrize("code", CODES[1:])
@pytest.mark.parametrize("function", FOUND_OTHERWISE)
def test_a_card_that_cannot_be_looked_up_by_name_raises_unless_looking_through_all_helps(
    show: Show, make_driver: MakeDriver, function: str, code: int
) -> None:
    driver = make_driver(show(eight_s5000().having(f"fault {function} {code}")).library)
    assert len(driver.devices()) == 8
    if code == 4:
        assert driver.figures(CARD).utilisation_percent == 37
        return
    with pytest.raises(DriverError) as caught:
        driver.figures(CARD)
    assert caught.value.vendor_code == code
    assert caught.value.kind is KINDS.get(code, Kind.FAILED)

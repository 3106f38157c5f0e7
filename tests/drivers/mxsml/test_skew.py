"""Libraries that are older, newer or less careful than the one we were written against."""

from collections.abc import Callable

import pytest

from builders.mxsml_twin import NEWER_THAN_2_2_8, Twin, c500, every_question, outcome
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml.functions import SIGNATURES
from tangram.drivers.mxsml.library import Library
from tangram.drivers.snapshot import Reader
from tangram.units.ids import CardUuid
from tangram.units.na import NA

Make = Callable[..., Twin]
FIRST = CardUuid("GPU-00000000-1111-2222-3333-000000000000")
ENOUGH_FOR_A_NODE = {"Init", "GetDeviceCount", "GetDeviceInfo"}


def test_the_oldest_library_seen_loses_nothing_that_matters(twin_of: Make) -> None:
    driver = twin_of(c500(8), left_out=NEWER_THAN_2_2_8).driver()
    devices = driver.devices()
    assert all(health.healthy for health in driver.health().values())
    assert driver.links(devices).known
    assert driver.figures(FIRST).power_watts == 61.5


def test_a_library_with_hardly_anything_still_shows_its_cards(twin_of: Make) -> None:
    left_out = tuple(f"mxSml{name}" for name in SIGNATURES if name not in ENOUGH_FOR_A_NODE)
    driver = twin_of(c500(2), left_out=(*left_out, "mxSmlGetErrorString")).driver()
    one, other = driver.devices()
    assert (one.uuid, one.memory, one.serial, one.sliced, one.numa) == (FIRST, NA, NA, NA, 0)
    assert driver.links((one, other)).known
    assert all(health.healthy for health in driver.health().values())
    figures = driver.figures(FIRST)
    assert (figures.temperature_celsius, figures.processes, figures.clocks_mhz) == (NA, NA, {})
    for name, question in every_question(driver, FIRST).items():
        found = outcome(question)
        if name.startswith(("create", "set_policy", "resize", "remove")):
            assert isinstance(found, DriverError), name


def test_a_library_without_anything_of_ours_has_no_cards(twin_of: Make) -> None:
    driver = twin_of(c500(2), left_out=tuple(f"mxSml{name}" for name in SIGNATURES)).driver()
    with pytest.raises(DriverError) as refusal:
        driver.devices()
    assert refusal.value.kind is Kind.NOT_SUPPORTED


def test_a_function_is_looked_up_when_it_is_first_called(two: Twin) -> None:
    library = Library(str(two.library))
    assert library.functions == {}
    library.call("GetDeviceCount")
    assert set(library.functions) == {"GetDeviceCount"}
    library.close()


@pytest.mark.parametrize("quirk", ["huge-counts", "unterminated", "grown"])
def test_a_careless_library_does_not_hurt_us(quirk: str, twin_of: Make) -> None:
    machine = c500(2).quirk(quirk).with_slice(0, 3, uuid="s3").with_process(1, 0, slice=3)
    driver = twin_of(machine).driver()
    for uuid in {device.uuid for device in driver.devices()}:
        for question in every_question(driver, uuid).values():
            # Lets only a DriverError pass.
            outcome(question)


def test_records_longer_than_ours_are_read_as_far_as_we_know_them(twin_of: Make) -> None:
    plain = twin_of(c500(2)).driver()
    expected = Reader(lambda _: plain).read(links=True)
    plain.close()
    grown = twin_of(c500(2).quirk("grown")).driver()
    assert Reader(lambda _: grown).read(links=True) == expected


def test_texts_without_an_end_are_cut_at_their_room(twin_of: Make) -> None:
    device = twin_of(c500(1).quirk("unterminated")).driver().devices()[0]
    assert (len(device.uuid), len(device.bdf), device.product) == (96, 32, "A" * 32)
    assert device.serial == "A" * 96

"""Every function the binding calls, with every code of the header: a record, `NA`, or a typed error; never a crash."""

from collections.abc import Callable

import msgspec
import pytest

from builders.mxsml_twin import Machine, Twin, c500, every_question, outcome
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml.codes import MEANINGS, meaning
from tangram.drivers.mxsml.functions import COUNTS, SIGNATURES
from tangram.drivers.mxsml.library import Library
from tangram.model.devices import Device, Figures
from tangram.units.ids import CardUuid
from tangram.units.na import NA

CODES = (*range(27), 27, 9999, 2**32 - 1)

FIRST = CardUuid("GPU-00000000-1111-2222-3333-000000000000")
FIGURES: dict[str, tuple[str, ...]] = {
    "GetMemoryInfo": ("memory_used", "memory_total"),
    "GetDeviceIpUsage": ("utilisation_percent",),
    "GetTemperatureInfo": ("temperature_celsius",),
    "GetBoardPowerInfo": ("power_watts",),
    "GetBoardPowerLimit": ("power_cap_watts",),
    "GetTotalEccErrors": ("ecc_corrected", "ecc_uncorrected", "retired_pages"),
}
FACTS = {
    "GetMemoryInfo": ("memory",),
    "GetDeviceVersion": ("driver_version", "firmware_version"),
    "GetSgpuToggle": ("sliced", "sliceable"),
}
CHANGES = {
    "CreateSgpu": "create_slice",
    "SetSgpuAlias": "create_slice",
    "SetSgpuVramQuota": "resize_slice",
    "SetSgpuComputeQuota": "resize_slice",
    "SetDeviceSchedClass": "set_policy",
    "SetSgpuDeviceQueuePriority": "create_online_slice",
    "RemoveSgpu": "remove_slice",
}
"""The change that each function of a change makes."""


def machine() -> Machine:
    return (
        c500(2, virtual_functions=8).with_slice(0, 3, memory=2048, compute=25, uuid="s3").with_process(7, 1)
    )


@pytest.mark.parametrize("function", sorted(SIGNATURES))
def test_every_code_of_a_function_ends_in_a_record_or_a_typed_error(
    function: str, twin_of: Callable[..., Twin]
) -> None:
    twin = twin_of(machine())
    for code in CODES:
        twin.show(machine().failing(function, code), renew_slices=True)
        driver = twin.driver()
        for name, question in every_question(driver, FIRST).items():
            found = outcome(question)
            if isinstance(found, DriverError) and found.vendor_code is not None:
                assert found.kind is meaning(found.vendor_code).kind, (code, name)
            if isinstance(found, DriverError):
                assert found.sentence, (code, name)
        driver.close()


@pytest.mark.parametrize("function", FIGURES)
def test_a_figure_that_cannot_be_read_is_not_available_and_the_others_are(
    function: str, twin_of: Callable[..., Twin]
) -> None:
    twin = twin_of(machine())
    driver = twin.driver()
    whole = msgspec.structs.asdict(driver.figures(FIRST))
    for code in CODES[1:]:
        twin.show(machine().failing(function, code))
        found = driver.figures(FIRST)
        assert isinstance(found, Figures)
        lost = dict.fromkeys(FIGURES[function], NA)
        assert msgspec.structs.asdict(found) == whole | lost, code


@pytest.mark.parametrize("function", FACTS)
def test_a_fact_that_cannot_be_read_is_not_available_and_the_card_is_listed(
    function: str, twin_of: Callable[..., Twin]
) -> None:
    twin = twin_of(machine())
    driver = twin.driver()
    whole = msgspec.structs.asdict(driver.devices()[0])
    for code in CODES[1:]:
        twin.show(machine().failing(function, code))
        found = driver.devices()[0]
        assert isinstance(found, Device)
        assert msgspec.structs.asdict(found) == whole | dict.fromkeys(FACTS[function], NA), code


@pytest.mark.parametrize("function", CHANGES)
def test_a_change_that_fails_raises_the_kind_of_its_code_with_the_vendors_words(
    function: str, twin_of: Callable[..., Twin]
) -> None:
    twin = twin_of(machine())
    for code in CODES[1:]:
        twin.show(machine().failing(function, code), renew_slices=True)
        driver = twin.driver()
        error = outcome(every_question(driver, FIRST)[CHANGES[function]])
        assert isinstance(error, DriverError), code
        assert (error.kind, error.vendor_code, error.call) == (meaning(code).kind, code, f"mxSml{function}")
        assert error.vendor_text in error.sentence
        assert error.vendor_text
        driver.close()


def test_a_change_that_fails_halfway_leaves_nothing_behind(twin_of: Callable[..., Twin]) -> None:
    twin = twin_of(machine())
    driver = twin.driver()
    before = driver.slices(FIRST)
    for function, change in (
        ("SetSgpuAlias", "create_slice"),
        ("SetSgpuDeviceQueuePriority", "create_online_slice"),
        ("SetSgpuComputeQuota", "resize_slice"),
    ):
        twin.show(machine().failing(function, 5))
        assert isinstance(outcome(every_question(driver, FIRST)[change]), DriverError)
        twin.show(machine())
        assert driver.slices(FIRST) == before


@pytest.mark.parametrize("code", CODES[1:])
def test_a_library_that_will_not_start_says_why(code: int, twin_of: Callable[..., Twin]) -> None:
    driver = twin_of(machine().failing("InitWithFlags", code, times=1)).driver()
    with pytest.raises(DriverError) as refusal:
        driver.devices()
    assert refusal.value.kind is meaning(code).kind
    assert refusal.value.vendor_code == code
    assert len(driver.devices()) == 2


def test_every_code_of_the_header_has_a_kind_and_words() -> None:
    assert set(range(1, 27)) <= set(MEANINGS)
    assert meaning(4711).kind is Kind.FAILED
    assert all(each.text for each in MEANINGS.values())


def test_without_the_vendors_words_ours_are_used(twin_of: Callable[..., Twin]) -> None:
    library = Library(str(twin_of(machine(), left_out=("mxSmlGetErrorString",)).library))
    error = library.error("GetDeviceInfo", 8)
    library.close()
    assert "permission denied" in error.sentence
    assert error.vendor_text == ""


def test_a_count_that_cannot_be_is_no_count(twin_of: Callable[..., Twin]) -> None:
    twin = twin_of(machine())
    for function in sorted(COUNTS):
        twin.show(machine().failing(function, 2**31 - 1))
        driver = twin.driver()
        assert isinstance(outcome(driver.health), dict | DriverError)
        driver.close()

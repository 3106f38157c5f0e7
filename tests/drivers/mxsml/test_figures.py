from collections.abc import Callable
from itertools import count

import pytest

from builders.mxsml_twin import Twin, c500
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml.binding import Binding
from tangram.model.devices import Figures, Process
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes, from_gib, from_mib
from tangram.units.na import NA, known

Make = Callable[..., Twin]
FIRST = CardUuid("GPU-00000000-1111-2222-3333-000000000000")


def test_figures_come_in_our_units(twin_of: Make) -> None:
    machine = c500(
        1, temperature=3925, ecc=(1, 2, 3, 4, 5), throttle=0x1 | 0x8 | 0x20, usage=37
    ).with_process(4711, 0, memory=from_mib(512))
    assert twin_of(machine).driver().figures(FIRST) == Figures(
        utilisation_percent=37.0,
        memory_used=Bytes(845824 * 1024),
        memory_total=from_gib(64),
        temperature_celsius=39.25,
        power_watts=61.5,
        power_cap_watts=350.0,
        clocks_mhz={"XCORE": 1500, "MC": 1800, "VPUE": 500, "VPUD": 600},
        ecc_corrected=4,
        ecc_uncorrected=6,
        retired_pages=5,
        throttled_by=("chip temperature", "memory temperature"),
        processes=(Process(4711, "python", from_mib(512)),),
    )


MC, MC0 = 2, 3


@pytest.mark.parametrize(
    ("failing", "memory_clock"),
    [
        pytest.param((MC,), {"MC": 1800}, id="only Mc0, as on C cards"),
        pytest.param((MC0,), {"MC": 1800}, id="only MC, as on N cards"),
        pytest.param((MC, MC0), {}, id="neither"),
    ],
)
def test_the_clock_of_memory_is_that_of_the_unit_a_card_has(
    failing: tuple[int, ...], memory_clock: dict[str, int], twin_of: Make
) -> None:
    machine = c500(1)
    for unit in failing:
        machine = machine.failing(f"GetClocks.{unit}", 3)
    clocks = twin_of(machine).driver().figures(FIRST).clocks_mhz
    assert clocks == {"XCORE": 1500, "VPUE": 500, "VPUD": 600} | memory_clock


def test_an_idle_card_is_not_throttled(twin_of: Make) -> None:
    assert twin_of(c500(1, throttle=0x401)).driver().figures(FIRST).throttled_by == ()


@pytest.mark.parametrize("usage", [-1, 101])
def test_a_utilisation_that_cannot_be_is_not_available(usage: int, twin_of: Make) -> None:
    assert twin_of(c500(1, usage=usage)).driver().figures(FIRST).utilisation_percent is NA


def test_a_card_without_processes_has_none_rather_than_unknown(twin_of: Make) -> None:
    assert twin_of(c500(1)).driver().figures(FIRST).processes == ()


FORMS = ("mxSmlGetProcessInfo_v3", "mxSmlGetSingleGpuProcess_v3", "mxSmlGetSingleGpuProcess_v2")


@pytest.mark.parametrize("lacking", range(len(FORMS) + 1))
def test_each_form_of_the_process_list_is_understood(lacking: int, twin_of: Make) -> None:
    machine = c500(2).with_process(9, 0, name="a b", memory=1024).with_process(10, 1)
    found = twin_of(machine, left_out=FORMS[:lacking]).driver().figures(FIRST).processes
    assert found == (Process(9, "a b", Bytes(1024)),)


def test_a_process_in_a_slice_is_listed_with_the_slice(twin_of: Make) -> None:
    machine = c500(1).with_slice(0, 3, uuid="s3").with_process(9, 0, memory=1024, slice=3)
    assert twin_of(machine).driver().figures(FIRST).processes == (Process(9, "python", Bytes(1024), 3),)


def test_a_list_without_those_who_have_no_number_here_is_no_list(twin_of: Make) -> None:
    machine = c500(3).with_process(9, 0).with_process(10, 0, nspid=0).with_process(11, 1)
    driver = twin_of(machine.with_slice(2, 3, uuid="s3").with_process(12, 2, slice=3, nspid=0)).driver()
    first, second, third = (driver.figures(each.uuid).processes for each in driver.devices())
    assert first is NA
    assert [each.pid for each in known(second, ())] == [11]
    assert third is NA


def test_more_processes_than_there_was_room_for_are_all_listed(twin_of: Make) -> None:
    machine = c500(1)
    for pid in range(1, 201):
        machine = machine.with_process(pid, 0)
    found = twin_of(machine).driver().figures(FIRST).processes
    assert [process.pid for process in known(found, ())] == list(range(1, 201))


@pytest.mark.parametrize("left_out", [(), ("mxSmlGetProcessInfo_v3",)], ids=["of the machine", "of the card"])
@pytest.mark.parametrize(("starts", "expected"), [(1, 10), (99, None)], ids=["once", "again and again"])
def test_processes_that_begin_while_they_are_counted_are_listed_or_the_list_is_unknown(
    left_out: tuple[str, ...],
    starts: int,
    expected: int | None,
    twin_of: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    twin = twin_of(c500(1).with_process(1, 0), left_out=left_out)
    driver = twin.driver()
    driver.devices()
    ask, rounds = Binding.ask, count(1)

    def asking(binding: Binding, name: str, *arguments: object) -> bool:
        answered = ask(binding, name, *arguments)
        if name.startswith(("GetNumberOfProcess", "GetSingleGpuProcess")) and (at := next(rounds)) <= starts:
            machine = c500(1)
            for pid in range(1, 10 * at + 1):
                machine = machine.with_process(pid, 0)
            twin.show(machine)
        return answered

    monkeypatch.setattr(Binding, "ask", asking)
    found = driver.figures(FIRST).processes
    assert found is NA if expected is None else len(known(found, ())) == expected


def test_a_card_that_is_gone_is_an_error_and_not_a_row_of_blanks(two: Twin) -> None:
    driver = two.driver()
    driver.devices()
    two.show(c500(2).without(0))
    with pytest.raises(DriverError) as refusal:
        driver.figures(FIRST)
    assert refusal.value.kind is Kind.CARD_GONE
    assert driver.figures(CardUuid("GPU-00000000-1111-2222-3333-000000000001")).temperature_celsius == 38.5


def test_a_card_that_goes_while_it_is_read_is_gone(two: Twin) -> None:
    driver = two.driver()
    driver.devices()
    # Found when asked for, lost by the time of its memory, and not there when looked for again.
    two.show(c500(2).failing("GetMemoryInfo", 6, device=0).failing("GetDeviceInfo", 6, device=0, after=1))
    with pytest.raises(DriverError) as refusal:
        driver.figures(FIRST)
    assert refusal.value.kind is Kind.CARD_GONE


def test_a_figure_that_calls_the_card_gone_is_not_believed_while_it_is_there(two: Twin) -> None:
    two.show(c500(2).failing("GetMemoryInfo", 6, device=0))
    found = two.driver().figures(FIRST)
    assert (found.memory_used, found.temperature_celsius) == (NA, 38.5)


def test_a_card_is_found_under_its_new_number(two: Twin) -> None:
    driver = two.driver()
    second = driver.devices()[1].uuid
    two.show(c500(2).without(0).with_card(1, usage=77))
    assert driver.figures(second).utilisation_percent == 77.0

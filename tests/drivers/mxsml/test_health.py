from collections.abc import Callable

import pytest

from builders.mxsml_twin import Twin, c500, every_question, outcome
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.drivers.mxsml.roster import PATIENCE
from tangram.drivers.opening import open_driver
from tangram.drivers.ways import Conditions
from tangram.model.devices import Health
from tangram.units.ids import CardUuid
from tangram.units.na import NA

Make = Callable[..., Twin]
FIRST = CardUuid("GPU-00000000-1111-2222-3333-000000000000")
SECOND = CardUuid("GPU-00000000-1111-2222-3333-000000000001")


def _first(driver: MxsmlDriver) -> Health:
    return driver.health()[FIRST]


def test_a_card_in_order_is_healthy_without_a_word(two: Twin) -> None:
    assert two.driver().health() == {FIRST: Health(healthy=True), SECOND: Health(healthy=True)}


def test_an_unavailable_card_is_unhealthy_for_the_librarys_reason(twin_of: Make) -> None:
    machine = c500(2).with_card(0, active=0, reason=(2, "Driver And Vbios Compatibility Check Failed"))
    driver = twin_of(machine).driver()
    assert _first(driver) == Health(
        healthy=False, code="unavailable", message="Driver And Vbios Compatibility Check Failed"
    )
    assert driver.health()[SECOND].healthy


def test_an_unavailable_card_without_a_reason_is_still_unhealthy(twin_of: Make) -> None:
    found = _first(twin_of(c500(1, active=0)).driver())
    assert (found.healthy, found.code) == (False, "unavailable")
    assert "no reason" in found.message


def test_the_reason_alone_decides_where_the_state_is_not_told(twin_of: Make) -> None:
    machine = c500(2).with_card(0, reason=(1, "Layout Node Not Found"))
    driver = twin_of(machine, left_out=("mxSmlGetDeviceState",)).driver()
    assert _first(driver) == Health(healthy=False, code="unavailable", message="Layout Node Not Found")
    assert driver.health()[SECOND].healthy


def test_a_state_that_cannot_be_read_is_a_fault(twin_of: Make) -> None:
    found = _first(twin_of(c500(1).failing("GetDeviceState", 4)).driver())
    assert (found.healthy, found.code) == (False, "unreadable")
    assert "mxSmlGetDeviceState" in found.message


def test_lost_memory_contents_take_a_card_out(twin_of: Make) -> None:
    twin = twin_of(c500(1, ecc=(9, 1, 9, 2, 3)))
    assert _first(twin.driver()) == Health(
        healthy=False, code="ecc-uncorrected", message="3 uncorrected memory errors"
    )
    assert _first(twin.driver(uncorrected_ecc_limit=3)).healthy


def test_corrected_errors_are_no_fault(twin_of: Make) -> None:
    assert _first(twin_of(c500(1, ecc=(100, 0, 100, 0, 0))).driver()).healthy


def test_pages_retired_after_double_bit_errors_take_a_card_out(twin_of: Make) -> None:
    twin = twin_of(c500(1, ecc=(0, 0, 0, 0, 2)))
    found = _first(twin.driver())
    assert (found.healthy, found.code) == (False, "retired-pages")
    assert _first(twin.driver(uncorrected_ecc_limit=2)).healthy


@pytest.mark.parametrize(
    ("state", "remark"), [(0, ""), (1, "link-down"), (2, ""), (3, "link-down"), (4, "link-down")]
)
def test_a_link_that_is_down_is_a_remark_and_no_fault(state: int, remark: str, twin_of: Make) -> None:
    found = _first(twin_of(c500(1, link=(state, ""))).driver())
    assert (found.healthy, found.code) == (True, remark)


def test_a_vanished_card_is_reported_and_the_others_go_on(two: Twin) -> None:
    driver = two.driver()
    driver.devices()
    two.show(c500(2).without(1))
    found = driver.health()
    assert (found[SECOND].healthy, found[SECOND].code) == (False, "gone")
    assert "card 1 at 0000:04:00.0" in found[SECOND].message
    assert found[FIRST].healthy
    assert [device.uuid for device in driver.devices()] == [FIRST]
    two.show(c500(2))
    assert driver.health()[SECOND].healthy


def test_a_card_that_goes_between_two_calls_is_gone(two: Twin) -> None:
    driver = two.driver()
    driver.devices()
    two.show(c500(2).failing("GetDeviceState", 6, device=1))
    assert driver.health()[SECOND].code == "gone"
    assert driver.health()[FIRST].healthy


def test_when_the_kernel_driver_goes_every_card_is_gone(two: Twin) -> None:
    driver = two.driver()
    driver.devices()
    two.show(c500(0))
    assert {health.code for health in driver.health().values()} == {"gone"}
    for link in (two.sysfs / "bus/pci/drivers/METAX").iterdir():
        link.unlink()
    found = driver.health()
    assert set(found) == {FIRST, SECOND}
    assert not any(health.healthy for health in found.values())


def test_a_card_that_becomes_limited_keeps_its_name(two: Twin) -> None:
    driver = two.driver()
    assert driver.health()[SECOND].healthy
    two.show(c500(2).with_card(1, smi=False, reason=(3, "MetaX Sysfs File Unaccessible")))
    # The library has not looked again: it calls the card available, and its figures cannot be read.
    found = driver.health()
    assert set(found) == {FIRST, SECOND}
    assert (found[SECOND].healthy, found[SECOND].code) == (False, "unreadable")
    assert driver.health() == {
        FIRST: Health(healthy=True),
        SECOND: Health(healthy=False, code="limited", message="MetaX Sysfs File Unaccessible"),
    }
    two.show(c500(2))
    assert driver.health()[SECOND].healthy


def test_a_card_without_figures_from_the_beginning_is_not_blamed_for_it(twin_of: Make) -> None:
    driver = twin_of(c500(1, files={"smi/showmeminfo": ""})).driver()
    assert [_first(driver).healthy for _ in range(3)] == [True, True, True]


FIGURES = {
    "memory": "GetMemoryInfo",
    "utilisation": "GetDeviceIpUsage",
    "temperature": "GetTemperatureInfo",
    "power": "GetBoardPowerInfo",
}


@pytest.mark.parametrize("code", [3, 4])
@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_that_answered_and_stays_away_is_a_fault_that_names_it(
    two: Twin, figure: str, code: int
) -> None:
    driver = two.driver()
    assert _first(driver).healthy
    two.show(c500(2).failing(FIGURES[figure], code, device=0))
    assert [_first(driver).healthy for _ in range(PATIENCE - 1)] == [True] * (PATIENCE - 1)
    found = _first(driver)
    assert (found.healthy, found.code) == (False, "unreadable")
    assert found.message.startswith(f"card 0 does not tell its {figure} any more: mxSml{FIGURES[figure]}")
    assert driver.health()[SECOND].healthy
    two.show(c500(2))
    assert _first(driver).healthy


def test_two_figures_that_stay_away_are_both_named(two: Twin) -> None:
    driver = two.driver()
    driver.health()
    two.show(c500(2).failing("GetTemperatureInfo", 4).failing("GetBoardPowerInfo", 4))
    found = [_first(driver) for _ in range(PATIENCE)][-1]
    assert "does not tell its temperature and power any more" in found.message


def test_a_read_that_fails_now_and_then_takes_no_card_out(two: Twin) -> None:
    driver = two.driver()
    driver.health()
    for _ in range(2 * PATIENCE):
        two.show(c500(2).failing("GetTemperatureInfo", 4))
        assert [_first(driver).healthy for _ in range(PATIENCE - 1)] == [True] * (PATIENCE - 1)
        two.show(c500(2))
        assert _first(driver).healthy


def test_all_figures_at_once_are_believed_at_once(two: Twin) -> None:
    driver = two.driver()
    driver.health()
    machine = c500(2)
    for function in FIGURES.values():
        machine = machine.failing(function, 4, device=0)
    two.show(machine)
    found = _first(driver)
    assert (found.healthy, found.code) == (False, "unreadable")
    assert "does not tell its memory, utilisation, temperature and power any more" in found.message


@pytest.mark.parametrize(
    ("file", "figure"),
    [
        ("showmeminfo", "memory"),
        ("showxcuse", "utilisation"),
        ("showtemp", "temperature"),
        ("showboardpowerinfo", "power"),
    ],
)
def test_a_file_of_the_kernels_that_goes_empty_is_noticed(two: Twin, file: str, figure: str) -> None:
    driver = two.driver()
    driver.health()
    two.show(c500(2).with_card(0, files={f"smi/{file}": ""}))
    found = [_first(driver) for _ in range(PATIENCE)][-1]
    assert not found.healthy
    assert f"does not tell its {figure} any more: mxSml{FIGURES[figure]}" in found.message


def test_what_another_copy_of_the_library_could_read_is_not_held_against_a_card(two: Twin) -> None:
    driver = two.driver()
    driver.health()
    two.show(c500(2).failing("GetTemperatureInfo", 3))
    two.install()
    assert [_first(driver).healthy for _ in range(2 * PATIENCE)] == [True] * (2 * PATIENCE)


@pytest.mark.parametrize("code", [1, 8, 23])
def test_only_a_file_that_cannot_be_read_is_silence(two: Twin, code: int) -> None:
    driver = two.driver()
    driver.health()
    two.show(c500(2).failing("GetTemperatureInfo", code))
    assert [_first(driver).healthy for _ in range(2 * PATIENCE)] == [True] * (2 * PATIENCE)


def test_a_figure_that_never_answered_is_not_missed(twin_of: Make) -> None:
    driver = twin_of(c500(1).failing("GetTemperatureInfo", 4).failing("GetBoardPowerInfo", 4)).driver()
    assert [_first(driver).healthy for _ in range(2 * PATIENCE)] == [True] * (2 * PATIENCE)


def test_cards_that_are_all_limited_are_listed_with_the_vendors_reason(twin_of: Make) -> None:
    machine = c500(2, smi=False, reason=(3, "MetaX Sysfs File Unaccessible"))
    driver = twin_of(machine).driver()
    devices = driver.devices()
    assert [(each.bdf, each.memory) for each in devices] == [("0000:03:00.0", NA), ("0000:04:00.0", NA)]
    assert {(each.code, each.message) for each in driver.health().values()} == {
        ("limited", "MetaX Sysfs File Unaccessible")
    }
    # Nothing else that is asked may reach a function that would end this process.
    for device in devices:
        for question in every_question(driver, device.uuid).values():
            outcome(question)
    assert driver.links(devices).ports == ()


def test_a_card_that_recovers_from_being_limited_is_not_listed_twice(twin_of: Make) -> None:
    whole = c500(2)
    twin = twin_of(whole.with_card(1, smi=False, uuid=""))
    driver = twin.driver()
    assert set(driver.health()) == {FIRST, "PCI-0000:04:00.0"}
    twin.show(whole)
    assert set(driver.health()) == {FIRST, SECOND}


def test_the_kernels_files_do_not_overrule_the_library_about_limited_cards(
    twin_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = twin_of(c500(2, smi=False, reason=(3, "MetaX Sysfs File Unaccessible")))
    monkeypatch.setenv("MXSML_LIBRARY_PATH", str(twin.library))
    driver = open_driver("auto", conditions=Conditions(root=twin.root))
    try:
        assert driver.name == "mxsml"
        assert {each.code for each in driver.health().values()} == {"limited"}
    finally:
        driver.close()

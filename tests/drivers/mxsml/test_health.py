from collections.abc import Callable

import pytest

from builders.mxsml_twin import Twin, TwinCard, c500
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.model.devices import Health
from tangram.units.ids import CardUuid

Make = Callable[..., Twin]
FIRST = CardUuid("GPU-00000000-1111-2222-3333-000000000000")
SECOND = CardUuid("GPU-00000000-1111-2222-3333-000000000001")


def _first(driver: MxsmlDriver) -> Health:
    return driver.health()[FIRST]


def test_a_card_in_order_is_healthy_without_a_word(two: Twin) -> None:
    assert two.driver().health() == {FIRST: Health(healthy=True), SECOND: Health(healthy=True)}


def test_an_unavailable_card_is_unhealthy_for_the_librarys_reason(twin_of: Make) -> None:
    machine = c500(2).with_card(
        0, state=0, reason_code=2, reason="Driver And Vbios Compatibility Check Failed"
    )
    driver = twin_of(machine).driver()
    assert _first(driver) == Health(
        healthy=False, code="unavailable", message="Driver And Vbios Compatibility Check Failed"
    )
    assert driver.health()[SECOND].healthy


def test_an_unavailable_card_without_a_reason_is_still_unhealthy(twin_of: Make) -> None:
    found = _first(twin_of(c500(1, state=0)).driver())
    assert (found.healthy, found.code) == (False, "unavailable")
    assert "no reason" in found.message


def test_the_reason_alone_decides_where_the_state_is_not_told(twin_of: Make) -> None:
    machine = c500(2).with_card(0, reason="Layout Node Not Found")
    driver = twin_of(machine, left_out=("mxSmlGetDeviceState",)).driver()
    assert _first(driver) == Health(healthy=False, code="unavailable", message="Layout Node Not Found")
    assert driver.health()[SECOND].healthy


def test_a_state_that_cannot_be_read_is_a_fault(twin_of: Make) -> None:
    found = _first(twin_of(c500(1).failing("GetDeviceState", 4)).driver())
    assert (found.healthy, found.code) == (False, "unreadable")
    assert "mxSmlGetDeviceState" in found.message


def test_lost_memory_contents_take_a_card_out(twin_of: Make) -> None:
    twin = twin_of(c500(1, ecc="9,1,9,2,9"))
    assert _first(twin.driver()) == Health(
        healthy=False, code="ecc-uncorrected", message="3 uncorrected memory errors"
    )
    assert _first(twin.driver(uncorrected_ecc_limit=3)).healthy


def test_corrected_errors_are_no_fault(twin_of: Make) -> None:
    assert _first(twin_of(c500(1, ecc="100,0,100,0,7")).driver()).healthy


@pytest.mark.parametrize(
    ("state", "remark"), [(0, ""), (1, "link-down"), (2, ""), (3, "link-down"), (4, "link-down")]
)
def test_a_link_that_is_down_is_a_remark_and_no_fault(state: int, remark: str, twin_of: Make) -> None:
    found = _first(twin_of(c500(1, link=state)).driver())
    assert (found.healthy, found.code) == (True, remark)


def test_a_vanished_card_is_reported_and_the_others_go_on(two: Twin) -> None:
    driver = two.driver()
    driver.devices()
    two.show(c500(2).with_card(1, gone=1))
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
    driver.devices()
    limited = TwinCard(1, bdf="0000:04:00.0", more={"limited": 1, "reason": "MetaX Sysfs File Unaccessible"})
    machine = c500(2).with_card(1, gone=1)
    two.show(type(machine)((machine.cards[0], limited), machine.lines))
    found = driver.health()
    assert set(found) == {FIRST, SECOND}
    assert found[SECOND] == Health(healthy=False, code="limited", message="MetaX Sysfs File Unaccessible")


def test_a_card_that_recovers_from_being_limited_is_not_listed_twice(twin_of: Make) -> None:
    whole = c500(2)
    limited = TwinCard(1, bdf="0000:04:00.0", more={"limited": 1})
    twin = twin_of(type(whole)((whole.cards[0], limited), whole.lines))
    driver = twin.driver()
    assert set(driver.health()) == {FIRST, "PCI-0000:04:00.0"}
    twin.show(whole)
    assert set(driver.health()) == {FIRST, SECOND}

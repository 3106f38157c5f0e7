"""A reading ends within its limit, keeps what it has, and names what hangs."""

from collections.abc import Sequence

import pytest

from builders.fake_driver import FakeDriver, metax_card
from builders.hanging import LONG, eventually, up_while
from builders.simulated import ManualClock
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.snapshot import Reader, Snapshot
from tangram.model.devices import Device, Figures, Health, LinkReport
from tangram.model.topology import Link, LinkKind
from tangram.units.ids import CardUuid


def reader(driver: FakeDriver) -> Reader:
    """Gives a driver up while it hangs, however long it took to get there."""
    return Reader(lambda _: driver, limit=LONG, wait=up_while(driver.inside.is_set))


def two_cards() -> FakeDriver:
    driver = FakeDriver(metax_card(0), metax_card(1))
    driver.figures_of[CardUuid("GPU-0")] = Figures(utilisation_percent=7)
    return driver


def test_a_reading_holds_everything_the_driver_says() -> None:
    driver = two_cards()
    driver.link_report = LinkReport(known=True, links=(Link(0, 1, LinkKind.METAXLINK),))
    found = reader(driver).read(links=True)
    assert found.driver == "fake"
    assert [card.device.index for card in found.cards] == [0, 1]
    assert found.cards[0].figures == Figures(utilisation_percent=7)
    assert found.links.links[0].kind is LinkKind.METAXLINK
    assert found.troubles == ()
    assert not found.stuck


def test_a_call_that_fails_costs_its_own_answer_only() -> None:
    driver = two_cards()
    driver.errors["figures"] = DriverError(Kind.FAILED, "code 4", call="mxSmlGetMemoryInfo")
    found = reader(driver).read()
    assert [card.figures for card in found.cards] == [None, None]
    assert all(card.health is not None for card in found.cards)
    assert {trouble.call for trouble in found.troubles} == {"mxSmlGetMemoryInfo"}


def test_a_card_too_broken_to_be_listed_is_not_passed_over_in_silence() -> None:
    driver = two_cards()
    driver.health_of[CardUuid("place-6")] = Health(
        healthy=False, code="card-gone", message="it does not answer"
    )
    troubles = reader(driver).read().troubles
    assert [trouble.sentence for trouble in troubles] == ["card place-6 is not listed: it does not answer"]


@pytest.mark.parametrize("call", ["devices", "health", "links", "figures", "slices"])
def test_a_call_that_hangs_is_named_and_what_came_before_is_kept(call: str) -> None:
    driver = two_cards()
    release = driver.hang(call)
    found = reader(driver).read(links=True)
    assert driver.inside.is_set(), "the answer is there while the call still hangs"
    release()
    assert found.stuck
    assert len(found.cards) == (0 if call == "devices" else 2)
    step = "listing the cards" if call == "devices" else call
    assert step in found.troubles[-1].call
    assert "has not returned within 1m" in found.troubles[-1].sentence


def test_a_limit_is_in_seconds_of_the_wall_clock() -> None:
    driver = two_cards()
    release = driver.hang("devices")
    found = Reader(lambda _: driver, limit=0.1).read()
    release()
    assert found.stuck
    assert "has not returned within 100ms" in found.troubles[-1].sentence


def test_what_there_was_no_time_to_ask_is_not_passed_over_in_silence() -> None:
    """Nothing hangs and the reading ends, but on a machine so slow that not all could be asked."""
    clock = ManualClock()

    class Slow(FakeDriver):
        def devices(self) -> Sequence[Device]:
            clock.seconds += LONG + 1
            return super().devices()

    slow = Reader(lambda _: Slow(metax_card(0), metax_card(1)), limit=LONG, clock=clock)
    found = slow.read()
    assert [card.figures for card in found.cards] == [None, None]
    assert found.stuck
    assert [(trouble.call, trouble.sentence) for trouble in found.troubles] == [
        ("fake: health", "fake: health was not reached within 1m; what it would say is missing")
    ]


def test_a_driver_that_tells_its_call_has_it_named() -> None:
    class Telling(FakeDriver):
        calling = "mxSmlGetDeviceInfo"

    driver = Telling(metax_card(0))
    release = driver.hang("figures")
    found = reader(driver).read()
    release()
    assert found.troubles[-1].call == "mxSmlGetDeviceInfo"


def test_while_a_reading_hangs_the_next_one_says_so_and_afterwards_all_is_well() -> None:
    driver = two_cards()
    release = driver.hang("health")
    patient = reader(driver)
    assert patient.read().stuck
    assert patient.read().stuck
    patient.close()
    assert not driver.closed, "a driver that hangs must not be closed under its own feet"
    release()
    driver.hanging.clear()
    found: list[Snapshot] = []

    def settled() -> bool:
        found.append(patient.read())
        return not found[-1].stuck

    assert eventually(settled)
    assert found[-1].troubles == ()
    assert all(card.figures is not None for card in found[-1].cards)
    patient.close()
    assert driver.closed


def test_opening_that_hangs_is_named_too() -> None:
    driver = two_cards()
    release = driver.hang("devices")

    def opening(on_try: object) -> FakeDriver:
        assert callable(on_try)
        on_try("mtml")
        driver.devices()
        return driver

    found = Reader(opening, limit=LONG, wait=up_while(driver.inside.is_set)).read()
    release()
    assert found.troubles[0].call == "opening mtml"


def test_a_reading_that_came_nowhere_has_a_name_all_the_same() -> None:
    driver = two_cards()
    release = driver.hang("devices")

    def opening(_: object) -> FakeDriver:
        driver.devices()
        return driver

    found = Reader(opening, limit=LONG, wait=up_while(driver.inside.is_set)).read()
    release()
    assert found.troubles[0].call == "opening the driver"


def test_an_absent_driver_is_an_error_and_not_a_trouble() -> None:
    driver = FakeDriver()
    driver.errors["devices"] = DriverError(Kind.NO_DRIVER, "no card here")
    with pytest.raises(DriverError, match="no card here"):
        reader(driver).read()


def test_a_library_that_gave_up_by_itself_is_a_trouble_with_its_call() -> None:
    driver = FakeDriver(metax_card(0))
    driver.errors["devices"] = DriverError(Kind.STUCK, "hangs", call="mxSmlInit")
    found = reader(driver).read()
    assert found.stuck
    assert found.troubles[0].call == "mxSmlInit"


def test_a_driver_that_cannot_be_closed_is_let_go() -> None:
    class Clinging(FakeDriver):
        def close(self) -> None:
            raise DriverError(Kind.STUCK, "dlclose hangs")

    patient = reader(Clinging(metax_card(0)))
    assert patient.read().troubles == ()
    patient.close()

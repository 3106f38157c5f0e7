"""Real health: what takes a card out of sale, what is only worth a word, and what says nothing."""

import pytest

from builders.mtml_twin import Clock, MakeDriver, Show, eight_s4000, eight_s5000, uuid_of
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.inventory import cards_of
from tangram.drivers.mtml.library import RESTART_PAUSE
from tangram.units.ids import CardUuid
from tangram.units.na import NA

CARD = CardUuid(uuid_of(3))


def test_a_machine_where_nothing_is_wrong_says_so_without_a_word(show: Show, make_driver: MakeDriver) -> None:
    health = make_driver(show(eight_s5000()).library).health()
    assert list(health) == [uuid_of(at) for at in range(8)]
    assert {(each.healthy, each.code, each.message) for each in health.values()} == {(True, "", "")}


@pytest.mark.parametrize(
    ("trouble", "code", "words"),
    [
        pytest.param({"uncorrected": 2}, "ecc-uncorrected", "2 memory errors", id="lost data"),
        pytest.param({"pending": 1}, "retired-pages-pending", "reset the card", id="pages to retire"),
    ],
)
def test_broken_memory_takes_one_card_out_of_sale(
    show: Show, make_driver: MakeDriver, trouble: dict[str, int], code: str, words: str
) -> None:
    driver = make_driver(show(eight_s5000().changing(3, **trouble)).library)
    health = driver.health()
    assert [uuid for uuid, each in health.items() if not each.healthy] == [CARD]
    assert health[CARD].code == code
    assert words in health[CARD].message
    cards = cards_of(driver.devices(), health)
    assert [card.index for card in cards if not card.healthy] == [3]
    assert words in cards[3].health_reason


def test_corrected_errors_are_no_illness(show: Show, make_driver: MakeDriver) -> None:
    assert make_driver(show(eight_s5000().changing(3, corrected=99)).library).health()[CARD].healthy


@pytest.mark.parametrize(
    ("states", "code", "words"),
    [
        pytest.param(["state 3 5 2"], "mtlink-degraded", "port 5", id="slower"),
        pytest.param(["state 3 5 0", "state 3 6 0", "state 3 7 2"], "mtlink-down", "ports 5, 6", id="down"),
    ],
)
def test_a_bad_link_is_a_warning_on_a_healthy_card(
    show: Show, make_driver: MakeDriver, states: list[str], code: str, words: str
) -> None:
    health = make_driver(show(eight_s5000().having(*states)).library).health()[CARD]
    assert (health.healthy, health.code) == (True, code)
    assert words in health.message


ILLNESS = {
    1: "driver-not-loaded",
    2: "driver-failure",
    11: "driver-timeout",
    999: "driver-failure",
    669: "gpu-lost",
}


@pytest.mark.parametrize("returned", [*range(1, 13), 999, 669])
@pytest.mark.parametrize("call", ["mtmlDeviceGetPowerUsage", "mtmlMemoryGetUsed", "mtmlMemoryGetEccMode"])
def test_what_each_code_on_a_cards_call_says_of_the_card(
    show: Show, make_driver: MakeDriver, call: str, returned: int
) -> None:
    driver = make_driver(show(eight_s5000().having(f"fault {call} {returned} 3")).library)
    health = driver.health()
    healthy = returned not in ILLNESS
    expected = ILLNESS.get(returned, "not-permitted" if returned == 5 else "")
    assert (health[CARD].healthy, health[CARD].code) == (healthy, expected)
    assert healthy or call in health[CARD].message
    assert sum(each.healthy for each in health.values()) == 7 + healthy


def test_a_card_that_drops_out_keeps_its_name_and_its_place(show: Show, make_driver: MakeDriver) -> None:
    twin = show(eight_s4000())
    driver = make_driver(twin.library)
    before = driver.devices()
    twin.show(eight_s4000().having("fault * 2 3"))
    assert driver.devices() == before, "ill is not gone: the list stays, the health says it"
    health = driver.health()
    assert [uuid for uuid, each in health.items() if not each.healthy] == [CARD]
    assert health[CARD].code == "driver-failure"
    assert "mtmlLibraryInitDeviceByIndex (card 3) returned 2" in health[CARD].message


def test_a_card_that_vanished_is_reported_and_no_longer_listed(
    show: Show, make_driver: MakeDriver, clock: Clock
) -> None:
    twin = show(eight_s4000())
    driver = make_driver(twin.library)
    driver.health()
    twin.show(eight_s4000().without(3))
    assert [device.uuid for device in driver.devices()] == [uuid_of(at) for at in range(8) if at != 3]
    health = driver.health()
    assert (len(health), health[CARD].code) == (8, "card-gone")
    with pytest.raises(DriverError) as caught:
        driver.figures(CARD)
    assert caught.value.kind is Kind.CARD_GONE
    twin.show(eight_s4000())
    clock.advance(RESTART_PAUSE)
    assert driver.health()[CARD].healthy, "a card that comes back is given back"
    assert driver.figures(CARD).temperature_celsius is not NA


def test_a_driver_that_was_unloaded_makes_every_known_card_ill(show: Show, make_driver: MakeDriver) -> None:
    twin = show(eight_s4000())
    driver = make_driver(twin.library)
    driver.devices()
    twin.show(eight_s4000().having("fault mtmlLibraryCountDevice 1"))
    health = driver.health()
    assert {each.code for each in health.values()} == {"no-driver"}
    assert len(health) == 8


def test_a_driver_that_never_was_there_is_an_error_and_not_an_empty_node(
    show: Show, make_driver: MakeDriver
) -> None:
    driver = make_driver(show(eight_s4000().having("fault mtmlLibraryInit 1")).library)
    for ask in (driver.health, driver.devices):
        with pytest.raises(DriverError) as caught:
            ask()
        assert caught.value.kind is Kind.NO_DRIVER
        assert caught.value.vendor_code == 1
        assert caught.value.vendor_text == "driver not loaded"

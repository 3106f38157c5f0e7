"""What the doctor makes of what a driver says."""

from collections.abc import Callable

import pytest

from builders.fake_driver import metax_card, mthreads_card
from tangram.drivers.doctor.cards import judge_cards
from tangram.drivers.doctor.findings import Outcome
from tangram.drivers.doctor.versions import read_version
from tangram.drivers.errors import Kind
from tangram.drivers.snapshot import CardReading, Snapshot, Trouble
from tangram.drivers.unusable import limited
from tangram.model.devices import Device, Health
from tangram.units.memory import from_gib


def verdicts(
    *devices: Device, health: Health | None = None, troubles: tuple[Trouble, ...] = ()
) -> dict[str, str]:
    snapshot = Snapshot(
        driver="fake",
        cards=tuple(CardReading(device=device, health=health) for device in devices),
        troubles=troubles,
    )
    return {f"{finding.check} {finding.outcome}": finding.why for finding in judge_cards(snapshot)}


@pytest.mark.parametrize(
    ("device", "version", "outcome"),
    [
        pytest.param(metax_card, "2.32.0", Outcome.OK, id="metax-just-enough"),
        pytest.param(metax_card, "2.31.9", Outcome.FAIL, id="metax-too-old"),
        pytest.param(metax_card, "10.0.1", Outcome.OK, id="metax-two-digits"),
        pytest.param(mthreads_card, "1.2.0", Outcome.OK, id="mthreads-just-enough"),
        pytest.param(mthreads_card, "3.3.5-server", Outcome.OK, id="mthreads-with-a-suffix"),
        pytest.param(mthreads_card, "1.1.9", Outcome.FAIL, id="mthreads-too-old"),
        pytest.param(mthreads_card, "unreadable", Outcome.FAIL, id="no-version"),
    ],
)
def test_a_driver_must_be_new_enough_to_slice(
    device: Callable[..., Device], version: str, outcome: Outcome
) -> None:
    card = device(0, driver_version=version)
    assert f"{card.vendor}-driver-version {outcome}" in verdicts(card)


def test_an_unknown_version_is_to_be_looked_at() -> None:
    assert "metax-driver-version warn" in verdicts(metax_card(0))


def test_an_unhealthy_card_fails_with_its_reason() -> None:
    found = verdicts(metax_card(3), health=Health(healthy=False, code="ecc", message="too many errors"))
    assert "too many errors" in found["cards-health fail"]
    assert "card 3" in found["cards-health fail"]


def test_healthy_cards_are_counted() -> None:
    assert (
        "all 2 cards"
        in verdicts(metax_card(0), metax_card(1), health=Health(healthy=True))["cards-health ok"]
    )


LIMITED = limited("MetaX Sysfs File Unaccessible")


def test_cards_that_cannot_be_used_are_not_said_to_answer() -> None:
    found = verdicts(*(metax_card(at) for at in range(8)), health=LIMITED)
    assert found["cards fail"] == "8 x MXC500 are on the bus, and fake cannot use them"
    assert "cards ok" not in found
    assert "MetaX Sysfs File Unaccessible" in found["cards-health fail"]


def test_one_card_that_cannot_be_used_is_counted_apart() -> None:
    cards = (
        CardReading(device=metax_card(0), health=Health(healthy=True)),
        CardReading(device=metax_card(1), health=LIMITED),
        CardReading(device=mthreads_card(2)),
    )
    found = list(judge_cards(Snapshot(driver="fake", cards=cards)))
    assert [(each.outcome, each.why) for each in found if each.check == "cards"] == [
        (Outcome.OK, "1 x MXC500, 1 x MTT S4000 answer through fake"),
        (Outcome.FAIL, "1 x MXC500 is on the bus, and fake cannot use it"),
    ]
    assert all(each.todo for each in found if each.outcome is Outcome.FAIL)


def test_an_ill_card_that_can_be_asked_answers() -> None:
    found = verdicts(metax_card(0), health=Health(healthy=False, code="ecc-uncorrected", message="3 errors"))
    assert found["cards ok"] == "1 x MXC500 answer through fake"


def test_an_s4000_with_a_third_of_its_memory_missing_points_to_the_iommu() -> None:
    found = verdicts(mthreads_card(5, memory=from_gib(32)))
    assert "S4000 5 shows 32768 MiB" in found["mthreads-iommu fail"]
    assert not any(key.startswith("mthreads-iommu") for key in verdicts(mthreads_card(5)))


def test_a_call_that_hangs_fails_once_and_by_name() -> None:
    stuck = Trouble(kind=Kind.STUCK, call="mxSmlGetMemoryInfo", sentence="has not returned")
    found = verdicts(metax_card(0), troubles=(stuck, stuck, stuck))
    assert found["cards-answer fail"].startswith("stuck: mxSmlGetMemoryInfo")


def test_rights_that_are_missing_are_named() -> None:
    refused = Trouble(kind=Kind.NOT_PERMITTED, call="mxSmlInit", sentence="code 8")
    assert "cards-answer warn" in verdicts(metax_card(0), troubles=(refused,))


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param("3.3.5-server", (3, 3, 5), id="suffix"),
        pytest.param("KMD 2.32", (2, 32, 0), id="two-parts"),
        pytest.param("v1", None, id="none"),
        pytest.param("", None, id="empty"),
    ],
)
def test_versions_are_read_as_numbers(text: str, version: tuple[int, int, int] | None) -> None:
    assert read_version(text) == version

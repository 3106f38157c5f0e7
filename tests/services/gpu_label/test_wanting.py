"""Nodes as they really come: with nothing, with nonsense, cordoned."""

import pytest

from builders.fake_driver import metax_card, mthreads_card
from tangram.model.cards import Vendor
from tangram.services.gpu_label.looking import Sight
from tangram.services.gpu_label.wanting import is_ours, wish_for
from tangram.wire.metax_labels import Choices

SIGHT = Sight(devices=(metax_card(0),))


@pytest.mark.parametrize(
    "node", [{}, {"metadata": None}, {"metadata": {"labels": None}}, {"metadata": {"labels": 3}, "spec": "x"}]
)
def test_a_node_that_says_nothing_of_use_gets_its_labels(node: dict[str, object]) -> None:
    assert wish_for(node, SIGHT).changes["metax-tech.com/gpu.installed"] == "true"


@pytest.mark.parametrize("word", [False, None, "true", 1])
def test_only_a_plain_true_cordons(word: object) -> None:
    assert not wish_for({"spec": {"unschedulable": word}}, SIGHT).cordoned


def test_short_product_names_are_a_choice() -> None:
    key = "metax-tech.com/gpu.product"
    assert wish_for({}, SIGHT).labels[key] == "MXC500"
    assert wish_for({}, SIGHT, Choices(short_products=True)).labels[key] == "C500"


def test_a_cordon_takes_every_label_of_ours_and_no_other() -> None:
    labels = {
        "metax-tech.com/gpu.installed": "true",
        "metax-tech.com/runtime.ready": "true",
        "mthreads.com/gpu3.memory": "1",
        "tangram.dev/mthreads.count": "4",
        "tangram.dev/mthreads.installed": "true",
        "example.com/x": "y",
    }
    node = {"metadata": {"labels": labels}, "spec": {"unschedulable": True}}
    assert wish_for(node, SIGHT).changes == {key: None for key in sorted(labels) if is_ours(key)}
    assert len(wish_for(node, SIGHT).changes) == 3


def test_labels_of_a_vendor_that_is_off_stay_if_its_own_labeller_may_have_written_them() -> None:
    both = Sight(devices=(metax_card(0), mthreads_card(0)))
    present = {"metadata": {"labels": {**wish_for({}, both).labels}}}
    without_mthreads = wish_for(present, both, Choices(vendors=frozenset({Vendor.METAX})))
    ours = [key for key in wish_for({}, both).labels if key.startswith("tangram.dev/mthreads.")]
    assert without_mthreads.changes == dict.fromkeys(sorted(ours))
    without_metax = wish_for(present, both, Choices(vendors=frozenset({Vendor.MTHREADS})))
    assert without_metax.changes == {}
    assert sorted(without_metax.labels) == sorted(ours)


DRIVERS = {"metax-tech.com/driver.ready": "false", "metax-tech.com/gpu.driver.mode": "cloud"}
ELSEWHERE = Choices(driver_elsewhere=True)


@pytest.mark.parametrize("sight", [SIGHT, Sight(), Sight(on_bus=frozenset({Vendor.METAX}))])
@pytest.mark.parametrize("present", [DRIVERS, {}])
@pytest.mark.parametrize("cordoned", [True, False])
def test_what_driver_manager_says_of_the_driver_is_left_alone(
    sight: Sight, present: dict[str, str], *, cordoned: bool
) -> None:
    old = "metax-tech.com/gpu.family"
    node = {"metadata": {"labels": {**present, old: "MXN"}}, "spec": {"unschedulable": cordoned}}
    wish = wish_for(node, sight, ELSEWHERE)
    assert not DRIVERS.keys() & (wish.changes.keys() | wish.labels.keys())
    assert old in wish.changes
    rest = {key: value for key, value in wish_for(node, sight).labels.items() if key not in DRIVERS}
    assert wish.labels == rest

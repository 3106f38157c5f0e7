"""Which nodes are marked as ours, and how often at most."""

from __future__ import annotations

import pytest

from tangram.services.operator.copies import SeenNode, seen_node
from tangram.services.operator.marking import AGAIN_S, Pace, changes
from tangram.vendors.metax.maca_images import read_maca_image
from tangram.wire.metax_cards import LABEL_PRODUCT
from tangram.wire.metax_labels import INSTALLED
from tangram.wire.operator.names import DRIVER_STATE, MACA_PRODUCT, MANAGED, REMOVE
from tangram.wire.operator.node_states import DriverState, Phase, state_text

WORKING = {DRIVER_STATE: state_text(DriverState(phase=Phase.WORKING))}


def seen(labels: dict[str, str], annotations: dict[str, str] | None = None) -> SeenNode:
    return seen_node({"metadata": {"name": "n1", "labels": labels, "annotations": annotations or {}}})


@pytest.mark.parametrize(
    ("node", "becomes"),
    [
        pytest.param(seen({INSTALLED: "true"}), ["true"], id="cards are found"),
        pytest.param(seen({INSTALLED: "true", MANAGED: "true"}), [], id="known"),
        pytest.param(seen({MANAGED: "true"}), [], id="cordoned: nothing is said"),
        pytest.param(seen({}), [], id="not looked at"),
        pytest.param(seen({INSTALLED: "false", MANAGED: "true"}), [None], id="no cards"),
        pytest.param(seen({INSTALLED: "false", MANAGED: "true"}, WORKING), [], id="no cards, at work"),
        pytest.param(seen({}, WORKING), ["true"], id="somebody took it off in the middle of a change"),
        pytest.param(seen({}, {**WORKING, REMOVE: "true"}), [], id="the same, while everything goes"),
    ],
)
def test_a_node_is_marked_by_what_is_said_of_it(node: SeenNode, becomes: list[str | None]) -> None:
    assert [patch["metadata"]["labels"][MANAGED] for _, patch in changes([node])] == becomes


C500 = {INSTALLED: "true", MANAGED: "true", LABEL_PRODUCT: "MXC500"}
BOTH = ("maca-c500:1", "maca-n100:1")


@pytest.mark.parametrize(
    ("labels", "images", "becomes"),
    [
        pytest.param(C500, BOTH, "c500", id="cards-are-known"),
        pytest.param(C500 | {LABEL_PRODUCT: "C550"}, BOTH, "c500", id="another-model-of-the-generation"),
        pytest.param(C500 | {LABEL_PRODUCT: "MXN100"}, ("maca-c500:1",), "n100", id="no-image-for-them"),
        pytest.param(C500 | {MACA_PRODUCT: "c500"}, BOTH, ..., id="known-before"),
        pytest.param(C500 | {MACA_PRODUCT: "c500", LABEL_PRODUCT: "MXN100"}, BOTH, "n100", id="other-cards"),
        pytest.param({MANAGED: "true", MACA_PRODUCT: "c500"}, BOTH, ..., id="cordoned"),
        pytest.param({INSTALLED: "true", MANAGED: "true"}, BOTH, ..., id="no-driver-runs-yet"),
        pytest.param(C500, ("maca-native:1",), ..., id="one-image-for-all"),
        pytest.param(C500 | {MACA_PRODUCT: "c500"}, (), None, id="no-mxmaca-any-more"),
        pytest.param(
            {MANAGED: "true", INSTALLED: "false", MACA_PRODUCT: "c500"}, BOTH, None, id="the-cards-are-gone"
        ),
    ],
)
def test_a_node_is_marked_with_the_product_whose_images_it_gets(
    labels: dict[str, str], images: tuple[str, ...], becomes: str | None
) -> None:
    """`...` stands for no change; a mark outlives the label of gpu-label that it was made from."""
    read = [image for image in map(read_maca_image, images) if image is not None]
    found = [patch["metadata"]["labels"].get(MACA_PRODUCT, ...) for _, patch in changes([seen(labels)], read)]
    assert (found or [...]) == [becomes]


def test_while_a_node_is_cleaned_its_product_stays_for_those_who_clean() -> None:
    labels = C500 | {MACA_PRODUCT: "c500"}
    assert list(changes([seen(labels, {REMOVE: "true"})])) == []


def test_whoever_keeps_taking_the_label_off_is_answered_now_and_then() -> None:
    now = 100.0
    pace = Pace(lambda: now)
    wanted = list(changes([seen({INSTALLED: "true"})]))
    assert list(pace.due(wanted)) == wanted
    pace.done("n1")
    assert list(pace.due(wanted)) == []
    now += AGAIN_S
    assert list(pace.due(wanted)) == wanted

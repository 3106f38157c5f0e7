"""Which nodes are marked as ours, and how often at most."""

from __future__ import annotations

import pytest

from tangram.services.operator.copies import SeenNode, seen_node
from tangram.services.operator.marking import AGAIN_S, Pace, changes
from tangram.wire.metax_labels import INSTALLED
from tangram.wire.operator.names import DRIVER_STATE, MANAGED, REMOVE
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


def test_whoever_keeps_taking_the_label_off_is_answered_now_and_then() -> None:
    now = 100.0
    pace = Pace(lambda: now)
    wanted = list(changes([seen({INSTALLED: "true"})]))
    assert list(pace.due(wanted)) == wanted
    pace.done("n1")
    assert list(pace.due(wanted)) == []
    now += AGAIN_S
    assert list(pace.due(wanted)) == wanted

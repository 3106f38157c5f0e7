"""The events of filter and bind are those that a real HAMi wrote for the same pods on the same cluster.

What answers is the scheduler's own filter and what writes is its own `Telling`; only the recorder keeps the events
instead of sending them.
"""

from typing import Any, cast

import pytest

from builders.captured import NODES, PODS, put_cluster_before
from builders.scheduling import World, node, pod
from tangram.kube.recorder import Event, Recorder
from tangram.model.pods import PodRef
from tangram.services.scheduler.binding import BindOutcome, BindResult
from tangram.services.scheduler.telling import Telling
from tangram.units.ids import Namespace, NodeName, PodName, PodUid

Object = dict[str, Any]
SUCCEED, FAILED = "FilteringSucceed", "FilteringFailed"
DRAWN_BY_LOT = "s1"
"""HAMi chose at random between two nodes of one score."""
PLACED = [name for name, said in PODS.items() if said["node"] is not None]
UNPLACED = [name for name in PODS if name not in PLACED]


class Kept:
    """The events, in the order in which they were recorded."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def record(self, event: Event) -> None:
        self.events.append(event)

    def texts(self, reason: str) -> list[str]:
        return [event.message for event in self.events if event.reason == reason]


def captured_pod(name: str) -> Object:
    said = PODS[name]
    made = pod(name, annotations=said["asked"], scheduler="hami-scheduler")
    made["spec"]["containers"] = [
        {"name": f"c{at}", "resources": {"limits": limits}} for at, limits in enumerate(said["limits"])
    ]
    return made


def filtered(world: World, name: str) -> tuple[Object, Kept]:
    answer, verdict = world.filter_with_verdict(name, nodes=list(NODES) if not world.nodes else None)
    assert verdict is not None
    kept = Kept()
    Telling(cast("Recorder", kept)).filtered(verdict)
    return answer, kept


def captured(name: str) -> tuple[Object, Kept]:
    world = World()
    put_cluster_before(name, world.state.ledger)
    world.create(captured_pod(name))
    return filtered(world, name)


def of_hami(name: str, reason: str) -> list[str]:
    return [text for _, each, text, _ in PODS[name]["events"] if each == reason]


@pytest.mark.parametrize("name", [name for name in PLACED if name != DRAWN_BY_LOT])
def test_a_pod_that_fits_gets_hamis_event_with_the_same_nodes_and_scores(name: str) -> None:
    answer, kept = captured(name)
    assert answer["NodeNames"] == [PODS[name]["node"]]
    assert kept.texts(SUCCEED) == of_hami(name, SUCCEED)


def test_where_hami_drew_lots_the_smaller_name_is_chosen_and_named_last() -> None:
    _, kept = captured(DRAWN_BY_LOT)
    assert of_hami(DRAWN_BY_LOT, SUCCEED) == [
        "find fit node(sgpu-b), 3 nodes not fit, 2 nodes fit(sgpu-a:0.00,sgpu-b:0.00)"
    ]
    assert kept.texts(SUCCEED) == [
        "find fit node(sgpu-a), 3 nodes not fit, 2 nodes fit(sgpu-b:0.00,sgpu-a:0.00)"
    ]


@pytest.mark.parametrize("name", UNPLACED)
def test_a_pod_that_fits_nowhere_gets_hamis_events_and_one_for_the_nodes_that_hami_leaves_out(
    name: str,
) -> None:
    _, kept = captured(name)
    assert set(of_hami(name, FAILED)) <= set(kept.texts(FAILED))
    (ours,) = set(kept.texts(FAILED)) - set(of_hami(name, FAILED))
    assert "nodes NodeInsufficientDevice(" in ours


@pytest.mark.parametrize("name", UNPLACED)
def test_the_reasons_given_to_kube_scheduler_have_hamis_words(name: str) -> None:
    """Without HAMi's counts of cards: a reason that changes from call to call is tried again and again."""
    answer, _ = captured(name)
    (condition,) = PODS[name]["condition"]
    reasons = {**answer["FailedNodes"], **answer["FailedAndUnresolvableNodes"]}
    assert reasons.keys() == NODES.keys()
    words = {text.partition(" (")[0] for text in reasons.values()}
    assert all(word in condition for word in words)


@pytest.mark.parametrize("name", PLACED)
def test_a_pod_that_is_bound_gets_hamis_event(name: str) -> None:
    kept = Kept()
    ref = PodRef(Namespace("default"), PodName(name), PodUid("u"))
    result = BindResult(BindOutcome.BOUND, ref, NodeName(PODS[name]["node"]))
    Telling(cast("Recorder", kept)).bound(result, alone=True)
    assert kept.texts("BindingSucceed") == of_hami(name, "BindingSucceed")


def test_of_many_nodes_the_ten_best_are_named_and_all_are_counted() -> None:
    world = World(*(node(f"a-rather-long-name-of-a-node-{number:04}") for number in range(400)))
    world.create(pod("p"))
    _, kept = filtered(world, "p")
    (text,) = kept.texts(SUCCEED)
    assert text.startswith(
        "find fit node(a-rather-long-name-of-a-node-0000), 0 nodes not fit, 400 nodes fit("
    )
    assert text.count(":") == 10
    assert text.endswith(",a-rather-long-name-of-a-node-0000:0.00 and 390 more)")

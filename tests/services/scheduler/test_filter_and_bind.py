"""Filter promises, bind commits, and whatever happens in between no card is sold twice and none is lost."""

from __future__ import annotations

import msgspec
import pytest

from builders.scheduling import World, metax_cards, node, pod, silence
from tangram.kube.errors import ApiError
from tangram.model.cards import CardMode
from tangram.services.scheduler.binding import BindOutcome
from tangram.services.scheduler.filtering import PROMISES_IN_THE_WAY
from tangram.services.scheduler.outcomes import Answered
from tangram.services.scheduler.reservations import Times
from tangram.units.ids import PodUid
from tangram.wire.extender import read_filter

ALL_OF_A_CARD = {"metax-tech.com/sgpu": 1}


async def test_a_pod_is_sent_to_one_node_and_bound_with_its_cards_in_one_call() -> None:
    world = World(node("a"), node("b"))
    world.create(pod("p"))
    answer = world.filter("p")
    assert len(answer["NodeNames"]) == 1
    assert not answer["Error"]
    result = await world.bind("p", answer["NodeNames"][0])
    assert result.outcome is BindOutcome.BOUND
    assert [(method, path) for method, path, _ in world.calls] == [
        ("POST", "/api/v1/namespaces/default/pods/p/binding")
    ]
    annotations = world.pods["default", "p"]["metadata"]["annotations"]
    assert annotations["hami.io/vgpu-node"] == answer["NodeNames"][0]
    assert "metax-tech.com/gpu-devices-allocated" in annotations


async def test_a_pod_that_asks_for_no_card_passes_with_every_node_and_holds_nothing() -> None:
    world = World(node("a"), node("b"))
    world.create(pod("p", {"cpu": "1"}))
    assert world.filter("p")["NodeNames"] == ["a", "b"]
    assert len(world.state.reservations) == 0


async def test_a_refused_pod_is_told_so_for_every_node_and_never_passes() -> None:
    world = World(node("a"))
    world.create(pod("p", {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 200}))
    answer = world.filter("p")
    assert answer["NodeNames"] == []
    assert "200" in answer["FailedAndUnresolvableNodes"]["a"]


async def test_every_filter_call_replaces_the_promise_of_the_last() -> None:
    world = World(node("a", metax_cards("a", 1)), node("b", metax_cards("b", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    first = world.filter("p")["NodeNames"]
    second = world.filter("p")["NodeNames"]
    assert first != second, "the node it came back from is tried last"
    assert len(world.state.reservations) == 1
    world.create(pod("q", ALL_OF_A_CARD))
    assert world.filter("q")["NodeNames"] == first


async def test_a_node_it_came_back_from_is_taken_again_when_there_is_no_other() -> None:
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    assert world.filter("p")["NodeNames"] == ["a"]
    assert world.filter("p")["NodeNames"] == ["a"]


async def test_a_pod_that_only_promises_keep_out_is_tried_again_soon_and_gets_in_when_they_end() -> None:
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    world.create(pod("q", ALL_OF_A_CARD))
    assert world.filter("p")["NodeNames"] == ["a"]
    answer, verdict = world.filter_with_verdict("q")
    assert answer["Error"] == PROMISES_IN_THE_WAY
    assert verdict is not None
    assert verdict.answered is Answered.PROMISED
    world.now += Times().promise + 1
    world.state.reservations.expire()
    assert world.filter("q")["NodeNames"] == ["a"]


async def test_a_pod_that_bound_pods_keep_out_is_parked_with_the_same_words_every_time() -> None:
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    assert await world.schedule("p") == "a"
    world.create(pod("q", ALL_OF_A_CARD))
    first, second = world.filter("q"), world.filter("q")
    assert first["Error"] == ""
    assert first["NodeNames"] == []
    assert first["FailedNodes"]
    assert first == second


async def test_a_bind_without_a_promise_looks_again_and_commits() -> None:
    world = World(node("a"), node("b"))
    world.create(pod("p"))
    result = await world.bind("p", "b")
    assert result.outcome is BindOutcome.RECHECKED
    assert world.node_of("p") == "b"


async def test_a_bind_without_a_promise_is_refused_where_there_is_no_room() -> None:
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    world.create(pod("q", ALL_OF_A_CARD))
    assert await world.schedule("p") == "a"
    result = await world.bind("q", "a")
    assert result.outcome is BindOutcome.UNFIT
    assert world.node_of("q") == ""
    assert len(world.state.reservations) == 0


async def test_a_bind_to_another_node_than_promised_frees_the_promise() -> None:
    world = World(node("a", metax_cards("a", 1)), node("b", metax_cards("b", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    promised = world.filter("p")["NodeNames"][0]
    other = "b" if promised == "a" else "a"
    assert (await world.bind("p", other)).done
    world.create(pod("q", ALL_OF_A_CARD))
    assert await world.schedule("q") == promised


async def test_a_refused_bind_gives_the_cards_back_at_once() -> None:
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    world.filter("p")
    world.failures = [ApiError(403, "Forbidden", "no")]
    result = await world.bind("p", "a")
    assert result.outcome is BindOutcome.REFUSED
    assert result.sentence == "no"
    world.create(pod("q", ALL_OF_A_CARD))
    assert await world.schedule("q") == "a"


async def test_a_bind_whose_answer_was_lost_is_a_success_when_the_pod_says_so() -> None:
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    world.filter("p")
    world.lost, world.failures = True, [silence()]
    result = await world.bind("p", "a")
    assert result.outcome is BindOutcome.BOUND
    holding = world.state.ledger.holding(PodUid("uid-p"))
    assert holding is not None
    assert holding.bound


async def test_a_bind_nobody_answered_keeps_the_cards_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tangram.services.scheduler.binding.READ_BACK_PAUSE_S", 0)
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    world.filter("p")
    world.failures = [silence()] * 4
    result = await world.bind("p", "a")
    assert result.outcome is BindOutcome.UNKNOWN
    world.create(pod("q", ALL_OF_A_CARD))
    assert world.filter("q")["Error"] == PROMISES_IN_THE_WAY
    assert "whether the pod is bound to a" in world.filter("p")["Error"]


async def test_an_order_that_arrives_late_finds_its_cards_still_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tangram.services.scheduler.binding.READ_BACK_PAUSE_S", 0)
    world = World(node("a", metax_cards("a", 1)), node("b", metax_cards("b", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    (chosen,) = world.filter("p")["NodeNames"]
    world.failures = [silence()] * 4
    await world.bind("p", chosen)
    (order,) = [(path, body) for method, path, body in world.calls if method == "POST"]
    world.create(pod("q", ALL_OF_A_CARD))
    world.create(pod("r", ALL_OF_A_CARD))
    assert await world.schedule("q") not in ("", chosen)
    assert world.filter("p")["Error"], "not decided anew while the order may arrive"
    await world.api.create(*order)
    world.hear("default", "p")
    assert world.node_of("p") == chosen
    assert await world.schedule("r") == ""


async def test_an_order_that_never_arrived_is_forgotten_and_the_pod_placed_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tangram.services.scheduler.binding.READ_BACK_PAUSE_S", 0)
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    world.filter("p")
    world.failures = [silence()] * 4
    await world.bind("p", "a")
    world.now += Times().unknown + 1
    world.state.reservations.expire()
    assert await world.schedule("p") == "a"


async def test_on_a_conflict_the_pod_in_the_api_is_the_truth() -> None:
    world = World(node("a", metax_cards("a", 1)), node("b", metax_cards("b", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    chosen = world.filter("p")["NodeNames"][0]
    world.pods["default", "p"]["spec"]["nodeName"] = "elsewhere"
    result = await world.bind("p", chosen)
    assert result.outcome is BindOutcome.REFUSED
    assert "elsewhere" in result.sentence
    assert len(world.state.reservations) == 0


async def test_an_event_from_before_our_own_bind_does_not_free_the_cards() -> None:
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    old = world.state.read_pod(world.pods["default", "p"])
    chosen = world.filter("p")["NodeNames"][0]
    assert (await world.bind("p", chosen)).done
    from tangram.kube.informer import Change, Key  # noqa: PLC0415

    world.state.pod_changed(Change(Key("default", "p"), old, old))
    world.create(pod("q", ALL_OF_A_CARD))
    assert world.filter("q")["NodeNames"] == []


async def test_a_pod_that_ends_or_is_deleted_gives_its_cards_back() -> None:
    world = World(node("a", metax_cards("a", 1)))
    for number, leave in enumerate((lambda: world.end("p0"), lambda: world.delete("p1"))):
        world.create(pod(f"p{number}", ALL_OF_A_CARD))
        assert await world.schedule(f"p{number}") == "a"
        leave()
    world.create(pod("q", ALL_OF_A_CARD))
    assert await world.schedule("q") == "a"


async def test_a_recreated_pod_of_the_same_name_is_another_pod() -> None:
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p", ALL_OF_A_CARD, uid="one"))
    assert await world.schedule("p") == "a"
    world.create(pod("p", ALL_OF_A_CARD, uid="two"))
    assert await world.schedule("p") == "a"
    assert world.state.ledger.holding(PodUid("one")) is None


async def test_a_stale_allocation_on_an_unbound_pod_holds_nothing() -> None:
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p", ALL_OF_A_CARD))
    assert await world.schedule("p") == "a"
    copied = world.pods["default", "p"]["metadata"]["annotations"]
    world.delete("p")
    world.create(pod("copy", ALL_OF_A_CARD, annotations=copied))
    world.create(pod("q", ALL_OF_A_CARD))
    assert await world.schedule("q") == "a"


async def test_the_ledger_of_a_new_process_is_that_of_the_old_one() -> None:
    world = World(node("a"), node("b", metax_cards("b", 2, mode=CardMode.WHOLE)))
    for number in range(5):
        world.create(pod(f"p{number}"))
        await world.schedule(f"p{number}")
    world.create(pod("w", {"metax-tech.com/gpu": 1}))
    await world.schedule("w")
    again = World(*world.nodes.values())
    for manifest in world.pods.values():
        again.create(manifest)

    def held(of: World) -> dict[str, object]:
        return {each.tenant.pod.name: each.tenant.allocation for each in of.state.ledger.holdings()}

    assert held(again) == held(world)


async def test_an_agent_that_is_about_to_stop_gets_no_pods() -> None:
    stopping = {"tangram.dev/agent": "stopping"}
    world = World(node("a", None, **stopping), node("b"))
    world.create(pod("p"))
    assert world.filter("p")["NodeNames"] == ["b"]


async def test_nodes_that_do_not_exist_are_decided_on_what_was_sent_and_nothing_is_promised() -> None:
    world = World()
    world.create(pod("p"))
    body = {"Pod": world.pods["default", "p"], "Nodes": {"items": [node("template")]}, "NodeNames": None}
    answer, verdict = world.filtering.answer(read_filter(msgspec.json.encode(body)))
    assert [each["metadata"]["name"] for each in answer["Nodes"]["items"]] == ["template"]
    assert verdict is not None
    assert verdict.answered is Answered.SIMULATED
    assert len(world.state.reservations) == 0


async def test_what_was_bound_is_read_back_as_it_was_promised_so_that_nothing_is_weighed_again() -> None:
    world = World(node("a"))
    world.create(pod("p"))
    world.filter("p")
    promised = world.state.reservations.tenant(PodUid("uid-p"))
    await world.bind("p", "a")
    world.hear("default", "p")
    holding = world.state.ledger.holding(PodUid("uid-p"))
    assert holding is not None
    assert holding.tenant == promised


@pytest.mark.parametrize(
    ("announced", "renamed", "fits"),
    [
        pytest.param("metax-tech.com/gpu", {}, True, id="the usual name"),
        pytest.param(
            "example.com/card", {"example.com/card": "metax-tech.com/gpu"}, True, id="a name of its own"
        ),
        pytest.param(
            "metax-tech.com/gpu", {"example.com/card": "metax-tech.com/gpu"}, False, id="a former name"
        ),
    ],
)
async def test_nodes_of_a_template_are_read_under_the_names_that_the_cluster_gives_resources(
    announced: str, renamed: dict[str, str], *, fits: bool
) -> None:
    # An autoscaler sends a node it made of a template: resources under the cluster's names, and no annotation of ours.
    world = World()
    world.state.use_names(renamed, None)
    name = next(iter(renamed), "metax-tech.com/gpu")
    world.create(pod("p", {name: 1}))
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", announced: "8"}
    template = {
        "metadata": {"name": "template"},
        "spec": {},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
    body = {"Pod": world.pods["default", "p"], "Nodes": {"items": [template]}, "NodeNames": None}
    _, verdict = world.filtering.answer(read_filter(msgspec.json.encode(body)))
    assert verdict is not None
    assert (verdict.answered, verdict.node) == (Answered.SIMULATED, "template" if fits else None)

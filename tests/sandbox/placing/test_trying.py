"""One decision after the other: what must hold of all of them, and in which order extenders are asked."""

import asyncio
import random

from hypothesis import given
from hypothesis import strategies as st

from builders.placing import Recorded, node, picture, pod, trying
from tangram.sandbox.placing.extenders import ExtenderFailed, Filtered
from tangram.sandbox.placing.picture import Picture
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.rules import EXTENDER, FIT
from tangram.sandbox.placing.trying import Chosen, Unfit, Wrong

amounts = st.fixed_dictionaries(
    {}, optional={"cpu": st.integers(0, 9000).map("{}m".format), "memory": st.integers(0, 20).map("{}Gi".format),
                  "example.com/card": st.integers(0, 4).map(str)},
)  # fmt: skip
nodes = st.lists(
    st.fixed_dictionaries(
        {
            "cpu": st.integers(0, 12).map(str),
            "memory": st.integers(0, 24).map("{}Gi".format),
            "pods": st.integers(0, 6).map(str),
            "example.com/card": st.integers(0, 4).map(str),
        }
    ),
    max_size=5,
)


def has_room(seen: Picture, asks: Pod) -> set[str]:
    """Nodes with room by plain sums, worked out apart from the rules."""
    return {
        host.name
        for host in seen.nodes
        if len(host.pods) < host.facts.allocatable["pods"]
        and all(
            amount + sum(each.requests.get(name, 0) for each in host.pods.values())
            <= host.facts.allocatable.get(name, 0)
            for name, amount in asks.requests.items()
            if amount
        )
    }


@given(nodes, st.lists(amounts, max_size=12), st.randoms(use_true_random=False))
def test_a_pod_is_placed_exactly_when_some_node_has_room_and_never_where_none_is(
    has: list[dict[str, str]], asked: list[dict[str, str]], chance: random.Random
) -> None:
    seen = picture([node(f"n{number}", **each) for number, each in enumerate(has)])
    deciding = trying(seen)

    async def run() -> None:
        for number, requests in enumerate(asked):
            asks = pod(f"p{number}", requests)
            rooms = has_room(seen, asks)
            decided = await deciding.decide(asks)
            if isinstance(decided, Chosen):
                assert decided.node in rooms
                seen.assume(asks, decided.node)
            else:
                assert not rooms
            if number and chance.random() < 0.3:
                seen.drop_pod(f"uid-p{chance.randrange(number)}")

    asyncio.run(run())


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("abc"), st.sampled_from(["assume", "bind", "drop"]))
    )
)
def test_what_is_taken_on_a_node_is_always_the_sum_of_its_pods(steps: list[tuple[int, str, str]]) -> None:
    seen = picture([node(name) for name in "abc"])
    for number, name, step in steps:
        each = pod(f"p{number}", {"cpu": str(number), "memory": "1Gi"}, on=name)
        match step:
            case "assume":
                seen.assume(each, name)
            case "bind":
                seen.put_pod(each)
            case _:
                seen.drop_pod(each.uid)
        assert sum(each.uid in host.pods for host in seen.nodes) == (step != "drop")
        assert seen.assumed(each.uid) == (step == "assume")
        for host in seen.nodes:
            assert host.used.get("cpu", 0) == sum(one.requests["cpu"] for one in host.pods.values())
            assert host.weighed_memory == sum(one.weighed[1] for one in host.pods.values())


async def test_an_extender_is_asked_about_what_the_rules_leave_and_not_at_all_if_that_is_nothing() -> None:
    seen = picture([node("a"), node("b", cpu="0"), node("c")])
    extenders = Recorded()
    await trying(seen, extenders).decide(pod("p"))
    await trying(seen, extenders).decide(pod("large", {"cpu": "9"}))
    assert extenders.offered == [("a", "c")]


async def test_a_nominated_node_is_asked_about_first_and_alone_and_then_all_are() -> None:
    seen = picture([node("a"), node("b")])
    asks = pod("p", status={"nominatedNodeName": "b"})
    accepting, refusing, failing = (
        Recorded(),
        Recorded(Filtered((), {"b": "no"}, {}), Filtered(("a",), {"b": "no"}, {})),
        Recorded(ExtenderFailed("not now")),
    )
    assert await trying(seen, accepting).decide(asks) == Chosen("b")
    assert accepting.offered == [("b",)]
    assert await trying(seen, refusing).decide(asks) == Chosen("a")
    assert refusing.offered == [("b",), ("a", "b")]
    assert isinstance(await trying(seen, failing).decide(asks), Chosen)
    assert failing.offered == [("b",), ("a", "b")]


async def test_a_failure_is_something_else_than_a_refusal() -> None:
    seen = picture([node("a")])
    assert await trying(seen, Recorded(ExtenderFailed("not now"))).decide(pod("p")) == Wrong("not now")
    refused = await trying(seen, Recorded(Filtered((), {}, {"a": "never"}))).decide(pod("p"))
    assert isinstance(refused, Unfit)
    assert refused.rejected == {EXTENDER}
    assert refused.message == (
        "0/1 nodes are available: 1 never. no new claims to deallocate, preemption: 0/1 nodes are available: "
        "1 Preemption is not helpful for scheduling."
    )


async def test_whatever_was_in_the_way_is_remembered_for_what_could_help() -> None:
    seen = picture([node("a"), node("b", cpu="0")])
    refused = await trying(seen, Recorded(Filtered((), {"a": "no"}, {}))).decide(pod("p"))
    assert isinstance(refused, Unfit)
    assert refused.rejected == {EXTENDER, FIT}


async def test_the_same_seed_breaks_ties_the_same_way() -> None:
    def cluster() -> Picture:
        return picture([node(f"n{number}") for number in range(20)])

    first = [await trying(cluster()).decide(pod("p")) for _ in range(3)]
    assert len(set(first)) == 1
    deciding = trying(cluster())
    assert len({await deciding.decide(pod("p")) for _ in range(20)}) > 1, "not always the first"

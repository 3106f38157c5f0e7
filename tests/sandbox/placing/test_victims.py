"""Whose end makes room, where it hurts least, and when nobody may be evicted."""

from typing import Any

import pytest
from msgspec.structs import replace

from builders.placing import Recorded, node, picture, pod, trying
from tangram.sandbox.placing.budgets import Budget
from tangram.sandbox.placing.extenders import Filtered
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.trying import Unfit
from tangram.wire.label_selectors import read_selector


def urgent(cpu: str = "8", **more: Any) -> Pod:  # noqa: ANN401 - of `pod`
    return pod("urgent", {"cpu": cpu}, priority=100, **more)


def running(
    name: str, on: str, cpu: str, priority: int = 0, started: str = "2026-01-01T00:00:00Z", **more: object
) -> Pod:
    status = {"startTime": started}
    return pod(name, {"cpu": cpu}, on=on, priority=priority, status=status, **more)


def guard(app: str, allowed: int = 0) -> Budget:
    return Budget("default", read_selector({"matchLabels": {"app": app}}), allowed, frozenset())


async def decided(asks: Pod, *pods: Pod, nodes: int = 3, budgets: tuple[Budget, ...] = ()) -> Unfit:
    seen = picture([node(f"n{number}") for number in range(nodes)], pods)
    found = await trying(seen, budgets=budgets).decide(asks)
    assert isinstance(found, Unfit)
    return found


async def victims(
    asks: Pod, *pods: Pod, nodes: int = 3, budgets: tuple[Budget, ...] = ()
) -> tuple[str, set[str]]:
    """The node that is chosen and the names of those who have to go there."""
    found = await decided(asks, *pods, nodes=nodes, budgets=budgets)
    if found.sacrifice is None:
        return "", set()
    assert found.nomination == found.sacrifice.node
    assert "preemption" not in found.message
    return found.sacrifice.node, {each.key.name for each in found.sacrifice.victims.pods}


async def test_as_many_as_possible_are_spared_and_the_most_important_first() -> None:
    pods = [running("low", "n0", "3", 1), running("high", "n0", "3", 5), running("tiny", "n0", "1", 0)]
    assert await victims(urgent("4"), *pods, nodes=1) == ("n0", {"low"})


async def test_nobody_of_the_same_priority_goes() -> None:
    found = await decided(urgent(), running("equal", "n0", "8", 100), nodes=1)
    assert found.sacrifice is None
    assert found.nomination == ""
    assert found.message.endswith("1 No preemption victims found for incoming pod.")


@pytest.mark.parametrize(
    ("pods", "chosen"),
    [
        pytest.param(
            [running("a", "n0", "8", 7), running("b", "n1", "8", 5), running("c", "n2", "8", 6)],
            "n1",
            id="the least important",
        ),
        pytest.param(
            [
                *(running(f"a{number}", "n0", "4", 5) for number in range(2)),
                running("b", "n1", "8", 5),
                *(running(f"c{number}", "n2", "2", 5) for number in range(4)),
            ],
            "n1",
            id="the fewest",
        ),
        pytest.param(
            [
                running("a", "n0", "8", 5, "2026-01-01T00:00:00Z"),
                running("b", "n1", "8", 5, "2026-01-03T00:00:00Z"),
                running("c", "n2", "8", 5, "2026-01-02T00:00:00Z"),
            ],
            "n1",
            id="who began last",
        ),
    ],
)
async def test_the_node_with_the_least_harm_is_chosen(pods: list[Pod], chosen: str) -> None:
    node_name, _ = await victims(urgent(), *pods)
    assert node_name == chosen


async def test_a_budget_is_broken_only_where_nothing_else_helps() -> None:
    guarded = running("guarded", "n0", "8", 1, labels={"app": "guarded"})
    other = running("other", "n1", "8", 50, labels={"app": "other"})
    assert await victims(urgent(), guarded, other, nodes=2, budgets=(guard("guarded"),)) == ("n1", {"other"})
    assert await victims(urgent(), guarded, nodes=1, budgets=(guard("guarded"),)) == ("n0", {"guarded"})
    assert await victims(urgent(), guarded, other, nodes=2, budgets=(guard("guarded", 1),)) == (
        "n0",
        {"guarded"},
    )


async def test_those_under_a_budget_are_spared_before_the_others() -> None:
    pods = [running("guarded", "n0", "4", 1, labels={"app": "guarded"}), running("other", "n0", "4", 50)]
    assert await victims(urgent("4"), *pods, nodes=1, budgets=(guard("guarded"),)) == ("n0", {"other"})


async def test_a_pod_that_would_fit_nowhere_even_alone_evicts_nobody() -> None:
    found = await decided(urgent("9"), running("low", "n0", "8"), nodes=1)
    assert found.sacrifice is None
    assert found.message.endswith("1 Preemption is not helpful for scheduling.")


async def test_a_patient_pod_evicts_nobody() -> None:
    found = await decided(urgent(preemptionPolicy="Never"), running("low", "n0", "8"), nodes=1)
    assert (found.sacrifice, found.nomination) == (None, None)
    assert found.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


async def test_while_its_victims_end_a_pod_waits_for_them_and_evicts_no_others() -> None:
    told = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    ending = pod("ending", {"cpu": "8"}, on="n0", status={"conditions": [told]})
    found = await decided(
        urgent(status={"nominatedNodeName": "n0"}),
        replace(ending, deleting=True),
        running("b", "n1", "8"),
        nodes=2,
    )
    assert (found.sacrifice, found.nomination) == (None, None)
    assert found.message.endswith("preemption: not eligible due to a terminating pod on the nominated node.")


async def test_a_shortage_that_only_an_extender_sees_is_nothing_that_evictions_could_mend() -> None:
    seen = picture([node("n0")], [running("low", "n0", "1")])
    extenders = Recorded(Filtered((), {"n0": "no card"}, {}))
    found = await trying(seen, extenders).decide(urgent("1"))
    assert isinstance(found, Unfit)
    assert found.sacrifice is None
    assert found.message == (
        '0/1 nodes are available: 1 no card. preemption: expected at least one victim pod on node "n0"'
    )

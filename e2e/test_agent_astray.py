"""A slice on a node that has never offered any, as HAMi sends it where a list names whole cards.

The kubelet knows no such resource here, so it leaves it out and starts the pod. On a node that has offered slices
before it refuses the pod.
"""

import pytest

from e2e.agent_kit import AgentNode, slices
from e2e.agent_view_kit import (
    GPU,
    TWO_GROUPS,
    Setup,
    inside,
    metax,
    nodes_of,
    on,
    run_here,
    slice_of,
    whole_pod,
)
from e2e.agent_watch_kit import until_counts, until_event, until_pod_says
from testbed.manifests import pod

pytestmark = pytest.mark.xdist_group("agent and a slice astray")

WHOLE = Setup("whole", TWO_GROUPS, {GPU: 8})
PHASE = "hami.io/bind-phase"


@on(WHOLE)
async def test_a_slice_that_hami_sent_to_a_whole_card_is_told_and_the_card_goes_to_another_pod(
    node: AgentNode,
) -> None:
    await until_counts(node, GPU, 8, 8)
    written = slices([(metax(node)[7].uuid, 1024, 10)]) | {PHASE: "allocating"}
    await node.place(pod("astray", slice_of()), written)
    found = await inside(node, "astray")
    assert not found.nodes, "the kubelet starts it without a card"
    for about in ("astray", node.name):
        await until_event(node, about, "GpuNotGiven", "runs-without-cards")
    await until_pod_says(node, "astray", PHASE, "failed")
    await run_here(node, whole_pod("whole", 8))
    assert (await inside(node, "whole")).nodes == nodes_of(metax(node))

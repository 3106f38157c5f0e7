"""Cards that fail or are taken out of placement, through the agent on a real kubelet: who leaves, and who stays."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from e2e.agent_kit import TANGRAM, AgentNode, slices
from e2e.agent_view_kit import (
    GPU,
    SGPU,
    TWO_GROUPS,
    Setup,
    all_slices,
    empty,
    end_pods,
    inside,
    metax,
    nodes_of,
    on,
    place_known,
    predicted,
    run_here,
    running,
    slice_of,
    tell,
    whole_pod,
)
from e2e.agent_watch_kit import annotate, announced_health, until, until_annotation, until_counts, until_event
from e2e.restarts_kit import PATIENCE, restart_kubelet, same_container
from e2e.test_health import health
from testbed.api import path_of
from testbed.manifests import pod

pytestmark = pytest.mark.xdist_group("agent and health")

OFTEN = ("--healthy-interval", "0.5")
NATIVE = Setup("native", TWO_GROUPS, {GPU: 8}, extra=OFTEN)
FUNCTIONS = Setup(
    "functions",
    "tangram: cards/v1\ncards:\n- {product: N260, count: 2, virtual_functions: 4}\n",
    {GPU: 8},
    extra=OFTEN,
)
SLICED = Setup(
    "sliced",
    "tangram: cards/v1\ncards:\n- {product: C500, count: 3, sliced: true}\n",
    {SGPU: 48},
    "mode: sgpu\n",
    OFTEN,
)
UNWATCHED = Setup("unwatched", TWO_GROUPS, {GPU: 8}, extra=("--healthy-interval", "0"))

SCORES = "metax-tech.com/gpu.topology.scores"
CORDON = "hami.io/device-cordon"


@pytest_asyncio.fixture
async def node(standing: AgentNode) -> AsyncGenerator[AgentNode]:
    yield standing
    for card in metax(standing):
        tell(standing, f"recover GPU-{card.index}")
    await annotate(standing, {CORDON: None})
    await empty(standing)


async def until_listed(node: AgentNode, number: int, *, healthy: bool) -> None:
    """Until the node announces a card as one that may be given, or as one that may not."""
    uuid = metax(node)[number].uuid

    async def so() -> bool:
        return (await announced_health(node))[uuid] is healthy

    await until(so, f"card {number} is announced as {'healthy' if healthy else 'unhealthy'}")


# ---- cards that fail


@on(NATIVE)
async def test_a_card_that_fails_leaves_allocatable_alone_and_comes_back_when_it_is_well(
    node: AgentNode,
) -> None:
    uuid = metax(node)[1].uuid
    await until_counts(node, GPU, 8, 8)
    tell(node, "fail GPU-1")
    await until_counts(node, GPU, 8, 7)
    await until_listed(node, 1, healthy=False)
    assert (await until_event(node, node.name, "GpuUnhealthy", uuid))["type"] == "Warning"
    tell(node, "recover GPU-1")
    await until_counts(node, GPU, 8, 8)
    await until_listed(node, 1, healthy=True)
    assert (await until_event(node, node.name, "GpuRecovered", uuid))["type"] == "Normal"


@on(FUNCTIONS)
async def test_a_card_that_fails_takes_all_its_virtual_functions_along(node: AgentNode) -> None:
    await until_counts(node, GPU, 8, 8)
    tell(node, "fail GPU-1")
    await until_counts(node, GPU, 8, 4)
    tell(node, "recover GPU-1")
    await until_counts(node, GPU, 8, 8)


@on(SLICED)
async def test_a_card_that_fails_takes_its_sixteen_slots_along_and_only_its_own_pods_are_told(
    node: AgentNode,
) -> None:
    await until_counts(node, SGPU, 48, 48)
    cards = metax(node)
    for number, card in enumerate(cards[:2]):
        await node.place(pod(f"on-{number}", slice_of()), slices([(card.uuid, 1024, 10)]))
    before = [await running(node, f"on-{number}") for number in range(2)]
    tell(node, "fail GPU-1")
    await until_counts(node, SGPU, 48, 32)
    struck = await node.cluster.until_pod(
        "on-1", lambda seen: set(health(seen).values()) == {"Unhealthy"}, within=PATIENCE
    )
    assert same_container(struck, before[1])
    lucky = await running(node, "on-0")
    assert set(health(lucky).values()) == {"Healthy"}
    assert {part.card for part in all_slices(node)} == {card.uuid for card in cards[:2]}
    tell(node, "recover GPU-1")
    await until_counts(node, SGPU, 48, 48)
    await node.cluster.until_pod(
        "on-1", lambda seen: set(health(seen).values()) == {"Healthy"}, within=PATIENCE
    )


@on(SLICED)
async def test_a_free_card_that_fails_touches_no_slot_that_a_pod_holds(node: AgentNode) -> None:
    await until_counts(node, SGPU, 48, 48)
    card = metax(node)[0]
    for number in range(3):
        await node.place(pod(f"held-{number}", slice_of()), slices([(card.uuid, 1024, 10)]))
        await running(node, f"held-{number}")
    tell(node, "fail GPU-1")
    tell(node, "fail GPU-2")
    await until_counts(node, SGPU, 48, 16)
    for number in range(3):
        assert set(health(await running(node, f"held-{number}")).values()) == {"Healthy"}
    await node.place(pod("more", slice_of()), slices([(card.uuid, 1024, 10)]))
    await inside(node, "more")


@on(UNWATCHED)
async def test_with_health_checks_off_a_failing_card_changes_nothing(node: AgentNode) -> None:
    await until_counts(node, GPU, 8, 8)
    cards = metax(node)
    before = await until_annotation(node, SCORES, bool)
    tell(node, "fail GPU-1")
    await place_known(node, whole_pod("there", 1), predicted(node, [cards[1]]))
    assert (await inside(node, "there")).nodes == nodes_of([cards[1]])
    # The agent has looked at everything again when it announces that a card less is free.
    await until_annotation(node, SCORES, lambda value: value != before)
    assert (await announced_health(node))[cards[1].uuid]
    await until_counts(node, GPU, 8, 8)


# ---- cards that are cordoned


@on(NATIVE)
async def test_a_cordoned_card_takes_no_new_pod_and_its_pods_stay_over_a_restart_of_the_kubelet(
    node: AgentNode,
) -> None:
    await until_counts(node, GPU, 8, 8)
    cards = metax(node)
    await place_known(node, whole_pod("stays", 1), predicted(node, [cards[0]]))
    before = await running(node, "stays")
    done = await node.cluster.command([TANGRAM, "cordon", node.name, "GPU-0", cards[1].uuid])
    assert done.status == 0, done.errors
    # The free one is gone at once, the held one with its pod.
    await until_counts(node, GPU, 8, 7)
    for number in (0, 1):
        await until_listed(node, number, healthy=False)
    await restart_kubelet(node.cluster)
    await until_counts(node, GPU, 8, 7, fresh=True)
    await run_here(node, whole_pod("others", 6))
    assert (await inside(node, "others")).nodes == nodes_of(cards[2:])
    after = await running(node, "stays")
    assert same_container(after, before)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    await end_pods(node, "stays")
    await until_counts(node, GPU, 8, 6)
    done = await node.cluster.command([TANGRAM, "uncordon", node.name, "0", "1"])
    assert done.status == 0, done.errors
    await until_counts(node, GPU, 8, 8)
    await until_listed(node, 1, healthy=True)


@on(SLICED)
async def test_a_cordoned_card_keeps_the_slots_of_its_pods_and_gives_up_its_free_ones(
    node: AgentNode,
) -> None:
    await until_counts(node, SGPU, 48, 48)
    card = metax(node)[2]
    await node.place(pod("stays", slice_of()), slices([(card.uuid, 1024, 10)]))
    before = await running(node, "stays")
    await annotate(node, {CORDON: card.uuid})
    await until_counts(node, SGPU, 48, 33)
    await until_listed(node, 2, healthy=False)
    seen = await node.cluster.api.get(path_of("Pod", "stays"))
    assert same_container(seen, before)
    assert set(health(seen).values()) == {"Healthy"}
    await annotate(node, {CORDON: None})
    await until_counts(node, SGPU, 48, 48)

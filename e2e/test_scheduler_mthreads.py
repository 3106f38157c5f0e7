"""Moore Threads cards from `kubectl apply` to the container: shares, whole cards, and what the vendor's tools read."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode
from e2e.agent_view_kit import (
    CORE,
    MEMORY,
    MTHREADS_GPU,
    Inside,
    Setup,
    asking,
    inside,
    mthreads,
    on,
    running,
    share,
)
from e2e.agent_watch_kit import until_counts
from e2e.doors_kit import HOME, WHO, registered, until_let_in
from e2e.scheduler_kit import CARD_POLICY, GIVEN_ON, Placement, annotations_of, apply, placing, until_waiting
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.manifests import pod

pytestmark = [pytest.mark.xdist_group("scheduler with mthreads"), pytest.mark.usefixtures("placement")]

GIB = 1 << 30
MIXED = Setup(
    "mthreads",
    "tangram: cards/v1\ncards:\n- {product: S4000, count: 2}\n- {product: S4000, count: 1, sliced: false}\n",
    {MTHREADS_GPU: 1, CORE: 32, MEMORY: 192},
)
DOOR = 9543
GIVEN = "hami.io/mthreads-vgpu-devices-allocated"
INDEX = "mthreads.com/gpu-index"


@pytest_asyncio.fixture(scope="module")
async def placement(bed: Cluster) -> AsyncIterator[Placement]:
    door = ("--https-address", f"0.0.0.0:{DOOR}", "--service", f"{HOME}/{WHO}", "--webhooks", WHO)
    async with placing(bed, *door) as ready:
        yield ready


@pytest_asyncio.fixture
async def counted(node: AgentNode) -> AgentNode:
    """The node once it counts every part of its cards again."""
    await until_counts(node, CORE, 32, 32)
    await until_counts(node, MEMORY, 192, 192)
    await until_counts(node, MTHREADS_GPU, 1, 1)
    return node


def card_of(seen: Object) -> str:
    """The number of the card that the vendor's toolkit is told."""
    assert annotations_of(seen)["mthreads.com/predicate-node"] == annotations_of(seen)[GIVEN_ON]
    return annotations_of(seen)[INDEX]


@on(MIXED)
async def test_two_pods_share_a_card_and_each_finds_its_part_in_variables(counted: AgentNode) -> None:
    packed = {CARD_POLICY: "binpack"}
    await apply(
        counted.cluster,
        *(pod(f"half-{n}", asking(vgpu=1, core=8, memory=32), annotations=packed) for n in range(2)),
    )
    seen = [await running(counted, f"half-{n}") for n in range(2)]
    (card,) = {card_of(one) for one in seen}
    for n in range(2):
        assert await inside(counted, f"half-{n}") == share(card, 16 * GIB, 8, 32, 8)
    (device,) = [each for each in mthreads(counted) if str(each.index) == card]
    assert device.sliced
    assert {annotations_of(one)[GIVEN].split(",", 1)[1] for one in seen} == {"Mthreads,16384,8:;"}
    # Its compute is all given; the third half goes to the other card.
    await apply(counted.cluster, pod("third", asking(vgpu=1, core=8, memory=32), annotations=packed))
    assert card_of(await running(counted, "third")) != card


@on(MIXED)
async def test_all_containers_of_a_pod_share_one_card(counted: AgentNode) -> None:
    made = pod("parts", asking("big", vgpu=1, core=8, memory=32), asking("small", vgpu=1, core=1, memory=2))
    await apply(counted.cluster, made)
    card = card_of(await running(counted, "parts"))
    assert await inside(counted, "parts", "big") == share(card, 16 * GIB, 8, 32, 8)
    assert await inside(counted, "parts", "small") == share(card, GIB, 1, 2, 1)


@on(MIXED)
async def test_containers_that_fit_on_no_one_card_together_wait(counted: AgentNode) -> None:
    await apply(
        counted.cluster,
        pod("apart", asking("one", vgpu=1, core=10, memory=32), asking("two", vgpu=1, core=10, memory=32)),
    )
    await until_waiting(counted.cluster, "apart")


@on(MIXED)
async def test_two_containers_that_take_a_card_each_find_one_each(counted: AgentNode) -> None:
    whole = {"vgpu": 1, "core": 16, "memory": 96}
    await apply(counted.cluster, pod("apart", asking("one", **whole), asking("two", **whole)))
    first, second = card_of(await running(counted, "apart")).split(",")
    assert first != second
    assert await inside(counted, "apart", "one") == share(first, 48 * GIB, 16, 96, 16)
    assert await inside(counted, "apart", "two") == share(second, 48 * GIB, 16, 96, 16)


@on(MIXED)
async def test_a_whole_card_in_shares_and_one_of_the_vendors_own_pool(counted: AgentNode) -> None:
    await apply(
        counted.cluster, pod("full", asking(vgpu=1, core=16, memory=96)), pod("whole", asking(mtgpu=1))
    )
    card = card_of(await running(counted, "full"))
    assert await inside(counted, "full") == share(card, 48 * GIB, 16, 96, 16)
    (own,) = [each for each in mthreads(counted) if not each.sliced]
    assert await inside(counted, "whole") == Inside({"MTHREADS_VISIBLE_DEVICES": str(own.index)}, frozenset())


@on(MIXED)
async def test_a_pod_of_two_cards_has_both_in_full(counted: AgentNode) -> None:
    made = pod("both", asking(vgpu=2, core=32, memory=192), annotations={"mthreads.com/request-gpu-num": "2"})
    await apply(counted.cluster, made)
    assert sorted(card_of(await running(counted, "both")).split(",")) == ["0", "1"]
    assert await inside(counted, "both") == share("0,1", 48 * GIB, 16, 192, 32)
    await apply(counted.cluster, pod("more", asking(vgpu=1, core=1, memory=2)))
    await until_waiting(counted.cluster, "more")


@pytest.mark.parametrize(("count", "memory", "cores"), [(1, 96, 16), (2, 192, 32)], ids=["one", "two"])
@on(MIXED)
async def test_cards_asked_for_alone_are_completed_at_admission_and_given_whole(
    counted: AgentNode, count: int, memory: int, cores: int
) -> None:
    async with registered(counted.cluster, "default", [DOOR]):
        await until_let_in(counted.cluster, pod("probe"))
        # Nobody is named to place it: the webhook does that too.
        await apply(counted.cluster, pod("alone", asking(vgpu=count)), scheduler="default-scheduler")
    cards = card_of(await running(counted, "alone"))
    assert len(cards.split(",")) == count
    in_order = ",".join(sorted(cards.split(",")))
    assert await inside(counted, "alone") == share(in_order, 48 * GIB, 16, memory, cores)
    await apply(counted.cluster, pod("part", asking(vgpu=1, core=1, memory=2)))
    if count == 1:
        assert card_of(await running(counted, "part")) != cards
    else:
        await until_waiting(counted.cluster, "part")


@pytest.mark.parametrize("units", [3, 97], ids=["no-size", "more-than-a-card"])
@on(MIXED)
async def test_memory_that_no_slice_can_have_is_refused_with_the_sizes_there_are(
    counted: AgentNode, units: int
) -> None:
    await apply(counted.cluster, pod("odd", asking(vgpu=1, core=1, memory=units)))
    message = await until_waiting(counted.cluster, "odd")
    assert "mthreads.com/sgpu-memory" in message
    assert "96" in message

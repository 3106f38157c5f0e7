"""Lists of cards where a node only counts its whole cards: HAMi reads no list for them, and its plugin picks."""

import pytest

from builders.scheduling import Object, World, metax_cards, node, pod
from tangram.model.cards import CardMode

USE, AVOID = "metax-tech.com/use-gpuuuid", "metax-tech.com/nouse-gpuuuid"
WHOLE = {"metax-tech.com/gpu": 1}


def counting(name: str) -> Object:
    """A node whose plugin counts eight whole cards and names none."""
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", "metax-tech.com/gpu": "8"}
    return {
        "metadata": {"name": name, "annotations": {}, "labels": {}},
        "spec": {},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def naming(name: str) -> Object:
    """A node of our agent with two whole cards."""
    return node(name, metax_cards(name, 2, mode=CardMode.WHOLE))


@pytest.mark.parametrize(
    ("nodes", "notes", "chosen"),
    [
        pytest.param([counting("c")], {USE: "GPU-7"}, ["c"], id="no node names a card of the list"),
        pytest.param([counting("c"), naming("n")], {USE: "GPU-n-1"}, ["n"], id="one does, and it counts"),
        pytest.param([counting("c"), naming("n")], {USE: "GPU-7"}, ["c"], id="named cards keep the list"),
        pytest.param([naming("n")], {USE: "GPU-7"}, [], id="also where there are no others"),
        pytest.param([counting("c")], {USE: "c-metax-3"}, ["c"], id="the made-up id of a counted card"),
        pytest.param([counting("c"), counting("d")], {USE: "d-metax-3"}, ["d"], id="of this one alone"),
        pytest.param([counting("c")], {AVOID: "GPU-7"}, ["c"], id="a list of cards to avoid"),
    ],
)
async def test_a_list_is_kept_where_cards_are_named_and_counts_nowhere_if_it_can_be_kept_nowhere(
    nodes: list[Object], notes: dict[str, str], chosen: list[str]
) -> None:
    world = World(*nodes)
    world.create(pod("p", WHOLE, annotations=notes))
    assert world.filter("p")["NodeNames"] == chosen


async def test_a_listed_card_that_becomes_known_is_heeded_from_then_on() -> None:
    # The decision for the counting node is remembered, and depends on a node that was not there.
    world = World(counting("c"))
    for name in ("one", "two"):
        world.create(pod(name, WHOLE, annotations={USE: "GPU-n-1"}))
    assert world.filter("one")["NodeNames"] == ["c"]
    world.put_node(naming("n"))
    assert world.filter("two")["NodeNames"] == ["n"]


async def test_slices_keep_their_list_though_their_cards_are_only_counted() -> None:
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    amounts |= {"mthreads.com/sgpu-core": "32", "mthreads.com/sgpu-memory": "192"}
    manifest = counting("c") | {"status": {"capacity": amounts, "allocatable": amounts}}
    world = World(manifest)
    slice_ = {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-memory": 2, "mthreads.com/sgpu-core": 1}
    for name, listed, chosen in (("real", "MT-7", []), ("made-up", "c-mthreads-1", ["c"])):
        world.create(pod(name, slice_, annotations={"mthreads.ai/use-gpuuuid": listed}))
        assert world.filter(name)["NodeNames"] == chosen

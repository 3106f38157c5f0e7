"""Pods of a node that are read again bring nobody back who is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from builders.scheduling import Object, World, metax_cards, node, pod
from tangram.services.scheduler.rereading import read_pods_of
from tangram.units.ids import NodeName, PodUid

UID = PodUid("uid-p")


async def read_while(world: World, happens: str, *, listed_at: str, heard: str) -> None:
    """Read the pods of node a again; while the list is on its way something happens and is heard."""
    pages = world.api.pages

    async def slow(path: str, query: Mapping[str, str], size: int) -> AsyncIterator[Object]:
        async for page in pages(path, query, size):
            if happens == "deleted":
                world.delete("p")
            elif happens == "ended":
                world.end("p")
            elif happens == "made again":
                world.delete("p")
                world.create(pod("p", uid="uid-again"))
            world.state.heard = lambda: heard
            yield {**page, "metadata": {"resourceVersion": listed_at}}

    world.api.pages = slow  # pyright: ignore[reportAttributeAccessIssue] - the fake of the builders
    await read_pods_of(world.api, world.state, NodeName("a"))


@pytest.mark.parametrize("happens", ["deleted", "ended", "made again"])
async def test_a_pod_whose_end_overtook_the_list_stays_gone(happens: str) -> None:
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p"))
    assert await world.schedule("p") == "a"
    await read_while(world, happens, listed_at="10", heard="11")
    assert world.state.ledger.holding(UID) is None
    seen = world.state.known("default", "p")
    assert seen is None or seen.ref.uid != UID


@pytest.mark.parametrize("heard", [pytest.param("9", id="older"), pytest.param("", id="unknown")])
async def test_a_pod_that_only_the_list_knows_counts(heard: str) -> None:
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p"))
    world.filter("p")
    assert (await world.bind("p", "a")).done
    fresh = World(node("a", metax_cards("a", 1)))
    fresh.pods = world.pods
    await read_while(fresh, "nothing", listed_at="10", heard=heard)
    assert fresh.state.ledger.holding(UID) is not None


async def test_a_pod_that_is_there_is_read_again_from_a_list_that_was_overtaken() -> None:
    """As after its node's cards got other names: the list is asked for to read it against those."""
    world = World(node("a", metax_cards("a", 1)))
    world.create(pod("p"))
    assert await world.schedule("p") == "a"
    world.put_node(node("a", metax_cards("b", 1)))
    text = world.pods["default", "p"]["metadata"]["annotations"]
    for key, value in text.items():
        text[key] = value.replace("GPU-a-0", "GPU-b-0")
    await read_while(world, "nothing", listed_at="10", heard="11")
    holding = world.state.ledger.holding(UID)
    assert holding is not None
    assert holding.charges

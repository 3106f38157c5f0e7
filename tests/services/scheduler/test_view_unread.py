"""A dashboard hears of nodes that could not be read, and of their recovery."""

from __future__ import annotations

import asyncio

import msgspec

from builders.scheduling import World, node
from builders.virtual_time import virtually
from tangram.reports.view_shape import MOST_UNREAD, View
from tangram.services.scheduler.verdicts import Verdicts
from tangram.services.scheduler.viewing import LOOK_S, Viewing
from tangram.wire.inventory import INVENTORY

BROKEN = {INVENTORY: "{"}


def viewing_of(world: World) -> Viewing:
    return Viewing(world.state, Verdicts(), world.leadership, lambda: world.now, now=lambda: world.now)


async def told(viewing: Viewing, before: View | None = None) -> View:
    await asyncio.sleep(LOOK_S)
    epoch, since = ("", "") if before is None else (before.epoch, str(before.version))
    return msgspec.json.decode((await viewing.view(epoch, since)).body, type=View)


@virtually
async def test_what_could_not_be_read_is_told_once_and_again_when_it_changes() -> None:
    world = World(node("a"))
    viewing = viewing_of(world)
    first = await told(viewing)
    assert not first.unread
    world.put_node(node("bad", None, **BROKEN))
    second = await told(viewing, first)
    assert second.unread is not None
    assert list(second.unread) == ["bad"]
    assert INVENTORY in second.unread["bad"][0]
    third = await told(viewing, second)
    assert third.unread is None
    assert (await told(viewing)).unread == second.unread
    world.put_node(node("bad"))
    assert (await told(viewing, third)).unread == {}


@virtually
async def test_however_many_nodes_cannot_be_read_only_the_first_are_told_of() -> None:
    world = World(*(node(f"bad-{number}", None, **BROKEN) for number in range(2 * MOST_UNREAD)))
    assert len((await told(viewing_of(world))).unread or {}) == MOST_UNREAD

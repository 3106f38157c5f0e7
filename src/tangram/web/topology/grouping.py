"""Who sits with whom on a node: NUMA nodes, what shares a bridge or a switch in them, and the rows of the picture.

Everything is found from what is said of pairs, since nobody tells of switches by name. Groups are closed: if two cards
share a switch with a third, all three are drawn under it; the table of pairs keeps what was said word for word. Two
cards of different NUMA nodes are never drawn under one switch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from tangram.web.topology.scene import Joint, Scene

UNKNOWN_NUMA: Final = -1
LONGEST_SINGLE_ROW: Final = 4
"""From five cards on they face each other in two rows, with their links between them."""

_UNDER_SWITCH: Final = frozenset({"internal", "single-switch"})
_UNDER_SWITCHES: Final = _UNDER_SWITCH | {"multiple-switches"}
_UNDER_BRIDGE: Final = _UNDER_SWITCHES | {"host-bridge"}

SWITCH: Final = "switch"
SWITCHES: Final = "switches"
BRIDGE: Final = "bridge"


class Under(msgspec.Struct, frozen=True, kw_only=True):
    """Cards that meet at one place of the PCIe tree, by position."""

    kind: str
    cards: tuple[int, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[tuple[int, ...], ...]
    """One or two, of positions from left to right; none for a node without cards."""
    numa: dict[int, tuple[int, ...]]
    """Positions by NUMA node, in the order in which they are drawn."""
    levels: tuple[tuple[Under, ...], ...]
    """Places of the PCIe tree, those nearest to the cards first; a level that would say nothing new is left out."""


def plan_of(scene: Scene) -> Plan:
    """From what is known of pairs; for nothing known, NUMA nodes and numbers decide alone."""
    cards = range(len(scene.cards))
    numa_of = [max(UNKNOWN_NUMA, each.card.numa) for each in scene.cards]
    near = [joint for joint in scene.joints if numa_of[joint.a] == numa_of[joint.b]]

    def groups(words: frozenset[str]) -> list[int]:
        return components(len(cards), (joint for joint in near if joint.pcie in words))

    switch, switches, bridge = groups(_UNDER_SWITCH), groups(_UNDER_SWITCHES), groups(_UNDER_BRIDGE)
    linked = components(len(cards), scene.links)
    order = sorted(
        cards,
        key=lambda at: (
            numa_of[at] == UNKNOWN_NUMA,
            numa_of[at],
            bridge[at],
            switches[at],
            switch[at],
            linked[at],
            at,
        ),
    )
    numa: dict[int, tuple[int, ...]] = {}
    for at in order:
        numa[numa_of[at]] = (*numa.get(numa_of[at], ()), at)
    levels: list[tuple[Under, ...]] = []
    below: list[int] = list(cards)
    for kind, group in ((SWITCH, switch), (SWITCHES, switches), (BRIDGE, bridge)):
        joined = _joining(order, group, below)
        if joined:
            levels.append(tuple(Under(kind=kind, cards=each) for each in joined))
        below = group
    return Plan(rows=_rows(order, numa, (switch, linked)), numa=numa, levels=tuple(levels))


def _joining(order: Sequence[int], group: Sequence[int], below: Sequence[int]) -> list[tuple[int, ...]]:
    """Groups that join at least two of the level below."""
    members: dict[int, list[int]] = {}
    for at in order:
        members.setdefault(group[at], []).append(at)
    return [tuple(each) for each in members.values() if len({below[at] for at in each}) > 1]


def _rows(
    order: Sequence[int], numa: dict[int, tuple[int, ...]], kept: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], ...]:
    """Split between NUMA nodes; within the only one where it parts the fewest groups and leaves rows of like length."""
    many = len(order)
    if many <= LONGEST_SINGLE_ROW:
        return (tuple(order),) if order else ()
    cuts = _ends([len(cards) for cards in numa.values()]) or range((many + 2) // 4, (3 * many + 2) // 4 + 1)

    def cost(cut: int) -> tuple[int, int]:
        parted = 0 if len(numa) > 1 else sum(group[order[cut - 1]] == group[order[cut]] for group in kept)
        return abs(2 * cut - many) + parted * many, -cut

    best = min(cuts, key=cost)
    return tuple(order[:best]), tuple(order[best:])


def _ends(lengths: Sequence[int]) -> list[int]:
    ends: list[int] = []
    for length in lengths[:-1]:
        ends.append(length + (ends[-1] if ends else 0))
    return ends


def components(size: int, joints: Iterable[Joint]) -> list[int]:
    """For each position the smallest that is reached from it."""
    group = list(range(size))
    for joint in joints:
        one, other = sorted((group[joint.a], group[joint.b]))
        if one != other:
            group = [one if each == other else each for each in group]
    return group

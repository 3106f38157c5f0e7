"""The picture in words: what a person hears instead of seeing it, and the table of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import msgspec

from tangram.web.topology.grouping import UNKNOWN_NUMA, Plan, components
from tangram.web.topology.scene import Joint, Scene
from tangram.web.topology.speech import Speech

LINK_NAMES: Final = {"MX": "MetaXLink", "MT": "MTLink"}
PCIE_WORDS: Final = {
    "internal": "INT",
    "single-switch": "PIX",
    "multiple-switches": "PXB",
    "host-bridge": "PHB",
    "numa-node": "NODE",
    "system": "SYS",
}
"""As the vendors' tools print them."""
UNKNOWN: Final = "NA"
SELF: Final = "X"


class LinkKind(msgspec.Struct, frozen=True, kw_only=True):
    """Links of one kind and width, for the legend."""

    kind: str
    name: str
    lanes: int
    count: int


def link_words(kind: str, lanes: int) -> str:
    """`MTLink x2` for two lanes, the name alone for one."""
    name = LINK_NAMES.get(kind, kind)
    return name if lanes == 1 else f"{name} x{lanes}"


def kinds_of(scene: Scene) -> list[LinkKind]:
    """What the lines of the picture stand for."""
    counts: dict[tuple[str, int], int] = {}
    for joint in scene.links:
        counts[joint.kind, joint.lanes] = counts.get((joint.kind, joint.lanes), 0) + 1
    return [
        LinkKind(kind=kind, name=link_words(kind, lanes), lanes=lanes, count=count)
        for (kind, lanes), count in sorted(counts.items())
    ]


def matrix_of(scene: Scene) -> list[list[str]]:
    """What joins each card with each, as `mx-smi topo -m` prints it: the link if there is one, else the PCIe level."""
    size = len(scene.cards)
    cells = [[SELF if row == column else UNKNOWN for column in range(size)] for row in range(size)]
    for joint in scene.joints:
        cells[joint.a][joint.b] = cells[joint.b][joint.a] = _cell(joint)
    return cells


def description_of(scene: Scene, plan: Plan, speech: Speech) -> str:
    """Where cards sit and what joins them; who holds them is for the table."""
    sentences = [
        speech.say("node.in_numa", number=numa, cards=numbers(scene, cards))
        if numa != UNKNOWN_NUMA
        else speech.say("node.in_no_numa", cards=numbers(scene, cards))
        for numa, cards in plan.numa.items()
    ]
    if not scene.joints_known:
        return " ".join([*sentences, speech.say("node.joints_unknown")])
    for level in plan.levels:
        sentences += [
            speech.say(
                "node.shared_by", what=speech.say(f"node.{under.kind}"), cards=numbers(scene, under.cards)
            )
            + speech.say("node.stop")
            for under in level
        ]
    sentences += _linked(scene, speech) or [speech.say("node.no_links")]
    return " ".join(sentences)


def numbers(scene: Scene, cards: Sequence[int]) -> str:
    """Cards by position as people call them."""
    return ", ".join(str(scene.cards[at].index) for at in cards)


def _linked(scene: Scene, speech: Speech) -> list[str]:
    """One sentence for each set of linked cards: full meshes by their cards, others by their pairs."""
    group = components(len(scene.cards), scene.links)
    pairs = {(joint.a, joint.b) for joint in scene.links}
    sentences: list[str] = []
    for first in sorted(set(group)):
        members = [at for at, found in enumerate(group) if found == first]
        inside = [joint for joint in scene.links if joint.a in members]
        if not inside:
            continue
        by = ", ".join(dict.fromkeys(link_words(joint.kind, joint.lanes) for joint in inside))
        if all(pair in pairs for pair in combinations(members, 2)):
            sentences.append(speech.say("node.mesh", by=by, cards=numbers(scene, members)))
        else:
            named = ", ".join(f"{scene.cards[each.a].index}-{scene.cards[each.b].index}" for each in inside)
            sentences.append(speech.say("node.some_pairs", by=by, pairs=named))
    return sentences


def _cell(joint: Joint) -> str:
    if joint.kind:
        return joint.kind if joint.lanes == 1 else f"{joint.kind}x{joint.lanes}"
    return PCIE_WORDS.get(joint.pcie, UNKNOWN)

"""The sGPU plugin's inventory of its node: `node-gpu-devices`.

Fields are left out when zero, false or empty, so an absent number is zero and a card that does not call itself healthy
is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from tangram.wire import jsontext, loose
from tangram.wire.errors import Problem, WireError, shown

NODE_DEVICES: Final = "metax-tech.com/node-gpu-devices"

_INT32 = 2**31


class ListedCard(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One card as the sGPU plugin announces it on its node. Field order and omissions are the wire's."""

    uuid: str
    bdf: str = ""
    model: str = ""
    """`sgpu` or `native` from some releases, a product name from others."""
    total_dev_count: int = 0
    total_compute: int = 0
    total_vram_mib: int = msgspec.field(default=0, name="totalVRam")
    available_dev_count: int = 0
    available_compute: int = 0
    available_vram_mib: int = msgspec.field(default=0, name="availableVRam")
    numa: int
    """Always written, because 0 is a node like any other; -1 is unknown."""
    healthy: bool = False
    """A card that does not say is not trusted."""
    qos_policy: str = ""
    link_zone: int = 0
    """Cards of one zone above 0 are joined by MetaXLink."""


def encode_listing(cards: Sequence[ListedCard]) -> str:
    """The node's inventory as the sGPU plugin announces it. Raises `WireError` for text that is not UTF-8."""
    return jsontext.compact(cards, NODE_DEVICES)


def decode_listing(written: str) -> tuple[dict[int, ListedCard], tuple[Problem, ...]]:
    """The cards a node announces by position, and what was wrong with those that could not be read.

    The position is the number people know the card by, so an entry that is left out still takes up its own. Raises
    `WireError` when the text is no list at all.
    """
    rows = jsontext.parse(written, NODE_DEVICES)
    if not loose.is_list(rows):
        raise WireError("listing-malformed", f"{NODE_DEVICES} is {shown(rows)}: it is a list of cards")
    cards: dict[int, ListedCard] = {}
    problems: list[Problem] = []
    seen: set[str] = set()
    for position, row in enumerate(loose.elements(rows)):
        card = _read_listed(row)
        if card.uuid and card.uuid not in seen:
            seen.add(card.uuid)
            cards[position] = card
            continue
        fault = "repeats the uuid of an earlier card" if card.uuid else "has no uuid"
        problems.append(Problem("listing-entry", f"{NODE_DEVICES}[{position}] {fault} and is left out"))
    return cards, tuple(problems)


def _read_listed(row: object) -> ListedCard:
    entry = loose.members(row)

    def number(name: str) -> int:
        found = loose.integer(entry.get(name))
        return found if found is not None and -_INT32 < found < _INT32 else 0

    return ListedCard(
        uuid=loose.text(entry.get("uuid")).strip(),
        bdf=loose.text(entry.get("bdf")),
        model=loose.text(entry.get("model")),
        total_dev_count=number("totalDevCount"),
        total_compute=number("totalCompute"),
        total_vram_mib=number("totalVRam"),
        available_dev_count=number("availableDevCount"),
        available_compute=number("availableCompute"),
        available_vram_mib=number("availableVRam"),
        numa=number("numa"),
        healthy=loose.flag(entry.get("healthy")) is True,
        qos_policy=loose.text(entry.get("qosPolicy")),
        link_zone=number("linkZone"),
    )

"""Nodes that a vendor's closed plugin runs: what it announces, and nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from builders.scheduling import Object, metax_cards
from tangram.wire.metax_listing import NODE_DEVICES, encode_listing
from tangram.wire.metax_publishing import listing_of

HOST = {"cpu": "64", "memory": "512Gi", "pods": "110"}


def closed_node(name: str, cards: int = 2, **annotations: str) -> Object:
    """Cards cut into slices, listed in MetaX's own annotation."""
    listing = encode_listing(listing_of(metax_cards(name, cards), None, {}))
    return _node(name, {"metax-tech.com/sgpu": 16 * cards}, {NODE_DEVICES: listing, **annotations})


def counted_node(
    name: str,
    works: dict[str, int],
    of: dict[str, int] | None = None,
    *,
    annotations: Mapping[str, str] = MappingProxyType({}),
) -> Object:
    """Cards of which only amounts are known: of those that work, and of those that there are."""
    made = _node(name, works, dict(annotations))
    made["status"]["capacity"] = {**HOST, **_spelled(works if of is None else of)}
    return made


def _spelled(amounts: dict[str, int]) -> dict[str, str]:
    return {resource: str(amount) for resource, amount in amounts.items()}


def _node(name: str, amounts: dict[str, int], annotations: dict[str, str]) -> Object:
    return {
        "metadata": {"name": name, "annotations": annotations, "labels": {}},
        "spec": {},
        "status": {"allocatable": {**HOST, **_spelled(amounts)}},
    }

"""Which cards of a node are held by the pods bound there, for nodes that do not say it themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.model.allocations import Tenant
from tangram.model.cards import Vendor
from tangram.model.requests import AskKind
from tangram.units.ids import CardUuid
from tangram.wire.as_counted import whole_at_once
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant


class Holder(msgspec.Struct, frozen=True):
    """What one bound pod holds."""

    node: str
    cards: frozenset[CardUuid] = frozenset()
    unnamed: int = 0
    """Whole cards that it has without anybody having written down which."""
    whole: frozenset[CardUuid] = frozenset()
    """Those of `cards` that it has whole."""


class NodeUse(msgspec.Struct, frozen=True):
    cards: frozenset[CardUuid] = frozenset()
    unnamed: int = 0
    whole: frozenset[CardUuid] = frozenset()
    """Cards that are named as whole ones; each that the node does not offer whole stands for one that it does."""


NOTHING: Final = NodeUse()


def holder_of(manifest: Mapping[str, object]) -> Holder | None:
    """The pod as a holder of cards, or None when it holds none. Never raises."""
    pod = read_pod(manifest)
    held = read_tenant(pod, None)
    if held is None or pod.node_name is None:
        return None
    if isinstance(held, Tenant):
        shares = [share for each in held.allocation.containers for share in each.shares]
        whole = frozenset(share.card for share in shares if share.kind is AskKind.WHOLE)
        return Holder(pod.node_name, frozenset(share.card for share in shares), whole=whole)
    return Holder(pod.node_name, unnamed=whole_at_once(held.request, Vendor.METAX))


class Occupancy:
    """The sum of all holders, by node; kept as pods come, change and go."""

    def __init__(self) -> None:
        self._by_node: defaultdict[str, dict[object, Holder]] = defaultdict(dict)

    def change(self, key: object, old: Holder | None, new: Holder | None) -> None:
        """Take over one step of one pod."""
        if old is not None:
            self._by_node[old.node].pop(key, None)
            if not self._by_node[old.node]:
                del self._by_node[old.node]
        if new is not None:
            self._by_node[new.node][key] = new

    def of(self, node: str) -> NodeUse:
        holders = self._by_node.get(node)
        if not holders:
            return NOTHING
        cards = frozenset(card for holder in holders.values() for card in holder.cards)
        whole = frozenset(card for holder in holders.values() for card in holder.whole)
        return NodeUse(cards, sum(holder.unnamed for holder in holders.values()), whole)

"""What a pod asks of cards, after a vendor has read it and before anyone has placed it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tangram.model.cards import AppClass, Card, QosPolicy, Vendor
from tangram.model.counted import Amounts
from tangram.model.pods import Placing, PodRef, Role
from tangram.model.topology import TopologyScope
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes


class Vocabulary(StrEnum):
    """In whose words the pod asked; the answer is written in the same words."""

    METAX = "metax"
    MTHREADS = "mthreads"
    KOORDINATOR = "koordinator"
    PLAIN = "plain"
    """Tangram's own cluster files and replayed traces."""


class AskKind(StrEnum):
    WHOLE = "whole"
    """A card of a pool that is handed out whole (or as virtual functions)."""
    SLICE = "slice"
    """A part of a card of the sliced pool; the part may be all of it."""


class NodePolicy(StrEnum):
    BINPACK = "binpack"
    SPREAD = "spread"
    FRAG = "frag"
    """Leave the most room for the pods to come."""
    BESTFIT = "bestfit"
    """Plain packing by what is left; a yardstick for replays, not offered to pods."""


class CardOrder(StrEnum):
    """One key of the order in which a node's cards are tried."""

    BINPACK = "binpack"
    SPREAD = "spread"
    NUMA = "numa"
    TOPOLOGY = "topology-aware"
    MUTEX = "mutex"
    """Fewest tenants first, and only cards without any."""


class CardWeights(msgspec.Struct, frozen=True):
    """How much slots, compute and memory count in a card's score."""

    slot: int = 1
    core: int = 1
    memory: int = 1


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """Cards, or equal parts of cards, of one vendor for one container. All amounts are per card."""

    vendor: Vendor
    kind: AskKind
    count: int
    memory: Bytes | None = None
    """`None`: `memory_percent` of whichever card is chosen."""
    memory_percent: int = 100
    cores: int | None = None
    """`None`: all compute of the card. 0 reserves none."""
    undivided: bool = False
    """It takes all of its card, so no other container of the pod can have a slice of that card."""
    vocabulary: Vocabulary
    entire: bool = False
    """Of a whole-card ask: cards and nothing less, where a unit elsewhere is a virtual function or a turn."""

    def memory_on(self, card: Card) -> Bytes:
        if self.memory is not None:
            return self.memory
        return Bytes(card.memory * self.memory_percent // 100)

    def cores_on(self, card: Card) -> int:
        return card.cores if self.cores is None else self.cores


class ContainerAsk(msgspec.Struct, frozen=True):
    """A container's asks; empty for a container that wants no card but still has a place in the encodings."""

    name: str
    role: Role
    asks: tuple[Ask, ...] = ()


class CardFilter(msgspec.Struct, frozen=True):
    """Which cards the person allows. A `not` beats an `only`."""

    only_uuids: frozenset[CardUuid] = frozenset()
    not_uuids: frozenset[CardUuid] = frozenset()
    only_products: frozenset[str] = frozenset()
    not_products: frozenset[str] = frozenset()


class HostAsk(msgspec.Struct, frozen=True):
    cpu_milli: int = 0
    memory: Bytes = Bytes(0)
    counted: Amounts = ()
    """Koordinator's amounts; empty for a pod that does not ask in its words."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides where a pod goes. Two requests that differ only in `pod` place alike."""

    pod: PodRef
    containers: tuple[ContainerAsk, ...]
    node_policy: NodePolicy | None = None
    """`None`: the cluster's default."""
    card_order: tuple[CardOrder, ...] = ()
    """Empty: the cluster's default."""
    weights: CardWeights = CardWeights()
    qos: QosPolicy | None = None
    app_class: AppClass | None = None
    cards: CardFilter = CardFilter()
    zone_aware: bool | None = None
    """Weigh nodes by whole MetaXLink zones for exclusive slices; `None`: the cluster's default."""
    numa_first: bool = False
    one_card: Vendor | None = None
    """The maker whose slices in this pod share one card, as those of Moore Threads must. A container that takes all of
    a card shares it with none, so it has one of its own."""
    required_scope: TopologyScope | None = None
    host: HostAsk = HostAsk()
    placing: Placing = Placing()
    priority: int = 0

    @property
    def asks_for_cards(self) -> bool:
        return any(container.asks for container in self.containers)

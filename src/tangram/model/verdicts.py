"""What was decided and why, precise enough to show and to act on."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from tangram.model.allocations import Allocation
from tangram.model.pods import PodRef
from tangram.units.ids import CardUuid, NodeName


class CardRule(IntEnum):
    """Why a card cannot serve an ask: the first rule of this list that fails. `FITS` is none."""

    FITS = 0
    ABSENT = 1
    """Padding in the engine's tables: the node has no card at this position."""
    VENDOR = 2
    MODE = 3
    """Offered whole when a slice was asked, or the reverse."""
    HEALTH = 4
    CORDONED = 5
    APP_CLASS = 6
    QOS = 7
    UUID = 8
    PRODUCT = 9
    SLOTS = 10
    MUTEX = 11
    MEMORY_TIER = 12
    MEMORY = 13
    CORES = 14
    EXCLUSIVE = 15
    COMPUTE_TAKEN = 16
    OTHER_CARD = 17
    """Another container of the pod holds cards that this one may not be combined with."""


class NodeRule(IntEnum):
    """Why a node cannot serve a request, in the order tried."""

    FITS = 0
    UNSCHEDULABLE = 1
    SELECTOR = 2
    AFFINITY = 3
    TAINT = 4
    HOST_CPU = 5
    HOST_MEMORY = 6
    NO_SUCH_CARDS = 7
    """Fewer cards of the kind than asked, used or not."""
    CARDS = 8
    """Too few of the cards pass; each card says why."""
    SCOPE = 9
    """Enough cards pass, but not within the required link, switch or NUMA node."""
    HOST_PODS = 10
    """Tried with the host's processors and memory: its kubelet takes no more pods."""
    HOST_COUNTED = 11
    """Tried with these: its kubelet would refuse the pod for an amount that the node states."""
    CARD_PER_CONTAINER = 12
    """Enough cards pass, but the plugin of the node reads one list of cards for the whole pod, and containers of this
    pod need different cards."""


class CardVerdict(msgspec.Struct, frozen=True):
    card: CardUuid
    index: int
    rule: CardRule
    need: int = 0
    have: int = 0
    """In the unit of the rule: bytes for memory, compute units for cores, tenants for slots."""
    detail: str = ""
    sliceable: int = 0
    """Bytes that slices of the card can have in all, where the rule is memory. A card of 64 GiB may slice only 63: the
    sentence names the amount, because the model name suggests another."""


class NodeVerdict(msgspec.Struct, frozen=True, kw_only=True):
    node: NodeName
    rule: NodeRule
    container: str = ""
    """The container that failed."""
    need: int = 0
    have: int = 0
    detail: str = ""
    cards: tuple[CardVerdict, ...] = ()
    score: float = 0.0
    allocation: Allocation | None = None

    @property
    def fits(self) -> bool:
        return self.rule is NodeRule.FITS


class Suggestion(msgspec.Struct, frozen=True):
    """A change that was tried and makes the pod fit."""

    code: str
    sentence: str
    node: NodeName
    """Where it would then go."""
    pod: PodRef | None = None
    """Whose end is waited for, where it is that; not everybody may be told."""
    change: tuple[tuple[str, str], ...] = ()
    """What would be asked instead, by name, for programs that write it down."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    chosen: NodeName | None
    allocation: Allocation | None
    nodes: tuple[NodeVerdict, ...]
    suggestions: tuple[Suggestion, ...] = ()

"""What `tangram status` says, as data. `docs/status.md` promises this shape to programs.

Fields are added and never renamed or taken away within a version. Amounts of memory are bytes; compute is in the
vendor's own units, which is percent for MetaX and sixteenths for Moore Threads. Where cards of both are added up, the
unit is a card's worth.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.reports.shape import FROM_FILE, Remark

VERSION: Final = "status/v1"

READY: Final = "ready"
NOT_READY: Final = "not-ready"
CORDONED: Final = "cordoned"
UNHEALTHY: Final = "unhealthy"
FREE: Final = "free"
USED: Final = "used"

UNKNOWN_PHASE: Final = ""
TERMINATING: Final = "Terminating"


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A pod on a card."""

    pod: str
    memory: int
    cores: int
    whole: bool
    """It holds the card by itself, whatever it uses of it."""
    phase: str = UNKNOWN_PHASE
    """As Kubernetes says it, or `Terminating`; empty where a cluster file says nothing of it. A scheduler's view says
    `Terminating` or nothing."""
    guessed: bool = False
    """Nobody wrote down which cards it has."""
    slots: int = 1
    """Of the card's: how many virtual functions or shared places it has of it."""


class CardStatus(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    uuid: str
    vendor: str
    product: str
    mode: str
    state: str
    """`free`, `used`, `cordoned` or `unhealthy`; of several the last."""
    reason: str
    """Of an unhealthy card."""
    memory: int
    memory_used: int
    cores: int
    cores_used: int
    slots: int
    slots_used: int
    holders: list[Holder]
    other_holders: int = 0
    """Pods of namespaces that were not asked about."""
    numa: int = -1
    """-1 when nobody said."""
    qos: str = ""
    """The policy its slices run, or the one its node announces; empty where there is none."""
    app_class: str = ""
    """Of its slices: `online`, `offline`, `online, offline` for both; empty for unclassed ones and none at all."""
    cordoned: bool = False
    """Also of a card whose `state` says something worse."""


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    state: str
    """`ready`, `cordoned` or `not-ready`; of several the last."""
    cards: list[CardStatus]
    cards_free: int
    """Cards that nobody holds and nothing is wrong with."""
    memory: int
    memory_used: int
    compute: float
    compute_used: float


class PendingPod(msgspec.Struct, frozen=True, kw_only=True):
    pod: str
    verdict: str
    """`waits`, `refused`, or `fits` for one whose turn has not come."""
    sentence: str
    """Why, in the words of `tangram explain`."""


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    nodes: int
    nodes_with_cards: int
    cards: int
    cards_free: int
    """On nodes that take pods."""
    cards_unhealthy: int
    cards_cordoned: int
    pods: int
    """Pods that hold cards."""
    pending: int
    memory: int
    memory_used: int
    compute: float
    compute_used: float
    fragmented: float | None
    """The share of what is idle that is of no use to pods like those that run and wait here, each kind measured
    against cards that it could use if nothing ran on their node; null where no pod runs or waits."""
    idle: float = 0.0
    """Cards' worth that nobody holds, of cards that take pods."""
    fragmented_cards: float = 0.0
    """Of these, what such pods cannot be given."""
    idle_without_demand: float = 0.0
    """Of `idle`, what none of these pods could use even if nothing ran: not fragmented."""
    kinds: int = 0
    """How many kinds of pods run and wait here; 0 where `fragmented` is null for want of them."""


class StatusReport(msgspec.Struct, frozen=True, kw_only=True):
    tangram: str = VERSION
    source: str = FROM_FILE
    namespace: str | None = None
    """Where only its pods are named. All are counted."""
    totals: Totals
    nodes: list[NodeStatus]
    plain_nodes: list[str]
    """Nodes without cards."""
    pending: list[PendingPod]
    problems: list[Remark]

"""What the history tells pages. All times are Unix seconds."""

from __future__ import annotations

from typing import Final

import msgspec

UNHEALTHY: Final = "unhealthy"
HEALTHY: Final = "healthy"
CORDONED: Final = "cordoned"
UNCORDONED: Final = "uncordoned"
GIVEN: Final = "given"
FREED: Final = "freed"
NODE_ADDED: Final = "node-added"
NODE_REMOVED: Final = "node-removed"
NODE_STATE: Final = "node-state"

HOUR_S: Final = 3600
DAY_S: Final = 86_400
KEPT_S: Final = 31 * DAY_S


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a card or on a node."""

    at: float
    node: str
    kind: str
    """`unhealthy`, `healthy`, `cordoned`, `uncordoned`, `given`, `freed`, `node-added`, `node-removed` or
    `node-state`."""
    card: int | None = None
    pod: str = ""
    detail: str = ""


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One point of the cluster's course, a minute or more wide."""

    at: float
    cards: float
    used: float
    """In cards' worth."""
    idle: float
    fragmented: float
    waiting: int
    typical: bool = True
    """Somebody knew what a typical pod is; without it `fragmented` says nothing."""


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """What one namespace was charged for in one hour."""

    hour: int
    """Unix seconds of its beginning."""
    namespace: str
    card_hours: float
    memory_gib_hours: float
    compute_card_hours: float
    pods: int
    """Different pods that held something in it."""


class Hour(msgspec.Struct, frozen=True, kw_only=True):
    """One hour of the whole cluster."""

    hour: int
    heard_s: float
    """For how much of it anybody knew who held what. Of the rest nothing is charged to anybody."""
    card_hours: float
    """What all cards of the cluster could have been used for in that time."""


class Holds(msgspec.Struct, frozen=True, kw_only=True):
    """What one namespace holds now."""

    cards: float
    memory: int
    compute: float
    pods: int

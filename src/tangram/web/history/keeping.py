"""The past that pages show, kept in bounded memory and, where a file is named, over restarts.

Fed by the changes of the picture; asked by pages. All times are Unix seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tangram.web.picture import Change


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a card or on a node."""

    at: float
    node: str
    kind: str
    """`unhealthy`, `healthy`, `cordoned`, `uncordoned`, `given`, `freed`, `node-added`, `node-removed`, `node-state`."""
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


class History:
    """See the module. Made for the picture's listeners: `note` is one."""

    def note(self, change: Change) -> None:
        raise NotImplementedError

    def moments_of(self, node: str, most: int = 50) -> Sequence[Moment]:
        """Newest first."""
        raise NotImplementedError

    def course(self, since: float) -> Sequence[Point]:
        """Oldest first."""
        raise NotImplementedError

    def used(self, since: float) -> Sequence[Used]:
        """By hour and namespace."""
        raise NotImplementedError

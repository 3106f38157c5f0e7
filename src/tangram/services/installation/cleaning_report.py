"""What a clean-up did, what it left and why, and what it could not do."""

from __future__ import annotations

import msgspec

from tangram.services.installation.cleaning_marks import Marks

VERSION = "cleanup/v1"


class CleanedNode(msgspec.Struct, frozen=True, kw_only=True):
    """What was removed from a node, by name."""

    name: str
    labels: list[str]
    annotations: list[str]
    conditions: list[str]
    amounts: list[str]


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """Something that stays."""

    what: str
    why: str
    names: list[str] = []
    """Which ones, where there are several."""


class Cleanup(msgspec.Struct, kw_only=True):
    """`docs/uninstall.md` promises this shape to programs."""

    tangram: str = VERSION
    server: str
    chart: str
    namespace: str
    dry_run: bool
    looked_at: int = 0
    """Nodes that could be read."""
    nodes: list[CleanedNode] = []
    """Those from which something was removed."""
    objects: list[str] = []
    """Objects that were removed."""
    left: list[Left] = []
    problems: list[str] = []
    """What should have been removed, and why it was not."""


def cleaned(marks: Marks) -> CleanedNode:
    """What of a node is gone when these marks are."""
    return CleanedNode(
        name=marks.node,
        labels=list(marks.labels),
        annotations=list(marks.annotations),
        conditions=list(marks.conditions),
        amounts=list(marks.amounts),
    )

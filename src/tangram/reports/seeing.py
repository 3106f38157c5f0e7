"""Whose pods the asker may hear of.

Capacity is everybody's business and names are not: a tenant learns that a card is taken, never by whom of another
namespace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tangram.model.pods import PodRef

Sees = Callable[[str], bool]
"""Whether the asker may read the pods of a namespace."""

SOMEBODY: Final = "a pod of another namespace"


def everything(_namespace: str) -> bool:
    """For an asker who has read all of it already, as whoever gives a file has."""
    return True


def named(pod: PodRef, sees: Sees) -> str:
    """The pod's name, or that it is somebody's."""
    return str(pod) if sees(pod.namespace) else SOMEBODY

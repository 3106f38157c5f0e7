"""Words that the findings of both commands share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

MOST_NAMED: Final = 3
ASK_WITH_MORE: Final = "ask with more rights"


def some_of(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """A few of the names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def counted(count: int, thing: str, several: str = "") -> str:
    """A number with its noun: 1 node, 2 nodes; `several` where an s does not make it many."""
    return f"{count} {thing}" if count == 1 else f"{count} {several or thing + 's'}"


def by_value(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names gathered by what they have in common; the largest group first."""
    groups: dict[str, list[str]] = {}
    for value, name in pairs:
        groups.setdefault(value, []).append(name)
    return dict(sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])))


def cut(message: str, most: int = 300) -> str:
    """Somebody else's sentence, bounded and without its full stop."""
    text = " ".join(message.split()).rstrip(".")
    return text if len(text) <= most else f"{text[:most]}..."

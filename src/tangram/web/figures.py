"""The headline of the cluster as one viewer may know it, in numbers and as the texts that a page shows of them.

Sums of cards are the scheduler's own totals for whoever may list nodes; anybody else gets the sums of the nodes they
see. Pods are counted as far as they may be listed. The texts are the same in both languages, so a browser that shows
the page is told them as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from tangram.units.memory import GIB, Bytes, rough_memory_text
from tangram.web.picture import Picture, Sums, sums_of
from tangram.web.rendering import percent_text
from tangram.web.sight import Sight
from tangram.web.tiles import MOST_SIGHTS, Book, Tile, book_of

UNKNOWN: Final = "-"


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    sums: Sums
    pods: int
    """That hold cards."""
    waiting: int
    more_waiting: bool
    """There are others, of whom the scheduler does not tell one by one."""
    fragmented: float | None
    """Share of what is idle; None where nobody knows what the next pod is like."""

    def texts(self) -> dict[str, str]:
        """By the name of the figure, as `data-figure` in the page has it."""
        sums = self.sums
        return {
            "nodes": f"{sums.nodes:,}",
            "cards": f"{sums.cards:,}",
            "free": f"{sums.cards_free:,}",
            "memory": percent_text(_share(sums.memory_used, sums.memory)),
            "memory_of": f"{_short(sums.memory_used)} / {_short(sums.memory)}",
            "compute": percent_text(_share(sums.compute_used, sums.compute)),
            "compute_of": f"{_plain(sums.compute_used)} / {_plain(sums.compute)}",
            "pods": f"{self.pods:,}",
            "waiting": f"{self.waiting:,}{'+' if self.more_waiting else ''}",
            "unhealthy": f"{sums.cards_unhealthy:,}",
            "cordoned": f"{sums.cards_cordoned:,}",
            "fragmented": UNKNOWN if self.fragmented is None else percent_text(self.fragmented),
        }

    def shares(self) -> dict[str, float]:
        """Those that are drawn as bars, each of one."""
        sums = self.sums
        return {
            "memory": _share(sums.memory_used, sums.memory),
            "compute": _share(sums.compute_used, sums.compute),
        }


def figures(picture: Picture, sight: Sight, seen: Sequence[Tile]) -> Figures:
    """`seen` are the tiles that this sight shows."""
    book, room = book_of(picture), picture.room
    return Figures(
        sums=picture.sums if sight.nodes else _sums(book, picture, sight, seen),
        pods=sum(pods for namespace, pods in book.pods.items() if sight.of_namespace(namespace)),
        waiting=sum(sight.of_pod(pod.pod) for pod in picture.waiting.values()),
        more_waiting=sight.everything and picture.untold_waiting > 0,
        fragmented=room.fragmented / room.idle
        if sight.nodes and room is not None and room.shapes and room.idle > 0
        else None,
    )


_SUMS: Final[WeakKeyDictionary[Book, dict[Sight, tuple[int, Sums]]]] = WeakKeyDictionary()


def _sums(book: Book, picture: Picture, sight: Sight, seen: Sequence[Tile]) -> Sums:
    """Added up again only when one of these nodes is another."""
    kept = _SUMS.setdefault(book, {})
    at, sums = kept.get(sight, (-1, Sums()))
    if at != book.moved(sight):
        sums = sums_of({tile.name: picture.nodes[tile.name] for tile in seen})
        if len(kept) >= MOST_SIGHTS:
            kept.clear()
        kept[sight] = book.moved(sight), sums
    return sums


def _share(used: float, total: float) -> float:
    return min(1.0, max(0.0, used / total)) if total else 0.0


def _short(size: int) -> str:
    for unit, name in ((1024 * GIB, "TiB"), (GIB, "GiB")):
        if size >= 10 * unit:
            return f"{size / unit:,.0f} {name}"
    return rough_memory_text(Bytes(size)).removeprefix("about ")


def _plain(cards: float) -> str:
    return f"{cards:,.1f}".removesuffix(".0")

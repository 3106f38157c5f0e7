"""The headline of the cluster as one viewer may know it, in numbers and as the texts that a page shows of them.

Sums of cards are the scheduler's own totals for whoever may list nodes; anybody else gets the sums of the nodes they
see. Pods are counted as far as they may be listed. The texts are the same in both languages, so a browser that shows
the page is told them as they are.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.units.memory import GIB, Bytes, rough_memory_text
from tangram.web.picture import Picture, Sums
from tangram.web.rendering import NOTHING, percent_text
from tangram.web.sight import Sight
from tangram.web.tiles import book_of

UNKNOWN: Final = NOTHING


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    sums: Sums
    pods: int
    """That hold cards."""
    waiting: int
    fragmented: float | None
    told: bool = True
    """False before the scheduler has said anything: then nothing is known, and not even that there is nothing."""

    def texts(self) -> dict[str, str]:
        """By the name of the figure, as `data-figure` in the page has it."""
        texts = self._texts()
        return texts if self.told else dict.fromkeys(texts, UNKNOWN)

    def _texts(self) -> dict[str, str]:
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
            "waiting": f"{self.waiting:,}",
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


def figures(picture: Picture, sight: Sight) -> Figures:
    """Of what this sight shows."""
    book = book_of(picture)
    return Figures(
        sums=picture.sums if sight.nodes else book.sums(sight),
        pods=sum(pods for namespace, pods in book.pods.items() if sight.of_namespace(namespace)),
        waiting=picture.waiting_in(sight) + (picture.untold_waiting if sight.everything else 0),
        fragmented=fragmented(picture, sight),
        told=picture.version > 0,
    )


def fragmented(picture: Picture, sight: Sight) -> float | None:
    """Share of what is idle; None where no pod says what the next one is like."""
    room = picture.room
    if not sight.nodes or room is None or not room.shapes or room.idle <= 0:
        return None
    return room.fragmented / room.idle


def _share(used: float, total: float) -> float:
    return min(1.0, max(0.0, used / total)) if total else 0.0


def _short(size: int) -> str:
    for unit, name in ((1024 * GIB, "TiB"), (GIB, "GiB")):
        if size >= 10 * unit:
            return f"{size / unit:,.0f} {name}"
    return rough_memory_text(Bytes(size)).removeprefix("about ")


def _plain(cards: float) -> str:
    return f"{cards:,.1f}".removesuffix(".0")

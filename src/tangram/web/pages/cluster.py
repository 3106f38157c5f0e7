"""The cluster: nodes as tiles, cards as cells, and who waits for what.

Without scripts it is filtered and paged here. With them the browser takes all tiles once (`cluster_tiles`), shows those
that are on the screen, and is told what changes; the form, the address and the rules of the filter are the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

import msgspec

from tangram.reports.status_shape import CORDONED, FREE, UNHEALTHY, USED
from tangram.reports.view_shape import WaitingPod
from tangram.web.catalogue import catalogue
from tangram.web.cells import IN_A_ROW, drawing
from tangram.web.figures import figures, fragmented
from tangram.web.known import Known
from tangram.web.page import Asked, Shown
from tangram.web.picture import Picture
from tangram.web.rendering import percent_text
from tangram.web.sight import Sight
from tangram.web.tile_filter import STATES, Wrong, filtered, offered, read_filter
from tangram.web.tile_telling import told_since
from tangram.web.tiles import CARD_STATES, MODES, NODE_STATES, Cell, book_of

PATH: Final = "/"
PAGE_SIZE: Final = 60
MOST_ROWS: Final = 4
MOST_REASONS: Final = 4
MOST_NAMES: Final = 3
LEGEND: Final = tuple(
    (name, drawing((Cell(MODES.index(mode), CARD_STATES.index(state), memory, compute),), 1))
    for name, mode, state, memory, compute in (
        ("memory", "whole", USED, 60, 0),
        ("compute", "whole", USED, 75, 40),
        ("free", "whole", FREE, 0, 0),
        ("whole", "whole", USED, 100, 100),
        ("sliced", "sliced", USED, 45, 30),
        ("virtual", "virtual", USED, 50, 50),
        ("shared", "shared", USED, 30, 30),
        ("undecided", "undecided", FREE, 0, 0),
        ("cordoned", "whole", CORDONED, 0, 0),
        ("unhealthy", "whole", UNHEALTHY, 0, 0),
    )
)
_LARGE_UNTIL: Final = 48
_MIDDLE_UNTIL: Final = 600


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that wait for the same thing."""

    word: str
    """A key of the catalogues; empty where they have none for it."""
    sentence: str
    """The scheduler's own, where it says the same of all of them."""
    count: int
    pods: tuple[str, ...]
    """The first of them."""


async def page(asked: Asked, known: Known) -> Shown:
    """The headline, who waits, and one page of tiles."""
    picture, sight = known.picture, asked.viewer.sight
    book = book_of(picture)
    seen = book.seen(sight)
    chosen, wrong = read_filter(asked.query)
    found = filtered(seen, chosen, sight)
    number, strange = _page_number(asked.query.get("page", ""))
    pages = max(1, -(-len(found) // PAGE_SIZE))
    number = min(number, pages)
    headline = figures(picture, sight)
    why = reasons([pod for pod in picture.waiting.values() if sight.of_pod(pod.pod)])
    return Shown(
        template="cluster.html",
        values={
            "figures": headline.texts(),
            "shares": headline.shares(),
            "reasons": why[:MOST_REASONS],
            "more_reasons": max(0, len(why) - MOST_REASONS),
            "chosen": chosen,
            "wrong": [*wrong, *strange],
            "offered": offered(book, sight),
            "states": STATES,
            "tiles": found[(number - 1) * PAGE_SIZE : number * PAGE_SIZE],
            "found": len(found),
            "all": len(seen),
            "page": number,
            "pages": pages,
            "size": size_for(len(found)),
            "rows": rows_for(book.sizes if sight.nodes else {len(tile.cells) for tile in seen}),
            "node_states": NODE_STATES,
            "drawing": drawing,
            "legend": LEGEND,
            "untold": picture.untold_waiting if sight.everything else 0,
            "complete": picture.complete,
        },
    )


def moment(asked: Asked, known: Known) -> Hashable:
    """Who waits, and what is idle; everything else is told in small (`tiles`)."""
    picture, sight = known.picture, asked.viewer.sight
    share = fragmented(picture, sight)
    # Nothing fragmented is another text than nothing known: the first pod ever changes one into the other.
    idle = None if share is None else percent_text(share)
    untold = picture.untold_waiting if sight.everything else 0
    return picture.waiting_moved(sight), untold, idle, picture.complete


def tiles(sight: Sight, known: Known, since: int) -> bytes:
    """Tiles that changed after that version of the picture, with the headline after it, as one line of JSON.

    Nothing where none of theirs did.
    """
    picture = known.picture
    unchanged = picture.remembers(since) and not picture.changed_since(since)
    if unchanged or book_of(picture).moved(sight) <= since:
        return b""
    return told_since(picture, sight, since, **_headline(picture, sight))


def _headline(picture: Picture, sight: Sight) -> dict[str, object]:
    headline = figures(picture, sight)
    return {"figures": headline.texts(), "shares": headline.shares()}


def reasons(waiting: Sequence[WaitingPod]) -> list[Reason]:
    """Pods with the same reason together, the most frequent first."""
    same: dict[str, list[WaitingPod]] = {}
    for pod in waiting:
        same.setdefault(pod.word or pod.sentence, []).append(pod)
    return [
        Reason(
            word=_word(pods[0].word),
            sentence=pods[0].sentence if len({pod.sentence for pod in pods}) == 1 else "",
            count=len(pods),
            pods=tuple(pod.pod for pod in pods[:MOST_NAMES]),
        )
        for _, pods in sorted(same.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


def _word(word: str) -> str:
    key = f"pods.word.{word}"
    return key if key in catalogue().words else ""


def size_for(nodes: int) -> str:
    """How large tiles are, so that much of many is seen and little of few is not lost."""
    return "large" if nodes <= _LARGE_UNTIL else "middle" if nodes <= _MIDDLE_UNTIL else "small"


def rows_for(sizes: Iterable[int]) -> int:
    """Rows of cells in every tile, so that all are equally high, by how many cards nodes have."""
    most = max(sizes, default=1)
    return min(MOST_ROWS, max(1, -(-most // IN_A_ROW)))


def _page_number(text: str) -> tuple[int, Sequence[Wrong]]:
    if not text:
        return 1, ()
    if text.isascii() and text.isdigit() and len(text) < 7 and int(text) > 0:
        return int(text), ()
    return 1, (Wrong("page", text),)

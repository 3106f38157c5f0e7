"""Pods that wait for cards, and pods that have some, as far as their viewer may list them.

Of others there is nothing here, not even a number, except for who may list all pods anyway: they are also told how many
wait of whom the scheduler tells no more than that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Final, Generic, TypeVar

import msgspec

from tangram.reports.view_shape import WaitingPod
from tangram.web.catalogue import catalogue
from tangram.web.known import Known
from tangram.web.language import Language
from tangram.web.page import Asked, Shown
from tangram.web.picture import Picture
from tangram.web.placed import PlacedPod, placed_of
from tangram.web.rendering import ago_text
from tangram.web.sight import Sight
from tangram.web.topology.amounts import compute_text, memory_text
from tangram.web.topology.weighing import ranges

PATH: Final = "/pods"
PAGE_SIZE: Final = 50
MOST_KEPT: Final = 32
LONGEST: Final = 253
"""No name of Kubernetes is longer."""
_SIXTEENTHS: Final = 16
_PERCENT: Final = 100

_Row = TypeVar("_Row")


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the address asks for, and what of it was not understood."""

    namespace: str = ""
    q: str = ""
    page: int = 1
    waiting: int = 1
    """Likewise for those that wait."""
    wrong: tuple[tuple[str, str], ...] = ()
    """Name and value of fields that are no number or too long."""

    @property
    def filter(self) -> dict[str, str]:
        return {"namespace": self.namespace, "q": self.q}


class Sheet(msgspec.Struct, Generic[_Row], frozen=True, kw_only=True):
    """One page of rows."""

    rows: Sequence[_Row]
    found: int
    number: int
    pages: int


class WaitingRow(msgspec.Struct, frozen=True, kw_only=True):
    pod: WaitingPod
    place: int
    """In the order in which kube-scheduler takes them, among all that are told of."""

    @property
    def word(self) -> str:
        """The key of what is said for its reason; empty where nobody wrote one."""
        return _word(self.pod)

    @property
    def asks(self) -> str:
        """Memory and compute of each card; empty for whole cards."""
        return _asks(self.pod)


async def page(asked: Asked, known: Known) -> Shown:
    """The query has `namespace`, `q`, `page` and `waiting`, which is the page of those that wait."""
    picture, sight = known.picture, asked.viewer.sight
    wanted = read_wanted(asked)
    waiting = [row for row in waiting_rows(picture, sight) if _matches(wanted, row.pod.pod)]
    rows = placed_of(picture).rows(sight)
    placed = (
        [row for row in rows if _matches(wanted, row.pod, row.node)] if any(wanted.filter.values()) else rows
    )
    language, queue = asked.viewer.language, _sheet(waiting, wanted.waiting)
    return Shown(
        template="pods.html",
        values={
            "wanted": wanted,
            "namespaces": _namespaces(picture, sight),
            "waiting": queue,
            "ages": tuple(ago_text(language, asked.now, row.pod.since) for row in queue.rows),
            "placed": _sheet(placed, wanted.page),
            "kept": partial(_kept, language, sight),
            "untold": picture.untold_waiting if sight.everything else 0,
            "told": picture.version > 0,
            "memory_text": memory_text,
            "ranges": ranges,
        },
    )


def moment(asked: Asked, known: Known) -> Hashable:
    """Another queue, or pods elsewhere, of those that may be seen."""
    picture = known.picture
    sight = asked.viewer.sight
    untold = picture.untold_waiting if sight.everything else 0
    return picture.waiting_moved(sight), untold, placed_of(picture).moved(sight), bool(picture.trouble)


def read_wanted(asked: Asked) -> Wanted:
    """Nothing of an address is trusted; what cannot be is said and not applied."""
    wrong: list[tuple[str, str]] = []
    texts = {name: asked.query.get(name, "").strip() for name in ("namespace", "q")}
    for name, value in texts.items():
        if len(value) > LONGEST:
            wrong.append((name, value))
            texts[name] = ""
    numbers: dict[str, int] = {}
    for name in ("page", "waiting"):
        written = asked.query.get(name, "").strip() or "1"
        legible = written.isascii() and written.isdigit() and len(written) < 8 and int(written) > 0
        numbers[name] = int(written) if legible else 1
        if not legible:
            wrong.append((name, written))
    return Wanted(**texts, page=numbers["page"], waiting=numbers["waiting"], wrong=tuple(wrong))


def waiting_rows(picture: Picture, sight: Sight) -> list[WaitingRow]:
    """Highest priority first, of equals the one that has waited longest."""
    queue = sorted(picture.waiting.values(), key=lambda pod: (-pod.priority, pod.since))
    return [
        WaitingRow(pod=pod, place=place) for place, pod in enumerate(queue, start=1) if sight.of_pod(pod.pod)
    ]


def _word(pod: WaitingPod) -> str:
    # Of the stages `filter` says only that nodes were looked at, which is no reason.
    keys = (f"pods.word.{pod.word}", f"rules.stage.{pod.stage}" if pod.stage != "filter" else "")
    return next((key for key in keys if key in catalogue().words), "")


def _asks(pod: WaitingPod) -> str:
    if not pod.memory and not pod.cores:
        return ""
    parts = [memory_text(pod.memory)] if pod.memory else []
    if pod.cores:
        parts.append(compute_text(pod.cores, _SIXTEENTHS if pod.vendor == "mthreads" else _PERCENT))
    return ", ".join(parts)


def _matches(wanted: Wanted, pod: str, node: str = "") -> bool:
    asked = wanted.q.casefold()
    return (not wanted.namespace or pod.partition("/")[0] == wanted.namespace) and (
        asked in pod.casefold() or asked in node.casefold()
    )


def _namespaces(picture: Picture, sight: Sight) -> list[str]:
    waiting = (pod.pod for pod in picture.waiting.values() if sight.of_pod(pod.pod))
    return sorted({*placed_of(picture).namespaces(sight)} | {pod.partition("/")[0] for pod in waiting})


_KEPT: Final[OrderedDict[Hashable, str]] = OrderedDict()


def _kept(
    language: Language,
    sight: Sight,
    rows: Sequence[PlacedPod | WaitingRow],
    also: Hashable = None,
    *,
    caller: Callable[[], str],
) -> str:
    """What a template made of the same rows before: a page is made again for every pod, and most rows stay."""
    key = language, sight, tuple(rows), also
    made = _KEPT.get(key)
    if made is None:
        made = _KEPT[key] = caller()
        if len(_KEPT) > MOST_KEPT:
            _KEPT.popitem(last=False)
    return made


def _sheet(rows: Sequence[_Row], number: int) -> Sheet[_Row]:
    """That page of them, or the last there is."""
    pages = max(1, -(-len(rows) // PAGE_SIZE))
    number = min(number, pages)
    return Sheet(
        rows=rows[(number - 1) * PAGE_SIZE : number * PAGE_SIZE], found=len(rows), number=number, pages=pages
    )

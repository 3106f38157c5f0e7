"""Every page, in one table: which path it answers, and what makes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from tangram.web.known import Known
from tangram.web.page import MakesPage, TellsMoment
from tangram.web.pages import (
    cluster,
    cluster_tiles,
    cordon,
    explain,
    fragmentation,
    health,
    node,
    pod,
    pods,
    usage,
    usage_file,
)
from tangram.web.sight import Sight

MakesTiles = Callable[[Sight, Known, int], bytes]
"""What changed for that sight after a version of the picture, as one line of JSON; empty for nothing."""


class Page(NamedTuple):
    path: str
    make: MakesPage
    moment: TellsMoment | None = None
    """None where nobody waits for another one."""
    methods: tuple[str, ...] = ("GET",)
    tiles: MakesTiles | None = None
    """Where changes are told in small instead of the page being made again."""
    asks: bool = False
    """The scheduler has to work for it."""
    shared: bool = False
    """Its `main` is the same for everybody with the same sight and language."""


PAGES: Final[tuple[Page, ...]] = (
    Page(cluster.PATH, cluster.page, cluster.moment, tiles=cluster.tiles, shared=True),
    Page(cluster_tiles.PATH, cluster_tiles.page),
    Page(node.PATH, node.page, node.moment, asks=True),
    Page(pods.PATH, pods.page, pods.moment, shared=True),
    Page(pod.PATH, pod.page, pod.moment, asks=True),
    Page(explain.PATH, explain.page, explain.moment, methods=("GET", "POST"), asks=True),
    Page(fragmentation.PATH, fragmentation.page, fragmentation.moment),
    Page(health.PATH, health.page, health.moment),
    Page(usage.PATH, usage.page, usage.moment),
    Page(usage_file.PATH, usage_file.page),
    Page(cordon.PATH, cordon.page, methods=("POST",)),
)


class Found(NamedTuple):
    page: Page
    parts: dict[str, str]


def page_at(path: str) -> Found | None:
    """The page that answers a path, with the parts that the path names."""
    for page, form in _FORMS:
        match = form.fullmatch(path)
        if match is not None:
            return Found(page, match.groupdict())
    return None


def _form(path: str) -> re.Pattern[str]:
    pieces = re.split(r"\{(\w+)\}", path)
    return re.compile(
        "".join(f"(?P<{piece}>[^/]+)" if odd % 2 else re.escape(piece) for odd, piece in enumerate(pieces))
    )


_FORMS: Final = tuple((page, _form(page.path)) for page in PAGES)

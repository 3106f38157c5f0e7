"""Templates in, pages out: everything a template may call, and nothing it could forget to escape.

Values are escaped unless they are markup, and a name that nobody gave is an error rather than an empty place. Templates
are compiled once. What depends on the viewer is given with each page, so one environment serves everybody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tangram.units.memory import Bytes, rough_memory_text
from tangram.web.catalogue import counted, said
from tangram.web.language import Language
from tangram.web.page import Asked

TEMPLATES: Final = Path(__file__).parent / "templates"
NOTHING: Final = "\N{EN DASH}"
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


class Rendering:
    """`static` turns the name of a static file into its address."""

    def __init__(
        self, static: Callable[[str], str], folder: Path = TEMPLATES, *, reload: bool = False
    ) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=reload,
        )
        self._usual: Mapping[str, Any] = {
            "static": static,
            "memory": _memory,
            "percent": percent_text,
            "when": when_text,
            "url": address_of,
        }

    def prepare(self) -> None:
        """Compile every template now, so that nobody's first page waits for it."""
        for name in self._environment.list_templates(extensions=["html"]):
            self._environment.get_template(name)

    def page(
        self,
        template: str,
        values: Mapping[str, Any],
        asked: Asked,
        *,
        fragment: bool = False,
        **also: object,
    ) -> bytes:
        """The whole page, or of a fragment only its `main`."""
        viewer = asked.viewer
        usual = {
            **self._usual,
            "viewer": viewer,
            "path": asked.path,
            "query": asked.query,
            # Made here: no name that somebody wrote into an address is to be an argument of a template's call.
            "here": address_of(asked.path, **asked.query),
            "now": asked.now,
            "fragment": fragment,
            "t": partial(said, viewer.language),
            "n": partial(counted, viewer.language),
            "ago": partial(ago_text, viewer.language, asked.now),
        }
        return self._environment.get_template(template).render({**usual, **also, **values}).encode()


def address_of(path: str, /, **query: object) -> str:
    """A path of ours with a query; what is empty is left out."""
    asked = urlencode([(name, str(value)) for name, value in query.items() if value not in ("", None)])
    return quote(path, safe="/:@!$&'()*+,;=~-._") + (f"?{asked}" if asked else "")


def percent_text(share: float) -> str:
    """A share of one, as people read it: never 0% for something, nor 100% for less than all."""
    if not math.isfinite(share * 100):
        return NOTHING
    whole = round(share * 100)
    if share > 0 and whole == 0:
        return "<1%"
    if share < 1 and whole >= 100:
        return ">99%"
    return f"{whole}%"


def when_text(unix: float) -> str:
    """A moment, in UTC; the browser may put it into its own time."""
    if not unix or not math.isfinite(unix) or not 0 < unix < 253_402_300_800:
        return NOTHING
    moment = datetime.fromtimestamp(unix, UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        moment.strftime("%Y-%m-%dT%H:%M:%SZ"), moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    )


def ago_text(language: Language, now: float, unix: float) -> str:
    """How long ago a moment was."""
    if not unix or not math.isfinite(unix):
        return said(language, "common.never")
    passed = max(0.0, now - unix)
    if passed < 1:
        return said(language, "common.now")
    for key, unit, until in (
        ("common.seconds_ago", 1, _MINUTE),
        ("common.minutes_ago", _MINUTE, _HOUR),
        ("common.hours_ago", _HOUR, _DAY),
    ):
        if passed < until:
            return counted(language, key, int(passed // unit))
    return counted(language, "common.days_ago", int(passed // _DAY))


def _memory(size: float) -> str:
    return rough_memory_text(Bytes(int(size)))

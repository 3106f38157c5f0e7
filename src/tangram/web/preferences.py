"""What a browser is shown in: language and theme, kept in two cookies that say nothing about anybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from tangram.web.cookies import Cookie
from tangram.web.going_back import local_path
from tangram.web.known import NotKnown
from tangram.web.language import Language

LANGUAGE: Final = "tangram-language"
THEME: Final = "tangram-theme"
THEMES: Final = ("light", "dark")
BROWSERS_OWN: Final = "auto"
"""What a form sends to leave it to the browser again."""
_YEAR_S: Final = 365 * 24 * 3600
_MOST_WISHES: Final = 20


def language_of(request: web.Request) -> Language:
    """What was chosen here; else what the browser asks for; else English."""
    chosen = request.cookies.get(LANGUAGE, "")
    if chosen in tuple(Language):
        return Language(chosen)
    return _wished(request.headers.get("Accept-Language", ""))


def theme_of(request: web.Request) -> str:
    """`light`, `dark`, or empty for what the browser prefers."""
    chosen = request.cookies.get(THEME, "")
    return chosen if chosen in THEMES else ""


def chosen(form: Mapping[str, str]) -> tuple[str, tuple[Cookie, ...]]:
    """Where to go on to after a form of preferences, and the cookies to set. Raises `NotKnown`."""
    cookies: list[Cookie] = []
    for field, name, legal in (
        ("language", LANGUAGE, tuple(map(str, Language))),
        ("theme", THEME, THEMES),
    ):
        value = form.get(field)
        if value is None:
            continue
        if value not in (*legal, BROWSERS_OWN):
            raise NotKnown(
                "preference",
                f"{field} is {value!r:.40}: it is {', '.join(legal)} or {BROWSERS_OWN}.",
                400,
            )
        kept = "" if value == BROWSERS_OWN else value
        cookies.append(Cookie(name=name, value=kept, lasts_s=_YEAR_S, across="Lax"))
    return local_path(form.get("back", "")), tuple(cookies)


def _wished(header: str) -> Language:
    """The first of the best of `Accept-Language` that we have."""
    best, weight = Language.ENGLISH, 0.0
    for wish in header.split(",")[:_MOST_WISHES]:
        tag, _, more = wish.strip().partition(";")
        known = _KNOWN.get(tag.strip().lower().partition("-")[0])
        said = _weight(more)
        if known is not None and said > weight:
            best, weight = known, said
    return best


def _weight(text: str) -> float:
    name, _, value = text.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        said = float(value)
    except ValueError:
        return 0.0
    return said if 0.0 <= said <= 1.0 else 0.0


_KNOWN: Final = {"en": Language.ENGLISH, "zh": Language.CHINESE}

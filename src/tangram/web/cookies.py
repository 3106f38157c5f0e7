"""Cookies as this dashboard sets them: for this host alone, read by no script, sent along by no other site."""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from aiohttp import web

HOST_ONLY: Final = "__Host-"
"""A browser takes a name that begins so only over TLS, for the whole host and from that host itself: no neighbour under
the same domain can plant one."""


class Cookie(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    value: str
    """Empty to take it back."""
    lasts_s: int | None = None
    """None until the browser is closed."""
    across: Literal["Strict", "Lax"] = "Strict"

    def __repr__(self) -> str:
        return f"Cookie({self.name!r})"


def name_over(request: web.Request, name: str) -> str:
    """What a cookie is called on a connection like this one."""
    return f"{HOST_ONLY}{name}" if request.secure else name


def put(response: web.StreamResponse, cookie: Cookie, *, secure: bool) -> None:
    """Set it, or take it back."""
    response.set_cookie(
        cookie.name,
        cookie.value,
        path="/",
        max_age=cookie.lasts_s if cookie.value else 0,
        httponly=True,
        samesite=cookie.across,
        secure=secure,
    )

"""Addresses that somebody else wrote: where an upload goes on, who gives tokens, which proxy is meant.

They decide where images and logins are sent, so nothing is taken that HTTP does not reach, and a registry that spells
its own name in another way is still itself.
"""

from __future__ import annotations

from yarl import URL


def read_address(text: str, base: URL | None = None) -> URL | None:
    """The address, seen from `base` if it may leave out the host; nothing if it is none of HTTP or HTTPS."""
    try:
        told = URL(text, encoded=True)
        found = told if base is None else base.join(told)
        reached = found.scheme in {"http", "https"} and found.host and found.port
    except ValueError:
        return None
    return found if reached else None


def is_same_place(one: URL, other: URL) -> bool:
    """Whether two addresses are of one server."""
    return _place(one) == _place(other)


def _place(url: URL) -> tuple[str, str, int | None]:
    return url.scheme, (url.host or "").lower(), url.port

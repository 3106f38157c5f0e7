"""Where somebody goes on to after a form: a page of ours, and nowhere else.

The place comes from an address that anybody can write and send around. So only a plain path is taken, in the narrowest
sense that every browser shares: what browsers repair (backslashes, tabs, line ends, two slashes) can lead to another
site, and is not repaired here but left.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

HOME: Final = "/"
LONGEST: Final = 2000

_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""Printable ASCII without a backslash; nothing that could be the beginning of a host."""
_NO_PAGES: Final = frozenset({"/sign-in", "/sign-out", "/preferences", "/events", "/cards/cordon"})
"""Paths that show nothing when they are simply opened, or lead in a circle."""


def local_path(text: str) -> str:
    """The path with its query if it is one of ours; otherwise the first page."""
    if len(text) > LONGEST or _LOCAL.fullmatch(text) is None:
        return HOME
    path = text.partition("?")[0].partition("#")[0]
    return HOME if path in _NO_PAGES else text


def asking_again(path: str, *, why: str = "") -> str:
    """Where to sign in, and come back from."""
    back = local_path(path)
    parts = [f"back={quote(back, safe='/')}"] if back != HOME else []
    parts += [f"why={quote(why)}"] if why else []
    return f"/sign-in?{'&'.join(parts)}" if parts else "/sign-in"

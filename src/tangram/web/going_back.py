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
SIGN_IN: Final = "/sign-in"
_NO_PAGES: Final = frozenset({"/sign-out", "/preferences", "/events", "/cards/cordon"})
"""Paths that show nothing when they are simply opened."""


def local_path(text: str) -> str:
    """The path with its query if it is one of ours; otherwise the first page."""
    if len(text) > LONGEST or _LOCAL.fullmatch(text) is None:
        return HOME
    return HOME if _path(text) in _NO_PAGES else text


def after_sign_in(text: str) -> str:
    """The same for somebody who has just signed in, and need not do so again."""
    back = local_path(text)
    return HOME if _path(back) == SIGN_IN else back


def asking_again(path: str, *, why: str = "") -> str:
    """Where to sign in, and come back from."""
    back = after_sign_in(path)
    parts = [f"back={quote(back, safe='/')}"] if back != HOME else []
    parts += [f"why={quote(why)}"] if why else []
    return f"{SIGN_IN}?{'&'.join(parts)}" if parts else SIGN_IN


def _path(text: str) -> str:
    return text.partition("?")[0].partition("#")[0]

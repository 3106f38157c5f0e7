"""What a page is: a pure-looking function from a question and what is known to a template and its values.

A page module in `pages/` has three names: `PATH`, the path it answers (`{name}` is a part of it); `page`, which makes
it; and `moment`, which says by a small comparable value whether it would look different now, so that a browser that
shows it is told. Pages write no HTML but through templates, know no HTTP and set no headers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any

import msgspec

from tangram.kube.rights import User
from tangram.web.known import Known
from tangram.web.language import Language
from tangram.web.sight import Sight


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """Who looks."""

    user: User
    sight: Sight
    language: Language
    theme: str = ""
    """`light`, `dark`, or empty for what the browser prefers."""
    may_act: bool = False
    """Actions are switched on here, and this person may patch nodes."""
    form_token: str = ""
    """To be sent back with every form, or the form is refused."""
    signed_in: bool = False
    """There is something to sign out of."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One question.

    `parts` are those of the path, `query` and `form` the last value of each field, all as people sent them: nothing in
    them has been checked.
    """

    viewer: Viewer
    path: str
    parts: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    form: Mapping[str, str] = {}
    """Of a POST, whose form token was checked; empty for a GET."""
    now: float
    """Unix seconds."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One answer."""

    template: str = ""
    """A file in `templates/`, which extends `base.html`."""
    values: Mapping[str, Any] = {}
    """What the template sees, beside `viewer`, `t` and the like."""
    status: int = 200
    file_name: str = ""
    """For a file to be kept instead of a page: its name, with `body` and `kind`."""
    kind: str = "text/html; charset=utf-8"
    body: bytes = b""
    go_to: str = ""
    """A path of ours to go on to, after a form."""


MakesPage = Callable[[Asked, Known], Awaitable[Shown]]
TellsMoment = Callable[[Asked, Known], Hashable]

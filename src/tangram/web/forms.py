"""Forms that change something are taken only from pages of ours, sent by the person they were made for.

Three things have to hold, each by itself enough against most attacks: cookies are not sent along by other sites
(`cookies`), the browser says that the form comes from this site, and the form has a token that only this process can
make for this person. All values stay what people sent: whoever uses one checks it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from aiohttp import web

from tangram.daemon.web_asking import MEBI, NotAnswered, Reading
from tangram.web.known import NotKnown
from tangram.web.page import Viewer

FIELD: Final = "form_token"
"""Every form has it: `<input type="hidden" name="form_token" value="{{ viewer.form_token }}">`."""
LONGEST_FORM: Final = 2 * MEBI
MOST_FIELDS: Final = 100
_KIND: Final = "application/x-www-form-urlencoded"


class FormTokens:
    """Made with a key that no other process has, and that dies with this one."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def of(self, whose: bytes) -> str:
        """The token for a session, or for a person without one."""
        return hmac.new(self._key, whose, hashlib.sha256).hexdigest()


async def read_form(request: web.Request, reading: Reading) -> dict[str, str]:
    """The last value of each field. Raises `NotKnown` for what is no form."""
    if request.content_type != _KIND:
        raise NotKnown(
            "form-kind",
            f"the form was sent as {request.content_type!r:.80}: forms are sent as {_KIND}.",
            415,
        )
    try:
        body = await reading.body(request, LONGEST_FORM)
    except NotAnswered as refused:
        raise NotKnown("form-body", f"{refused.sentence}.", refused.status) from None
    try:
        fields = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
        )
    except ValueError:
        raise NotKnown(
            "form-text",
            f"the form cannot be read: it has at most {MOST_FIELDS} fields, all of them UTF-8.",
            400,
        ) from None
    return dict(fields)


def check_form(request: web.Request, form: Mapping[str, str], viewer: Viewer) -> None:
    """Raises `NotKnown` unless this form comes from a page of ours, made for this viewer."""
    check_origin(request)
    sent = form.get(FIELD, "").encode("utf-8", "replace")
    if not viewer.form_token or not hmac.compare_digest(sent, viewer.form_token.encode()):
        raise NotKnown(
            "form-token",
            "the form was made for another session, or before this dashboard was started anew; nothing was done. "
            "Open the page again and send it from there.",
            403,
        )


def check_origin(request: web.Request, *, must_say: bool = False) -> None:
    """Raises `NotKnown` when the browser says that the form is another site's.

    Programs say nothing. With `must_say` they are refused as well: nobody but a browser has business there.
    """
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is not None:
        # Said by the browser itself about both addresses as it knows them, whatever a proxy made of ours.
        ours = site == "same-origin"
    elif origin is not None:
        ours = _is_ours(request, origin)
    else:
        ours = not must_say
    if not ours:
        raise NotKnown(
            "form-origin",
            "the form does not come from this dashboard's own pages, and nothing was done; open the page here and send "
            "it from there.",
            403,
        )


def _is_ours(request: web.Request, origin: str) -> bool:
    try:
        said = urlsplit(origin)
    except ValueError:
        return False
    right_scheme = said.scheme == "https" or (said.scheme == "http" and not request.secure)
    return right_scheme and bool(said.netloc) and said.netloc.lower() == request.host.lower()

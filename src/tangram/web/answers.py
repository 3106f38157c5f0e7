"""Answers as HTTP: a page, a part of a page, a file, the way to another page, or a sentence about what went wrong.

Large ones are packed for browsers that can unpack them. That tells whoever counts bytes on the way nothing: what could
be guessed by it, a form token, is sent to nobody but the person it belongs to, whom no other site can make ask here.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from aiohttp import web

from tangram.web.catalogue import catalogue, said
from tangram.web.known import Known
from tangram.web.language import Language
from tangram.web.page import Asked, Shown
from tangram.web.rendering import Rendering

FRAGMENT: Final = "X-Fragment"
"""A request header: only this element of the page is wanted."""
MAIN: Final = "main"
PACKED_FROM: Final = 1400
"""Bytes. Less fits into one packet anyway."""
_IN_A_THREAD_FROM: Final = 256 * 1024
_LEVEL: Final = 4

_log = logging.getLogger(__name__)


class Answers:
    """`stamp` says of which moment a page is, for the stream of events that follows it."""

    def __init__(self, rendering: Rendering, known: Known, stamp: Callable[[], str]) -> None:
        self._rendering = rendering
        self._known = known
        self._stamp = stamp

    def stamp(self) -> str:
        """Of this moment. To be taken before a page is made: what changes meanwhile is told to its browser again."""
        return self._stamp()

    async def shown(self, request: web.Request, asked: Asked, shown: Shown, stamp: str = "") -> web.Response:
        """What a page said, as an answer. Without a stamp its browser does not follow it."""
        if shown.go_to:
            return web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": _ours(shown.go_to)})
        headers = {"Content-Type": shown.kind}
        if shown.file_name:
            headers["Content-Disposition"] = f'attachment; filename="{_plain(shown.file_name)}"'
        body = shown.body
        if shown.template:
            body = self._rendering.page(
                shown.template,
                shown.values,
                asked,
                fragment=wants_main(request),
                known=self._known,
                stamp=stamp,
            )
            headers["Vary"] = FRAGMENT
        return await packed(request, web.Response(body=body, status=shown.status, headers=headers))

    async def failed(
        self,
        request: web.Request,
        asked: Asked,
        status: int,
        sentence: str,
        *,
        code: str = "",
        stamp: str = "",
    ) -> web.Response:
        """A page with one sentence; in plain text where even that cannot be made."""
        language = asked.viewer.language
        words = catalogue().words
        key, title = f"error.code.{code}", f"error.title.{status}"
        translated = bool(code) and key in words
        values = {
            "title": said(language, title if title in words else "error.title.other"),
            "sentence": said(language, key) if translated else sentence,
            "sentence_language": "" if translated or language is Language.ENGLISH else Language.ENGLISH,
        }
        try:
            shown = Shown(template="error.html", values=values, status=status)
            return await self.shown(request, asked, shown, stamp)
        except Exception:  # noqa: BLE001 - a broken frame must not take the reason with it
            _log.exception("the page of an error could not be made")
            return web.Response(text=f"{sentence}\n", status=status)


def wants_main(request: web.Request) -> bool:
    """Whether only the main element is wanted."""
    return request.headers.get(FRAGMENT) == MAIN


def can_unpack(request: web.Request) -> bool:
    """Whether the browser understands what is packed."""
    return "gzip" in request.headers.get("Accept-Encoding", "").lower()


async def packed(request: web.Request, response: web.Response) -> web.Response:
    """The same answer, smaller where that is worth it and understood."""
    body = response.body
    if not isinstance(body, bytes) or len(body) < PACKED_FROM:
        return response
    response.headers.add("Vary", "Accept-Encoding")
    if not can_unpack(request):
        return response
    if len(body) < _IN_A_THREAD_FROM:
        response.body = gzip.compress(body, _LEVEL, mtime=0)
    else:
        response.body = await asyncio.to_thread(gzip.compress, body, _LEVEL, mtime=0)
    response.headers["Content-Encoding"] = "gzip"
    return response


def _ours(path: str) -> str:
    """A page may send people on to another of ours, never away from here."""
    away = (
        not path.startswith("/") or path[1:2] in ("/", "\\") or not path.isascii() or not path.isprintable()
    )
    return "/" if away else path


def _plain(name: str) -> str:
    return "".join(each if each.isascii() and (each.isalnum() or each in "-_.") else "-" for each in name)

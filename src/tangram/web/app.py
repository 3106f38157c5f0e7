"""Every question to the dashboard, from its path to its answer.

The order is always the same: may this have come here at all, who asks, is there such a page, was a form meant, and then
the page. Whatever goes wrong on the way is a page with one sentence; only the log learns more.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, unquote

from aiohttp import web

from tangram.daemon.web_asking import Answering, NotAnswered, Reading
from tangram.web.answers import FRAGMENT, Answers, can_unpack, wants_main
from tangram.web.catalogue import said
from tangram.web.events import Hub
from tangram.web.forms import check_form, read_form
from tangram.web.going_back import asking_again
from tangram.web.headers import set_headers
from tangram.web.known import Known, NotKnown
from tangram.web.language import Language
from tangram.web.page import Asked, Viewer
from tangram.web.pages.all import Found, page_at
from tangram.web.proxies import PROXY_DOOR
from tangram.web.receiving import NotSignedIn, Reception
from tangram.web.sharing import Sharing
from tangram.web.static_files import PREFIX, StaticFiles
from tangram.web.turns import Turns

EVENTS: Final = "/events"
MOST_FIELDS: Final = 64
_VIEWER: Final = web.RequestKey("tangram_viewer", Viewer)
"""Where a request keeps who asks, for a page about what went wrong."""
_MAY_PASS: Final = (404, 503)
"""A page that there is not now and may be in a moment: whoever shows it is told."""
_ALSO_SAID: Final = {401: ("WWW-Authenticate", "Bearer"), 503: ("Retry-After", "5")}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Parts:
    known: Known
    reception: Reception
    answers: Answers
    statics: StaticFiles
    hub: Hub
    probes: Mapping[str, Answering] = field(default_factory=dict[str, Answering])
    """Path to what answers a GET: for the kubelet and for Prometheus, who have no rights to show."""
    clock: Callable[[], float] = time.time
    served: Callable[[web.StreamResponse], None] = lambda _response: None
    """Told of every answer."""


def dashboard_app(parts: Parts, *, for_proxy: bool = False) -> web.Application:
    """The whole dashboard as one application; `for_proxy` where nobody but the authenticating proxy connects."""
    desk = _Desk(parts)

    async def prepared(request: web.Request, response: web.StreamResponse) -> None:
        await set_headers(request, response)
        parts.served(response)

    async def ending(_app: web.Application) -> None:
        await parts.hub.close()

    app = web.Application()
    app[PROXY_DOOR] = for_proxy
    # A dot leaves out line ends, which an address may have as well.
    app.router.add_route("*", r"/{path:[\s\S]*}", desk.answer)
    app.on_response_prepare.append(prepared)
    app.on_shutdown.append(ending)
    return app


class _Desk:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._reading = Reading()
        self._sharing = Sharing()
        self._turns = Turns()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except NotSignedIn as nobody:
            return _to_sign_in(request, nobody.why)
        except _WrongMethod as refused:
            response = await self._failed(request, refused.status, refused.sentence, refused.code)
            response.headers["Allow"] = ", ".join(refused.allowed)
            return response
        except NotKnown as refused:
            return await self._failed(request, refused.status, refused.sentence, refused.code)
        except NotAnswered as refused:
            return await self._failed(request, refused.status, refused.sentence)
        except ConnectionError:
            raise
        except Exception:  # noqa: BLE001 - whatever it was, the one who asked gets a sentence
            _log.exception("%s %s could not be answered", request.method, request.path)
            return await self._failed(request, 500, said(Language.ENGLISH, "error.code.failed"), "failed")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        parts, path = self._parts, request.path
        if path in parts.probes:
            _only(request, ("GET",))
            return await parts.probes[path](request)
        parts.reception.check(request)
        if path.startswith(PREFIX):
            _only(request, ("GET",))
            file = parts.statics.answer(request)
            if file is None:
                raise _nothing_here()
            return file
        door = parts.reception.paths.get(path)
        if door is not None:
            _only(request, tuple(door))
            return await door["GET" if request.method == "HEAD" else request.method](
                request, parts.answers.shown
            )
        viewer = request[_VIEWER] = await parts.reception.viewer(request)
        if path == EVENTS:
            _only(request, ("GET",))
            return await self._follow(request, viewer)
        found = page_at(path)
        if found is None:
            raise _nothing_here()
        return await self._page(request, viewer, found)

    async def _page(self, request: web.Request, viewer: Viewer, found: Found) -> web.Response:
        _only(request, found.page.methods)
        form: Mapping[str, str] = {}
        if request.method == "POST":
            form = await read_form(request, self._reading)
            # A form may come slowly, and its sender be signed out meanwhile.
            viewer = request[_VIEWER] = await self._parts.reception.viewer(request)
            check_form(request, form, viewer)
        asked = Asked(
            viewer=viewer,
            path=request.path,
            parts=found.parts,
            query=dict(request.query),
            form=form,
            now=self._parts.clock(),
        )
        answers, known = self._parts.answers, self._parts.known
        # What answers a form does not become another by itself.
        stamp = answers.stamp() if found.page.moment is not None and request.method == "GET" else ""

        async def make() -> web.Response:
            async with self._turns.of(viewer.user.name) if found.page.asks else nullcontext():
                shown = await found.page.make(asked, known)
            return await answers.shown(request, asked, shown, stamp)

        if not found.page.shared or found.page.moment is None or not wants_main(request):
            return await make()
        stale = known.picture.stale(asked.now), known.picture.trouble
        moment = stamp, stale, found.page.moment(asked, known)
        key = request.path_qs, viewer.sight, viewer.language, can_unpack(request)
        return await self._sharing.answer(moment, key, asked.now, make)

    async def _follow(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        encoded, _mark, query = request.query.get("page", "/").partition("?")
        path = unquote(encoded)
        found = page_at(path)
        if found is None or found.page.moment is None:
            raise _nothing_here()
        asked = Asked(
            viewer=viewer,
            path=path,
            parts=found.parts,
            query=dict(_fields(query)),
            now=self._parts.clock(),
        )
        return await self._parts.hub.follow(
            request, found.page, asked, lambda: self._parts.reception.viewer(request)
        )

    async def _failed(self, request: web.Request, status: int, sentence: str, code: str = "") -> web.Response:
        parts = self._parts
        viewer = request.get(_VIEWER) or parts.reception.stranger(request)
        asked = Asked(viewer=viewer, path=request.path, now=parts.clock())
        found = page_at(request.path) if viewer.user.name and request.method == "GET" else None
        may_pass = status in _MAY_PASS and found is not None and found.page.moment is not None
        stamp = parts.answers.stamp() if may_pass else ""
        response = await parts.answers.failed(request, asked, status, sentence, code=code, stamp=stamp)
        if status in _ALSO_SAID:
            name, value = _ALSO_SAID[status]
            response.headers[name] = value
        return response


def _to_sign_in(request: web.Request, why: str) -> web.Response:
    """A person is led to the form; a script of ours is told, and leads there itself."""
    wants_page = (
        request.method in ("GET", "HEAD") and request.path != EVENTS and FRAGMENT not in request.headers
    )
    if not wants_page:
        return web.Response(status=HTTPStatus.UNAUTHORIZED, text="Sign in first.\n")
    return web.Response(
        status=HTTPStatus.SEE_OTHER, headers={"Location": asking_again(request.path_qs, why=why)}
    )


class _WrongMethod(NotKnown):
    def __init__(self, request: web.Request, allowed: tuple[str, ...]) -> None:
        super().__init__(
            "method",
            f"{request.path!r:.80} is asked by {' or '.join(allowed)}, not by {request.method!r:.20}; follow a link or "
            "send the form of a page.",
            HTTPStatus.METHOD_NOT_ALLOWED,
        )
        self.allowed = allowed


def _nothing_here() -> NotKnown:
    return NotKnown("no-page", said(Language.ENGLISH, "error.code.no-page"), 404)


def _only(request: web.Request, methods: tuple[str, ...]) -> None:
    allowed = (*methods, "HEAD") if "GET" in methods else methods
    if request.method not in allowed:
        raise _WrongMethod(request, allowed)


def _fields(text: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="replace")
    except ValueError:
        raise NotKnown(
            "fields", f"there are more than {MOST_FIELDS} fields in this address; send fewer.", 400
        ) from None

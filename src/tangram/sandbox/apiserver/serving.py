"""From HTTP to the parts that answer it, and back.

Every refusal is a Status with the words clients know; a failure of our own is told in the log and answered with one
sentence. Nobody but this machine can connect.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterable, Sequence
from contextlib import aclosing
from typing import Final

import msgspec
import yaml
from aiohttp import web

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import JSON, YAML, Ask, Form, Target, locate, read_accept
from tangram.sandbox.apiserver.bodies import LARGEST, read_body, read_options
from tangram.sandbox.apiserver.changing import Written
from tangram.sandbox.apiserver.documents import Documents
from tangram.sandbox.apiserver.identities import MASTERS, Person
from tangram.sandbox.apiserver.parts import Parts
from tangram.sandbox.apiserver.refusals import Refused
from tangram.sandbox.apiserver.rights.impersonating import speaker
from tangram.sandbox.apiserver.rights.wanted import Wanted, read_wanted
from tangram.sandbox.apiserver.showing import many, one

TOKEN_REQUEST: Final = "io.k8s.api.authentication.v1.TokenRequest"  # noqa: S105 - the name of a type
HEALTH: Final = frozenset({"healthz", "livez", "readyz"})

_log = logging.getLogger(__name__)


class Serving:
    def __init__(self, parts: Parts, documents: Documents) -> None:
        self._parts = parts
        self._documents = documents

    def app(self) -> web.Application:
        app = web.Application(client_max_size=LARGEST + 1)
        app.router.add_route("*", "/{path:.*}", self._answer)
        return app

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answered(request)
        except Refused as refused:
            return _refusal(refused)
        except web.HTTPRequestEntityTooLarge:
            message = f"Request entity too large: limit is {LARGEST}"
            return _refusal(Refused(413, "RequestEntityTooLarge", message))
        except ConnectionError:
            raise
        except Exception:  # noqa: BLE001 - whatever it was, the client gets a sentence
            _log.exception("%s %s could not be answered", request.method, request.path)
            return _refusal(
                Refused(500, "InternalError", "Internal error occurred: the sandbox failed; its log says why")
            )

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        person = self._parts.identities.of_header(request.headers.get("Authorization", ""))
        if person is None:
            raise Refused(401, "Unauthorized", "Unauthorized")
        authority = self._parts.authority

        def wanted() -> Wanted:
            return read_wanted(request.method, path, request.query)

        person = speaker(request.headers, person, authority, wanted)
        if MASTERS not in person.groups:
            authority.check(person, wanted())
        if path.strip("/").partition("/")[0] in HEALTH:
            return web.Response(text="ok")
        accept = request.headers.get("Accept", "")
        watched = _WATCH.sub(r"\1", path)
        target = locate(self._parts.registry, watched)
        if target is None:
            document = self._documents.find(path, accept)
            if document is None:
                return self._nothing_there(path)
            if request.method != "GET":
                raise _not_allowed()
            headers = {"Content-Type": document.content, "Etag": f'"{document.tag}"', "Vary": "Accept"}
            if request.headers.get("If-None-Match", "").strip('"') == document.tag:
                return web.Response(status=304, headers=headers)
            return web.Response(body=document.body, headers=headers)
        ask = _ask(request, target, person, accept)
        self._check_verb(ask)
        if request.method == "GET" and (ask.flag("watch") or watched != path):
            return await self._watch(request, ask)
        if target.subresource == "log":
            return await self._logs(request, ask)
        body = await request.read() if request.can_read_body else b""
        if len(body) > LARGEST:
            raise Refused(413, "RequestEntityTooLarge", f"Request entity too large: limit is {LARGEST}")
        return await self._done(ask, body)

    # ---- verbs

    def _check_verb(self, ask: Ask) -> None:
        target = ask.target
        verbs = target.kind.verbs
        if verbs == ("create",) and target.name:
            raise _no_such_resource()
        if target.subresource:
            part = target.kind.subresource(target.subresource)
            verbs = part.verbs if part is not None else ()
        wanted = _VERBS.get(ask.method, {})
        verb = wanted.get(bool(target.name)) if not target.subresource else _PART_VERBS.get(ask.method)
        if verb is None or verb not in verbs:
            raise _not_allowed()
        if verb == "create" and target.kind.namespaced and not target.namespace and not target.subresource:
            raise _not_allowed()

    def _nothing_there(self, path: str) -> web.Response:
        """Inside what the server was built with, a refusal; anywhere else there is not even somebody to refuse."""
        match [part for part in path.split("/") if part]:
            case ["api", "v1", "namespaces", _, "pods", _, "exec" | "attach" | "portforward" | "proxy"]:
                raise Refused(501, "NotImplemented", _NOTHING_RUNS)
            case ["api", *_]:
                known = True
            case ["apis", group, *_]:
                known = any(kind.group == group and kind.definition for kind in self._parts.registry.kinds)
            case _:
                known = False
        if known:
            raise _no_such_resource()
        return web.Response(text="404 page not found\n", status=404)

    async def _done(self, ask: Ask, body: bytes) -> web.StreamResponse:
        parts, target = self._parts, ask.target
        if target.kind.kind == "Binding" or (target.subresource and target.subresource not in _LIKE_OBJECTS):
            return await self._part(ask, body)
        match ask.method:
            case "GET":
                return _json(ask.form, parts.reader.get(ask) if target.name else parts.reader.list(ask))
            case "POST" if target.kind.verbs == ("create",):
                read = read_body(ask, body, target.kind, parts.registry.shape(target.kind))
                return self._object(ask, parts.reviews.answer(ask, read.thing), 201)
            case "POST":
                return self._written(ask, await parts.writer.create(ask, body))
            case "PUT":
                return self._written(ask, await parts.writer.update(ask, body))
            case "PATCH":
                return self._written(ask, await parts.writer.patch(ask, body))
            case _ if target.name:
                return self._object(ask, await parts.deleter.delete(ask, body))
            case _:
                gone = await parts.deleter.delete_all(ask, body)
                return _json(ask.form, many(ask, gone, str(parts.store.revision), {}, parts.now()))

    async def _part(self, ask: Ask, body: bytes) -> web.StreamResponse:
        """What is done with one part of an object, and is no object of the kind itself."""
        parts = self._parts
        match ask.target.subresource, ask.method:
            case "eviction", _:
                return self._object(ask, await parts.pods.evict(ask, body), 201)
            case "token", _:
                return self._object(
                    ask, parts.reviews.token(ask, read_options(ask, body, TOKEN_REQUEST)), 201
                )
            case "scale", "GET":
                return self._object(ask, parts.scaling.get(ask))
            case "scale", _:
                return self._object(ask, await parts.scaling.put(ask, body))
            case _:
                return self._object(ask, await parts.pods.bind(ask, body), 201)

    def _written(self, ask: Ask, written: Written) -> web.Response:
        return self._object(ask, written.thing, 201 if written.created else 200, written.warnings)

    def _object(
        self, ask: Ask, thing: Object, status: int = 200, warnings: Sequence[str] = ()
    ) -> web.Response:
        return _json(ask.form, one(ask, thing, self._parts.now()), status, warnings)

    async def _watch(self, request: web.Request, ask: Ask) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": JSON, "Cache-Control": "no-cache, private"})
        response.enable_chunked_encoding()
        async with aclosing(self._parts.watching.begin(ask)) as lines:
            await response.prepare(request)
            await _pour(response, lines)
        return response

    async def _logs(self, request: web.Request, ask: Ask) -> web.StreamResponse:
        async with self._parts.kubelets.logs(ask) as found:
            response = web.StreamResponse(headers={"Content-Type": "text/plain"})
            response.enable_chunked_encoding()
            await response.prepare(request)
            await _pour(response, found.content.iter_any())
            return response


_NOTHING_RUNS: Final = (
    "containers of a sandbox are simulated, and nobody can enter them: "
    "'kubectl logs' shows what each was given"
)
_WATCH: Final = re.compile(r"^(/api/[^/]+|/apis/[^/]+/[^/]+)/watch(?=/)")
"""How watches were asked for before there was a word for it in the query."""
_LIKE_OBJECTS: Final = frozenset({"status", "finalize", "ephemeralcontainers"})
_VERBS: Final = {
    "GET": {True: "get", False: "list"},
    "POST": {False: "create"},
    "PUT": {True: "update"},
    "PATCH": {True: "patch"},
    "DELETE": {True: "delete", False: "deletecollection"},
}
_PART_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch"}


def _not_allowed() -> Refused:
    return Refused(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {}
    )


def _no_such_resource() -> Refused:
    return Refused(404, "NotFound", "the server could not find the requested resource", {})


async def _pour(response: web.StreamResponse, pieces: AsyncIterable[bytes]) -> None:
    """Until there is no more, or the client has hung up: clients end a watch by hanging up, and that is no failure."""
    async for piece in pieces:
        try:
            await response.write(piece)
        except ConnectionError:
            return


def _ask(request: web.Request, target: Target, person: Person, accept: str) -> Ask:
    # Logs are plain text, whatever the client would take for an object.
    form = Form() if target.subresource == "log" else read_accept(accept)
    if request.query.get("pretty", "false").lower() not in ("false", "0"):
        form = msgspec.structs.replace(form, pretty=True)
    content = request.content_type if "Content-Type" in request.headers else JSON
    return Ask(
        method=request.method,
        target=target,
        query=dict(request.query),
        person=person,
        form=form,
        content=content,
        agent=request.headers.get("User-Agent", ""),
    )


def _json(form: Form, thing: Object, status: int = 200, warnings: Sequence[str] = ()) -> web.Response:
    if form.media == YAML:
        body = yaml.safe_dump(thing, sort_keys=True, allow_unicode=True).encode()
    else:
        body = msgspec.json.encode(thing)
        body = msgspec.json.format(body, indent=2) if form.pretty else body
    response = web.Response(body=body, status=status, content_type=form.media)
    for warning in warnings:
        text = warning.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        response.headers.add("Warning", f'299 - "{text}"')
    return response


def _refusal(refused: Refused) -> web.Response:
    headers = {} if refused.retry_after is None else {"Retry-After": str(refused.retry_after)}
    return web.Response(
        body=msgspec.json.encode(refused.status()), status=refused.code, content_type=JSON, headers=headers
    )

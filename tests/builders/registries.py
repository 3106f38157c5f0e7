"""A registry for tests: the OCI distribution protocol in memory on loopback, with faults that can be ordered.

It is strict where real ones are: a piece must begin where the last one ended, a blob must have its digest, and a
manifest is refused while a blob that it names is missing. `e2e/test_bundle.py` says what a real one does.
"""

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ssl import SSLContext

from aiohttp import web
from aiohttp.test_utils import TestServer
from multidict import CIMultiDictProxy

USER, PASSWORD = "pusher", "s3cret:with-colon"
_PATH = re.compile(r"/v2/(?P<name>.+?)/(?P<kind>blobs/uploads|blobs|manifests)/(?P<rest>.*)")


@dataclass
class Fault:
    """What happens instead of an answer, `times` times, to requests that match."""

    method: str
    path: str
    status: int = 0
    """0 cuts the connection."""
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    times: int = 1
    takes: int = 0
    """Bytes of the body that are kept before the connection is cut."""
    skip: int = 0
    """Requests that match and are answered before the first fault."""
    every: int = 1
    """Of the requests that match, only each n-th fails."""
    met: int = 0


@dataclass
class RegistryDouble:
    auth: str = "none"
    """none, basic or bearer"""
    project: str = "cloud"
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    manifests: dict[str, bytes] = field(default_factory=dict[str, bytes])
    uploads: dict[str, bytearray] = field(default_factory=dict[str, bytearray])
    faults: list[Fault] = field(default_factory=list[Fault])
    requests: list[str] = field(default_factory=list[str])
    scopes: list[str] = field(default_factory=list[str])
    shown: list[str] = field(default_factory=list[str])
    largest: int = 1 << 30
    """Bodies above it get 413, as from a proxy in front."""
    pieces: bool = True
    tokens_last: int = 1000
    """Requests until a token has ended."""
    token_says: tuple[int, str] | None = None
    """What the token server answers instead."""
    trickles: bool = False
    """Whether answers arrive in two parts, as from a slow line."""
    location: str = ""
    """Put before where an upload goes on: registries may name themselves there, in whatever spelling."""
    seen: list[CIMultiDictProxy[str]] = field(default_factory=list[CIMultiDictProxy[str]])
    """The headers of each request."""
    domain: str = ""
    _begun: int = 0
    _left: int = 0
    _count: int = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        self.shown.append(request.headers.get("Authorization", ""))
        self.seen.append(request.headers)
        answer = await self._answer(request)
        # Programs that keep no cookies must not be told apart by them; some registries take those who do for browsers.
        answer.set_cookie("sid", "of-a-browser")
        if self.trickles and request.method == "GET" and isinstance(answer, web.Response):
            return await _in_two_parts(request, answer)
        return answer

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        for fault in self.faults:
            if fault.times and request.method == fault.method and re.search(fault.path, request.path):
                fault.met += 1
                if fault.met <= fault.skip or (fault.met - fault.skip) % fault.every:
                    continue
                fault.times -= 1
                return await self._fail(fault, request)
        if request.path == "/token":
            return await self._token(request)
        if (asked := self._asks_who(request)) is not None:
            return asked
        if request.path == "/v2/":
            return web.json_response({})
        found = _PATH.fullmatch(request.path)
        if found is None or not found["name"].startswith(f"{self.project}/"):
            return _refusal(404, "NAME_UNKNOWN", "repository name not known to registry")
        body = await request.read()
        if len(body) > self.largest and found["kind"] == "blobs/uploads":
            return web.Response(status=413, text="<html>413 Request Entity Too Large</html>")
        if found["kind"] == "manifests":
            return self._manifest(request, found["rest"], body)
        if found["kind"] == "blobs":
            return self._blob(found["rest"])
        return self._upload(request, found["name"], found["rest"], body)

    def _asks_who(self, request: web.Request) -> web.Response | None:
        shown = request.headers.get("Authorization", "")
        if self.auth == "basic" and shown != basic(USER, PASSWORD):
            return _refusal(
                401, "UNAUTHORIZED", "authentication required", {"WWW-Authenticate": 'Basic realm="x"'}
            )
        if self.auth == "bearer":
            if shown == f"Bearer token-{self._count}" and self._left:
                self._left -= 1
                return None
            told = f'Bearer realm="http://{self.domain}/token",service="registry, of tests",scope="a"'
            return _refusal(401, "UNAUTHORIZED", "authentication required", {"WWW-Authenticate": told})
        return None

    async def _token(self, request: web.Request) -> web.Response:
        if self.token_says is not None:
            status, text = self.token_says
            return web.Response(status=status, text=text)
        if request.method == "POST":
            form = await request.post()
            if form.get("refresh_token") != PASSWORD or form.get("grant_type") != "refresh_token":
                return _refusal(401, "UNAUTHORIZED", "no such token")
            self.scopes.append(str(form["scope"]))
        else:
            if request.headers.get("Authorization") != basic(USER, PASSWORD):
                return _refusal(401, "UNAUTHORIZED", "incorrect username or password")
            assert request.query["service"] == "registry, of tests"
            self.scopes += request.query.getall("scope")
        self._count += 1
        self._left = self.tokens_last
        return web.json_response({"token": f"token-{self._count}", "expires_in": 60})

    async def _fail(self, fault: Fault, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if fault.status:
            return web.Response(status=fault.status, body=fault.body, headers=fault.headers)
        if fault.takes:
            self.uploads[request.path.rpartition("/")[2]] += body[: fault.takes]
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    def _blob(self, digest: str) -> web.Response:
        if digest not in self.blobs:
            return web.Response(status=404)
        return web.Response(body=self.blobs[digest])

    def _upload(self, request: web.Request, name: str, rest: str, body: bytes) -> web.Response:
        if request.method == "POST":
            self._begun += 1
            number = str(self._begun)
            self.uploads[number] = bytearray()
            return self._progress(202, name, number)
        if rest not in self.uploads:
            return _refusal(404, "BLOB_UPLOAD_UNKNOWN", "upload unknown")
        held = self.uploads[rest]
        if request.method == "GET":
            return self._progress(204, name, rest)
        # Locations change with each answer, as real ones do.
        if request.query.get("state") != str(len(held)):
            return _refusal(416, "BLOB_UPLOAD_INVALID", "state is of another time")
        if request.method == "PATCH":
            if not self.pieces:
                return _refusal(405, "UNSUPPORTED", "no pieces")
            if request.headers.get("Content-Range") != f"{len(held)}-{len(held) + len(body) - 1}":
                return web.Response(status=416)
            held += body
            return self._progress(202, name, rest)
        held += body
        content = bytes(self.uploads.pop(rest))
        digest = _digest(content)
        if digest != request.query.get("digest"):
            return _refusal(400, "DIGEST_INVALID", "provided digest did not match uploaded content")
        self.blobs[digest] = content
        return web.Response(status=201, headers={"Docker-Content-Digest": digest})

    def _progress(self, status: int, name: str, number: str) -> web.Response:
        size = len(self.uploads[number])
        place = f"{self.location}/v2/{name}/blobs/uploads/{number}?state={size}"
        return web.Response(status=status, headers={"Location": place, "Range": f"0-{max(size - 1, 0)}"})

    def _manifest(self, request: web.Request, tag: str, body: bytes) -> web.Response:
        if request.method == "PUT":
            named = json.loads(body)
            wanted = [*named.get("layers", ()), *([named["config"]] if "config" in named else ())]
            held = {_digest(one) for one in self.manifests.values()}
            missing = [one["digest"] for one in wanted if one["digest"] not in self.blobs]
            missing += [one["digest"] for one in named.get("manifests", ()) if one["digest"] not in held]
            if missing or request.content_type != named["mediaType"]:
                return _refusal(400, "MANIFEST_BLOB_UNKNOWN", f"blob unknown: {missing}")
            self.manifests[tag] = body
            return web.Response(status=201, headers={"Docker-Content-Digest": _digest(body)})
        if tag not in self.manifests:
            return _refusal(404, "MANIFEST_UNKNOWN", "manifest unknown")
        content = self.manifests[tag]
        return web.Response(body=content, headers={"Docker-Content-Digest": _digest(content)})


@asynccontextmanager
async def running(double: RegistryDouble, trust: SSLContext | None = None) -> AsyncGenerator[RegistryDouble]:
    """Serve it while the block runs; `double.domain` is then its address."""
    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{path:.*}", double.handle)
    server = TestServer(app, host="127.0.0.1", scheme="https" if trust else "http")
    await server.start_server(ssl=trust)
    double.domain = server.make_url("/").authority
    try:
        yield double
    finally:
        await server.close()


async def _in_two_parts(request: web.Request, answer: web.Response) -> web.StreamResponse:
    body = answer.body if isinstance(answer.body, bytes) else b""
    slow = web.StreamResponse(status=answer.status, headers=answer.headers)
    slow.headers.popall("Content-Length", None)
    await slow.prepare(request)
    for part in (body[: len(body) // 2], body[len(body) // 2 :]):
        await slow.write(part)
        await asyncio.sleep(0.02)
    return slow


def basic(user: str, password: str) -> str:
    """What shows a login."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _refusal(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"errors": [{"code": code, "message": message}]}, status=status, headers=headers)

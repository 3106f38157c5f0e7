"""An API server that knows a few people and their rights, and answers reviews about them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from builders.api_server import SmallApiServer, refusal, small_api_server
from tangram.kube.connection import Connection

Object = dict[str, Any]
TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
MYSELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
OWN_ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Reviewing:
    """`users` by token; `allowed` are (user, attributes) that may."""

    def __init__(self, small: SmallApiServer, connection: Connection) -> None:
        self.small = small
        self.connection = connection
        self.users: dict[str, Object] = {}
        self.allowed: list[tuple[str, Object]] = []
        self.caller: Object | None = {"username": "owner"}
        """Whoever asks about itself; None where that cannot be asked."""
        self.asked: list[Object] = []
        self.instead: web.Response | Object | None = None
        small.answer_first = self._answer

    def count(self, kind: str) -> int:
        return sum(1 for review in self.asked if review["kind"] == kind)

    def _answer(self, request: web.Request) -> web.Response:
        review: Object = self.small.requests[-1][3]
        if request.method != "POST" or request.path not in (TOKENS, ACCESS, MYSELF, OWN_ACCESS):
            return refusal(404, "NotFound", request.path)
        if request.path == MYSELF and self.caller is None:
            return refusal(404, "NotFound", "the server could not find the requested resource")
        self.asked.append(review)
        if isinstance(self.instead, web.Response):
            return self.instead
        status = self.instead
        if status is None:
            status = self._status(request.path, review["spec"])
        return web.json_response({**review, "status": status}, status=201)

    def _status(self, path: str, spec: Object) -> Object:
        if path == TOKENS:
            return self._known(spec)
        if path == MYSELF:
            return {"userInfo": self.caller}
        return self._may({**spec, "user": "owner"} if path == OWN_ACCESS else spec)

    def _known(self, spec: Object) -> Object:
        user = self.users.get(spec["token"])
        return {"authenticated": user is not None, "user": user or {}}

    def _may(self, spec: Object) -> Object:
        asked = spec.get("resourceAttributes") or spec.get("nonResourceAttributes")
        return {"allowed": (spec["user"], asked) in self.allowed}


@asynccontextmanager
async def reviewing() -> AsyncGenerator[Reviewing]:
    async with small_api_server() as (small, connection):
        yield Reviewing(small, connection)

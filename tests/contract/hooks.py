"""The admission webhooks of the cases: one HTTPS server, a judge for each path, every review remembered."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aiohttp import web

Object = dict[str, Any]
Verdict = Object | bytes
"""The `response` of a review without its uid; bytes are sent as the whole answer."""
Judge = Callable[[Object], Awaitable[Verdict]]


async def allow(_request: Object) -> Verdict:
    """Yes, as it is."""
    return {"allowed": True}


def say(verdict: Verdict) -> Judge:
    """The same for everybody."""

    async def judge(_request: Object) -> Verdict:
        return verdict

    return judge


def refuse(message: str, code: int = 403, **status: object) -> Judge:
    """No, and why."""
    return say({"allowed": False, "status": {"message": message, "code": code, **status}})


def patched(*operations: Object) -> Verdict:
    """Yes, with these changes."""
    text = base64.b64encode(json.dumps(operations).encode()).decode("ascii")
    return {"allowed": True, "patchType": "JSONPatch", "patch": text}


def patch(*operations: Object) -> Judge:
    """Yes, with these changes, for everybody."""
    return say(patched(*operations))


class Hooks:
    """Judges by path. `served_at` tells it where it listens and whom callers must trust."""

    def __init__(self) -> None:
        self._judges: dict[str, Judge] = {}
        self._reviews: dict[str, list[Object]] = {}
        self._address = ""
        self._trust = b""

    def served_at(self, address: str, trust: bytes) -> None:
        self._address, self._trust = address, trust

    def client(self, hook: str) -> Object:
        """The `clientConfig` of one webhook."""
        return {
            "url": f"{self._address}/{hook}",
            "caBundle": base64.b64encode(self._trust).decode("ascii"),
        }

    def judge(self, hook: str, by: Judge) -> None:
        self._judges[hook] = by

    def reviews(self, hook: str) -> Sequence[Object]:
        """The requests one webhook was asked about, in order."""
        return self._reviews.get(hook, [])

    def forget(self, hook: str) -> None:
        self._reviews.pop(hook, None)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        asked: Object = (await request.json())["request"]
        hook = request.match_info["path"]
        self._reviews.setdefault(hook, []).append(asked)
        said = await self._judges.get(hook, allow)(asked)
        if isinstance(said, bytes):
            return web.Response(body=said, content_type="application/json")
        return web.json_response(
            {
                "apiVersion": "admission.k8s.io/v1",
                "kind": "AdmissionReview",
                "response": {"uid": asked["uid"], **said},
            }
        )

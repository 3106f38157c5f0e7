"""An admission webhook whose every answer a test chooses, and which remembers every review.

One server plays any number of webhooks, told apart by their path. Registering one with the API server is left to the
caller, who knows which rules, policies and time limits the test is about; `client` writes the part that names this
server.
"""

import base64
import itertools
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from testbed.api import Object
from testbed.box import Box
from testbed.certificates import Authority
from testbed.changes import Changes
from testbed.errors import BedError
from testbed.inside_server import serve_inside
from testbed.rooms import CONTROL_ADDRESS


@dataclass(frozen=True, slots=True)
class Review:
    """One AdmissionReview as it arrived."""

    order: int
    moment: float
    hook: str
    request: Object

    @property
    def name(self) -> str:
        return self.request.get("name", "")

    @property
    def resource(self) -> str:
        """As rules write it: `pods`, or `pods/binding`."""
        resource: str = self.request["resource"]["resource"]
        part = self.request.get("subResource", "")
        return f"{resource}/{part}" if part else resource


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the webhook says: yes or no, and the JSON patch that makes it a yes."""

    allowed: bool = True
    reason: str = ""
    code: int = 403
    """The HTTP status of a no; the API server says 400 for a webhook that gives none (0)."""
    patch: tuple[Object, ...] = ()


Judge = Callable[[Review], Awaitable[Opinion]]


async def allow(_review: Review) -> Opinion:
    """Yes, as it is."""
    return Opinion()


def refuse(reason: str, *, code: int = 403) -> Judge:
    """No, and why."""

    async def judge(_review: Review) -> Opinion:
        return Opinion(allowed=False, reason=reason, code=code)

    return judge


def annotate(key: str, value: str) -> Judge:
    """Writes one annotation, whether or not the object has others."""

    async def judge(review: Review) -> Opinion:
        present: Object = review.request["object"]["metadata"].get("annotations", {})
        if present.get(key) == value:
            return Opinion()
        path = "/metadata/annotations"
        return Opinion(patch=({"op": "add", "path": path, "value": {**present, key: value}},))

    return judge


class ScriptedWebhook:
    """Records reviews in order and answers them as written down for their path; yes unless written otherwise."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._reviews: list[Review] = []
        self._judges: dict[str, Judge] = {}
        self._changes = Changes()
        self._orders = itertools.count(1)
        self._address = ""

    @classmethod
    @asynccontextmanager
    async def serve(
        cls, box: Box, authority: Authority, *, service: str = ""
    ) -> AsyncGenerator["ScriptedWebhook"]:
        """A webhook that listens inside the box, with a certificate of this authority, until the block ends.

        `service` is the one it can be called by too, as NAME.NAMESPACE.svc; where that leads is left to the caller.
        """
        webhook = cls(authority)
        identity = authority.issue("webhook", "webhook", addresses=[CONTROL_ADDRESS, service or "localhost"])
        async with serve_inside(box, webhook._handle, identity=identity) as address:
            webhook._address = address
            yield webhook

    def client(self, hook: str, *, authority: Authority | None = None) -> Object:
        """The `clientConfig` of the webhook of that name; another authority than its own will not trust it."""
        if not self._address:
            raise BedError("a scripted webhook has an address only while it is served")
        trusted = (authority or self._authority).certificate.read_bytes()
        return {
            "url": f"{self._address}/{hook}",
            "caBundle": base64.b64encode(trusted).decode("ascii"),
        }

    def judge(self, hook: str, by: Judge) -> None:
        self._judges[hook] = by

    def reviews(self, hook: str, name: str = "") -> tuple[Review, ...]:
        """The reviews of one webhook so far, in the order they came, of one object when named."""
        return tuple(
            review for review in self._reviews if review.hook == hook and (not name or review.name == name)
        )

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        asked: Object = (await request.json())["request"]
        review = Review(next(self._orders), time.monotonic(), request.match_info["path"], asked)
        self._reviews.append(review)
        self._changes.announce()
        said = await self._judges.get(review.hook, allow)(review)
        response: Object = {
            "uid": asked["uid"],
            "allowed": said.allowed,
            "status": {"message": said.reason, "code": 0 if said.allowed else said.code},
        }
        if said.patch:
            patch = json.dumps(said.patch).encode()
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode("ascii")}
        return web.json_response(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        )

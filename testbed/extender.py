"""A scheduler extender whose every answer a test chooses, and which remembers every call.

One process of kube-scheduler knows its extenders from its start on, so one server plays them all, told apart by the
first part of the path. What it answers is written down for a pod, never for the extender as a whole: tests beside
each other in one cluster then cannot change each other's answers.
"""

import itertools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, get_args

from aiohttp import web

from testbed.api import Object
from testbed.box import Box
from testbed.changes import Changes
from testbed.errors import BedError
from testbed.inside_server import serve_inside

Verb = Literal["filter", "prioritize", "bind", "preempt"]
_VERBS: dict[str, Verb] = {verb: verb for verb in get_args(Verb)}


@dataclass(frozen=True, slots=True)
class ExtenderCall:
    """One call as it arrived."""

    order: int
    moment: float
    extender: str
    verb: Verb
    body: Object
    port: int
    """The caller's end of the connection: equal for two calls over one connection."""

    @property
    def pod(self) -> str:
        return self.body["PodName"] if self.verb == "bind" else self.body["Pod"]["metadata"]["name"]

    @property
    def offered(self) -> tuple[str, ...]:
        """The names of the nodes to choose from, however they were written."""
        if self.body["NodeNames"] is not None:
            return tuple(self.body["NodeNames"])
        return tuple(node["metadata"]["name"] for node in self.body["Nodes"]["items"])


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer that need not be what kube-scheduler expects."""

    text: str
    status: int = 200


Answer = Callable[[ExtenderCall], Awaitable[Object | list[Object] | Raw]]


@dataclass(frozen=True, slots=True)
class ExtenderEnding:
    """When a call was answered, or given up by its caller."""

    call: ExtenderCall
    moment: float


@dataclass(slots=True)
class _Script:
    """Answers in order; the last stays."""

    answers: list[Answer] = field(default_factory=list[Answer])

    def next(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class ScriptedExtender:
    """Records calls in order and answers them as written down; every pod passes every node unless written otherwise."""

    def __init__(self) -> None:
        self._calls: list[ExtenderCall] = []
        self._endings: list[ExtenderEnding] = []
        self._changes = Changes()
        self._scripts: dict[tuple[str, Verb], _Script] = {}
        self._orders = itertools.count(1)
        self._address = ""

    @classmethod
    @asynccontextmanager
    async def serve(cls, box: Box) -> AsyncGenerator["ScriptedExtender"]:
        """An extender that listens inside the box until the block ends."""
        extender = cls()
        async with serve_inside(box, extender._handle) as address:
            extender._address = address
            yield extender

    def url(self, name: str) -> str:
        """The `urlPrefix` under which this server plays the extender of that name."""
        if not self._address:
            raise BedError("a scripted extender has an address only while it is served")
        return f"{self._address}/{name}"

    def script(self, pod: str, verb: Verb, *answers: Answer) -> None:
        """Answer calls about this pod so: one answer after the other, the last for ever."""
        if not answers:
            raise BedError(f"the extender needs at least one answer to {verb} for the pod {pod}")
        self._scripts[pod, verb] = _Script(list(answers))

    def calls(self, pod: str = "", verb: Verb | None = None) -> tuple[ExtenderCall, ...]:
        """The calls so far, in the order they came, of one pod or verb when named."""
        return tuple(
            call
            for call in self._calls
            if (not pod or call.pod == pod) and (verb is None or call.verb == verb)
        )

    def endings(self, pod: str, verb: Verb) -> tuple[ExtenderEnding, ...]:
        return tuple(end for end in self._endings if end.call.pod == pod and end.call.verb == verb)

    async def wait_for_call(
        self, pod: str, verb: Verb, *, count: int = 1, within: float = 60.0
    ) -> Sequence[ExtenderCall]:
        """The first calls of this verb about this pod, once there are so many."""
        await self._wait(
            lambda: len(self.calls(pod, verb)), f"calls of {verb} for the pod {pod}", count, within
        )
        return self.calls(pod, verb)[:count]

    async def wait_for_ending(
        self, pod: str, verb: Verb, *, count: int = 1, within: float = 60.0
    ) -> Sequence[ExtenderEnding]:
        """The first calls of this verb about this pod that were answered, once there are so many."""
        await self._wait(
            lambda: len(self.endings(pod, verb)), f"answers to {verb} for the pod {pod}", count, within
        )
        return self.endings(pod, verb)[:count]

    async def _wait(self, seen: Callable[[], int], what: str, count: int, within: float) -> None:
        if not await self._changes.until(lambda: seen() >= count, within=within):
            raise BedError(f"within {within:g} s the extender saw {seen()} of {count} awaited {what}")

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        extender, _, verb = request.match_info["path"].rpartition("/")
        known = _VERBS.get(verb)
        if known is None:
            return web.Response(
                status=404, text=f"no extender answers '{request.path}': verbs are {', '.join(_VERBS)}"
            )
        call = ExtenderCall(
            order=next(self._orders),
            moment=time.monotonic(),
            extender=extender,
            verb=known,
            body=await request.json(),
            port=_port(request),
        )
        script = self._scripts.get((call.pod, known))
        answer = script.next() if script else ORDINARY[known]
        self._calls.append(call)
        self._changes.announce()
        said = await answer(call)
        self._endings.append(ExtenderEnding(call, time.monotonic()))
        self._changes.announce()
        if isinstance(said, Raw):
            return web.Response(status=said.status, text=said.text, content_type="application/json")
        return web.json_response(said)


def _port(request: web.Request) -> int:
    peer = request.transport.get_extra_info("peername") if request.transport else None
    return peer[1] if peer else 0


async def accept_all(call: ExtenderCall) -> Object:
    """Every node offered is fine, said in the form the nodes were offered in."""
    return {"Nodes": call.body["Nodes"], "NodeNames": call.body["NodeNames"]}


async def no_opinion(call: ExtenderCall) -> list[Object]:
    """Every node is as good as any other."""
    return [{"Host": name, "Score": 0} for name in call.offered]


async def same_victims(call: ExtenderCall) -> Object:
    """The victims kube-scheduler proposes are fine."""
    return {"NodeNameToMetaVictims": call.body["NodeNameToMetaVictims"]}


async def no_binding(call: ExtenderCall) -> Object:
    """Refuse to bind: how it is done is a test's to say."""
    return {"Error": f"no test has said what to do with the binding of {call.pod}"}


ORDINARY: dict[Verb, Answer] = {
    "filter": accept_all,
    "prioritize": no_opinion,
    "preempt": same_victims,
    "bind": no_binding,
}

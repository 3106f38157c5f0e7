"""A removal from outside: the one object is deleted, and whoever asked is told how far it is until it has gone.

The operator does the work; this only looks. If nobody works, it says so, and what can be done then: a finalizer that
nobody honours keeps an object for ever, and taking it off by hand leaves the nodes as they are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

import msgspec

from tangram.kube.api import Api, Object
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.services.operator.node_views import node_view
from tangram.services.operator.remover import NODES, OBJECT_PATH
from tangram.services.operator.removing import unfinished
from tangram.services.operator.removing_notes import PASSED_OVER
from tangram.units.durations import duration_text
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.operator.names import FINALIZER, KIND, MANAGED, OBJECT, PLURAL
from tangram.wire.operator.status import State, Status, read_status

BETWEEN_S: Final = 1.0
SAID_AGAIN_S: Final = 30.0
LONGEST: Final = 400


class Waiting(msgspec.Struct, frozen=True):
    """A node that the operator is not done with."""

    name: str
    ready: bool
    what: str


class Removal(msgspec.Struct, kw_only=True):
    """What became of it. `docs/operator-upgrades.md` promises this shape to programs."""

    tangram: str = "remove-operator/v1"
    server: str
    namespace: str
    was_there: bool = False
    gone: bool = False
    passed_over: str = ""
    """What the operator said of nodes that it could not clean; their events say it too."""
    nodes: list[Waiting] = []
    problems: list[str] = []


class _Refused(Exception):  # noqa: N818 - says what is the case
    pass


async def remove_and_wait(
    api: Api,
    namespace: str,
    patience: float,
    tell: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> Removal:
    """Delete the object and wait until it has gone. Never raises for what a server does."""
    found = Removal(server=api.connection.server, namespace=namespace)
    ends = clock() + patience
    watch = _Watch(api, tell, clock, ends)
    try:
        found.was_there = await watch.delete()
        found.gone = not found.was_there or await watch.until_gone()
    except _Refused as refused:
        found.problems.append(str(refused))
        return found
    found.passed_over = watch.passed_over
    if not found.gone:
        found.nodes, trouble = await _nodes(api)
        found.problems += [*watch.why_not(namespace, patience), *trouble]
    return found


class _Watch:
    def __init__(
        self, api: Api, tell: Callable[[str], None], clock: Callable[[], float], ends: float
    ) -> None:
        self._api = api
        self._tell = tell
        self._clock = clock
        self._ends = ends
        self._uid = ""
        self._said, self._said_at = "", float("-inf")
        self._last: Object | None = None
        self._silent = ""
        self.passed_over = ""

    async def delete(self) -> bool:
        """Whether there was something to delete. A server that does not answer is asked until the time is up."""
        while True:
            try:
                thing = await self._api.get(OBJECT_PATH)
                self._uid = loose.text(loose.members(thing.get("metadata")).get("uid"))
                await self._api.delete(OBJECT_PATH)
            except ApiError as error:
                if error.status == NOT_FOUND:
                    return False
                if not error.may_pass or self._is_late():
                    raise _Refused(f"{KIND} {OBJECT} cannot be deleted: {_cut(str(error))}") from error
            except ApiUnreachable as error:
                if self._is_late():
                    raise _Refused(f"the API server cannot be asked: {_cut(str(error))}") from error
            else:
                return True
            await asyncio.sleep(BETWEEN_S)

    async def until_gone(self) -> bool:
        while True:
            try:
                thing = await self._api.get(OBJECT_PATH)
                self._silent = ""
                if loose.text(loose.members(thing.get("metadata")).get("uid")) != self._uid:
                    # Somebody has made another one: the one that was meant has gone.
                    return True
                self._last = thing
                told = _status(thing).message or "the operator has not begun yet"
                parts = [part for part in told.split("; ") if f" {PASSED_OVER}: " in part]
                self.passed_over = "; ".join(parts) or self.passed_over
                self._say(told)
            except ApiError as error:
                if error.status == NOT_FOUND:
                    return True
                self._silent = str(error)
            except ApiUnreachable as error:
                self._silent = str(error)
            if self._is_late():
                return False
            await asyncio.sleep(BETWEEN_S)

    def why_not(self, namespace: str, patience: float) -> list[str]:
        waited = duration_text(round(patience))
        if self._silent:
            return [f"after {waited} the API server cannot be asked: {_cut(self._silent)}"]
        status = _status(self._last or {})
        if status.state is State.REMOVING:
            told = status.message.rstrip(".")
            return [
                f"{KIND} {OBJECT} is still there after {waited}: {told}; the operator goes on, so ask again"
            ]
        alone = (
            f"{KIND} {OBJECT} is still there after {waited}, and no operator works on it: Deployment "
            f"metax-operator-controller in namespace {namespace} must run to clean the nodes. If it is gone for good, "
            f'kubectl patch {PLURAL} {OBJECT} --type=merge -p \'{{"metadata":{{"finalizers":null}}}}\' takes finalizer '
            f"{FINALIZER} off, and the nodes keep what was installed on them"
        )
        return [alone]

    def _is_late(self) -> bool:
        return self._clock() + BETWEEN_S > self._ends

    def _say(self, sentence: str) -> None:
        now = self._clock()
        if sentence != self._said or now - self._said_at >= SAID_AGAIN_S:
            left = duration_text(max(0, round(self._ends - now)))
            self._tell(f"{_cut(sentence)} ({left} left)")
            self._said, self._said_at = sentence, now


async def _nodes(api: Api) -> tuple[list[Waiting], list[str]]:
    try:
        found = await api.list_all(NODES, {"labelSelector": f"{MANAGED}=true"})
    except (ApiError, ApiUnreachable) as error:
        return [], [f"which nodes are not done cannot be read: {_cut(str(error))}"]
    views = sorted((node_view(node) for node in found), key=lambda view: view.name)
    waits: list[Waiting] = []
    for view in views:
        left = "; ".join(f"{who} {why}" for who, why, _ in unfinished(view))
        waits.append(Waiting(view.name, view.ready, left or "clean, but for its labels"))
    return waits, []


def _status(thing: Object) -> Status:
    try:
        return read_status(thing)
    except WireError:
        return Status()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."

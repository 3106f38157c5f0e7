"""Events on pods and nodes: what a person sees under `kubectl describe`.

An event is for people, so it may be late but must not be lost to a short outage, and it must not become a flood. Equal
events are one object whose count grows; a bounded number waits while the API server is away; writing is paced. When
more come than fit, the oldest go first and their number is kept, because silence about silence helps nobody.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from tangram.kube.api import Api, Object
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.wire import loose
from tangram.wire.timestamps import to_second

LONGEST_MESSAGE: Final = 1024
MOST_WAITING: Final = 512
MOST_REMEMBERED: Final = 1024
PACE_S: Final = 0.05
RETRY_S: Final = 2.0
LONGEST_RETRY_S: Final = 30.0

Now = Callable[[], dt.datetime]


class About(msgspec.Struct, frozen=True):
    """The object an event belongs to."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    api_version: str = "v1"


class Event(msgspec.Struct, frozen=True):
    about: About
    reason: str
    """One CamelCase word that tools filter by."""
    message: str
    warning: bool = True


class _Written(msgspec.Struct):
    path: str
    count: int


class Recorder:
    """`record` never waits and never fails; `run` writes until cancelled; `flush` waits until nothing waits."""

    def __init__(
        self, api: Api, component: str, host: str = "", now: Now = lambda: dt.datetime.now(dt.UTC)
    ) -> None:
        self._api = api
        self._component = component
        self._host = host
        self._now = now
        self._waiting: OrderedDict[Event, int] = OrderedDict()
        self._written: OrderedDict[Event, _Written] = OrderedDict()
        self._some = asyncio.Event()
        self._none = asyncio.Event()
        self._none.set()
        self._writing: Event | None = None
        self.dropped = 0

    def record(self, event: Event) -> None:
        event = msgspec.structs.replace(event, message=_shortened(event.message))
        self._waiting[event] = self._waiting.get(event, 0) + 1
        if len(self._waiting) > MOST_WAITING:
            # Not the one on its way: it would be written and counted as dropped.
            oldest = next(each for each in self._waiting if each != self._writing)
            self.dropped += self._waiting.pop(oldest)
        self._some.set()
        self._none.clear()

    async def flush(self) -> None:
        await self._none.wait()

    async def run(self) -> None:
        while True:
            await self._some.wait()
            event, times = next(iter(self._waiting.items()))
            self._writing = event
            try:
                await self._write(event, times)
            except ApiUnreachable:
                await asyncio.sleep(RETRY_S)
                continue
            except ApiError as error:
                if error.may_pass:
                    # It may be this one alone that the server cannot take now; the others need not wait for it.
                    self._waiting.move_to_end(event)
                    await asyncio.sleep(min(max(RETRY_S, error.retry_after or 0.0), LONGEST_RETRY_S))
                    continue
                # The namespace is going away, or we may not: nothing that waiting would change.
                self.dropped += times
            finally:
                self._writing = None
            left = self._waiting.pop(event) - times
            if left > 0:
                self._waiting[event] = left
            if not self._waiting:
                self._some.clear()
                self._none.set()
            await asyncio.sleep(PACE_S)

    async def _write(self, event: Event, times: int) -> None:
        known = self._written.get(event)
        if known is not None:
            change = {"count": known.count + times, "lastTimestamp": to_second(self._now())}
            try:
                await self._api.merge(known.path, change)
            except ApiError as error:
                # Events live for an hour; one that is gone starts anew.
                if error.status != NOT_FOUND:
                    raise
                del self._written[event]
            else:
                known.count += times
                return
        body = self._body(event, times)
        path = f"/api/v1/namespaces/{body['metadata']['namespace']}/events"
        made = await self._api.create(path, body)
        name = loose.text(loose.members(made.get("metadata")).get("name"))
        if name:
            self._written[event] = _Written(f"{path}/{name}", times)
        if len(self._written) > MOST_REMEMBERED:
            self._written.popitem(last=False)

    def _body(self, event: Event, times: int) -> Object:
        about = event.about
        # Events of objects without a namespace live in `default`, where kubectl looks for them.
        namespace = about.namespace or "default"
        involved: Object = {"apiVersion": about.api_version, "kind": about.kind, "name": about.name}
        if about.namespace:
            involved["namespace"] = about.namespace
        # `kubectl describe node` looks for events whose uid is the node's name.
        involved["uid"] = about.uid or (about.name if about.kind == "Node" else "")
        moment = to_second(self._now())
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{about.name[:200]}.", "namespace": namespace},
            "involvedObject": involved,
            "reason": event.reason,
            "message": event.message,
            "type": "Warning" if event.warning else "Normal",
            "source": {"component": self._component, "host": self._host},
            "reportingComponent": self._component,
            "reportingInstance": self._host,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": times,
        }


def _shortened(message: str) -> str:
    """The API server refuses more than 1,024 bytes."""
    data = message.encode()
    if len(data) <= LONGEST_MESSAGE:
        return message
    return data[: LONGEST_MESSAGE - 3].decode("utf-8", "ignore") + "..."

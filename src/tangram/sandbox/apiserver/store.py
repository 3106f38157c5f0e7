"""All objects, their history, and whoever follows it.

One number counts every change of every object, as etcd's revision does; clients compare and remember it. The recent
past is kept with what was there before each change, so that a list can be continued as it was when it began, and a
watch can start a little in the past; what is older is gone, and asking for it is answered `410 Gone`.

Objects in here are never changed in place: who wants to change one makes a copy first (`fresh`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple, Protocol, cast

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Refused

Resource = tuple[str, str]
"""Group and plural."""
EventType = Literal["ADDED", "MODIFIED", "DELETED"]

KEPT_CHANGES: Final = 20_000
"""Some minutes of a busy sandbox. What falls out is compacted, as etcd does by the clock."""
WATCHER_BACKLOG: Final = 20_000
"""A client so far behind is cut off: it lists again, and the server's memory stays bounded."""


def fresh(thing: Object) -> Object:
    """A copy that may be changed."""
    return cast("Object", msgspec.json.decode(msgspec.json.encode(thing)))


class Spot(NamedTuple):
    """Where an object is kept."""

    resource: Resource
    namespace: str
    name: str


class Change(NamedTuple):
    revision: int
    type: EventType
    spot: Spot
    thing: Object
    """As it is now; of a removed one as it last was, with the revision of its removal."""
    before: Object | None


class Journal(Protocol):
    """Where changes are written down before anybody hears of them."""

    def wrote(self, spot: Spot, thing: Object | None, revision: int) -> None: ...


class Watcher:
    """What happened to one kind of object since a revision. Take `some` of it, then `unwatch` it."""

    def __init__(self, resource: Resource, namespace: str) -> None:
        self.resource: Final = resource
        self.namespace: Final = namespace
        self.lost = False
        """It fell too far behind, or the kind is gone: nothing more comes."""
        self._waiting: deque[Change] = deque()
        self._news = asyncio.Event()

    def tell(self, change: Change) -> None:
        if self.namespace and change.spot.namespace != self.namespace:
            return
        if len(self._waiting) >= WATCHER_BACKLOG:
            self.lost = True
        if not self.lost:
            self._waiting.append(change)
        self._news.set()

    def end(self) -> None:
        self.lost = True
        self._news.set()

    async def some(self, within: float) -> list[Change]:
        """What has come; nothing when nothing did within so many seconds."""
        if not self._waiting and not self.lost:
            try:
                async with asyncio.timeout(max(within, 0)):
                    await self._news.wait()
            except TimeoutError:
                return []
        self._news.clear()
        found = list(self._waiting)
        self._waiting.clear()
        return found


class Store:
    def __init__(self, journal: Journal | None = None) -> None:
        self.revision = 1
        self._journal = journal
        self._things: dict[Resource, dict[tuple[str, str], Object]] = {}
        self._past: deque[Change] = deque()
        self._compacted = 0
        """Changes up to this revision are forgotten."""
        self._watchers: dict[Resource, list[Watcher]] = {}
        self.listeners: list[Callable[[Change], None]] = []
        """Parts of the server itself that hear of every change at once."""

    # ---- looking

    def get(self, spot: Spot) -> Object | None:
        return self._things.get(spot.resource, {}).get((spot.namespace, spot.name))

    def all(self, resource: Resource, namespace: str = "") -> Iterator[Object]:
        """In the order of namespace and name, as etcd has them."""
        things = self._things.get(resource, {})
        for key in sorted(key for key in things if not namespace or key[0] == namespace):
            yield things[key]

    def as_of(self, resource: Resource, namespace: str, revision: int) -> list[Object]:
        """The same at an earlier moment. Raises `Refused` for one that is forgotten."""
        if revision < self._compacted:
            raise expired("The provided continue parameter is too old to display a consistent list result.")
        then = {
            key: thing
            for key, thing in self._things.get(resource, {}).items()
            if not namespace or key[0] == namespace
        }
        for change in reversed(self._past):
            if change.revision <= revision:
                break
            if change.spot.resource != resource or (namespace and change.spot.namespace != namespace):
                continue
            key = (change.spot.namespace, change.spot.name)
            if change.before is None:
                then.pop(key, None)
            else:
                then[key] = change.before
        return [then[key] for key in sorted(then)]

    # ---- changing

    def put(self, spot: Spot, thing: Object) -> Object:
        """Keep a copy of an object under a new revision, and answer with it."""
        before, kept = self.get(spot), self._next(thing)
        self._write_down(spot, kept)
        self._things.setdefault(spot.resource, {})[spot.namespace, spot.name] = kept
        self._happened("ADDED" if before is None else "MODIFIED", spot, kept, before)
        return kept

    def remove(self, spot: Spot) -> Object:
        """The object as it last was. Raises `KeyError`."""
        before = self._things[spot.resource][spot.namespace, spot.name]
        gone = self._next(before)
        self._write_down(spot, None)
        del self._things[spot.resource][spot.namespace, spot.name]
        self._happened("DELETED", spot, gone, before)
        return gone

    def restore(self, spot: Spot, thing: Object) -> None:
        """Take back what a journal kept, without anybody being told."""
        self._things.setdefault(spot.resource, {})[spot.namespace, spot.name] = thing

    def compact(self) -> None:
        """Forget the past up to now."""
        self._past.clear()
        self._compacted = self.revision

    def _next(self, thing: Object) -> Object:
        """The object as of the revision that is made now."""
        self.revision += 1
        return {**thing, "metadata": {**thing["metadata"], "resourceVersion": str(self.revision)}}

    def _write_down(self, spot: Spot, thing: Object | None) -> None:
        """Before anybody can see it: what cannot be kept has not happened."""
        if self._journal is not None:
            self._journal.wrote(spot, thing, self.revision)

    def _happened(self, kind: EventType, spot: Spot, thing: Object, before: Object | None) -> None:
        change = Change(self.revision, kind, spot, thing, before)
        self._past.append(change)
        if len(self._past) > KEPT_CHANGES:
            self._compacted = self._past.popleft().revision
        for listener in self.listeners:
            listener(change)
        for watcher in self._watchers.get(spot.resource, ()):
            watcher.tell(change)

    # ---- following

    def watch(self, resource: Resource, namespace: str, since: int | None) -> Watcher:
        """Everything after a revision, or from now on. Raises `Refused` for a forgotten one."""
        watcher = Watcher(resource, namespace)
        if since is not None:
            if since < self._compacted:
                raise expired(f"too old resource version: {since} ({self._compacted})")
            for change in self._after(since):
                if change.spot.resource == resource:
                    watcher.tell(change)
        self._watchers.setdefault(resource, []).append(watcher)
        return watcher

    def unwatch(self, watcher: Watcher) -> None:
        self._watchers[watcher.resource].remove(watcher)

    def end_watches(self, resource: Resource) -> None:
        """The kind is gone, or means something else from now on."""
        for watcher in self._watchers.get(resource, ()):
            watcher.end()

    def _after(self, revision: int) -> list[Change]:
        found: list[Change] = []
        for change in reversed(self._past):
            if change.revision <= revision:
                break
            found.append(change)
        return found[::-1]


def expired(message: str) -> Refused:
    """A moment of the past that is forgotten. Clients list anew."""
    return Refused(410, "Expired", message)

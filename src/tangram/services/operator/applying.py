"""Keeps objects of the cluster as they are wanted: one request for each change, none when nothing changed.

Server-side apply does the work: it writes exactly our fields, takes them back from whoever changed them, leaves fields
alone that we do not name, and does nothing at all where nothing differs. What is decided here is only when to ask.
An object that looked right once and has not been touched since is not asked about; one that was touched is, and if the
answer differs from what was there before, somebody's edit was put back, and an event says what, and whose.

Somebody who keeps changing the same object, such as another controller, is answered ever more slowly: two programs
that undo each other must not become a load. An object that is somebody else's is never taken over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tangram.kube.api import Api, Object
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.objects import older
from tangram.kube.recorder import About, Event
from tangram.services.operator.objects import (
    Name,
    differences,
    hash_of,
    hash_on,
    is_ours,
    last_editor,
    name_of,
    owner_of,
    path_of,
    shortened,
    signed,
)
from tangram.services.operator.parts.pods import MANAGER
from tangram.wire import loose
from tangram.wire.operator.names import API_VERSION, KIND, OBJECT

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0
CALM_S: Final = 30.0
"""Edits that lie further apart are no quarrel."""

ABOUT: Final = About(KIND, OBJECT, api_version=API_VERSION)
PUT_BACK: Final = "EditPutBack"
MADE_AGAIN: Final = "MadeAgain"
TAKEN_AWAY: Final = "PartRemoved"
STAYS: Final = "PartStays"
FORBIDDEN: Final = 403


class _Settled(NamedTuple):
    """An object as it was when it was last found right."""

    uid: str
    version: str
    generation: int
    marks: tuple[str, ...]
    """Labels and annotations of ours, which no generation counts."""


class _Pause(NamedTuple):
    seconds: float
    until: float


class Applier:
    """`ensure` and `remove` for single objects. They never raise; sentences say what is wrong."""

    def __init__(
        self,
        api: Api,
        record: Callable[[Event], None],
        *,
        leading: Callable[[], bool] = lambda: True,
        counted: Callable[[str], None] = lambda _what: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._record = record
        self._leading = leading
        self._counted = counted
        self._clock = clock
        self._settled: dict[Name, _Settled] = {}
        self._pauses: dict[Name, _Pause] = {}
        self._troubles: dict[Name, str] = {}
        self._lefts: set[Name] = set()
        self._sent: dict[Name, str] = {}
        """The hash of what was sent last."""

    async def ensure(self, wanted: Object, live: Object | None, *, once: bool = False) -> str:
        """Make it so; what keeps it from being so, or nothing. `once`: only where it is missing."""
        name = name_of(wanted)
        if live is not None:
            if once:
                return ""
            # What we signed is ours, also when somebody changes the label that says so.
            if not is_ours(live) and not hash_on(live):
                return (
                    f"{name} in namespace {name.namespace} belongs to {owner_of(live)} and is not taken over: "
                    "remove it, or uninstall what made it"
                    if name.namespace
                    else f"{name} belongs to {owner_of(live)} and is not taken over: remove it"
                )
            if self._is_right(name, wanted, live):
                return ""
        if self._leading() and self._clock() >= self._pauses.get(name, _Pause(0.0, float("-inf"))).until:
            self._troubles[name] = await self._apply(name, wanted, live, once=once)
        return self._troubles.get(name, "")

    async def remove(self, live: Object) -> str:
        """Take away an object of ours that is not wanted any more."""
        name = name_of(live)
        if live["metadata"].get("deletionTimestamp") or name in self._lefts or not self._leading():
            return ""
        body = {"propagationPolicy": "Background", "preconditions": {"uid": live["metadata"].get("uid")}}
        try:
            await self._api.delete(path_of(name), body)
        except ApiError as error:
            if error.status == FORBIDDEN:
                return self._left(name, error)
            if error.status != NOT_FOUND:
                self._counted("failed")
                return f"{name} could not be removed: {error}"
        except ApiUnreachable as error:
            self._counted("failed")
            return f"{name} could not be removed: {error}"
        self._settled.pop(name, None)
        self._counted("removed")
        self._record(
            Event(ABOUT, TAKEN_AWAY, f"{name} is not wanted any more and was removed", warning=False)
        )
        return ""

    def _left(self, name: Name, error: ApiError) -> str:
        """Where we have no rights any more, as in a namespace that the spec named before: said once, and left."""
        self._lefts.add(name)
        self._counted("failed")
        where = f" in namespace {name.namespace}" if name.namespace else ""
        words = f"{name}{where} is not wanted any more and stays, remove it by hand: {error.message}"
        self._record(Event(ABOUT, STAYS, words))
        return ""

    def _is_right(self, name: Name, wanted: Object, live: Object) -> bool:
        settled, now = self._settled.get(name), _settled(live)
        if settled is None or hash_on(live) != hash_of(wanted):
            # Before the first look nobody knows; and a copy from before our own last write says nothing new.
            return settled is not None and _is_before(now, settled)
        if _is_before(now, settled):
            return True
        if name.kind == "DaemonSet":
            return (now.uid, now.generation, now.marks) == (settled.uid, settled.generation, settled.marks)
        return (now.uid, now.version) == (settled.uid, settled.version)

    async def _apply(self, name: Name, wanted: Object, live: Object | None, *, once: bool) -> str:
        missing = live is None
        known = self._settled.get(name)
        try:
            # A definition that is made once must not be written over one that came a moment ago.
            answer = await (self._create(name, wanted) if once else self._send(name, wanted))
        except ApiError as error:
            self._counted("failed")
            # What was refused is not asked again at every turn.
            self._quarrel(name)
            return f"{name} could not be applied: {error}"
        except ApiUnreachable as error:
            self._counted("failed")
            return f"{name} could not be applied: {error}"
        self._settled[name] = _settled(answer)
        repeated = self._sent.get(name) == hash_of(wanted)
        self._sent[name] = hash_of(wanted)
        if missing:
            self._counted("created")
            if known is not None:
                self._quarrel(name)
                self._record(Event(ABOUT, MADE_AGAIN, f"somebody deleted {name}; it was made again"))
            return ""
        if hash_on(live or {}) != hash_of(wanted):
            self._counted("updated")
            if repeated:
                # Sent before, and it was not what stayed: somebody signs it otherwise, or takes the signature off.
                self._quarrel(name)
            return ""
        self._put_back(name, live or {}, answer)
        return ""

    async def _send(self, name: Name, wanted: Object) -> Object:
        return await self._api.apply(path_of(name), signed(wanted), MANAGER)

    async def _create(self, name: Name, wanted: Object) -> Object:
        path = path_of(name).rpartition("/")[0]
        return await self._api.create(path, wanted, fieldManager=MANAGER)

    def _put_back(self, name: Name, live: Object, answer: Object) -> None:
        places = list(differences(live, answer))
        if not places:
            return
        self._counted("healed")
        self._quarrel(name)
        editor = last_editor(live)
        by = f" by {editor}" if editor else ""
        self._record(
            Event(
                ABOUT,
                PUT_BACK,
                f"{name} was edited{by} and was put back: {shortened(places)}; "
                f"what the operator is to keep otherwise is said in ClusterOperator {OBJECT}",
            )
        )

    def _quarrel(self, name: Name) -> None:
        last = self._pauses.get(name)
        hasty = last is not None and self._clock() - last.until < CALM_S
        seconds = min(2 * last.seconds, LONGEST_PAUSE_S) if last is not None and hasty else FIRST_PAUSE_S
        self._pauses[name] = _Pause(seconds, self._clock() + seconds)


def _is_before(now: _Settled, settled: _Settled) -> bool:
    return now.uid == settled.uid and older(now.version, settled.version)


def _settled(thing: Object) -> _Settled:
    metadata = loose.members(thing.get("metadata"))
    labels = loose.text_map(metadata.get("labels"))
    return _Settled(
        uid=loose.text(metadata.get("uid")),
        version=loose.text(metadata.get("resourceVersion")),
        generation=loose.integer(metadata.get("generation")) or 0,
        marks=(hash_on(thing), *_ours(labels)),
    )


def _ours(labels: dict[str, str]) -> Sequence[str]:
    return [f"{key}={value}" for key, value in sorted(labels.items()) if key.startswith("app.kubernetes.io/")]

"""The controllers' common copy of the cluster: one informer for each kind, whoever asks for it.

A controller that has just made a pod must not make it again because news of it are still on their way. So what the
server answered to a write goes into the copy at once, and counts until the informer has reached that moment itself. An
object noted like that and gone again before the informer ever saw it is dropped when the informer is past its version.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final

from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.informer import Change, Informer, unsigned
from tangram.kube.objects import Key, Object, older
from tangram.sandbox.controllers.reading import controller_of, is_going, key_of, uid_of, version_in
from tangram.sandbox.controllers.resources import Resource

_log = logging.getLogger(__name__)

Told = Callable[[Object | None, Object | None], None]
"""Hears of every change as (before, after); None stands for an object that is not there."""


class Copy:
    """All objects of one kind; `things` by name, `owned_by` their controller."""

    def __init__(self, api: Api, resource: Resource, keep: Callable[[Object], Object]) -> None:
        self.resource: Final = resource
        self._said = ""
        self.things: Final[dict[Key, Object]] = {}
        self.listeners: Final[list[Told]] = []
        self._families: defaultdict[str, dict[Key, None]] = defaultdict(dict)
        self._noted: dict[Key, Object] = {}
        self.informer: Final = Informer(
            api, resource.collection(), self._changed, keep=keep, troubled=self._troubled
        )

    def get(self, key: Key) -> Object | None:
        return self.things.get(key)

    def owned_by(self, uid: str) -> list[Object]:
        """What this object controls."""
        return [self.things[key] for key in self._families.get(uid, ())]

    def without_controller(self, namespace: str) -> list[Object]:
        return self.owned_by(_nobodys(namespace))

    def in_namespace(self, namespace: str) -> Iterator[Object]:
        return (thing for key, thing in self.things.items() if key.namespace == namespace)

    def note(self, thing: Object) -> None:
        """What the server answered to a write of ours."""
        key = key_of(thing)
        known = self.things.get(key)
        if known is not None and older(version_in(thing), version_in(known)):
            return
        if known is None and not older(self.informer.version, version_in(thing)):
            # The informer is past this moment and does not know the object: it is gone already.
            return
        self._noted[key] = thing
        self._put(key, thing)

    def note_going(self, thing: Object, answer: Object) -> None:
        """Its deletion was accepted; until the informer says how it went, it counts as on its way out."""
        key = key_of(thing)
        known = self.things.get(key)
        if known is None or uid_of(known) != uid_of(thing):
            return
        answered = answer if "metadata" in answer and uid_of(answer) == uid_of(thing) else known
        going = {**answered, "metadata": dict(answered["metadata"])}
        going["metadata"].setdefault("deletionTimestamp", "1970-01-01T00:00:00Z")
        self._put(key, going)

    def note_gone(self, thing: Object) -> None:
        """The server knows nothing of it any more."""
        known = self.things.get(key_of(thing))
        if known is not None and uid_of(known) == uid_of(thing) and not is_going(known):
            self.note_going(thing, {})

    def _changed(self, change: Change[Object]) -> None:
        known = self.things.get(change.key)
        noted = self._noted.get(change.key)
        if change.new is None:
            if known is not None and (
                noted is None or uid_of(noted) == uid_of(change.old or {"metadata": {}})
            ):
                self._drop(change.key)
        elif known is None or not older(version_in(change.new), version_in(known)):
            self._noted.pop(change.key, None)
            self._put(change.key, change.new)
        if self._noted:
            self._drop_phantoms()

    def _drop_phantoms(self) -> None:
        for key, thing in list(self._noted.items()):
            seen = self.informer.objects.get(key)
            if seen is None and older(version_in(thing), self.informer.version):
                self._drop(key)

    def _put(self, key: Key, thing: Object) -> None:
        before = self.things.get(key)
        if before is not None:
            self._families[_family(before)].pop(key, None)
        self.things[key] = thing
        self._families[_family(thing)][key] = None
        for listener in self.listeners:
            listener(before, thing)

    def _drop(self, key: Key) -> None:
        self._noted.pop(key, None)
        gone = self.things.pop(key)
        family = self._families[_family(gone)]
        family.pop(key, None)
        if not family:
            del self._families[_family(gone)]
        for listener in self.listeners:
            listener(gone, None)

    def _troubled(self, sentence: str) -> None:
        # Of a kind whose definition was taken back this is heard for ever; it is news once.
        if sentence != self._said:
            _log.warning("the copy of %s: %s", self.resource.plural, sentence)
        self._said = sentence


class Copies:
    """`of` a kind, from the start or later; `begin` to follow those asked for."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._copies: dict[tuple[str, str], Copy] = {}
        self._begun: set[tuple[str, str]] = set()

    def of(self, resource: Resource, keep: Callable[[Object], Object] | None = None) -> Copy:
        """The copy of this kind; whoever asks first decides how much of each object is kept."""
        place = (resource.group, resource.plural)
        if place not in self._copies:
            keep = keep or unsigned
            self._copies[place] = Copy(self._api, resource, keep)
        return self._copies[place]

    async def begin(self, supervisor: Supervisor) -> None:
        """Follow every kind asked for that is not followed yet; returns when each has been read once."""
        fresh = [place for place in self._copies if place not in self._begun]
        for place in fresh:
            self._begun.add(place)
            copy = self._copies[place]
            supervisor.lasting(
                f"controllers' copy of {'.'.join(filter(None, reversed(place)))}", copy.informer.run
            )
        for place in fresh:
            await self._copies[place].informer.synced.wait()


def metadata_only(thing: Object) -> Object:
    """Who an object is, and nothing else of it."""
    return {"metadata": unsigned(thing)["metadata"]}


def _family(thing: Object) -> str:
    owner = controller_of(thing)
    return owner["uid"] if owner is not None else _nobodys(thing["metadata"].get("namespace") or "")


def _nobodys(namespace: str) -> str:
    return f"nobody's in {namespace}"

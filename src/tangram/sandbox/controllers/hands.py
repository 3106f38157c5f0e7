"""The one way in which controllers change something: the write, what the copy learns from it, and what people are told.

Every write names what it was decided from (the version for replacements, the uid for deletions), so a decision from an
old copy is refused by the server instead of carried out.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any, Final

from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.informer import unsigned
from tangram.kube.objects import Key, Object
from tangram.kube.recorder import About, Event, Recorder
from tangram.sandbox.controllers.copies import Copies, Copy
from tangram.sandbox.controllers.reading import is_going, key_of, uid_of, version_in
from tangram.sandbox.controllers.resources import Resource

Clock = Callable[[], dt.datetime]

FORBIDDEN: Final = 403
MOST_AT_ONCE: Final = 32
"""Creations on their way together. The first goes alone: what refuses one would refuse all."""
ORPHAN, BACKGROUND, FOREGROUND = "Orphan", "Background", "Foreground"


class Hands:
    def __init__(self, api: Api, copies: Copies, clock: Clock) -> None:
        self.api: Final = api
        self.copies: Final = copies
        self.clock: Final = clock
        self._recorders: dict[str, Recorder] = {}

    # ---- writing

    async def create(self, copy: Copy, body: Object, namespace: str = "") -> Object:
        made = await self.api.create(copy.resource.collection(namespace), typed(copy.resource, body))
        copy.note(unsigned(made))
        return made

    async def replace(self, copy: Copy, thing: Object, part: str = "") -> Object:
        """The object as given (or only its `/status`), unless somebody has changed it meanwhile."""
        path = copy.resource.path(key_of(thing)) + part
        made = unsigned(await self.api.call("PUT", path, typed(copy.resource, thing)))
        copy.note(made)
        return made

    async def write_status(self, copy: Copy, thing: Object, status: Object) -> Object:
        """Give an object this status; nothing is written where it has it already."""
        if (thing.get("status") or {}) == status:
            return thing
        return await self.replace(copy, {**thing, "status": status}, "/status")

    async def merge(self, copy: Copy, thing: Object, change: Object, *, strict: bool = False) -> Object:
        """A merge patch for this very object; `strict`: only in the state it was read in."""
        bound = {"uid": uid_of(thing)} | ({"resourceVersion": version_in(thing)} if strict else {})
        change = {**change, "metadata": {**(change.get("metadata") or {}), **bound}}
        made = unsigned(await self.api.merge(copy.resource.path(key_of(thing)), change))
        copy.note(made)
        return made

    async def delete(
        self, copy: Copy, thing: Object, *, how: str = BACKGROUND, grace: int | None = None
    ) -> bool:
        """Ask for its end; false when it was gone already, or is another one by now."""
        options: Object = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": how,
            "preconditions": {"uid": uid_of(thing)},
        }
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        try:
            answer = await self.api.delete(copy.resource.path(key_of(thing)), options)
        except ApiError as error:
            if error.status not in (NOT_FOUND, CONFLICT):
                raise
            copy.note_gone(thing)
            return False
        copy.note_going(thing, unsigned(answer) if "metadata" in answer else {})
        return True

    async def still_there(self, resource: Resource, thing: Object) -> bool:
        """Whether the server itself, and not only a copy, has this very object and nobody asked for its end."""
        found = await self.read(resource, key_of(thing))
        return found is not None and uid_of(found) == uid_of(thing) and not is_going(found)

    async def read(self, resource: Resource, key: Key) -> Object | None:
        try:
            return await self.api.get(resource.path(key))
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return None

    # ---- telling

    def tell(
        self,
        component: str,
        resource: Resource,
        thing: Object,
        reason: str,
        message: str,
        *,
        bad: bool = False,
    ) -> None:
        """An event, as `kubectl describe` shows it."""
        key = key_of(thing)
        about = About(
            kind=resource.kind,
            name=key.name,
            namespace=key.namespace,
            uid=uid_of(thing),
            api_version=resource.api_version,
        )
        self._recorder(component).record(Event(about, reason, message, warning=bad))

    def _recorder(self, component: str) -> Recorder:
        if component not in self._recorders:
            self._recorders[component] = Recorder(self.api, component, now=self.clock)
        return self._recorders[component]

    def begin(self, supervisor: Supervisor, *components: str) -> None:
        """Write the events of these components."""
        for component in components:
            supervisor.lasting(f"events of {component}", self._recorder(component).run)


def typed(resource: Resource, thing: Object) -> Object:
    """With its kind said, which items of a list do not say."""
    return {**thing, "apiVersion": resource.api_version, "kind": resource.kind}


def namespace_ends(error: ApiError) -> bool:
    """Nothing can be made in a namespace that is going away, and nothing needs to be."""
    return error.status == FORBIDDEN and "because it is being terminated" in error.message


async def in_batches(count: int, make: Callable[[int], Awaitable[Any]]) -> tuple[int, Exception | None]:
    """Do something so many times, one first and then more and more together; stops after the first batch that failed.

    Returns how often it was done and what went wrong first.
    """
    done, size = 0, 1
    while done < count:
        batch = range(done, min(done + size, count))
        answers = await asyncio.gather(*(make(number) for number in batch), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, ApiError | ApiUnreachable):
                raise answer
        failures = [answer for answer in answers if isinstance(answer, Exception)]
        done += len(batch) - len(failures)
        if failures:
            return done, failures[0]
        size = min(2 * size, MOST_AT_ONCE)
    return done, None


def copied(thing: Object) -> Object:
    """One's own, to change: what the copy holds is everybody's."""
    return deepcopy(thing)

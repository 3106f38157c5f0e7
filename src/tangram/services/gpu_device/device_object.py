"""This node's `Device`: as the API server has it, and the one way in which we write it.

The kind may come and go while the agent runs, with somebody's installation of Koordinator. It is asked for now and
then, and followed for as long as it is served. Writing is a server-side apply without force: a field that somebody else
wrote is a refusal, and a refusal is not tried again before the object is another one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Final

from tangram.kube.api import APPLY_PATCH, Api, Object
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.informer import Change, Informer, whole
from tangram.kube.objects import identity_of, older
from tangram.kube.probing import has_resource
from tangram.kubelet.news import News
from tangram.units.ids import CardUuid, NodeName
from tangram.wire.errors import WireError
from tangram.wire.koordinator.device import API_VERSION, read_device
from tangram.wire.koordinator.names import GPU
from tangram.wire.managed_fields import managers_of

MANAGER: Final = "tangram-gpu-device"
PLURAL: Final = "devices"
PATH: Final = f"/apis/{API_VERSION}/{PLURAL}"

_CONFLICTS_WITH = re.compile(r'conflicts? with "([^"]*)"')


class DeviceObject:
    """`run` until cancelled. `changed` hears whenever one of the three answers below may be another."""

    def __init__(
        self,
        api: Api,
        node: NodeName,
        changed: Callable[[], None],
        *,
        pause: float,
        late: float,
        clock: Callable[[], float],
    ) -> None:
        self._late = late
        self._clock = clock
        self._applied_at = float("-inf")
        self._api = api
        self._node = node
        self._changed = changed
        self._pause = pause
        self._doubt = News()
        self._kind: bool | None = None
        self._informer: Informer[Object] | None = None
        self._refused = ("", "")
        self.present: Object | None = None
        self.trouble = ""
        """Why the object cannot be read; empty when it can."""

    @property
    def served(self) -> bool | None:
        """Whether there is such a kind; None while that, or what `present` is, is not known."""
        known = self._kind is False or (self._informer is not None and self._informer.synced.is_set())
        return self._kind if known else None

    @property
    def written_by(self) -> str:
        """Who else wrote what the object says about cards; empty when we may write it."""
        if self.present is None:
            return ""
        version, refused_for = self._refused
        if version == identity_of(self.present).version:
            return refused_for
        managers = managers_of(self.present, "spec")
        return "" if MANAGER in managers else " and ".join(sorted(managers))

    @property
    def minors(self) -> dict[CardUuid, int] | None:
        """The numbers that it gives the cards, which are what koord-scheduler counts by; None where there is none."""
        if self.present is None:
            return None
        try:
            entries = read_device(self.present)[0].entries
        except WireError:
            return None
        return {CardUuid(entry.id): entry.minor for entry in entries if entry.kind == GPU}

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            following: asyncio.Task[None] | None = None
            edition = self._doubt.edition
            while True:
                served = await self._ask()
                if served and following is None:
                    following = tasks.create_task(self._follow())
                elif served is False and following is not None:
                    following.cancel()
                    following = None
                    self._forget()
                if served != self._kind and served is not None:
                    self._kind = served
                    self._changed()
                await self._doubt.after(edition, self._pause)
                edition = self._doubt.edition

    async def apply(self, wanted: Object) -> bool:
        """Write the object. False where somebody else owns what it says. Raises `ApiError` and `ApiUnreachable`."""
        try:
            answer = await self._api.call(
                "PATCH",
                f"{PATH}/{self._node}",
                wanted,
                content=APPLY_PATCH,
                query={"fieldManager": MANAGER},
            )
        except ApiError as error:
            if error.status == NOT_FOUND:
                self._doubt.announce()
            owners = _CONFLICTS_WITH.findall(error.message) if error.status == CONFLICT else []
            if not owners:
                raise
            version = "" if self.present is None else identity_of(self.present).version
            self._refused = (version, " and ".join(sorted(set(owners))))
            return False
        self._applied_at = self._clock()
        self._take(answer)
        return True

    async def _ask(self) -> bool | None:
        try:
            return await has_resource(self._api, API_VERSION, PLURAL)
        except (ApiError, ApiUnreachable):
            # The rest of the agent says that nobody answers; what was known stays.
            return None

    async def _follow(self) -> None:
        self._informer = informer = Informer(
            self._api,
            PATH,
            self._told,
            keep=whole,
            query={"fieldSelector": f"metadata.name={self._node}"},
            troubled=self._troubled,
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(informer.run())
            # A list without our object tells nobody anything, and still answers what was asked.
            await informer.synced.wait()
            self._changed()

    def _forget(self) -> None:
        self._informer, self.present, self.trouble = None, None, ""

    def _told(self, change: Change[Object]) -> None:
        self.trouble = ""
        if change.new is not None:
            self._take(change.new)
        elif self.present is not None and change.old is not None and _same_object(change.old, self.present):
            # One that was made again meanwhile is another, and known from the answer to our own write.
            self.present = None
        self._changed()

    def _take(self, thing: Object) -> None:
        seen = identity_of(thing)
        if self.present is not None and self._clock() - self._applied_at < self._late:
            # Only our own write can be ahead of what is followed.
            known = identity_of(self.present)
            if known.uid == seen.uid and older(seen.version, known.version):
                return
        self.present = thing

    def _troubled(self, sentence: str) -> None:
        self.trouble = sentence
        # It may be that the kind is gone.
        self._doubt.announce()
        self._changed()


def _same_object(one: Object, other: Object) -> bool:
    return identity_of(one).uid == identity_of(other).uid

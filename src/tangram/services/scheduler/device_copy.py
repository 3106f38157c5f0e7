"""Koordinator's `Device` objects, followed wherever and whenever there are any.

The kind may be there from the start, be installed when the scheduler has long been running, or be taken away again with
all its objects. Until the API server serves it, it is asked now and then; a cluster without it is the usual one, so
that is no trouble and nobody is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from tangram.kube.api import Api, Object
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.informer import Change, Informer
from tangram.kube.probing import has_resource
from tangram.units.ids import NodeName
from tangram.wire.errors import WireError
from tangram.wire.koordinator.device import API_VERSION, Device, read_device

DEVICES: Final = f"/apis/{API_VERSION}/devices"
LOOK_EVERY_S: Final = 60.0
ASK_AGAIN_S: Final = 1.0
"""After a question about the kind that nobody answered."""

_log = logging.getLogger(__name__)

Told = Callable[[NodeName, Device | None], None]


class DeviceCopy:
    """`run()` until cancelled; `told` hears of every `Device` that is new, changed or gone.

    `looked` is set after the first try: the kind is not served, cannot be read, or all its objects are read.
    """

    def __init__(self, api: Api, told: Told, *, look_every: float = LOOK_EVERY_S) -> None:
        self._api = api
        self._told = told
        self._look_every = look_every
        self._doubt: Final = asyncio.Event()
        self.looked: Final = asyncio.Event()

    async def run(self) -> None:
        while True:
            served = await self._served()
            if served:
                await self._follow()
                continue
            self.looked.set()
            await asyncio.sleep(self._look_every if served is False else ASK_AGAIN_S)

    async def _follow(self) -> None:
        """Until the kind is not served any more."""
        copy = Informer(self._api, DEVICES, self._changed, keep=_read, troubled=self._troubled)
        self._doubt.clear()
        following = asyncio.create_task(copy.run())
        synced = asyncio.create_task(self._synced(copy))
        try:
            while await self._still_served(following):
                pass
        finally:
            for task in (following, synced):
                task.cancel()
            await asyncio.gather(following, synced, return_exceptions=True)
        for key in list(copy.objects):
            self._told(NodeName(key.name), None)
        _log.info("Devices are not served any more; nodes are what they say themselves")

    async def _still_served(self, following: asyncio.Task[None]) -> bool:
        """Wait for the next doubt, and settle it. Raises what the copy ended with, if it did."""
        doubting = asyncio.create_task(self._doubt.wait())
        try:
            await asyncio.wait({following, doubting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            doubting.cancel()
        if following.done():
            following.result()
        self._doubt.clear()
        return await self._served() is not False

    async def _synced(self, copy: Informer[Device | None]) -> None:
        await copy.synced.wait()
        _log.info("%d nodes are described by Devices", len(copy.objects))
        self.looked.set()

    async def _served(self) -> bool | None:
        """Whether the kind is served; None when nobody can tell."""
        try:
            return await has_resource(self._api, API_VERSION, "devices")
        except (ApiError, ApiUnreachable):
            return None

    def _changed(self, change: Change[Device | None]) -> None:
        self._told(NodeName(change.key.name), change.new)

    def _troubled(self, sentence: str) -> None:
        _log.warning("the copy of devices: %s", sentence)
        # A watch that cannot be had may mean that there is nothing to watch.
        self._doubt.set()
        # Whoever may not read them, or finds nobody there, does not wait for them: they count whenever they come.
        self.looked.set()


def _read(manifest: Object) -> Device | None:
    try:
        return read_device(manifest)[0]
    except WireError as error:
        _log.warning("a Device cannot be read: %s", error)
        return None

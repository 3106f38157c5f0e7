"""One pod's status on its way to the API server: always the latest, never twice the same, and never lost to an outage.

A short pause lets the first changes of a pod travel together. A pod that is gone, or another one of the same name, is
nobody's to write to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from tangram.kube.api import STRATEGIC_PATCH, Api
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.objects import Object
from tangram.kubelet.news import News
from tangram.sandbox.nodes.pod_specs import path_of, uid_of

GATHER_S: Final = 0.03
RETRY_S: Final = 1.0


class StatusWriting:
    """`run` until cancelled; `due` after every change; `settled` waits until the latest was written or is moot."""

    def __init__(
        self, api: Api, pod: Callable[[], Object], status: Callable[[], Object], turns: asyncio.Semaphore
    ) -> None:
        self._api = api
        self._pod = pod
        self._status = status
        self._turns = turns
        self._due = News()
        self._settled = News()
        self._done = 0
        self.written: Object | None = None
        self.moot = False
        """The pod is not there any more."""

    def due(self) -> None:
        self._due.announce()

    async def settled(self) -> None:
        wanted = self._due.edition
        while self._done < wanted and not self.moot:
            await self._settled.after(self._settled.edition)

    async def run(self) -> None:
        while not self.moot:
            await self._due.after(self._done)
            await asyncio.sleep(GATHER_S)
            edition = self._due.edition
            status = self._status()
            if status == self.written or await self._write(status):
                self._done = edition
                self._settled.announce()
            else:
                await asyncio.sleep(RETRY_S)

    async def _write(self, status: Object) -> bool:
        pod = self._pod()
        body: Object = {"metadata": {"uid": uid_of(pod)}, "status": status}
        try:
            async with self._turns:
                await self._api.call("PATCH", f"{path_of(pod)}/status", body, content=STRATEGIC_PATCH)
        except ApiUnreachable:
            return False
        except ApiError as error:
            another = error.status == CONFLICT and "uid" in error.message.lower()
            if error.may_pass or (error.status == CONFLICT and not another):
                return False
            # Refused for good (as for a pod with oversized annotations): it is tried again with the next change.
            self.moot = another or error.status == NOT_FOUND
        self.written = status
        return True

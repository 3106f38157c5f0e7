"""One node's object: made when its kubelet starts, made anew when somebody deletes it, and its status kept true.

Amounts are written when they change, everything together when the heartbeat's turn comes. What others wrote onto the
node stays: labels and annotations are merged, and so are amounts of resources that no plugin here has.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable
from typing import Final

from tangram.kube.api import STRATEGIC_PATCH, Api
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
from tangram.kubelet.news import News
from tangram.sandbox.nodes.described import MachineDescription
from tangram.sandbox.nodes.node_objects import (
    LEASES,
    NODES,
    Offered,
    Said,
    lease_object,
    node_object,
    own_annotations,
    own_labels,
    status_of,
)
from tangram.wire import loose

GATHER_S: Final = 0.05
RETRY_S: Final = 1.0


class NodeKeeping:
    """`register` first; `run` writes what is `due` until cancelled; `beat` when it is this node's turn."""

    def __init__(
        self,
        api: Api,
        description: MachineDescription,
        offered: Callable[[], Offered],
        *,
        port: Callable[[], int],
        now: Callable[[], dt.datetime],
    ) -> None:
        self._api = api
        self._description = description
        self._offered = offered
        self._port = port
        self._now = now
        self._since = now()
        self._due = News()
        self._written: Offered | None = None
        self.uid = ""

    @property
    def path(self) -> str:
        return f"{NODES}/{self._description.node}"

    def due(self) -> None:
        """The amounts may have changed."""
        self._due.announce()

    async def register(self, said: Said) -> None:
        """Make the node, or bring one that is there up to date. Raises `ApiError` and `ApiUnreachable`."""
        self._since = self._now()
        body = node_object(self._description, said, port=self._port(), now=self._since)
        try:
            made = await self._api.create(NODES, body)
        except ApiError as error:
            if error.status != CONFLICT:
                raise
            change = {
                "metadata": {
                    "labels": {**own_labels(self._description), **said.labels},
                    "annotations": {**own_annotations(self._description), **said.annotations},
                }
            }
            made = await self._api.merge(self.path, change)
            await self._write_status(said.offered)
        self.uid = loose.text(loose.members(made.get("metadata")).get("uid"))
        self._written = said.offered

    async def run(self) -> None:
        edition = self._due.edition
        while True:
            await self._due.after(edition)
            await asyncio.sleep(GATHER_S)
            edition = self._due.edition
            try:
                await self.flush()
            except (ApiError, ApiUnreachable):
                await asyncio.sleep(RETRY_S)
                self.due()

    async def flush(self) -> None:
        """Write the amounts now, if they changed. Raises `ApiError` and `ApiUnreachable`."""
        offered = self._offered()
        if offered != self._written:
            await self._write_status(offered)

    async def beat(self, seconds: int) -> None:
        """Renew the Lease. What goes wrong is tried again at the next turn."""
        try:
            await self._renew(seconds)
        except (ApiError, ApiUnreachable):
            return

    async def report(self) -> None:
        """Write the whole status, changed or not; make the node anew if it was deleted."""
        offered = self._offered()
        try:
            await self._write_status(offered)
        except ApiError as error:
            if error.status == NOT_FOUND:
                await self.register(Said(offered=offered))
        except ApiUnreachable:
            return

    async def _renew(self, seconds: int) -> None:
        name = self._description.node
        lease = lease_object(name, self.uid, self._now(), seconds)
        try:
            await self._api.merge(f"{LEASES}/{name}", {"spec": lease["spec"]})
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            await self._api.create(LEASES, lease)

    async def _write_status(self, offered: Offered) -> None:
        gone = (
            set[str]() if self._written is None else self._written.capacity.keys() - offered.capacity.keys()
        )
        status = status_of(self._description, offered, port=self._port(), now=self._now(), since=self._since)
        for part in ("capacity", "allocatable"):
            # A resource whose plugin is gone for good stays named, with nothing of it.
            status[part] |= dict.fromkeys(gone, "0")
        await self._api.call("PATCH", f"{self.path}/status", {"status": status}, content=STRATEGIC_PATCH)
        self._written = offered

"""Telling Koordinator of this node's cards: who has to is decided at every look, and then done by nobody else.

Nothing is written that is there already, so a node at rest costs no write, and an agent that begins again none either.
What was written stays when the agent ends: the cards are still there, and pods that run go on. What cannot be written
is told once, on the node, and tried again.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tangram.kube.api import Api, Object
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.objects import identity_of, older
from tangram.kubelet.news import News
from tangram.services.gpu_device.bound_pods import BoundPods
from tangram.services.gpu_device.described import Described
from tangram.services.gpu_device.device_info_file import DeviceInfoFile
from tangram.services.gpu_device.device_object import MANAGER, DeviceObject
from tangram.services.gpu_device.node_amounts import amounts_change, labels_change, stated_amounts, withdrawal
from tangram.services.gpu_device.reporter import (
    Facts,
    Reporter,
    daemon_in,
    folder_sentence,
    foreign_sentence,
    koordlet_in,
    reporter,
    unwritable_sentence,
)
from tangram.services.gpu_device.settings import Pauses
from tangram.units.ids import NodeName
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.koordinator.device import Device, changes_device, device_object, read_device
from tangram.wire.koordinator.device_info import encode_device_infos
from tangram.wire.koordinator.node_resources import node_labels, node_resources
from tangram.wire.koordinator.reporting import device_infos_of, device_of
from tangram.wire.timestamps import to_second

log = logging.getLogger("tangram.gpu-device")

RETRY_S: Final = 5.0
LATE_S: Final = 30.0
"""So long our copies may take to hear of our own writes. Not for ever: a restored server counts from further back."""


class KoordinatorReports:
    """`run` until cancelled, beside `device.run`; `due` whenever something may have changed."""

    def __init__(
        self,
        api: Api,
        node: NodeName,
        *,
        present: Callable[[], Object | None],
        pods: BoundPods,
        described: Callable[[], Described | None],
        folder: Path,
        pauses: Pauses,
        told: Callable[[str], None],
        counted: Callable[[str], None] = lambda _thing: None,
        became: Callable[[Reporter], None] = lambda _reporter: None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self._api = api
        self._node = node
        self._path = f"/api/v1/nodes/{node}"
        self._present = present
        self._pods = pods
        self._described = described
        self._pauses = pauses
        self._told = told
        self._counted = counted
        self._became = became
        self._clock = clock
        self._now = now
        self._news = News()
        self._file = DeviceInfoFile(folder)
        # A koordlet that is being replaced is no reason to take its place. Our file says that one was here.
        self._koordlet_seen = clock() if self._file.exists() else float("-inf")
        self.device: Final = DeviceObject(api, node, self.due, pause=pauses.kinds, late=LATE_S, clock=clock)
        self.reporter = Reporter.UNDECIDED
        self._unread_since: float | None = None
        self._written = ("", float("-inf"))
        """The version of the node after our last write, and when that was."""
        self.trouble = ""
        """What keeps the cards from being reported; empty when nothing does."""

    def due(self) -> None:
        self._news.announce()

    async def run(self) -> None:
        edition, settled = -1, True
        while True:
            await self._news.after(edition, self._pauses.look_at_least if settled else RETRY_S)
            edition = self._news.edition
            settled = await self.look()
            await asyncio.sleep(self._pauses.publish)

    async def look(self) -> bool:
        """Decide who reports, and report if it is us. Returns whether nothing is left to try again soon."""
        node, described = self._present(), self._described()
        if node is None or described is None or self._is_behind(node):
            # What we wrote last is not in our copy of the node yet; it comes, and so does the next look.
            return True
        self._decide(described)
        try:
            trouble = await self._report(node, described)
        except WireError as error:
            self._troubled(f"the cards cannot be reported: {error.sentence}")
        except ApiError as error:
            # What is not found is a kind or a node that has just gone, of which we hear in a moment.
            self._troubled(
                unwritable_sentence(str(error)), quietly=error.may_pass or error.status == NOT_FOUND
            )
            return False
        except ApiUnreachable as error:
            self._troubled(unwritable_sentence(str(error)), quietly=True)
            return False
        except OSError as error:
            self._troubled(folder_sentence(self._file.path.parent, error))
            return False
        else:
            self._troubled(trouble)
        return True

    def _is_behind(self, node: Object) -> bool:
        version, since = self._written
        return older(identity_of(node).version, version) and self._clock() - since < LATE_S

    def _decide(self, described: Described) -> None:
        pods = self._pods.all()
        if koordlet_in(pods):
            self._koordlet_seen = self._clock()
        cards = described.node.cards
        facts = Facts(
            served=self.device.served,
            koordlet=self._clock() - self._koordlet_seen < self._pauses.koordlet_gone,
            daemon=daemon_in(pods, {card.vendor for card in cards}),
            listed_in=self._file.listed_in(cards),
            written_by=self.device.written_by,
        )
        decided = reporter(facts)
        if decided is not self.reporter:
            log.info("who reports the cards to Koordinator", extra={"reporter": decided.value})
            self.reporter = decided
            self._became(decided)

    async def _report(self, node: Object, described: Described) -> str:
        """Do what is ours to do. What keeps it from being done, in a sentence, or nothing."""
        match self.reporter:
            case Reporter.UNDECIDED:
                return unwritable_sentence(self.device.trouble) if self._long_unread() else ""
            case Reporter.NOBODY:
                await self._patch(f"{self._path}/status", withdrawal(node, MANAGER), "node-amounts")
            case Reporter.DAEMON:
                self._remove_file()
            case Reporter.FILE:
                self._write_file(described)
            case Reporter.OBJECT:
                self._remove_file()
                return await self._write_objects(node, described)
            case Reporter.FOREIGN:
                return foreign_sentence(self._node, self.device.written_by)
        return ""

    def _long_unread(self) -> bool:
        """Whether the Device could not be read for so long that it is no matter of a server that is starting."""
        if not self.device.trouble:
            self._unread_since = None
        elif self._unread_since is None:
            self._unread_since = self._clock()
        return self._unread_since is not None and self._clock() - self._unread_since >= self._pauses.kinds

    # ---- the file

    def _write_file(self, described: Described) -> None:
        infos = device_infos_of(described.node, notes=described.notes)
        if not infos:
            self._remove_file()
        elif self._file.write(encode_device_infos(infos)):
            self._counted("device-infos")

    def _remove_file(self) -> None:
        if self._file.remove():
            log.info("our file for koordlet is removed", extra={"reporter": self.reporter.value})

    # ---- the objects

    async def _write_objects(self, node: Object, described: Described) -> str:
        before = self.device.present
        known = None if before is None else read_device(before)[0]
        device = device_of(described.node, now=to_second(self._now()), before=known, notes=described.notes)
        if not device.entries and before is None:
            # A node without cards has nothing to say, and an empty Device would claim that it has.
            return ""
        wanted = device_object(device, node_uid=_uid(node))
        if changes_device(before, wanted):
            if not await self.device.apply(wanted):
                # Somebody was faster, and what they made is not in our copy yet.
                return foreign_sentence(self._node, self.device.written_by or "somebody else")
            self._counted("device")
        await self._tell_node(node, device)
        return ""

    async def _tell_node(self, node: Object, device: Device) -> None:
        await self._patch(self._path, labels_change(node, node_labels(device)), "node")
        wanted = node_resources(device, shares=True)
        change = amounts_change(node, wanted)
        if change is not None and wanted:
            # Applied, so that the API server keeps whose they are.
            stated = stated_amounts(self._node, wanted)
            self._wrote(await self._api.apply(f"{self._path}/status", stated, MANAGER), "node-amounts")
        else:
            await self._patch(f"{self._path}/status", change, "node-amounts")

    async def _patch(self, path: str, change: Object | None, thing: str) -> None:
        if change is not None:
            self._wrote(await self._api.merge(path, change, fieldManager=MANAGER), thing)

    def _wrote(self, node: Object, thing: str) -> None:
        self._written = (identity_of(node).version, self._clock())
        self._counted(thing)

    def _troubled(self, sentence: str, *, quietly: bool = False) -> None:
        if sentence and sentence != self.trouble:
            log.warning("the cards are not reported to Koordinator", extra={"why": sentence})
            if not quietly:
                self._told(sentence)
        self.trouble = sentence


def _uid(node: Object) -> str:
    return loose.text(loose.members(node.get("metadata")).get("uid"))

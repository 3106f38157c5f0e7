"""Telling the cluster what this node has: written only when it differs from what the node says already.

The node's own object is watched, so that a restart of the agent writes nothing, and what somebody else changed is put
right. Bursts become one write a second at most; while the API server is away the latest state waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from tangram.kube.api import Api, Object
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.informer import Change
from tangram.kubelet.news import News
from tangram.units.ids import NodeName
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.publication import Publication

log = logging.getLogger("tangram.gpu-device")

PACE_S: Final = 1.0
RETRY_S: Final = 5.0


class OwnNode:
    """This node's object, as the API server has it."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.known = False
        self.annotations: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.version = ""
        self.unschedulable = False
        self.info: dict[str, str] = {}
        self.uid = ""
        self.capacity: dict[str, str] = {}
        self.allocatable: dict[str, str] = {}
        self.conditions: dict[str, dict[str, str]] = {}
        """By type, as the node's status has them."""

    def told(self, change: Change[Object]) -> None:
        """Take over one step of the informer."""
        if change.new is None:
            self.known = False
            return
        metadata = loose.members(change.new.get("metadata"))
        spec = loose.members(change.new.get("spec"))
        status = loose.members(change.new.get("status"))
        seen = self._said()
        self.known = True
        self.uid = loose.text(metadata.get("uid"))
        self.annotations = loose.text_map(metadata.get("annotations"))
        self.labels = loose.text_map(metadata.get("labels"))
        self.version = loose.text(metadata.get("resourceVersion"))
        self.unschedulable = spec.get("unschedulable") is True
        self.info = loose.text_map(status.get("nodeInfo"))
        self.capacity = loose.text_map(status.get("capacity"))
        self.allocatable = loose.text_map(status.get("allocatable"))
        self.conditions = _conditions(status.get("conditions"))
        if self._said() != seen:
            self._changed()

    def _said(self) -> object:
        """What others of the agent go by. The kubelet's own conditions change every few minutes and are not in it."""
        return (
            self.annotations,
            self.labels,
            self.unschedulable,
            self.known,
            self.info,
            self.capacity,
            self.allocatable,
        )


def _conditions(written: object) -> dict[str, dict[str, str]]:
    entries = (loose.text_map(entry) for entry in loose.elements(written))
    return {entry.get("type", ""): entry for entry in entries}


class Publisher:
    """`run` until cancelled; `due` whenever something may have changed."""

    def __init__(
        self,
        api: Api,
        node: NodeName,
        own: OwnNode,
        wanted: Callable[[Mapping[str, str], Mapping[str, str]], Publication | None],
        counted: Callable[[str], None] = lambda _outcome: None,
        *,
        pace: float = PACE_S,
    ) -> None:
        self._pace = pace
        self._api = api
        self._path = f"/api/v1/nodes/{node}"
        self._own = own
        self._wanted = wanted
        self._counted = counted
        self._news = News()
        self.trouble = ""
        self.settled = False
        """Whether the node said all that is wanted when it was last looked at."""

    def due(self) -> None:
        self._news.announce()

    async def run(self) -> None:
        edition = -1
        while True:
            await self._news.after(edition)
            edition = self._news.edition
            settled = await self.write()
            await asyncio.sleep(self._pace if settled else RETRY_S)
            if not settled:
                self.due()

    async def write(self) -> bool:
        """Bring the node's object up to date. Returns whether nothing is left to do."""
        if not self._own.known:
            return True
        try:
            wanted = self._wanted(self._own.annotations, self._own.labels)
        except WireError as error:
            self._troubled(f"the inventory cannot be published: {error.sentence}")
            return True
        missing = None if wanted is None else wanted.differing_from(self._own.annotations, self._own.labels)
        self.settled = wanted is not None and not missing
        if not missing:
            self.trouble = ""
            return True
        change: Object = {"metadata": {"annotations": missing.annotations, "labels": missing.labels}}
        try:
            await self._api.merge(self._path, change)
        except (ApiError, ApiUnreachable) as error:
            self._troubled(f"the node cannot be written: {error}")
            return False
        self._counted("node")
        self.trouble = ""
        self.settled = True
        return True

    def _troubled(self, sentence: str) -> None:
        if sentence != self.trouble:
            log.warning("publishing fails", extra={"error": sentence})
        self.trouble = sentence
        self._counted("failed")

"""Tells the cluster how this node's container runtime stands: one label, one annotation, one patch for each change.

What the node carries is known from the API server alone, so a restart of ours writes nothing, and a label that somebody
took off comes back. Since when a phase lasts stays what it was, as long as the phase does.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from tangram.kube.api import Api, Object
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.informer import Change
from tangram.services.container_runtime.metrics import Metrics
from tangram.units.ids import NodeName
from tangram.wire import loose
from tangram.wire.operator import names
from tangram.wire.operator.node_states import Phase, RuntimeState, state_of, state_text
from tangram.wire.timestamps import to_second

MANAGER: Final = "tangram-container-runtime"
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0
PACE_S: Final = 0.5

_LABELS: Final = {Phase.READY: "true", Phase.REMOVED: None}
"""Any other phase is `false`."""

log = logging.getLogger("tangram.container_runtime")


def node_path(node: NodeName) -> str:
    """Where the API server keeps the node."""
    return f"/api/v1/nodes/{node}"


def changes(node: Object, state: RuntimeState, now: str) -> Object:
    """The patch that makes a node say this state; empty where it does."""
    metadata = loose.members(node.get("metadata"))
    labels, annotations = loose.text_map(metadata.get("labels")), loose.text_map(metadata.get("annotations"))
    told = state_of(RuntimeState, annotations, names.RUNTIME_STATE)
    since = told.since if told is not None and told.phase is state.phase and told.since else now
    text = state_text(msgspec.structs.replace(state, since=since))
    label = _LABELS.get(state.phase, "false")
    patch: Object = {}
    if labels.get(names.RUNTIME_READY) != label:
        patch["labels"] = {names.RUNTIME_READY: label}
    if annotations.get(names.RUNTIME_STATE) != text:
        patch["annotations"] = {names.RUNTIME_STATE: text}
    return {"metadata": patch} if patch else {}


class Teller:
    """`told` and `say` take news, `run` writes until cancelled."""

    def __init__(
        self,
        api: Api,
        node: NodeName,
        metrics: Metrics,
        *,
        moved: Callable[[], None] = lambda: None,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self._api = api
        self._name = node
        self._metrics = metrics
        self._tell_on = moved
        self._now = now
        self._due = asyncio.Event()
        self._trouble = ""
        self._state: RuntimeState | None = None
        self.node: Object | None = None

    def told(self, change: Change[Object]) -> None:
        """The informer's news of the node."""
        if change.key.name != self._name:
            return
        self.node = change.new
        self._due.set()
        self._tell_on()

    def say(self, state: RuntimeState) -> None:
        """What the node is to say from now on."""
        self._state = state
        self._metrics.ready.set(state.phase is Phase.READY)
        self._due.set()

    def unready(self) -> list[str]:
        """What keeps this node from being ready, for `/readyz`."""
        reasons = [self._trouble] if self._trouble else []
        if self.node is None:
            reasons.append(f"the API server has not told about node {self._name} yet, or it has no such node")
        if self._state is None:
            reasons.append("the container runtime of this host has not been looked at yet")
        elif self._state.phase in (Phase.FAILED, Phase.WAITING):
            reasons.append(self._state.why)
        return reasons

    async def run(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            await self._due.wait()
            self._due.clear()
            if self.node is None or self._state is None:
                continue
            patch = changes(self.node, self._state, to_second(self._now()))
            if not patch:
                self._trouble = ""
                continue
            try:
                self.node = await self._api.merge(node_path(self._name), patch, fieldManager=MANAGER)
            except (ApiError, ApiUnreachable) as error:
                self._failed(error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
                continue
            pause = FIRST_PAUSE_S
            self._trouble = ""
            self._metrics.patches.inc()
            await asyncio.sleep(PACE_S)

    def _failed(self, error: ApiError | ApiUnreachable) -> None:
        self._metrics.patches_failed.inc()
        sentence = f"the state of node {self._name} could not be written: {error}"
        if sentence != self._trouble:
            log.warning("%s", sentence)
        self._trouble = sentence
        self._due.set()

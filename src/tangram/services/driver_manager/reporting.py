"""What the node says of its driver and its MXMACA: labels that DaemonSets ask for, annotations that say the rest.

One patch for each change and none without one; what the node says already is read from the API server, so a restart
writes nothing. A state keeps the moment in which its phase began.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec

from tangram.kube.api import STRATEGIC_PATCH, Api
from tangram.services.driver_manager.decisions import Decision
from tangram.services.driver_manager.own_node import TRUE, OwnNode
from tangram.wire.operator import names
from tangram.wire.operator.node_states import (
    DriverState,
    MacaState,
    Phase,
    Source,
    state_of,
    state_text,
)
from tangram.wire.timestamps import to_second

MANAGER: Final = "tangram-driver-manager"
FALSE: Final = "false"
MODES: Final[Mapping[Source, str]] = {Source.CLOUD: "cloud", Source.HOST: "native"}
BUSY: Final = "CardsBusy"
SETTLED: Final = "NothingPending"
_NOTHING_PENDING: Final = "no change of the driver waits for cards that are in use"

Now = Callable[[], dt.datetime]
_State = TypeVar("_State", DriverState, MacaState)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class Reporter:
    """Writes to the one node. Raises what the API server says no with."""

    def __init__(self, api: Api, own: OwnNode, now: Now = _now, *, mode: str = "") -> None:
        """`mode` is what the administrator wants to read about who installed the driver; empty for what is so."""
        self._api = api
        self._own = own
        self._mode = mode
        self._now = now
        self._path = f"/api/v1/nodes/{own.name}"

    async def tell_driver(self, decision: Decision) -> None:
        before = state_of(DriverState, dict(self._own.annotations), names.DRIVER_STATE)
        state = self._since(decision.state, before)
        removed = state.phase is Phase.REMOVED
        labels = {
            names.DRIVER_READY: None if removed else TRUE if decision.is_ready else FALSE,
            names.DRIVER_MODE: (self._mode or MODES.get(state.source)) if decision.is_ready else None,
        }
        await self._write(labels, {names.DRIVER_STATE: state_text(state)})
        await self._tell_pending(decision.pending)

    async def tell_maca(self, state: MacaState, *, ready: bool | None) -> None:
        """`ready` is None where the label should be absent."""
        before = state_of(MacaState, dict(self._own.annotations), names.MACA_STATE)
        label = None if ready is None else TRUE if ready else FALSE
        await self._write(
            {names.MACA_READY: label}, {names.MACA_STATE: state_text(self._since(state, before))}
        )

    def _since(self, state: _State, before: _State | None) -> _State:
        same = before is not None and before.phase == state.phase and before.since
        return msgspec.structs.replace(state, since=same or to_second(self._now()))

    async def _write(self, labels: Mapping[str, str | None], annotations: Mapping[str, str]) -> None:
        parts = {
            "labels": _differing(labels, self._own.labels),
            "annotations": _differing(annotations, self._own.annotations),
        }
        change = {part: values for part, values in parts.items() if values}
        if change:
            self._own.take(await self._api.merge(self._path, {"metadata": change}, fieldManager=MANAGER))

    async def _tell_pending(self, why: str) -> None:
        present = self._own.conditions.get(names.DRIVER_CHANGE_PENDING, {})
        if not why and present.get("status", "False") == "False":
            return
        said = (
            {"status": "True", "reason": BUSY, "message": why}
            if why
            else {"status": "False", "reason": SETTLED, "message": _NOTHING_PENDING}
        )
        if all(present.get(key) == value for key, value in said.items()):
            return
        moment = to_second(self._now())
        since = present.get("lastTransitionTime") if present.get("status") == said["status"] else None
        condition = {
            "type": names.DRIVER_CHANGE_PENDING,
            **said,
            "lastTransitionTime": since or moment,
            "lastHeartbeatTime": moment,
        }
        answer = await self._api.call(
            "PATCH", f"{self._path}/status", {"status": {"conditions": [condition]}}, content=STRATEGIC_PATCH
        )
        self._own.take(answer)


def _differing(wanted: Mapping[str, str | None], present: Mapping[str, str]) -> dict[str, str | None]:
    return {key: value for key, value in wanted.items() if present.get(key) != value}

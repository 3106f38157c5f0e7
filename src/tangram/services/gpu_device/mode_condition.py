"""The node's condition that says which cards could not take the wanted mode yet.

Written only when it says something else than the node does; a node whose cards all follow at once never has it. The
kubelet writes its own conditions beside it and leaves this one alone, as the patch here leaves theirs.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tangram.kube.api import STRATEGIC_PATCH, Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.objects import older, version_of
from tangram.kubelet.news import News
from tangram.services.gpu_device.mode_waiting import Reason, Waiting, reason_of, sentence_of
from tangram.services.gpu_device.publishing import RETRY_S, OwnNode
from tangram.units.ids import NodeName
from tangram.wire.timestamps import to_second

log = logging.getLogger("tangram.gpu-device")

TYPE: Final = "GpuModeChangePending"
IN_FORCE: Final = "ModesInForce"
_ALL_WELL: Final = "every card is offered as the device configuration says"
_TRUE, _FALSE = "True", "False"

PACE_S: Final = 10.0
"""Between two writes that differ only in who holds the cards: pods may come and go every second."""
LATE_S: Final = 30.0
"""So long the copy of the node may take to hear of our own write."""

Condition = Mapping[str, str]


class ModeCondition:
    """`run` until cancelled; `due` whenever something may have changed."""

    def __init__(
        self,
        api: Api,
        node: NodeName,
        own: OwnNode,
        waiting: Callable[[], Sequence[Waiting] | None],
        counted: Callable[[str], None] = lambda _outcome: None,
        *,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._node = node
        self._own = own
        self._waiting = waiting
        self._counted = counted
        self._now = now
        self._clock = clock
        self._news = News()
        self._last: tuple[str, Condition] = ("", {})
        """The version of the node that our last write made, and what we wrote."""
        self._written_at = float("-inf")
        self.trouble = ""

    def due(self) -> None:
        self._news.announce()

    async def run(self) -> None:
        edition = -1
        while True:
            await self._news.after(edition)
            edition = self._news.edition
            if not await self.write():
                await asyncio.sleep(RETRY_S)
                self.due()

    async def write(self) -> bool:
        """Bring the condition up to date. Returns whether nothing is left to do."""
        waiting = self._waiting()
        if waiting is None or not self._own.known:
            return True
        present = self._present()
        wanted = wanted_condition(waiting, present, self._node)
        if wanted is None or all(present.get(key) == value for key, value in wanted.items()):
            return True
        same_kind = all(present.get(key) == wanted[key] for key in ("status", "reason"))
        if same_kind and self._clock() - self._written_at < PACE_S:
            return True
        moment = to_second(self._now())
        since = present.get("lastTransitionTime") if present.get("status") == wanted["status"] else None
        written = {**wanted, "lastTransitionTime": since or moment, "lastHeartbeatTime": moment}
        try:
            answer = await self._api.call(
                "PATCH",
                f"/api/v1/nodes/{self._node}/status",
                {"status": {"conditions": [written]}},
                content=STRATEGIC_PATCH,
            )
        except (ApiError, ApiUnreachable) as error:
            if str(error) != self.trouble:
                log.warning("the node's condition cannot be written", extra={"error": str(error)})
            self.trouble = str(error)
            self._counted("failed")
            return False
        self.trouble = ""
        self._last, self._written_at = (version_of(answer), written), self._clock()
        self._counted("condition")
        return True

    def _present(self) -> Condition:
        """What the node says now. Our own write is known before the copy of the node has heard of it."""
        version, written = self._last
        # Not for ever: after a restored backup the server counts from further back.
        ahead = older(self._own.version, version) and self._clock() - self._written_at < LATE_S
        return written if ahead else self._own.conditions.get(TYPE, {})


def wanted_condition(waiting: Sequence[Waiting], present: Condition, node: NodeName) -> Condition | None:
    """What the condition should say beside its times; None where it should stay absent.

    Cards that change at once make no condition; they keep one that is there until they have changed.
    """
    pending = present.get("status") == _TRUE
    moving = all(each.reason is Reason.CHANGING for each in waiting)
    if waiting and (pending or not moving):
        reason = reason_of(waiting)
        message = sentence_of(waiting)
        if reason is Reason.CARDS_BUSY:
            message += f". It follows when they have ended; tangram cordon {node} CARD keeps new pods away"
        return {"type": TYPE, "status": _TRUE, "reason": str(reason), "message": message}
    if not waiting and present:
        return {"type": TYPE, "status": _FALSE, "reason": IN_FORCE, "message": _ALL_WELL}
    return None

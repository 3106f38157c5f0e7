"""The preempt verb: kube-scheduler's victims, corrected by what it does not see.

It counts what nodes announce and names victims on every node that would do. Whoever frees cards that help nobody is
spared, whoever has to go as well is added, and a node on which nothing helps is left out. Looking at a node may take
many tries, so the most promising ones are looked at first, and the others only while none of those would do.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from tangram.engine.preempt import adjusted
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.model.requests import Request
from tangram.services.scheduler.leadership import Leadership
from tangram.services.scheduler.preempting import Preempting
from tangram.services.scheduler.state import State
from tangram.units.ids import NodeName, PodUid
from tangram.wire.extender import Object, PreemptCall, preempt_answer

ENOUGH_NODES: Final = 32
LONGEST_S: Final = 10.0
"""kube-scheduler waits three times as long."""

_log = logging.getLogger(__name__)


class Victims:
    def __init__(
        self,
        state: State,
        leadership: Leadership,
        preempting: Preempting,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._state = state
        self._leadership = leadership
        self._preempting = preempting

    async def answer(self, call: PreemptCall) -> Object:
        """Who has to go on each node. Raises `WireError` for a pod that is none."""
        request = self._state.read_waiting(call.manifest()).request
        if self._leadership.why_not_decide() is not None or request is None:
            return preempt_answer(call.victims, call.violations)
        promising = sorted(
            call.victims, key=lambda node: (call.violations.get(node, 0), len(call.victims[node]), node)
        )
        found: dict[str, tuple[str, ...]] = {}
        end = self._clock() + LONGEST_S
        for looked_at, node in enumerate(promising):
            if (looked_at >= ENOUGH_NODES and found) or self._clock() > end:
                break
            victims = await self._on(request, NodeName(node), [PodUid(uid) for uid in call.victims[node]])
            if victims:
                found[node] = victims
            # A pod that waits for its own answer has its turn between two nodes.
            await asyncio.sleep(0)
        return preempt_answer(found, call.violations)

    async def _on(self, request: Request, node: NodeName, given: list[PodUid]) -> tuple[PodUid, ...] | None:
        state = self._state
        victims = adjusted(state.ledger, request, state.defaults, node, given)
        if victims is None or set(victims) <= set(given):
            return victims
        try:
            spared = await self._preempting.protected_on(request, node)
        except (ApiError, ApiUnreachable) as error:
            _log.warning("the pods of %s could not be read, so nobody there has to go: %s", node, error)
            return None
        return adjusted(state.ledger, request, state.defaults, node, given, spared=spared)

"""Deciding for pods before kube-scheduler asks, while many of them wait.

kube-scheduler looks at every node for every pod, unless the pod names one: that one is tried first and alone. So while
pods queue up they are decided about in the order in which it will take them, promised their cards, and nominated; what
kube-scheduler then does for each no longer grows with the cluster. A nomination is a hint: if the node will not do,
everything goes on as if there were none. A pod that comes alone is left to be asked about, which costs no extra write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Final

from tangram.engine.allocate import tenant_for
from tangram.engine.filter import Candidates
from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.model.requests import Request
from tangram.services.scheduler.gangs import place_gang
from tangram.services.scheduler.nomination import nominate
from tangram.services.scheduler.quota_rule import OverQuota, no_quota
from tangram.services.scheduler.seen import Waiting
from tangram.services.scheduler.state import State
from tangram.units.ids import NodeName, PodUid

SETTLE_S: Final = 0.03
"""A pod that came alone is asked about within this time."""
FEWEST: Final = 2
"""So many must wait for a nomination to be worth its write."""
MOST_AHEAD: Final = 256
"""Promises nobody has asked for yet. They bind room, and kube-scheduler takes seconds to come to them."""
WRITERS: Final = 12
BATCH: Final = 32
"""Decisions between two looks at what else is to be done."""

_log = logging.getLogger(__name__)


class Nominator:
    """`wake()` when something may have changed; `run()` until cancelled."""

    def __init__(
        self,
        state: State,
        api: Api,
        may: Callable[[], bool],
        over_quota: OverQuota = no_quota,
        *,
        wrote: Callable[[], None] = lambda: None,
    ) -> None:
        self._state = state
        self._api = api
        self._may = may
        self._over_quota = over_quota
        self.ahead = True
        """Whether pods are decided about before anybody asks; without, only those that `look_at` names."""
        self._woken = asyncio.Event()
        self._to_write: asyncio.Queue[tuple[Waiting, NodeName]] = asyncio.Queue()
        self._wrote = wrote
        self.writes = 0

    def wake(self, _why: object = None) -> None:
        self._woken.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(WRITERS):
                tasks.create_task(self._write_nominations(), name=f"nominations {number}")
            while True:
                await self._woken.wait()
                await asyncio.sleep(SETTLE_S)
                self._woken.clear()
                if self.ahead and self._may():
                    await self._look_ahead()

    def look_at(self, waiting: Waiting) -> None:
        """Decide about this pod now, though kube-scheduler may have parked it."""
        if self._may():
            self._decide(waiting)

    async def _look_ahead(self) -> None:
        left = MOST_AHEAD - self._state.reservations.ahead()
        if left < MOST_AHEAD // 2:
            # Looking through everyone who waits is worth it only for many at once.
            return
        queue = sorted(self._undecided(), key=lambda waiting: -waiting.pod.priority)
        if len(queue) < FEWEST:
            return
        for number, waiting in enumerate(queue):
            if number % BATCH == BATCH - 1:
                await asyncio.sleep(0)
            if left <= 0:
                return
            left -= self._decide(waiting)

    def _undecided(self) -> Iterator[Waiting]:
        state = self._state
        for uid, seen in state.waiting.items():
            waiting = seen.waiting
            if waiting is None or waiting.request is None:
                continue
            queueing = waiting.queueing
            if queueing.gated or queueing.parked or queueing.others_decide or queueing.nominated:
                continue
            if state.reservations.of(uid) is None and not state.reservations.demoted(uid):
                yield waiting

    def _decide(self, waiting: Waiting) -> int:
        """Promise and nominate; how many pods got a promise by it."""
        request, state = waiting.request, self._state
        if request is None or self._is_decided(request):
            return 0
        gang = waiting.queueing.gang
        if gang is not None:
            if not place_gang(state, waiting, gang, Candidates(), self._over_quota).placed:
                return 0
            members = state.gangs.members(gang)
            for uid in members:
                self._ask_to_write(uid)
            return len(members)
        found = state.decide(request, Candidates())
        if found.allocation is None or self._over_quota(request, found.allocation) is not None:
            return 0
        state.reservations.make(tenant_for(request, found.allocation), ahead=True)
        state.learn(request)
        self._ask_to_write(request.pod.uid)
        return 1

    def _ask_to_write(self, uid: PodUid) -> None:
        promise, seen = self._state.reservations.of(uid), self._state.waiting.get(uid)
        if promise is not None and promise.ahead and seen is not None and seen.waiting is not None:
            self._to_write.put_nowait((seen.waiting, promise.node))

    def _is_decided(self, request: Request) -> bool:
        """Whether somebody was faster while this pass went on."""
        uid = request.pod.uid
        return uid not in self._state.waiting or self._state.reservations.of(uid) is not None

    async def _write_nominations(self) -> None:
        while True:
            waiting, node = await self._to_write.get()
            promise = self._state.reservations.of(waiting.pod.ref.uid)
            if promise is None or not promise.ahead or promise.node != node or not self._may():
                continue
            await self._nominate(waiting, node)

    async def _nominate(self, waiting: Waiting, node: NodeName) -> None:
        ref = waiting.pod.ref
        self.writes += 1
        self._wrote()
        try:
            await nominate(self._api, ref, node)
        except (ApiError, ApiUnreachable) as error:
            # It was a hint; the pod is asked about all the same, and its promise is there.
            _log.debug("pod %s could not be nominated: %s", ref, error)

"""A second look at pods that were refused while the room for them was on its way.

kube-scheduler and we hear of freed room over two connections, and it asks again the moment it has heard. If it was
faster, the answer is no, the pod is parked for minutes, and nobody asks when the room is there. A refusal can be wrong
like that only as long as a copy may be behind; so for so long it is kept in mind, and if what changes meanwhile makes
room, the pod is promised it and nominated, which also takes it out of its parking.

Nothing is written for a pod that kube-scheduler comes back to by itself, nor for one that still fits nowhere.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Final

from tangram.services.scheduler.leadership import STALE_S
from tangram.services.scheduler.outcomes import Answered
from tangram.services.scheduler.seen import Waiting
from tangram.services.scheduler.state import State
from tangram.units.ids import PodUid

KEPT_IN_MIND_S: Final = STALE_S + 1.0
"""From a copy that is older nothing is decided."""
ASKED_AGAIN_S: Final = 0.25
"""kube-scheduler has asked again by then if it heard of the change after us."""
MOST: Final = 1024
"""Refusals in mind; a cluster that refuses more in a few seconds has other worries, and tries again by itself."""

_MAY_BE_OLD_NEWS: Final = (Answered.UNFIT, Answered.QUOTA, Answered.GANG)


class SecondLooks:
    """`answered()` after each filter call, `changed()` when what did not fit may fit now; `run()` until cancelled."""

    def __init__(
        self, state: State, decide: Callable[[Waiting], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._state = state
        self._decide = decide
        self._clock = clock
        self._refused: dict[PodUid, float] = {}
        """When each was refused last, oldest first."""
        self._changed_at = 0.0
        self._woken = asyncio.Event()

    def answered(self, uid: PodUid, how: Answered) -> None:
        self._refused.pop(uid, None)
        if how in _MAY_BE_OLD_NEWS:
            self._forget_old()
            if len(self._refused) < MOST:
                self._refused[uid] = self._clock()

    def changed(self) -> None:
        if self._refused:
            self._changed_at = self._clock()
            self._woken.set()

    async def run(self) -> None:
        while True:
            await self._woken.wait()
            await asyncio.sleep(ASKED_AGAIN_S)
            self._woken.clear()
            for uid in list(self._due()):
                del self._refused[uid]
                seen = self._state.waiting.get(uid)
                if seen is not None and seen.waiting is not None:
                    self._decide(seen.waiting)
                    await asyncio.sleep(0)

    def _due(self) -> Iterator[PodUid]:
        """Those that were refused before the last change, and not long before."""
        self._forget_old()
        return (uid for uid, moment in self._refused.items() if moment <= self._changed_at)

    def _forget_old(self) -> None:
        oldest = self._clock() - KEPT_IN_MIND_S
        for uid in [uid for uid, moment in self._refused.items() if moment < oldest]:
            del self._refused[uid]

"""GPU pods asked to leave a node, as often as it makes sense and never by force.

Which pods are asked is decided in `upgrading`. That a budget says no is an answer like any other: the pod is asked
again later, and the budget's words are kept for whoever asks what the node waits for. What is remembered here is only
when somebody was asked last; a new leader asks once more, which harms nobody.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Iterable
from typing import Final

import msgspec

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.eviction import Going, ask_to_go
from tangram.services.operator.node_views import GpuPod
from tangram.services.operator.upgrading_steps import Evict
from tangram.units.ids import PodUid

AGAIN_S: Final = 10.0
LONGEST_WHY: Final = 300

_log = logging.getLogger("tangram.operator")


class _Answer(msgspec.Struct, frozen=True):
    asked: dt.datetime
    why_not: str


class Drain:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._answers: dict[PodUid, _Answer] = {}

    def is_due(self, pod: GpuPod, now: dt.datetime) -> bool:
        """Whether it is to be asked now; a clock that was set back makes nobody wait."""
        known = self._answers.get(pod.ref.uid)
        return known is None or not 0 <= (now - known.asked).total_seconds() < AGAIN_S

    async def ask(self, steps: Iterable[Evict], now: dt.datetime) -> dict[str, str]:
        """Sentences about pods that may not go now, by their node. Never raises for what a server does."""
        wanted = list(steps)
        uids = {step.pod.ref.uid for step in wanted}
        self._answers = {uid: answer for uid, answer in self._answers.items() if uid in uids}
        refusals: dict[str, str] = {}
        for step in wanted:
            uid = step.pod.ref.uid
            if self.is_due(step.pod, now):
                self._answers[uid] = _Answer(now, await self._one(step.pod))
            known = self._answers[uid]
            if known.why_not:
                refusals.setdefault(step.view.name, known.why_not)
        return refusals

    async def _one(self, pod: GpuPod) -> str:
        try:
            asked = await ask_to_go(self._api, pod.ref)
        except (ApiError, ApiUnreachable) as error:
            _log.warning("pod %s could not be evicted: %s", pod.full_name, error)
            return f"pod {pod.full_name} could not be evicted: {str(error)[:LONGEST_WHY]}"
        if asked.outcome is Going.BUDGET:
            return f"pod {pod.full_name} may not be evicted yet: {asked.why[:LONGEST_WHY].strip()}"
        _log.info("pod %s was asked to leave node %s", pod.full_name, pod.node)
        return ""

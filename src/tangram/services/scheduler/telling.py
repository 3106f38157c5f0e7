"""What people read under `kubectl describe pod`: the events of filter and bind, in HAMi's words.

A failure is always told. A success is told for a pod that came alone; in a burst kube-scheduler's own event for each
pod says the same, and a second one would slow every pod behind it.
"""

from __future__ import annotations

from typing import Final

from tangram.engine.preempt import Preemption
from tangram.kube.recorder import About, Event, Recorder
from tangram.model.pods import PodRef
from tangram.services.scheduler.binding import BindResult
from tangram.services.scheduler.outcomes import Answered, Verdict
from tangram.wire.events import (
    BINDING_FAILED,
    BINDING_SUCCEED,
    FILTERING_FAILED,
    FILTERING_SUCCEED,
    binding_succeeded,
    filtering_succeeded,
)

PREEMPTED: Final = "Preempted"
"""kube-scheduler's own word on a victim."""
ROOM_MADE: Final = "RoomMade"

_SILENT = (Answered.AHEAD, Answered.SIMULATED, Answered.PROMISED, Answered.ERROR)


class Telling:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def filtered(self, verdict: Verdict) -> None:
        if verdict.answered in _SILENT:
            return
        if verdict.node is not None:
            not_fitting = verdict.offered - verdict.fitting
            text = filtering_succeeded(verdict.node, verdict.best, verdict.fitting, not_fitting)
            self._tell(verdict.pod, FILTERING_SUCCEED, text, warning=False)
            return
        for text in verdict.texts or (verdict.sentence,):
            self._tell(verdict.pod, FILTERING_FAILED, text)

    def bound(self, result: BindResult, *, alone: bool) -> None:
        if not result.done:
            self._tell(result.pod, BINDING_FAILED, result.sentence)
        elif alone:
            self._tell(result.pod, BINDING_SUCCEED, binding_succeeded(result.pod, result.node), warning=False)

    def preempted(self, pod: PodRef, preemption: Preemption) -> None:
        """The one who gets the room, and each of those who lose it."""
        for victim in preemption.victims:
            self._tell(
                victim.pod, PREEMPTED, f"Preempted by pod {pod.uid} on node {preemption.node}", warning=False
            )
        count = len(preemption.victims)
        text = f"{count} less important {'pod ends' if count == 1 else 'pods end'} on {preemption.node} for this pod"
        self._tell(pod, ROOM_MADE, text, warning=False)

    def _tell(self, pod: PodRef, reason: str, message: str, *, warning: bool = True) -> None:
        about = About("Pod", pod.name, pod.namespace, pod.uid)
        self._recorder.record(Event(about, reason, message, warning))

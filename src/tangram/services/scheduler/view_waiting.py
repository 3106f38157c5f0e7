"""The pods that wait, as a dashboard hears of them: what they ask for, and the last verdict about each.

A verdict that says the same as the one before is no news, however often kube-scheduler tries; only now and then is it
told that it still holds. A sentence names no pod of another namespace, so that whoever may see the pod may read it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final

import msgspec

from tangram.engine.arrange import arrange
from tangram.model.pods import Role
from tangram.model.requests import Request
from tangram.reports.view_shape import MOST_PODS, WaitingPod
from tangram.services.scheduler.seen import Seen
from tangram.services.scheduler.state import State
from tangram.services.scheduler.verdicts import Verdict, Verdicts, without_others
from tangram.services.scheduler.view_changes import Versions
from tangram.services.scheduler.view_unasked import Unasked
from tangram.units.ids import PodUid

STILL_S: Final = 30.0
"""After so long it is told that a verdict was given again."""
_SPARE: Final = 1000


class ViewOfWaiting:
    def __init__(
        self, state: State, verdicts: Verdicts, tick: Callable[[], int], now: Callable[[], float]
    ) -> None:
        self._state = state
        self._verdicts = verdicts
        self._now = now
        self._unasked: Final = Unasked(state, now)
        self._versions: Final = Versions[PodUid](tick)
        self._read: dict[PodUid, tuple[Seen, Verdict | None]] = {}
        """What each was told from: records are replaced, never changed, so the same ones say the same."""
        self._told: dict[PodUid, WaitingPod] = {}
        self._since: dict[PodUid, float] = {}
        self.untold = 0

    @property
    def forgotten(self) -> int:
        return self._versions.forgotten

    def arrived(self, uid: PodUid) -> None:
        """From now on the scheduler knows of it."""
        self._since.setdefault(uid, self._now())
        waiting = self._state.waiting
        if len(self._since) > 2 * len(waiting) + _SPARE:
            self._since = {each: at for each, at in self._since.items() if each in waiting}

    def look(self) -> None:
        """Give every pod about which there is news a new version."""
        waiting = self._state.waiting
        self.untold = max(0, len(waiting) - MOST_PODS)
        first = dict(islice(waiting.items(), MOST_PODS))
        went = [uid for uid in self._told if uid not in first]
        self._versions.went(went)
        for uid in went:
            del self._told[uid], self._read[uid]
            if uid not in waiting:
                self._since.pop(uid, None)
        self._unasked.begin()
        for uid, seen in first.items():
            verdict = self._verdicts.of(uid)
            if verdict is None and seen.waiting is not None and uid in self._since:
                verdict = self._unasked.verdict(seen.waiting, self._since[uid])
            before = self._read.get(uid)
            if before is None or before[0] is not seen or before[1] is not verdict:
                self._take(uid, seen, verdict)

    def between(self, since: int, upto: int, *, began: int) -> tuple[list[WaitingPod], list[str]]:
        """Who is told of after one version and up to another, and who waits no longer."""
        entries = [each for each in self._versions.after(since, began=began) if each.version <= upto]
        return (
            [self._told[each.key] for each in entries if not each.gone],
            [str(each.key) for each in entries if each.gone],
        )

    def _take(self, uid: PodUid, seen: Seen, verdict: Verdict | None) -> None:
        told, new = self._told.get(uid), self._pod(uid, seen, verdict)
        self._read[uid] = (seen, verdict)
        if told is None or (
            told != new
            and (msgspec.structs.replace(told, at=new.at) != new or abs(new.at - told.at) >= STILL_S)
        ):
            self._told[uid] = new
            self._versions.changed(uid)

    def _pod(self, uid: PodUid, seen: Seen, verdict: Verdict | None) -> WaitingPod:
        self.arrived(uid)
        request = None if seen.waiting is None else seen.waiting.request
        own = seen.ref.namespace
        pod = WaitingPod(
            pod=str(seen.ref),
            uid=uid,
            since=self._since[uid],
            priority=0 if seen.waiting is None else seen.waiting.pod.priority,
        )
        if request is not None:
            pod = _with_asks(pod, request)
        if verdict is None:
            return pod
        return msgspec.structs.replace(
            pod,
            stage=str(verdict.stage),
            word=verdict.word,
            sentence=without_others(verdict, lambda namespace: namespace == own),
            at=verdict.at,
        )


def _with_asks(pod: WaitingPod, request: Request) -> WaitingPod:
    """Amounts are those of its first container with cards; what all of them take together is the engine's affair."""
    asks = [(container.role, ask) for container in request.containers for ask in container.asks]
    if not asks:
        return pod
    steps, group, _ = arrange(request)
    apart = [step for at, step in enumerate(steps) if at not in group and step.role is not Role.INIT]
    cards = sum(step.ask.count for step in apart) + (1 if group else 0)
    first = next((ask for role, ask in asks if role is not Role.INIT), asks[0][1])
    return msgspec.structs.replace(
        pod,
        vendor=str(first.vendor),
        cards=cards or first.count,
        memory=first.memory or 0,
        cores=first.cores or 0,
    )

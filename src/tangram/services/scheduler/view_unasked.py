"""Why a pod waits that our filter was never asked about.

kube-scheduler counts cards as the nodes state them, and turns away by itself a pod that wants more than any node has.
Of such a pod there is no verdict, and "not tried" would be no answer to whoever looks. So the engine is asked in its
place, for a few pods at a time, as this happens in the process that places everybody's pods; what it says holds for a
while. After a decision that took long there is a rest several times as long: whoever makes many pods that nothing fits
must not keep those of others waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import msgspec

from tangram.model.pods import PodRef
from tangram.model.requests import Request
from tangram.model.verdicts import CardRule, NodeRule
from tangram.reports.answering import Manner, Question, answer
from tangram.reports.shape import PodReport
from tangram.reports.words import nothing_fits
from tangram.services.scheduler.seen import Waiting
from tangram.services.scheduler.state import State
from tangram.services.scheduler.verdicts import Stage, Verdict
from tangram.units.ids import Namespace, PodName, PodUid
from tangram.wire.reasons import card_word, node_word

PATIENCE_S: Final = 3.0
"""In which kube-scheduler asks about a pod that it does not turn away."""
HOLDS_S: Final = 20.0
AT_ONCE: Final = 4
"""Decisions in one look."""
LONG_S: Final = 0.01
RESTS: Final = 4
"""How many times longer than a long decision nothing is decided after it."""
MOST_KEPT: Final = 256

_NOBODY: Final = PodRef(Namespace(""), PodName(""), PodUid(""))


class Unasked:
    def __init__(
        self, state: State, now: Callable[[], float], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._state = state
        self._now = now
        self._clock = clock
        self._kept: dict[Request, tuple[float, Verdict | None]] = {}
        """By what is asked for: a burst of a thousand like pods is worked out once."""
        self._left = AT_ONCE
        self._rests_until = float("-inf")

    def begin(self) -> None:
        """Another look has begun."""
        self._left = AT_ONCE

    def verdict(self, waiting: Waiting, since: float) -> Verdict | None:
        """What the filter would say; None for a pod that may yet be asked about, and for one that fits."""
        now, request = self._now(), waiting.request
        if request is None or now - since < PATIENCE_S:
            return None
        alike = msgspec.structs.replace(request, pod=_NOBODY)
        at, kept = self._kept.get(alike, (0.0, None))
        if now - at >= HOLDS_S and self._left and (began := self._clock()) >= self._rests_until:
            self._left -= 1
            new = self._worked_out(waiting, now)
            ended = self._clock()
            if ended - began >= LONG_S:
                self._rests_until = ended + RESTS * (ended - began)
            if kept is None or new is None or (kept.sentence, kept.word) != (new.sentence, new.word):
                kept = new
            if len(self._kept) >= MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[alike] = (now, kept)
        return kept

    def _worked_out(self, waiting: Waiting, now: float) -> Verdict | None:
        state = self._state
        question = Question(str(waiting.pod.ref), waiting.admission)
        manner = Manner(defaults=state.defaults, frag=state.frag, suggestions=False, most_nodes=0)
        report = answer(state.ledger, question, manner)
        if not report.reasons or report.node is not None:
            return None
        return Verdict(
            at=now,
            stage=Stage.FILTER,
            sentence=nothing_fits([(reason.sentence, reason.nodes) for reason in report.reasons]),
            word=_word(waiting, report),
        )


def _word(waiting: Waiting, report: PodReport) -> str:
    """HAMi's word for the commonest reason."""
    name = report.reasons[0].code.upper().replace("-", "_")
    if name in CardRule.__members__:
        asks = [
            ask
            for container in (waiting.request.containers if waiting.request else ())
            for ask in container.asks
        ]
        return card_word(CardRule[name], asks[0].vendor, asks[0].kind) if asks else ""
    return node_word(NodeRule[name]) if name in NodeRule.__members__ else ""

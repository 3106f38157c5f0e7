"""The last verdict about each pod, kept so that "why does it wait" has an answer at once and for everybody.

Memory is bounded in number and in bytes: whoever makes a hundred thousand hopeless pods, or one with a megabyte of
names, costs the oldest verdicts and nothing else. A verdict says what was decided; who may read the names in it is
decided when somebody asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from tangram.model.pods import PodRef
from tangram.reports.seeing import SOMEBODY, Sees
from tangram.services.scheduler.outcomes import Answered
from tangram.services.scheduler.outcomes import Verdict as Answer
from tangram.units.ids import CardUuid, NodeName, PodUid

MOST_VERDICTS: Final = 20_000
MOST_BYTES: Final = 16 << 20
MOST_SENTENCE: Final = 1000
MOST_WORDS: Final = 16
MOST_CARDS: Final = 64

_RECORD_BYTES: Final = 800
"""What one costs without its texts: the records, the entries in two tables, the pod's name."""


class Stage(StrEnum):
    """How far the pod has come."""

    FILTER = "filter"
    BIND = "bind"
    PREEMPT = "preempt"
    REFUSED = "refused"
    QUOTA = "quota"
    GANG = "gang"
    WAITING = "waiting"
    """Only promises to others are in its way; it is tried again in seconds."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    at: float
    """Unix seconds."""
    stage: Stage
    sentence: str
    word: str = ""
    """Why the pod does not run, in one word, for counting; empty for a pod that was given a place."""
    words: Mapping[str, int] = {}
    """HAMi's reason words, each with the number of nodes where it was met."""
    node: NodeName | None = None
    cards: tuple[CardUuid, ...] = ()
    fitting: int = 0
    pods: tuple[PodRef, ...] = ()
    """Other pods that the sentence names, such as victims."""


class Verdicts:
    def __init__(self, *, most: int = MOST_VERDICTS, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept: dict[PodUid, Verdict] = {}
        self._words: Counter[str] = Counter()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def note(self, pod: PodRef, verdict: Verdict) -> None:
        """Keep this verdict in place of the pod's last one."""
        self.forget(pod.uid)
        kept = _bounded(verdict)
        self._kept[pod.uid] = kept
        self._bytes += _size(kept)
        if kept.word:
            self._words[kept.word] += 1
        while len(self._kept) > self._most or (self._bytes > self._most_bytes and len(self._kept) > 1):
            self.forget(next(iter(self._kept)))

    def of(self, uid: PodUid) -> Verdict | None:
        return self._kept.get(uid)

    def forget(self, uid: PodUid) -> None:
        """The pod is gone."""
        known = self._kept.pop(uid, None)
        if known is None:
            return
        self._bytes -= _size(known)
        if known.word:
            self._words[known.word] -= 1
            if not self._words[known.word]:
                del self._words[known.word]

    def why_pending(self) -> dict[str, int]:
        """How many pods wait for each reason word."""
        return dict(self._words)


_STAGES: Final = {
    Answered.REFUSED: (Stage.REFUSED, "Refused"),
    Answered.UNFIT: (Stage.FILTER, "NodeUnfitPod"),
    Answered.PROMISED: (Stage.WAITING, "PromisedToOthers"),
    Answered.QUOTA: (Stage.QUOTA, "ResourceQuotaNotFit"),
    Answered.GANG: (Stage.GANG, "GangIncomplete"),
    Answered.ROOM: (Stage.PREEMPT, "RoomBeingMade"),
    Answered.ERROR: (Stage.WAITING, "TriedAgain"),
}


def verdict_of_filter(answer: Answer, at: float) -> Verdict:
    """What is kept of a filter's answer."""
    if answer.node is not None:
        return Verdict(
            at=at,
            stage=Stage.FILTER,
            sentence=f"node {answer.node} was chosen; {answer.fitting} of {answer.offered} nodes fit",
            node=answer.node,
            cards=() if answer.allocation is None else answer.allocation.cards,
            fitting=answer.fitting,
        )
    stage, word = _STAGES.get(answer.answered, (Stage.FILTER, "NodeUnfitPod"))
    # The word most nodes gave says more than that none fits.
    told = max(answer.words, key=lambda each: (answer.words[each], each), default=word)
    return Verdict(
        at=at, stage=stage, sentence=answer.sentence, word=told, words=answer.words, fitting=answer.fitting
    )


def without_others(verdict: Verdict, sees: Sees) -> str:
    """Its sentence, in which no pod is named that the reader may not see."""
    sentence = verdict.sentence
    for pod in verdict.pods:
        if not sees(pod.namespace):
            sentence = sentence.replace(str(pod), SOMEBODY)
    return sentence


def _bounded(verdict: Verdict) -> Verdict:
    sentence = verdict.sentence
    if len(sentence) > MOST_SENTENCE:
        sentence = f"{sentence[: MOST_SENTENCE - 3]}..."
    frequent = sorted(verdict.words.items(), key=lambda each: (-each[1], each[0]))
    return msgspec.structs.replace(
        verdict,
        sentence=sentence,
        word=verdict.word[:64],
        words=dict(frequent[:MOST_WORDS]),
        cards=verdict.cards[:MOST_CARDS],
        pods=verdict.pods[:MOST_CARDS],
    )


def _size(verdict: Verdict) -> int:
    texts = (verdict.sentence, *verdict.words, *verdict.cards)
    named = (part for pod in verdict.pods for part in (pod.namespace, pod.name, pod.uid))
    return _RECORD_BYTES + sum(2 * len(each) + 56 for each in (*texts, *named))

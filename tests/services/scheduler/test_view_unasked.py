"""Reasons for pods that nobody asked about are worked out beside the placing of pods, and never instead of it."""

from __future__ import annotations

import pytest

from builders.scheduling import World, metax_cards, node, pod
from tangram.engine.ledger import Ledger
from tangram.model.cards import CardMode
from tangram.reports.answering import Manner, Question, answer
from tangram.reports.shape import PodReport
from tangram.services.scheduler import view_unasked
from tangram.services.scheduler.view_unasked import AT_ONCE, LONG_S, RESTS, Unasked

LOOKS_A_SECOND = 4
LATER = 1000.0


class Decisions:
    """Counted, and each takes so long."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, takes: float) -> None:
        self.count = 0
        self._takes = takes
        self._clock = 0.0
        monkeypatch.setattr(view_unasked, "answer", self._answer)

    def _answer(self, ledger: Ledger, question: Question, manner: Manner) -> PodReport:
        self.count += 1
        self._clock += self._takes
        return answer(ledger, question, manner)

    def after(self, looks: int) -> int:
        """How many were made of many pods, no two alike."""
        world = World(node("one", metax_cards("one", 2, mode=CardMode.WHOLE)))
        for number in range(40):
            world.create(pod(f"large-{number}", {"metax-tech.com/gpu": 3 + number}))
        unasked = Unasked(world.state, lambda: LATER, lambda: self._clock)
        for _ in range(looks):
            unasked.begin()
            for seen in world.state.waiting.values():
                assert seen.waiting is not None
                unasked.verdict(seen.waiting, 0.0)
            self._clock += 1 / LOOKS_A_SECOND
        return self.count


def test_quick_decisions_are_made_a_few_at_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Decisions(monkeypatch, takes=LONG_S / 2).after(looks=3) == 3 * AT_ONCE


@pytest.mark.parametrize(
    ("looks", "made"), [(1, 1), (RESTS * LOOKS_A_SECOND, 1), (RESTS * LOOKS_A_SECOND + 1, 2)]
)
def test_after_a_long_decision_there_is_a_rest(
    monkeypatch: pytest.MonkeyPatch, looks: int, made: int
) -> None:
    assert Decisions(monkeypatch, takes=1.0).after(looks) == made

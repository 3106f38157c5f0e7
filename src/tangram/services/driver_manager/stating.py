"""The driver's state as the node tells it, from the facts and what was decided. Pure."""

from __future__ import annotations

from typing import Final

from tangram.services.driver_manager.decisions import Decision, Step
from tangram.services.driver_manager.facts import Facts, functions_now, running_in
from tangram.services.driver_manager.judging import is_broken
from tangram.services.driver_manager.problems import Problem
from tangram.wire.operator.node_states import DriverState, Phase, Source

RETRY_S: Final = 60.0
"""After a step failed for a reason that may pass, such as a full disk."""


class Standing:
    """What is the case on a node, for every decision about it."""

    def __init__(self, facts: Facts) -> None:
        running = running_in(facts)
        works = running is not None and not is_broken(facts)
        self._facts = facts
        self._running = running.version if running is not None and works else ""
        self._source = running.source if running is not None and works else Source.NONE

    @property
    def is_pausing(self) -> bool:
        """Whether something failed so recently that it is not tried again yet."""
        return self._facts.tried_ago < RETRY_S

    def state(
        self, phase: Phase, code: str = "", why: str = "", wanted: str = "", *, needs_turn: bool = False
    ) -> DriverState:
        return DriverState(
            phase=phase,
            wanted=wanted or (self._running if self._source is Source.CLOUD else ""),
            running=self._running,
            source=self._source,
            needs_turn=needs_turn,
            code=code,
            why=why,
            functions=functions_now(self._facts) if self._running else None,
        )

    def waits(
        self, code: str, why: str, *, wanted: str = "", needs_turn: bool = False, pending: str = ""
    ) -> Decision:
        return Decision(
            state=self.state(Phase.WAITING, code, why, wanted, needs_turn=needs_turn), pending=pending
        )

    def fails(self, problem: Problem, *, wanted: str = "", needs_turn: bool = False) -> Decision:
        return Decision(
            state=self.state(Phase.FAILED, problem.code, problem.why, wanted, needs_turn=needs_turn)
        )

    def works(
        self, step: Step | None, code: str, why: str, wanted: str = "", *, pending: str = ""
    ) -> Decision:
        """A change is under way: the node offers nothing meanwhile."""
        return Decision(state=self.state(Phase.WORKING, code, why, wanted), step=step, pending=pending)

    def does(self, step: Step, *, wanted: str = "", needs_turn: bool = False) -> Decision:
        """Something that nobody notices: what runs goes on."""
        phase = Phase.READY if self._running else Phase.WAITING
        return Decision(state=self.state(phase, wanted=wanted, needs_turn=needs_turn), step=step)

    def rests(self, problem: Problem | None, step: Step | None = None) -> Decision:
        """All is as it should be, except perhaps for something that people should know."""
        if not self._running:
            return self.waits(*(("", "") if problem is None else (problem.code, problem.why)))
        said = ("", "") if problem is None else (problem.code, problem.why)
        return Decision(state=self.state(Phase.READY, *said), step=step)

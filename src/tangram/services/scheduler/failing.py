"""Why a filter call found no node, as the verbs and events pass it on."""

from __future__ import annotations

from tangram.engine.filter import Candidates
from tangram.model.requests import Request
from tangram.reports.failing import failure_of
from tangram.services.scheduler.outcomes import Failure
from tangram.services.scheduler.state import State


def failing(state: State, request: Request, candidates: Candidates) -> Failure:
    """Reasons for every candidate; the same from call to call while nothing changes."""
    found = failure_of(state.ledger, request, state.defaults, candidates)
    return Failure({**found.reasons}, {**found.unresolvable}, found.sentence, found.words, found.texts)

"""stand-in"""

from __future__ import annotations
from tangram.engine.filter import Candidates
from tangram.model.requests import Request
from tangram.services.scheduler.outcomes import Failure
from tangram.services.scheduler.state import State


def failing(state: State, request: Request, candidates: Candidates) -> Failure:
    names = [str(n) for n in candidates.names or ()]
    return Failure(dict.fromkeys(names, "NodeUnfitPod"), {}, "no node fits", {"NodeUnfitPod": len(names)}, ())

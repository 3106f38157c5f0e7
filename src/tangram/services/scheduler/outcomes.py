"""What a filter call came to: the record that events, explanations and counters are made from."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec

from tangram.engine.filter import Ranked
from tangram.model.allocations import Allocation
from tangram.model.pods import PodRef
from tangram.model.refusals import Refusal
from tangram.model.requests import Request
from tangram.units.ids import NodeName


class Answered(StrEnum):
    """How a question ended, for counting."""

    CHOSEN = "chosen"
    AHEAD = "ahead"
    """Decided before it was asked."""
    REFUSED = "refused"
    UNFIT = "unfit"
    PROMISED = "promised"
    """Only promises were in the way."""
    QUOTA = "quota"
    GANG = "gang"
    ROOM = "room"
    """Room is being made for it."""
    SIMULATED = "simulated"
    ERROR = "error"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a question came to, for whoever asks why."""

    pod: PodRef
    answered: Answered
    request: Request | None = None
    node: NodeName | None = None
    allocation: Allocation | None = None
    fitting: int = 0
    best: tuple[Ranked, ...] = ()
    """The chosen node and those that come next, with their scores."""
    offered: int = 0
    sentence: str = ""
    refusals: tuple[Refusal, ...] = ()
    words: dict[str, int] = {}
    """HAMi's reason words, each with the number of nodes it is true of."""
    texts: tuple[str, ...] = ()
    """What is told in events, where that is more than the sentence."""


class Failure(NamedTuple):
    """Why no node will do, per node and in one sentence. The same from call to call while nothing changes."""

    reasons: dict[str, str]
    unresolvable: dict[str, str]
    """Nodes on which evicting others would not help."""
    sentence: str
    words: dict[str, int]
    texts: tuple[str, ...]

"""What an explanation says, as data. `docs/explain.md` promises this shape to programs.

Fields are added and never renamed or taken away within a version. Amounts of memory are bytes; compute is in the
vendor's own units, which is percent for MetaX and sixteenths for Moore Threads.
"""

from __future__ import annotations

from typing import Final

import msgspec

VERSION: Final = "explain/v1"
NOT_LOOKED_AT: Final = ("pod affinity", "volumes", "ports", "quotas")

FITS: Final = "fits"
WAITS: Final = "waits"
REFUSED: Final = "refused"
NO_CARDS: Final = "no-cards"
RUNS: Final = "runs"
ENDED: Final = "ended"

FROM_FILE: Final = "file"
FROM_API: Final = "api-server"
FROM_SCHEDULER: Final = "scheduler"


class GivenCard(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    uuid: str
    memory: int
    cores: int
    kind: str


class ContainerReport(msgspec.Struct, frozen=True, kw_only=True):
    container: str
    role: str
    cards: list[GivenCard]


class CardReport(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    uuid: str
    verdict: str
    """`chosen`, `fits` for one that would do and was not taken, the rule that failed, or `not-tried` where the node
    failed before its cards were looked at."""
    sentence: str
    need: int
    have: int
    detail: str
    memory: int
    memory_free: int
    cores: int
    cores_free: int
    pods: int
    holders: list[str] = []
    """The pods that hold a part of it; one whose namespace the asker may not see is not named."""


class CardSet(msgspec.Struct, frozen=True, kw_only=True):
    """Cards that were weighed together."""

    cards: list[int]
    chosen: bool
    score: float
    """Larger is better. Comparable within one answer only."""
    loss: float = 0.0
    """What taking them costs those that are left, in the unit of `score`."""
    least_loss: bool = False
    """No other set of free cards costs them less. Only where the links chose."""


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    verdict: str
    chosen: bool
    sentence: str
    score: float | None
    container: str
    need: int
    have: int
    detail: str
    containers: list[ContainerReport]
    cards: list[CardReport]
    sets: list[CardSet] = []
    """Of the node that was chosen: the cards it would give, the runner-up, and the set with the least loss where that
    is neither. Empty where there was no choice.
    """


class Reason(msgspec.Struct, frozen=True):
    sentence: str
    nodes: int
    code: str = ""
    """The rule in a word: that of cards where most of a node's cards stumble over one, else that of the node."""


class Advice(msgspec.Struct, frozen=True):
    code: str
    sentence: str
    node: str
    change: dict[str, str] = {}
    """What would be written instead, for programs; `docs/explain.md` has the names that go with each code."""


class Remark(msgspec.Struct, frozen=True):
    """A refusal, a caution or a problem of the input."""

    code: str
    sentence: str
    container: str = ""


class LastVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the scheduler last decided about the pod."""

    at: str
    stage: str
    sentence: str
    words: dict[str, int] = {}
    """HAMi's reason words, each with the number of nodes where it was met."""
    node: str | None = None
    cards: list[str] = []
    fitting: int = 0


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """Where the pod stands among those that wait for the scheduler."""

    place: int
    of: int


class PodReport(msgspec.Struct, frozen=True, kw_only=True):
    pod: str
    verdict: str
    sentence: str
    node: str | None = None
    node_policy: str | None = None
    card_policy: list[str] = []
    containers: list[ContainerReport] = []
    reasons: list[Reason] = []
    nodes: list[NodeReport] = []
    nodes_left_out: int = 0
    suggestions: list[Advice] = []
    refusals: list[Remark] = []
    cautions: list[Remark] = []
    last: LastVerdict | None = None
    turn: Turn | None = None
    sets: list[CardSet] = []
    """The same of a pod that has its place, by the cards it holds, weighed as of now."""

    @property
    def answer_is_no(self) -> bool:
        return self.verdict in (WAITS, REFUSED)


class ClusterReport(msgspec.Struct, frozen=True, kw_only=True):
    nodes: int
    cards: int
    running: int
    guessed: list[str]
    """Running pods whose cards nobody wrote down."""
    waiting: list[str]
    problems: list[Remark]


class ExplainReport(msgspec.Struct, frozen=True, kw_only=True):
    tangram: str = VERSION
    source: str = FROM_FILE
    cluster: ClusterReport
    pods: list[PodReport]
    not_looked_at: tuple[str, ...] = NOT_LOOKED_AT

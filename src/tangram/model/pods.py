"""A pod as a person wrote it, reduced to what placement reads; nothing is interpreted yet."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tangram.model.refusals import Refusal
from tangram.model.topology import TopologyScope
from tangram.units.ids import Namespace, NodeName, PodName, PodUid


class Role(StrEnum):
    """When a container runs, which decides whether its use adds up or overlaps."""

    INIT = "init"
    """Runs alone before the others and ends."""
    SIDECAR = "sidecar"
    """An init container with `restartPolicy: Always`: starts early and stays."""
    APP = "app"


class PodRef(msgspec.Struct, frozen=True):
    namespace: Namespace
    name: PodName
    uid: PodUid

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Container(msgspec.Struct, frozen=True):
    name: str
    role: Role = Role.APP
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    privileged: bool = False


class Toleration(msgspec.Struct, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class LabelRule(msgspec.Struct, frozen=True):
    """One `matchExpressions` entry of a node affinity."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    is_field: bool = False
    """From `matchFields`: the key is `metadata.name`."""


class NodePreference(msgspec.Struct, frozen=True):
    """One preferred node affinity term: every rule must match for the weight to count."""

    weight: int
    rules: tuple[LabelRule, ...]


class Placing(msgspec.Struct, frozen=True):
    """What the pod asks of the host around the cards."""

    node_selector: tuple[tuple[str, str], ...] = ()
    required: tuple[tuple[LabelRule, ...], ...] = ()
    """Required node affinity: one of these terms must match, all rules of a term together."""
    preferred: tuple[NodePreference, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


class ScopeWish(msgspec.Struct, frozen=True):
    """Within what the pod's cards must lie, and the words that say so, for a sentence about them."""

    said: str
    scope: TopologyScope


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """How the cards are to be chosen, from outside formats that only `wire/` can read."""

    scopes: tuple[ScopeWish, ...] = ()
    """All of them count at once."""
    numa_first: bool = False
    refusals: tuple[Refusal, ...] = ()
    """What cannot be read or cannot be honoured; it matters only to a pod that asks for cards and has none yet."""


NO_HINTS = Hints()


class Phase(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    """Containers are in the order every encoding uses: init containers (sidecars among them), then the rest."""

    ref: PodRef
    containers: tuple[Container, ...]
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}
    scheduler_name: str = ""
    node_name: NodeName | None = None
    phase: Phase = Phase.PENDING
    priority: int = 0
    placing: Placing = Placing()
    init_done: bool = False
    """Every ordinary init container has ended well, so its use no longer counts."""
    terminating: bool = False
    hints: Hints = NO_HINTS
    """From Koordinator's annotations and labels."""
    problems: tuple[Refusal, ...] = ()
    """What could not be read of an outside format in this pod; admission refuses with it."""

    @property
    def ended(self) -> bool:
        return self.phase in (Phase.SUCCEEDED, Phase.FAILED)

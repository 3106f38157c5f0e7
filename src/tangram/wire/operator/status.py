"""`status` of the ClusterOperator: what the operator says of the cluster, and what `tangram status operator` reads.

It stays small however large the cluster is: counts, one line for each part, and the first few nodes that have a
problem. What is to be known of every single node is on that node, where its agents write it.

Conditions are those that other tools understand: `Ready` with `observedGeneration` is what `kubectl wait` and GitOps
controllers look at. `Installed` is ours: it becomes true once and stays so, because `helm install --wait` asks whether
an installation has succeeded, and a node that fails weeks later is another question.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from tangram.wire.errors import WireError

MOST_PROBLEMS: Final = 20
LONGEST_MESSAGE: Final = 1000


class State(StrEnum):
    INIT = "init"
    """Nothing has been applied yet."""
    DEPLOYING = "deploying"
    """Applied, and not all of it is ready, or not on all nodes."""
    READY = "ready"
    ERROR = "error"
    """The spec is refused, or a part cannot be applied: waiting changes nothing."""
    REMOVING = "removing"


class PartState(StrEnum):
    READY = "ready"
    NOT_READY = "notReady"
    ERROR = "error"
    IGNORED = "ignored"
    """Not wanted by the spec."""


class ConditionType(StrEnum):
    READY = "Ready"
    INSTALLED = "Installed"
    UPGRADING = "Upgrading"
    DEGRADED = "Degraded"


class _Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    type: str
    status: str
    reason: str
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int = 0


class PartStatus(_Record, frozen=True):
    name: str
    state: PartState
    message: str = ""
    wanted: int | None = None
    """Nodes on which it should run; None for a part that is no DaemonSet."""
    ready: int | None = None


class NodeProblem(_Record, frozen=True):
    name: str
    part: str
    message: str


class Nodes(_Record, frozen=True):
    managed: int = 0
    ready: int = 0
    problems: tuple[NodeProblem, ...] = ()
    more: int = 0
    """Problems beyond those that are named."""


class UpgradeStatus(_Record, frozen=True):
    to: str = ""
    done: int = 0
    updating: int = 0
    waiting: int = 0
    failed: int = 0
    paused: bool = False
    message: str = ""


class Status(_Record, frozen=True):
    state: State = State.INIT
    message: str = ""
    observed_generation: int = 0
    ready_nodes: str = ""
    """`2/3`, for the column of `kubectl get`."""
    conditions: tuple[Condition, ...] = ()
    parts: tuple[PartStatus, ...] = ()
    nodes: Nodes = Nodes()
    upgrade_status: UpgradeStatus | None = None


def status_object(status: Status) -> dict[str, Any]:
    """The status as it is written, without members that say nothing."""
    return msgspec.to_builtins(status)


def read_status(thing: Mapping[str, Any]) -> Status:
    """The status of an object; an empty one where it has none. Raises `WireError`."""
    try:
        return msgspec.convert(thing.get("status") or {}, type=Status)
    except (msgspec.ValidationError, RecursionError) as error:
        raise WireError("cluster-operator-status", f"the status cannot be read: {error}") from error


def with_condition(conditions: tuple[Condition, ...], new: Condition, now: str) -> tuple[Condition, ...]:
    """The conditions with one set; its time moves only when its status does."""
    old = next((each for each in conditions if each.type == new.type), None)
    same = old is not None and old.status == new.status
    since = old.last_transition_time if same and old is not None else now
    set_now = msgspec.structs.replace(new, last_transition_time=since)
    if old is None:
        return (*conditions, set_now)
    return tuple(set_now if each.type == new.type else each for each in conditions)


def condition_of(status: Status, kind: str) -> Condition | None:
    """The condition of that type, if there is one."""
    return next((each for each in status.conditions if each.type == kind), None)

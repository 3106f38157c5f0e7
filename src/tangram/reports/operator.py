"""What there is to say about the GPU Operator of a cluster, from its one object and the nodes: for people and programs.

The object's status is bounded and tells problems only; here every GPU node is named, with what its own agents wrote on
it. Nothing is judged anew: whoever asks gets the operator's words, and where it has not spoken, that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.metax_labels import INSTALLED
from tangram.wire.operator.names import (
    DRIVER_READY,
    DRIVER_STATE,
    MACA_READY,
    MACA_STATE,
    MANAGED,
    OBJECT,
    RUNTIME_READY,
    RUNTIME_STATE,
    UPGRADE,
)
from tangram.wire.operator.node_states import (
    DriverState,
    MacaState,
    Phase,
    RuntimeState,
    Upgrade,
    UpgradePhase,
    state_of,
)
from tangram.wire.operator.reading import whose
from tangram.wire.operator.status import (
    Condition,
    ConditionType,
    PartStatus,
    State,
    Status,
    UpgradeStatus,
    condition_of,
    read_status,
)

VERSION: Final = "operator-status/v1"
ABSENT: Final = "absent"
VENDORS: Final = "of the vendor"
"""MetaX's own operator keeps an object of the same kind and name."""
SILENT: Final = "silent"
"""There is an object, and no operator has said anything about it."""
NOT_INSTALLED: Final = (
    f"there is no ClusterOperator {OBJECT} in this cluster; helm install metax-operator makes one"
)


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    managed: bool
    cordoned: str = ""
    """`by the operator` or `by somebody`; empty for a node in service."""
    ready: bool = False
    """Everything that its cards need is ready."""
    runtime: str = ""
    driver: str = ""
    """The version that runs."""
    wanted: str = ""
    """The version that should, where it is another."""
    maca: Sequence[str] = ()
    phase: str = ""
    """What is being done, or `ready`."""
    why: str = ""


class OperatorReport(msgspec.Struct, frozen=True, kw_only=True):
    """`docs/operator.md` promises this shape to programs."""

    tangram: str = VERSION
    state: str
    message: str
    ready: bool
    generation: int = 0
    """Of the spec that this is about, where the object has a newer one."""
    behind: bool = False
    """The object was changed, and nobody has looked at that yet."""
    conditions: Sequence[Condition] = ()
    parts: Sequence[PartStatus] = ()
    nodes: Sequence[NodeReport] = ()
    upgrade: UpgradeStatus | None = None


def report_of(thing: Mapping[str, Any] | None, nodes: Iterable[Mapping[str, Any]]) -> OperatorReport:
    """The whole report. Never raises."""
    told = [each for each in map(node_report, nodes) if each is not None]
    if thing is None:
        return OperatorReport(state=ABSENT, message=NOT_INSTALLED, ready=False, nodes=told)
    if whose(thing):
        message = f"ClusterOperator {OBJECT} is kept by MetaX's own operator, which is to be asked"
        return OperatorReport(state=VENDORS, message=message, ready=False, nodes=told)
    try:
        status = read_status(thing)
    except WireError as error:
        return OperatorReport(state=State.ERROR, message=error.sentence, ready=False, nodes=told)
    generation = loose.integer(loose.members(thing.get("metadata")).get("generation")) or 0
    ready = condition_of(status, ConditionType.READY)
    behind = status.observed_generation < generation
    silent = not status.observed_generation
    return OperatorReport(
        state=SILENT if silent else status.state.value,
        message=_message(status, silent=silent, behind=behind),
        ready=ready is not None and ready.status == "True" and not behind,
        generation=status.observed_generation,
        behind=behind,
        conditions=status.conditions,
        parts=status.parts,
        nodes=told,
        upgrade=status.upgrade_status,
    )


def _message(status: Status, *, silent: bool, behind: bool) -> str:
    if silent:
        return "no operator has looked at it yet: see that Deployment metax-operator-controller runs"
    return f"{status.message} (of the spec before the last change)" if behind else status.message


def node_report(node: Mapping[str, Any]) -> NodeReport | None:
    """What the agents of a node say; None for one that has nothing to do with MetaX cards. Never raises."""
    metadata = loose.members(node.get("metadata"))
    labels, annotations = loose.text_map(metadata.get("labels")), loose.text_map(metadata.get("annotations"))
    managed = labels.get(MANAGED) == "true"
    if not managed and labels.get(INSTALLED) != "true" and DRIVER_STATE not in annotations:
        return None
    driver = state_of(DriverState, annotations, DRIVER_STATE)
    maca = state_of(MacaState, annotations, MACA_STATE)
    runtime = state_of(RuntimeState, annotations, RUNTIME_STATE)
    upgrade = state_of(Upgrade, annotations, UPGRADE)
    held = upgrade is not None and upgrade.phase is not UpgradePhase.FAILED
    cordoned = loose.members(node.get("spec")).get("unschedulable") is True
    phase, why = _phase(driver, maca, runtime, upgrade)
    return NodeReport(
        name=loose.text(metadata.get("name")),
        managed=managed,
        cordoned=("by the operator" if held else "by somebody") if cordoned else "",
        ready=all(labels.get(key) == "true" for key in _needed(labels)),
        runtime=_runtime(runtime, labels),
        driver=driver.running if driver else "",
        wanted=driver.wanted if driver and driver.wanted != driver.running else "",
        maca=maca.versions if maca else (),
        phase=phase,
        why=why,
    )


def _needed(labels: Mapping[str, str]) -> tuple[str, ...]:
    """A part that nobody deploys writes no label, and is not needed."""
    said = tuple(key for key in (RUNTIME_READY, MACA_READY) if key in labels)
    return (INSTALLED, DRIVER_READY, *said)


def _runtime(state: RuntimeState | None, labels: Mapping[str, str]) -> str:
    if state is None:
        return labels.get(RUNTIME_READY, "")
    return " ".join(filter(None, (state.engine, state.version, f"({state.way})" if state.way else "")))


def _phase(
    driver: DriverState | None, maca: MacaState | None, runtime: RuntimeState | None, upgrade: Upgrade | None
) -> tuple[str, str]:
    """The first thing on the way to a working node that is not done."""
    if upgrade is not None:
        words = {
            UpgradePhase.CORDONED: "waits for its pods to leave",
            UpgradePhase.UPDATING: "its driver is being changed",
            UpgradePhase.FAILED: "upgrade failed",
        }
        return f"{words[upgrade.phase]}: {upgrade.to}", upgrade.why
    for what, state in (("runtime", runtime), ("driver", driver), ("MXMACA", maca)):
        if state is not None and state.phase is not Phase.READY:
            return f"{what} {state.phase.value}", state.why
    known = [state for state in (driver, runtime, maca) if state is not None]
    if not known:
        return "unknown", "no agent has written anything here yet"
    # What works may have something to say all the same: that its successor cannot be had, above all.
    return "ready", next((state.why for state in known if state.why), "")

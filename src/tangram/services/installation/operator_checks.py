"""What the GPU Operator says of itself, and its agents of their nodes; nothing where there is no operator.

The operator sums up, and its sentence is passed on. Nodes are judged by their own annotations all the same: an operator
that does not run any more says for ever what was true when it ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tangram.drivers.doctor.findings import Findings, fail, ok, skip, warn
from tangram.services.installation.standing import Standing
from tangram.services.installation.wording import ASK_WITH_MORE, by_value, counted, cut, some_of
from tangram.wire.errors import WireError
from tangram.wire.node_facts import read_facts
from tangram.wire.operator import names
from tangram.wire.operator.node_states import DriverState, MacaState, Phase, RuntimeState, state_of
from tangram.wire.operator.status import PartState, State, read_status

_SEE: Final = "see tangram status operator, and kubectl describe clusteroperator"


def operator(standing: Standing) -> Findings:
    """The object `cluster-operator`, by its status."""
    check, told = "operator", standing.operator
    if not told.known:
        yield skip(check, f"clusteroperators may not be read ({cut(told.message)})", ASK_WITH_MORE)
    if told.first is None:
        return
    try:
        status = read_status(told.first)
    except WireError as error:
        yield fail(check, str(error), "let the operator and this command be of the same version")
        return
    generation = told.first.get("metadata", {}).get("generation")
    if isinstance(generation, int) and status.observed_generation < generation:
        yield fail(
            check,
            "the operator has not seen the last change of its object",
            "see that metax-operator-controller runs, and its log",
        )
        return
    if status.state is not State.READY:
        parts = [f"{each.name}: {each.message}" for each in status.parts if each.state is PartState.ERROR]
        why = f": {cut(status.message)}" if status.message else ""
        yield fail(check, f"its state is {status.state}{why}", "; ".join([_SEE, *parts[:1]]))
        return
    yield ok(check, f"everything is applied and ready on {status.ready_nodes or 'all'} nodes")
    upgrade = status.upgrade_status
    if upgrade is not None and upgrade.failed:
        yield warn(
            check,
            f"driver {upgrade.to} failed on {counted(upgrade.failed, 'node')}, which run the one before",
            f"{_SEE}; kubectl annotate node NODE {names.UPGRADE}- tries again",
        )


def operated_nodes(standing: Standing) -> Findings:
    """Every node that the operator looks after, by what its agents wrote there."""
    check = "operated-nodes"
    if standing.operator.first is None:
        return
    managed = [node for node in standing.nodes.items if read_facts(node).labels.get(names.MANAGED) == "true"]
    if not managed:
        yield skip(check, "the operator looks after no node yet", "see that gpu-label runs where cards are")
        return
    troubled: set[str] = set()
    for sentence, nodes in by_value(_troubles(managed)).items():
        troubled |= {*nodes}
        yield fail(check, f"{some_of(sorted(nodes))}: {sentence}", _SEE)
    if len(troubled) < len(managed):
        yield ok(
            check, f"runtime, driver and MXMACA are ready on {counted(len(managed) - len(troubled), 'node')}"
        )


def _troubles(nodes: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        facts = read_facts(node)
        for sentence in _of_node(facts.annotations):
            yield sentence, facts.name


def _of_node(annotations: Mapping[str, str]) -> Iterator[str]:
    written = dict(annotations)
    states = {
        "runtime": state_of(RuntimeState, written, names.RUNTIME_STATE),
        "driver": state_of(DriverState, written, names.DRIVER_STATE),
        "MXMACA": state_of(MacaState, written, names.MACA_STATE),
    }
    for spoken, state in states.items():
        if state is not None and state.phase is not Phase.READY:
            yield f"{spoken} is {state.phase}{f' ({cut(state.why)})' if state.why else ''}"
        elif state is None and spoken != "MXMACA":
            # Where no MXMACA is brought nobody speaks of it.
            yield f"nobody has said anything of its {spoken} yet"

"""What the GPU Operator says of itself and of its nodes, where there is one.

Its own words are passed on: it has looked closer than anybody could from outside. What it cannot tell is that it does
not speak at all, or that it holds a node and does not get on; those are told here.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

from tangram.drivers.doctor.findings import Findings, fail, ok, skip, warn
from tangram.reports.operator import SILENT, VENDORS, OperatorReport, report_of
from tangram.services.scheduler.checkup.naming import annotations_of, name_of, some_of
from tangram.services.scheduler.checkup.seeing import Scene
from tangram.units.durations import age_text
from tangram.wire.errors import WireError
from tangram.wire.operator.names import OBJECT, UPGRADE
from tangram.wire.operator.node_states import Upgrade, UpgradePhase, state_of
from tangram.wire.operator.reading import read_name
from tangram.wire.operator.status import NodeProblem, State, read_status

STUCK_S: Final = 3600.0
MOST_TOLD: Final = 5
_LOGS: Final = "kubectl -n metax-operator logs deployment/metax-operator-controller"


def operator(scene: Scene) -> Findings:
    """Whether the operator works, and how far it is."""
    check = "gpu-operator"
    if scene.operators.unknown:
        yield skip(
            check, f"ClusterOperators may not be listed ({scene.operators.unknown})", "ask with more rights"
        )
        return
    for thing in scene.operators.items:
        refusal = read_name(thing)
        if refusal:
            yield warn(check, refusal, f"kubectl delete clusteroperator {name_of(thing)}")
    one = next((thing for thing in scene.operators.items if not read_name(thing)), None)
    if one is None:
        if scene.operators.served:
            # The kind alone is left of an operator that was removed, or it is about to be installed.
            yield ok(check, f"the kind is known and there is no ClusterOperator {OBJECT}: nothing is managed")
        return
    report = report_of(one, scene.nodes.items)
    yield from _of_state(check, report)


def _of_state(check: str, report: OperatorReport) -> Findings:
    told = f"{report.state}: {report.message}"
    if report.state == VENDORS:
        yield ok(check, report.message)
    elif report.state == SILENT:
        yield fail(check, told, f"see that its pods run, and what they say: {_LOGS}")
    elif report.state == State.ERROR:
        yield fail(check, told, "tangram status operator shows every part; mend what it names")
    elif report.ready:
        yield ok(check, told)
    else:
        yield warn(check, told, "wait, or see what is in the way: tangram status operator")


def operator_nodes(scene: Scene) -> Findings:
    """Nodes on which something failed, in the words of whoever tried, payload images that cannot be pulled included."""
    check = "gpu-operator-nodes"
    one = next((thing for thing in scene.operators.items if not read_name(thing)), None)
    if one is None:
        return
    try:
        status = read_status(one)
    except WireError as error:
        yield warn(check, error.sentence, "see that operator and definition are of one release")
        return
    problems = status.nodes.problems
    for problem in problems[:MOST_TOLD]:
        yield fail(check, problem.message, _advice(problem))
    more = max(0, len(problems) - MOST_TOLD) + status.nodes.more
    if more:
        yield fail(check, f"{more} more problems of nodes", "tangram status operator names them")
    if not problems and status.nodes.managed:
        yield ok(check, f"no problem is known on {status.nodes.managed} GPU nodes")


def _advice(problem: NodeProblem) -> str:
    if problem.part == "payloads":
        return "check the image and its registry; docs/operator.md has a table of what goes wrong"
    if problem.part == "node":
        return f"kubectl describe node {problem.name}"
    return f"kubectl describe node {problem.name}, and the pod of metax-{problem.part} there"


def operator_holds(scene: Scene) -> Findings:
    """Nodes that the operator cordoned and has not given back for long."""
    check = "gpu-operator-holds"
    held: list[str] = []
    longest = 0.0
    for node in scene.nodes.items:
        upgrade = state_of(Upgrade, annotations_of(node), UPGRADE)
        if upgrade is None or upgrade.phase is UpgradePhase.FAILED:
            continue
        age = _age(upgrade.began, scene.now)
        if age > STUCK_S:
            held.append(name_of(node))
            longest = max(longest, age)
    if held:
        yield warn(
            check,
            f"{some_of(held)} {'is' if len(held) == 1 else 'are'} cordoned by the operator for a driver's upgrade, "
            f"{age_text(longest)} in the same step",
            "tangram status operator says what is waited for; end its GPU pods, or set upgradePolicy.paused to give "
            "it back",
        )


def _age(text: str, now: float) -> float:
    try:
        return now - dt.datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0

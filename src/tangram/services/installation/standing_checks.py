"""What nodes show after an installation: resources, labels, and agents that serve.

A cordoned node is out of GPU service on purpose: its labels are taken off and its agent leaves. So nothing is held
against it, and it is named once.
"""

from __future__ import annotations

from tangram.drivers.doctor.findings import Findings, fail, ok, skip, warn
from tangram.services.installation.standing import NodeStanding, Standing
from tangram.services.installation.wording import ASK_WITH_MORE, counted, cut, some_of
from tangram.wire.agent_state import SERVING, STOPPING


def nodes(standing: Standing) -> Findings:
    """Which nodes are expected to have cards."""
    check = "nodes"
    chosen = f" that match {standing.selector!r:.120}" if standing.selector else ""
    if not standing.nodes.known:
        yield skip(check, f"nodes may not be listed ({cut(standing.nodes.message)})", ASK_WITH_MORE)
        return
    expected = standing.expected()
    if not expected:
        yield fail(
            check,
            f"there are no nodes{chosen}"
            if chosen
            else "no node has a label, an agent or a resource of cards",
            "write another selector after -l"
            if chosen
            else "see that gpu-label and gpu-device run on the nodes with cards, and tangram doctor there",
        )
        return
    cordoned = [node.name for node in expected if node.cordoned]
    if cordoned:
        yield skip(
            check,
            f"{some_of(cordoned)} {'is' if len(cordoned) == 1 else 'are'} cordoned, and so out of GPU service",
            "kubectl uncordon when the work there is done",
        )
    yield ok(check, f"{counted(len(expected), 'node')}{chosen} should have cards ({_names(expected)})")


def resources(standing: Standing) -> Findings:
    """Amounts in Capacity and Allocatable, as `kubectl describe node` shows them."""
    check, serving = "node-resources", _in_service(standing)
    silent = [node for node in serving if not any(each.capacity for each in node.resources.values())]
    closed = [node for node in serving if node not in silent and not node.usable]
    spent = [node for node in closed if not node.cards_cordoned]
    resting = [node for node in closed if node.cards_cordoned]
    if silent:
        yield fail(
            check,
            f"{_names(silent)} {_announce(silent)} no card",
            "see the log of gpu-device there, and tangram doctor on the node",
        )
    if spent:
        yield fail(
            check,
            f"{_names(spent)} {_announce(spent)} cards of which none can be given",
            "see tangram devices on the node: they are broken, or their agent is away",
        )
    if resting:
        yield warn(
            check,
            f"{_names(resting)} {_announce(resting)} cards of which none can be given, and some are cordoned",
            "tangram uncordon gives them back",
        )
    well = [node for node in serving if node.usable]
    if well:
        sums: dict[str, tuple[int, int]] = {}
        for node in well:
            for name, amount in node.resources.items():
                capacity, allocatable = sums.get(name, (0, 0))
                sums[name] = capacity + amount.capacity, allocatable + amount.allocatable
        told = ", ".join(f"{name} {some} of {every}" for name, (every, some) in sums.items() if every)
        yield ok(check, f"{counted(len(well), 'node')} can give {told}")


def labels(standing: Standing) -> Findings:
    """The labels by which people choose nodes."""
    check, serving = "node-labels", _in_service(standing)
    bare = [node for node in serving if not node.has_cards]
    waiting = [node for node in serving if node.has_cards and not node.driver_ready]
    if bare:
        yield fail(
            check,
            f"{_names(bare)} {'carries' if len(bare) == 1 else 'carry'} no label that says it has cards",
            "see that gpu-label runs there, and its log",
        )
    if waiting:
        yield fail(
            check,
            f"the labels of {_names(waiting)} say that the driver is not ready",
            "load the vendor's driver there, and see tangram doctor on the node",
        )
    well = [node for node in serving if node.has_cards and node.driver_ready]
    if well:
        yield ok(
            check, f"{counted(len(well), 'node')} with the labels of cards and of a driver that is ready"
        )


def agents(standing: Standing) -> Findings:
    """What each agent says of itself."""
    check, serving = "agents", _in_service(standing)
    leaving = [node for node in serving if node.agent == STOPPING]
    foreign = [node for node in serving if not node.agent and node.usable]
    here = [node for node in serving if node.agent == SERVING]
    if leaving:
        yield fail(
            check,
            f"the agent of {_names(leaving)} has stopped or is about to, so no pod is sent there",
            "see that gpu-device is started again there",
        )
    if foreign:
        yield warn(
            check,
            f"somebody else's plugin announces the cards of {_names(foreign)}",
            "leave it if it should go on; else run gpu-device there",
        )
    if here:
        yield ok(check, f"Tangram's agent serves on {counted(len(here), 'node')}")


def workloads(standing: Standing) -> Findings:
    """Deployments and DaemonSets of ours, with all their pods ready."""
    check = "workloads"
    if not standing.workloads:
        if standing.workloads_unknown:
            yield skip(
                check, f"workloads may not be listed ({cut(standing.workloads_unknown)})", ASK_WITH_MORE
            )
        else:
            yield skip(check, "no Deployment and no DaemonSet runs Tangram; it was started in another way")
        return
    for each in standing.workloads:
        count = f"{each.ready} of {each.wanted} pods"
        if each.current and each.ready >= each.wanted:
            yield ok(check, f"{each.full_name} ({each.role}): {count} are ready")
        else:
            new = "" if each.current else ", and not all are of the newest generation"
            yield fail(
                check,
                f"{each.full_name} ({each.role}): {count} are ready{new}",
                f"see kubectl -n {each.namespace} describe {each.kind.lower()} {each.name}, and the logs of its pods",
            )


def _in_service(standing: Standing) -> list[NodeStanding]:
    return [node for node in standing.expected() if not node.cordoned]


def _names(found: list[NodeStanding]) -> str:
    return some_of([node.name for node in found])


def _announce(found: list[NodeStanding]) -> str:
    return "announces" if len(found) == 1 else "announce"

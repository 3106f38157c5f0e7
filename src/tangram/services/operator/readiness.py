"""What is said of the whole: each part in one line, the cluster in one word, and the problems by node.

A part is ready when its pods are and when what it does on its nodes is done: a driver-manager that runs beside a driver
which cannot be loaded is not ready. It says the first reason that it knows, from the pod or from the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from tangram.kube.api import Object
from tangram.services.operator.copies import SeenNode
from tangram.services.operator.objects import Name, name_of
from tangram.services.operator.part_pods import PartPod
from tangram.services.operator.parts import container_runtime, driver_manager, gpu_device, gpu_label
from tangram.services.operator.parts.catalogue import PARTS, Part
from tangram.services.operator.parts.pods import Site
from tangram.services.operator.standing import Place, Standing, count, labelled, standings
from tangram.wire import loose
from tangram.wire.operator.names import DRIVER_READY, MACA_READY, RUNTIME_READY
from tangram.wire.operator.spec import Spec
from tangram.wire.operator.status import (
    MOST_PROBLEMS,
    NodeProblem,
    Nodes,
    PartState,
    PartStatus,
    State,
    UpgradeStatus,
)

SCHEDULER: Final = "gpu-scheduler"


class World(msgspec.Struct, frozen=True, kw_only=True):
    """All that is judged from."""

    spec: Spec
    site: Site
    live: Mapping[Name, Object]
    troubles: Mapping[str, str]
    """Why a part could not be applied, by its name."""
    nodes: Sequence[SeenNode]
    pods: Sequence[PartPod]
    pod_words: Mapping[str, Sequence[str]]
    """What is wrong with a pod, by its uid."""
    schedulers: Sequence[bool] = ()
    upgrade: UpgradeStatus | None = None


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    state: State
    message: str
    parts: tuple[PartStatus, ...]
    nodes: Nodes
    ready_nodes: str
    complete: bool
    """Everything that was asked for is there: what `Installed` waits for."""
    degraded: str
    """The first problem, if any."""
    upgrading: bool


def judge(world: World) -> Judgement:
    """What is to be said."""
    found = standings(world.nodes, world.spec, world.pods)
    words = _words_by_part(world)
    parts: list[PartStatus] = []
    for part in PARTS:
        told = _part(part, world, found, words.get(part.name, ()))
        parts.append(_with_reason(part, told, parts))
    parts.append(_scheduler(world))
    problems = tuple(_problems(world, found))
    places = count(found)
    wanted = len(found) - places[Place.CORDONED]
    failed = next((part for part in parts if part.state is PartState.ERROR), None)
    unready = next((part for part in parts if part.state is PartState.NOT_READY), None)
    late = next((each for each in found if each.place in _LATE), None)
    upgrading = world.upgrade is not None and bool(world.upgrade.updating)
    if failed is not None:
        state, message = State.ERROR, f"{failed.name}: {failed.message}"
    elif upgrading and world.upgrade is not None:
        state, message = State.DEPLOYING, world.upgrade.message
    elif unready is not None:
        state, message = State.DEPLOYING, f"{unready.name}: {unready.message}"
    elif late is not None:
        state, message = State.DEPLOYING, late.why
    else:
        state, message = State.READY, _all_well(places)
    # A machine that is away holds nobody up, but one that went away in the middle is not done either.
    complete = (
        state is State.READY and not places[Place.AWAY] and labelled(world.nodes, world.pods, gpu_label.NAME)
    )
    return Judgement(
        state=state,
        message=message,
        parts=tuple(parts),
        nodes=Nodes(
            managed=len(found),
            ready=places[Place.READY],
            problems=problems[:MOST_PROBLEMS],
            more=max(0, len(problems) - MOST_PROBLEMS),
        ),
        ready_nodes=f"{places[Place.READY]}/{wanted}",
        complete=complete,
        degraded=problems[0].message if problems else "",
        upgrading=upgrading,
    )


def _all_well(places: Mapping[Place, int]) -> str:
    ready, cordoned, away = places[Place.READY], places[Place.CORDONED], places[Place.AWAY]
    if not ready and not cordoned and not away:
        return "no node has MetaX cards yet"
    told = f"{ready} GPU {'node is' if ready == 1 else 'nodes are'} ready"
    rest = [f"{count} {word}" for count, word in ((cordoned, "cordoned"), (away, "away")) if count]
    return ", ".join([told, *rest])


def _part(part: Part, world: World, found: Sequence[Standing], words: Sequence[str]) -> PartStatus:
    if not part.wanted(world.spec):
        return PartStatus(name=part.name, state=PartState.IGNORED, message=part.unwanted)
    trouble = world.troubles.get(part.name, "")
    if trouble:
        return PartStatus(name=part.name, state=PartState.ERROR, message=trouble)
    wanted = part.make(world.spec, world.site)
    live = [thing for thing in map(world.live.get, map(name_of, wanted)) if thing is not None]
    if len(live) < len(wanted):
        return PartStatus(name=part.name, state=PartState.NOT_READY, message="not in the cluster yet")
    if any(thing["kind"] != "DaemonSet" for thing in wanted):
        return PartStatus(name=part.name, state=PartState.READY)
    if part.name == gpu_device.NAME:
        return _offering(found, words)
    return _daemon_sets(part, live, world, found, words)


def _offering(found: Sequence[Standing], words: Sequence[str]) -> PartStatus:
    """gpu-device is where it should be when every node that should offer cards does."""
    due = [each for each in found if each.place is not Place.CORDONED]
    late = [each for each in due if each.place not in (Place.READY, Place.AWAY)]
    state, message = PartState.READY, ""
    if late:
        waits = next((each.why for each in late if each.why), "nodes are being upgraded")
        state, message = PartState.NOT_READY, next(iter(words), waits)
    ready = sum(each.place is Place.READY for each in due)
    return PartStatus(name=gpu_device.NAME, state=state, message=message, wanted=len(due), ready=ready)


def _daemon_sets(
    part: Part, live: Sequence[Object], world: World, found: Sequence[Standing], words: Sequence[str]
) -> PartStatus:
    """By the pods of all of them: a node may have several pods of a part."""

    def number(field: str) -> int:
        return sum(_number(thing, field) for thing in live)

    scheduled, running = number("desiredNumberScheduled"), number("numberReady")
    wanted, ready = (scheduled, running) if len(live) == 1 else _nodes_of(part, world)
    due = scheduled - _out_of_reach(part, world)
    message = ""
    if any(map(_is_unobserved, live)) or number("updatedNumberScheduled") < due:
        message = next(iter(words), "is being rolled out")
    elif running < due:
        message = next(iter(words), f"ready on {ready} of {wanted} nodes")
    else:
        # What it does, as the nodes tell; one that is being upgraded is told elsewhere.
        late = next(
            (each for each in found if each.part == part.name and each.place is not Place.READY), None
        )
        if late is not None:
            message = late.why
        ready = min(ready, _done(part, world)) if part.name in _LABELS else ready
    state = PartState.NOT_READY if message else PartState.READY
    return PartStatus(name=part.name, state=state, message=message, wanted=wanted, ready=ready)


def _number(live: Object, field: str) -> int:
    return loose.integer(loose.members(live.get("status")).get(field)) or 0


def _is_unobserved(live: Object) -> bool:
    generation = loose.integer(loose.members(live.get("metadata")).get("generation")) or 0
    return _number(live, "observedGeneration") < generation


def _nodes_of(part: Part, world: World) -> tuple[int, int]:
    """How many nodes have pods of a part, and on how many all of them are ready."""
    pods = [pod for pod in world.pods if pod.part == part.name and pod.node]
    nodes = {pod.node for pod in pods}
    return len(nodes), len(nodes - {pod.node for pod in pods if not pod.ready})


def _out_of_reach(part: Part, world: World) -> int:
    """Pods on machines that are away: they are counted as wanted, and nobody can make them ready."""
    away = {node.view.name for node in world.nodes if not node.view.ready}
    return sum(pod.part == part.name and pod.node in away and not pod.ready for pod in world.pods)


_LATE: Final = (Place.WAITING, Place.FAILED)
_LABELS: Final = {container_runtime.NAME: (RUNTIME_READY,), driver_manager.NAME: (DRIVER_READY, MACA_READY)}


def _done(part: Part, world: World) -> int:
    keys = [key for key in _LABELS[part.name] if key != MACA_READY or world.spec.has_maca]
    managed = [node for node in world.nodes if node.managed == "true"]
    return sum(all(node.labels.get(key) == "true" for key in keys) for node in managed)


def _with_reason(part: Part, told: PartStatus, before: Sequence[PartStatus]) -> PartStatus:
    """A part whose dependency is not ready says so, unless it knows something more exact."""
    waits = next(
        (each for each in before if each.name in part.after and each.state is not PartState.READY), None
    )
    vague = told.state is PartState.NOT_READY and not told.message
    if waits is None or not vague or waits.state is PartState.IGNORED:
        return told
    return msgspec.structs.replace(told, message=f"waits for {waits.name}")


def _scheduler(world: World) -> PartStatus:
    wanted = world.spec.gpu_scheduler
    if not wanted.deploy:
        return PartStatus(name=SCHEDULER, state=PartState.IGNORED, message="gpuScheduler.deploy is false")
    pods = world.schedulers
    if any(pods):
        message = f"{sum(pods)} of {len(pods)} pods are ready"
        return PartStatus(name=SCHEDULER, state=PartState.READY, message=message)
    where = f"in namespace {wanted.namespace}" if wanted.namespace else "in this cluster"
    place = f"-n {wanted.namespace}" if wanted.namespace else "-A"
    message = (
        f"none of {len(pods)} pods of tangram-scheduler is ready {where}: kubectl {place} describe pods "
        "-l app.kubernetes.io/component=scheduler says why"
        if pods
        else f"tangram-scheduler is not installed {where}: helm upgrade of chart metax-operator with "
        "gpuScheduler.deploy=true brings it (docs/metax-operator.md)"
    )
    return PartStatus(name=SCHEDULER, state=PartState.NOT_READY, message=message)


def _words_by_part(world: World) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pod in world.pods:
        found.setdefault(pod.part, []).extend(world.pod_words.get(pod.uid, ()))
    return found


def _problems(world: World, found: Sequence[Standing]) -> Iterator[NodeProblem]:
    """By node: what its pods say, else what the node itself does. Failures come first."""
    said: dict[str, list[NodeProblem]] = {}
    for pod in world.pods:
        for sentence in world.pod_words.get(pod.uid, ()):
            said.setdefault(pod.node, []).append(NodeProblem(name=pod.node, part=pod.part, message=sentence))
    order = {Place.FAILED: 0, Place.AWAY: 1, Place.READY: 2}
    for each in sorted(found, key=lambda each: order.get(each.place, 3)):
        own = said.pop(each.node, [])
        yield from own
        told = each.place in (Place.FAILED, Place.AWAY) or (each.place is Place.READY and bool(each.why))
        if told and not own:
            yield NodeProblem(name=each.node, part=each.part, message=each.why)
    for rest in said.values():
        yield from rest

"""A Kubernetes Pod, reduced to what placement reads.

Reading never fails: an informer that stopped at one odd pod would stop for all of them. But nothing is dropped in
silence either. Wherever leaving something out could change what the pod asks for, the pod carries a `Refusal`, and
admission says no with it; "could not be read" never becomes "asks for nothing".
"""

from __future__ import annotations

from collections.abc import Mapping

from tangram.model.pods import Container, Phase, Pod, PodRef, Role
from tangram.model.refusals import Refusal
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.vendors.wording import sentence
from tangram.wire import loose
from tangram.wire.errors import shown
from tangram.wire.koordinator.hints import read_hints
from tangram.wire.placing import read_placing

_CONTAINERS = (
    "it is a list of containers, each with a name",
    "write it like kubectl get pod -o yaml shows it",
)
_RESOURCES = (
    "it is a map from resource name to quantity under limits or requests",
    "write for example metax-tech.com/gpu: 1 under limits",
)
_AMOUNT = ("a quantity is a number or a text such as 4Gi", "write 1, or remove the line")

_PHASES = {phase.value: phase for phase in Phase}


def read_pod(manifest: Mapping[str, object]) -> Pod:
    """The pod an API object or a manifest describes. Never raises."""
    metadata = loose.members(manifest.get("metadata"))
    spec = loose.members(manifest.get("spec"))
    status = loose.members(manifest.get("status"))
    annotations = loose.text_map(metadata.get("annotations"))
    labels = loose.text_map(metadata.get("labels"))
    problems: list[Refusal] = []
    containers = _containers(spec, problems)
    return Pod(
        ref=_ref(metadata),
        containers=containers,
        annotations=annotations,
        labels=labels,
        scheduler_name=loose.text(spec.get("schedulerName")),
        node_name=NodeName(loose.text(spec.get("nodeName"))) or None,
        phase=_phase(status.get("phase")),
        priority=_priority(spec.get("priority")),
        placing=read_placing(spec),
        init_done=_init_done(containers, status),
        terminating=bool(metadata.get("deletionTimestamp")),
        hints=read_hints(annotations, labels),
        problems=tuple(problems),
    )


def _ref(metadata: Mapping[str, object]) -> PodRef:
    namespace = loose.text(metadata.get("namespace")) or "default"
    name = loose.text(metadata.get("name")) or loose.text(metadata.get("generateName")) or "unnamed"
    # A manifest has no UID yet, and everything is keyed by it.
    uid = loose.text(metadata.get("uid")) or f"{namespace}/{name}"
    return PodRef(Namespace(namespace), PodName(name), PodUid(uid))


def _priority(written: object) -> int:
    found = loose.integer(written)
    return found if found is not None and abs(found) < 2**31 else 0


def _phase(written: object) -> Phase:
    if written is None or written == "":
        return Phase.PENDING
    return _PHASES.get(loose.text(written), Phase.UNKNOWN)


def _containers(spec: Mapping[str, object], problems: list[Refusal]) -> tuple[Container, ...]:
    found: list[Container] = []
    for field in ("initContainers", "containers"):
        written = spec.get(field)
        if written is not None and not loose.is_list(written):
            problems.append(_unreadable(f"spec.{field} is {shown(written)}", _CONTAINERS))
        for position, entry in enumerate(loose.elements(written)):
            place = f"spec.{field}[{position}]"
            if not loose.is_object(entry):
                problems.append(_unreadable(f"{place} is {shown(entry)}", _CONTAINERS))
                continue
            found.append(
                _container(loose.members(entry), place, init=field == "initContainers", problems=problems)
            )
    return tuple(found)


def _container(entry: Mapping[str, object], place: str, *, init: bool, problems: list[Refusal]) -> Container:
    name = loose.text(entry.get("name")) or place
    resources = entry.get("resources")
    if resources is not None and not loose.is_object(resources):
        problems.append(_unreadable(f"{place}.resources is {shown(resources)}", _RESOURCES, name))
    amounts = {
        side: _amounts(loose.members(resources).get(side), f"{place}.resources.{side}", name, problems)
        for side in ("limits", "requests")
    }
    return Container(
        name=name,
        role=_role(entry, init=init),
        limits=amounts["limits"],
        requests=amounts["requests"],
        privileged=loose.members(entry.get("securityContext")).get("privileged") is True,
    )


def _role(entry: Mapping[str, object], *, init: bool) -> Role:
    if not init:
        return Role.APP
    return Role.SIDECAR if entry.get("restartPolicy") == "Always" else Role.INIT


def _amounts(written: object, place: str, container: str, problems: list[Refusal]) -> dict[str, str]:
    if written is not None and not loose.is_object(written):
        problems.append(_unreadable(f"{place} is {shown(written)}", _RESOURCES, container))
    amounts = loose.text_map(written)
    for resource, amount in loose.members(written).items():
        if resource not in amounts:
            problems.append(
                _unreadable(f"{place} gives {shown(amount)} for {shown(resource)}", _AMOUNT, container)
            )
    return amounts


def _unreadable(read: str, rule: tuple[str, str], container: str = "") -> Refusal:
    legal, instead = rule
    return Refusal("pod-unreadable", sentence(read, legal, instead), container)


def _init_done(containers: tuple[Container, ...], status: Mapping[str, object]) -> bool:
    ended_well: set[str] = set()
    for each in loose.elements(status.get("initContainerStatuses")):
        entry = loose.members(each)
        terminated = loose.members(loose.members(entry.get("state")).get("terminated"))
        if loose.integer(terminated.get("exitCode")) == 0:
            ended_well.add(loose.text(entry.get("name")))
    # A sidecar never ends while the pod runs, so waiting for it would keep the init peak charged for ever.
    return all(each.name in ended_well for each in containers if each.role is Role.INIT)

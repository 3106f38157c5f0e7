"""What `kubectl get` prints, sorted into nodes, pods and Koordinator's devices.

People paste whatever they have: a List of everything, a NodeList beside a PodList, documents one after another. Objects
of other kinds are passed over, because nobody should have to take a Service out of a dump by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from tangram.cli.failures import InputError
from tangram.model.pods import Pod
from tangram.wire import loose
from tangram.wire.errors import Problem, WireError, problem_from, shown
from tangram.wire.koordinator.device import KIND as DEVICE
from tangram.wire.koordinator.device import Device, read_device
from tangram.wire.nodes import NodeReading, read_node
from tangram.wire.pods import read_pod
from tangram.wire.workloads import read_workload

USUAL_NAMESPACE: Final = "default"
_LIST = "List"

Object = Mapping[str, object]


class Dump(NamedTuple):
    nodes: tuple[NodeReading, ...]
    pods: tuple[Pod, ...]
    problems: tuple[Problem, ...]
    """What is wrong with a node's devices; what is wrong with a node is in its reading."""


def read_dump(documents: Iterable[object], file: str, on_progress: Callable[[int, int], None]) -> Dump:
    """Everything of a cluster that is in some documents; at least one node."""
    objects = list(_objects(documents, file))
    devices, problems = _devices(members for kind, members in objects if kind == DEVICE)
    nodes: dict[str, NodeReading] = {}
    pods: list[Pod] = []
    for number, (kind, members) in enumerate(objects):
        on_progress(number, len(objects))
        if kind == "Node":
            name = _name(members, kind, file)
            if name in nodes:
                raise InputError(f"{file} has node {name} twice: keep one of the two.")
            nodes[name] = read_node(members, devices.get(name))
        elif kind == "Pod":
            _name(members, kind, file)
            pods.append(read_pod(members))
    if not nodes:
        kinds = ", ".join(sorted({kind for kind, _ in objects})) or "none"
        raise InputError(
            f"{file} has no node (objects in it: {kinds:.120}): give what 'kubectl get nodes,pods -A -o yaml' prints,"
            " or a file that begins with tangram: cluster/v1."
        )
    return Dump(tuple(nodes.values()), tuple(pods), problems)


def read_manifests(documents: Iterable[object], file: str, namespace: str = USUAL_NAMESPACE) -> list[Pod]:
    """The pods that some manifests make, each named; in that namespace where they say none."""
    pods: list[Pod] = []
    for document in documents:
        members = _in_namespace(_object(document, file), namespace)
        kind = loose.text(members.get("kind"))
        if kind.endswith(_LIST):
            for item in loose.elements(members.get("items")):
                _check_named(loose.members(item), file)
        else:
            _check_named(members, file)
        try:
            pods.extend(read_workload(members))
        except WireError as error:
            raise InputError(f"{file}: {error.sentence}.") from error
    return pods


def objects_in(documents: Iterable[object], namespace: str) -> list[Object]:
    """The objects of some manifests, lists taken apart, each with its namespace."""
    found: list[Object] = []
    for document in documents:
        members = _in_namespace(loose.members(document), namespace)
        kind = loose.text(members.get("kind"))
        if kind.endswith(_LIST):
            # The members of a typed list such as PodList do not repeat their kind.
            items = [loose.members(item) for item in loose.elements(members.get("items"))]
            found += [{**item, "kind": item.get("kind") or kind.removesuffix(_LIST)} for item in items]
        else:
            found.append(members)
    return found


def _in_namespace(members: Object, namespace: str) -> Object:
    """The object, or each of a list, with that namespace where it has none."""
    if loose.text(members.get("kind")).endswith(_LIST):
        items = [
            _in_namespace(loose.members(item), namespace) for item in loose.elements(members.get("items"))
        ]
        return {**members, "items": items}
    metadata = loose.members(members.get("metadata"))
    return {**members, "metadata": {**metadata, "namespace": metadata.get("namespace") or namespace}}


def _objects(documents: Iterable[object], file: str) -> Iterator[tuple[str, Object]]:
    for document in documents:
        members = _object(document, file)
        kind = loose.text(members.get("kind"))
        if not kind.endswith(_LIST):
            yield kind, members
            continue
        # The members of a typed list such as NodeList do not repeat their kind.
        for item in loose.elements(members.get("items")):
            inner = loose.members(item)
            yield loose.text(inner.get("kind")) or kind.removesuffix(_LIST), inner


def _object(document: object, file: str) -> Object:
    members = loose.members(document)
    if not loose.text(members.get("kind")):
        found = f"keys {', '.join(map(str, members))}" if members else shown(document)
        raise InputError(
            f"{file} holds {found:.120}, which is no Kubernetes object: one has a kind, such as kind: Pod,"
            " and a file of Tangram's own begins with tangram: cluster/v1 or tangram: pods/v1."
        )
    return members


def _devices(objects: Iterable[Object]) -> tuple[dict[str, Device], tuple[Problem, ...]]:
    devices: dict[str, Device] = {}
    problems: list[Problem] = []
    for members in objects:
        try:
            device, faults = read_device(members)
        except WireError as error:
            problems.append(problem_from(error))
            continue
        devices[device.node] = device
        problems.extend(faults)
    return devices, tuple(problems)


def _name(members: Object, kind: str, file: str) -> str:
    name = loose.text(loose.members(members.get("metadata")).get("name"))
    if not name:
        raise InputError(f"{file} has a {kind} without a name: write one under metadata.name.")
    return name


def _check_named(members: Object, file: str) -> None:
    metadata = loose.members(members.get("metadata"))
    if not (loose.text(metadata.get("name")) or loose.text(metadata.get("generateName"))):
        kind = loose.text(members.get("kind")) or "Pod"
        raise InputError(f"{file} has a {kind} without a name: write one under metadata.name.")

"""The pods of this node, as the API server tells, ready to be judged.

Each is read once when it changes. When it was bound is taken from the condition that binding sets, which a pod's author
cannot write; the nanoseconds that schedulers leave behind only order pods of one second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from tangram.kube.api import Object
from tangram.kube.informer import Change
from tangram.model.allocations import Tenant
from tangram.model.nodes import Node
from tangram.services.gpu_device.guard_rules_asked import settings_for
from tangram.services.gpu_device.records import BoundPod, Inventory
from tangram.units.ids import PodUid
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.metax_allocated import PREDICATE_TIME as METAX_TIME
from tangram.wire.mthreads import PREDICATE_TIME as MTHREADS_TIME
from tangram.wire.nodelock import parse_rfc3339
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant

_NANOSECONDS = 10**9
_STATIC_HASH = "kubernetes.io/config.hash"
_MIRROR = "kubernetes.io/config.mirror"
_HASH = re.compile(r"[0-9a-f]{32}")
"""As the kubelet makes them. No UID of the API server looks so, or anybody could write himself another pod's."""
_KOORDINATOR_TIME = "scheduling.koordinator.sh/bind-timestamp"


_METADATA = (
    "namespace", "name", "uid", "labels", "annotations", "creationTimestamp", "deletionTimestamp",
)  # fmt: skip
_SPEC = ("nodeName", "schedulerName", "priority", "nodeSelector", "affinity", "tolerations")
_CONTAINER = ("name", "resources", "restartPolicy", "securityContext")
_STATUS = ("phase", "conditions", "initContainerStatuses")


class BoundPods:
    """Fed by an informer of this node's pods; everything else only reads."""

    def __init__(self, inventory: Callable[[], Inventory], changed: Callable[[], None]) -> None:
        self._inventory = inventory
        self._changed = changed
        self._objects: dict[PodUid, Object] = {}
        self._read_for: Inventory | None = None
        self._granted: dict[PodUid, Tenant] = {}
        self.by_kubelet_uid: dict[PodUid, BoundPod] = {}
        self.by_name: dict[tuple[str, str], BoundPod] = {}

    def told(self, change: Change[Object]) -> None:
        """Take over one step of the informer."""
        if change.old is not None:
            self._forget(change.old)
        if change.new is not None:
            self._follow_cards()
            self._objects[_uid(change.new)] = change.new
            self._take(change.new)
        elif change.old is not None:
            self._granted.pop(_kubelet_uid(change.old), None)
        self._changed()

    def keep(self, bound: BoundPod) -> None:
        """The pod was given what it holds; whatever its annotations say from now on, that is what it holds."""
        if isinstance(bound.holds, Tenant):
            self._granted.setdefault(bound.kubelet_uid, bound.holds)

    def all(self) -> tuple[BoundPod, ...]:
        self._follow_cards()
        return tuple(self.by_kubelet_uid.values())

    def _follow_cards(self) -> None:
        """What a pod holds is read against the node's cards, so other cards mean another reading."""
        if self._read_for is not None and self._read_for.cards == self._inventory().cards:
            return
        self._read_for = self._inventory()
        for thing in self._objects.values():
            self._take(thing)

    def _take(self, thing: Object) -> None:
        bound = read_bound_pod(thing, self._inventory())
        granted = self._granted.get(bound.kubelet_uid)
        if granted is not None and not bound.pod.ended:
            bound = replace(bound, holds=replace(granted, init_done=bound.pod.init_done))
        self.by_kubelet_uid[bound.kubelet_uid] = bound
        self.by_name[str(bound.pod.ref.namespace), str(bound.pod.ref.name)] = bound

    def _forget(self, thing: Object) -> None:
        self._objects.pop(_uid(thing), None)
        bound = self.by_kubelet_uid.pop(_kubelet_uid(thing), None)
        if bound is None:
            return
        name = (str(bound.pod.ref.namespace), str(bound.pod.ref.name))
        if self.by_name.get(name) is bound:
            del self.by_name[name]


def bound_part(thing: Object) -> Object:
    """Of a pod of this node all that is ever read here: what its author and the kubelet say beside it is far more."""
    spec, status = loose.members(thing.get("spec")), loose.members(thing.get("status"))
    volumes = [each for each in loose.elements(spec.get("volumes")) if "hostPath" in loose.members(each)]
    return {
        "metadata": _only(thing.get("metadata"), _METADATA),
        "spec": {
            **_only(spec, _SPEC),
            **{
                kind: [
                    _container_part(each) if loose.is_object(each) else each
                    for each in loose.elements(spec[kind])
                ]
                if loose.is_list(spec[kind])
                else spec[kind]
                for kind in ("initContainers", "containers")
                if kind in spec
            },
            "volumes": volumes[:1],
        },
        "status": _only(status, _STATUS),
    }


def _container_part(thing: object) -> dict[str, object]:
    kept = _only(thing, _CONTAINER)
    paths = _mount_paths(thing)
    return {**kept, "volumeMounts": [{"mountPath": path} for path in paths]} if paths else kept


def _mount_paths(container: object) -> tuple[str, ...]:
    mounts = loose.elements(loose.members(container).get("volumeMounts"))
    paths = (loose.text(loose.members(each).get("mountPath")) for each in mounts)
    return tuple(path for path in paths if path)


def _only(thing: object, names: Sequence[str]) -> dict[str, object]:
    members = loose.members(thing)
    return {name: members[name] for name in names if name in members}


def read_bound_pod(thing: Object, inventory: Inventory) -> BoundPod:
    """One pod of this node. Never raises."""
    pod = read_pod(thing)
    node = Node(name=inventory.node, cards=inventory.cards, topology=inventory.topology, managed=True)
    return BoundPod(
        pod=pod,
        # Without cards there is nothing to match ids with, and every id would count as unknown.
        holds=read_tenant(pod, node if inventory.cards else None, settings_for(inventory, pod)),
        bound_at=_bound_at(thing, pod.annotations),
        kubelet_uid=_kubelet_uid(thing),
        mounts=_mounts(thing),
        on_host=_is_on_host(thing),
    )


def _uid(thing: Object) -> PodUid:
    return PodUid(loose.text(loose.members(thing.get("metadata")).get("uid")))


def _kubelet_uid(thing: Object) -> PodUid:
    annotations = loose.members(loose.members(thing.get("metadata")).get("annotations"))
    hashed = loose.text(annotations.get(_STATIC_HASH))
    # Only a mirror stands for a pod of another UID; the kubelet runs every other pod under its own.
    is_mirror = _MIRROR in annotations and _HASH.fullmatch(hashed) is not None
    return PodUid(hashed) if is_mirror else _uid(thing)


def _mounts(thing: Object) -> dict[str, tuple[str, ...]]:
    spec = loose.members(thing.get("spec"))
    containers = [
        each for kind in ("initContainers", "containers") for each in loose.elements(spec.get(kind))
    ]
    found = {loose.text(loose.members(each).get("name")): _mount_paths(each) for each in containers}
    return {name: paths for name, paths in found.items() if paths}


def _is_on_host(thing: Object) -> bool:
    volumes = loose.elements(loose.members(thing.get("spec")).get("volumes"))
    return any(loose.is_object(loose.members(each).get("hostPath")) for each in volumes)


def _bound_at(thing: Object, annotations: Mapping[str, str]) -> int:
    status = loose.members(thing.get("status"))
    metadata = loose.members(thing.get("metadata"))
    conditions = [loose.members(each) for each in loose.elements(status.get("conditions"))]
    moments = [
        loose.text(each.get("lastTransitionTime"))
        for each in conditions
        if each.get("type") == "PodScheduled" and each.get("status") == "True"
    ]
    seconds = _seconds([*moments, loose.text(metadata.get("creationTimestamp"))])
    written = [
        stamp
        for key in (METAX_TIME, MTHREADS_TIME, _KOORDINATOR_TIME)
        if (stamp := loose.integer(annotations.get(key))) is not None
    ]
    within = next((stamp % _NANOSECONDS for stamp in written if stamp // _NANOSECONDS == seconds), 0)
    return seconds * _NANOSECONDS + within


def _seconds(moments: list[str]) -> int:
    for moment in moments:
        try:
            return parse_rfc3339(moment)
        except WireError:
            continue
    return 0

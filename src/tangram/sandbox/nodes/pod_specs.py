"""What a kubelet reads of a pod: its containers in the order in which they start, and what they ask for. Pure.

The API server has checked the pod, so nothing is refused here; what is missing counts as its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tangram.kube.objects import Object
from tangram.units.ids import PodUid
from tangram.units.quantity import QuantityError, parse_quantity
from tangram.wire import loose
from tangram.wire.busiest import add, busiest

ALWAYS: Final = "Always"
NEVER: Final = "Never"
STATIC_HASH: Final = "kubernetes.io/config.hash"
MIRROR: Final = "kubernetes.io/config.mirror"

_BUILT_IN: Final = ("cpu", "memory", "ephemeral-storage", "storage", "pods")


class Container(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    spec: dict[str, Any]
    init: bool = False
    """Among the init containers, sidecars too."""
    sidecar: bool = False

    @property
    def ends_first(self) -> bool:
        """Whether it must be over before the next one starts; the kubelet gives what it held to later ones."""
        return self.init and not self.sidecar

    @property
    def image(self) -> str:
        return loose.text(self.spec.get("image"))


def containers_of(pod: Object) -> tuple[Container, ...]:
    """Init containers and sidecars in order, then the others."""
    spec = loose.members(pod.get("spec"))
    first = [
        Container(
            name=loose.text(each.get("name")),
            spec=dict(each),
            init=True,
            sidecar=each.get("restartPolicy") == ALWAYS,
        )
        for each in map(loose.members, loose.elements(spec.get("initContainers")))
    ]
    rest = [
        Container(name=loose.text(each.get("name")), spec=dict(each))
        for each in map(loose.members, loose.elements(spec.get("containers")))
    ]
    return (*first, *rest)


def uid_of(pod: Object) -> PodUid:
    """The UID of the object."""
    return PodUid(loose.text(loose.members(pod.get("metadata")).get("uid")))


def kubelet_uid(pod: Object) -> PodUid:
    """The UID that the kubelet writes down: for a static pod the hash of its file."""
    notes = annotations_of(pod)
    return PodUid(notes[STATIC_HASH]) if MIRROR in notes and STATIC_HASH in notes else uid_of(pod)


def name_of(pod: Object) -> str:
    """Its name."""
    return loose.text(loose.members(pod.get("metadata")).get("name"))


def namespace_of(pod: Object) -> str:
    """Its namespace."""
    return loose.text(loose.members(pod.get("metadata")).get("namespace")) or "default"


def path_of(pod: Object) -> str:
    """Where the API server keeps it."""
    return f"/api/v1/namespaces/{namespace_of(pod)}/pods/{name_of(pod)}"


def annotations_of(pod: Object) -> dict[str, str]:
    """Its annotations."""
    return loose.text_map(loose.members(pod.get("metadata")).get("annotations"))


def node_of(pod: Object) -> str:
    """Where it is bound to; empty for one that waits."""
    return loose.text(loose.members(pod.get("spec")).get("nodeName"))


def restart_policy(pod: Object) -> str:
    """What becomes of its containers when they end."""
    return loose.text(loose.members(pod.get("spec")).get("restartPolicy")) or ALWAYS


def phase_of(pod: Object) -> str:
    """The phase that its status says."""
    return loose.text(loose.members(pod.get("status")).get("phase"))


def is_over(pod: Object) -> bool:
    """Whether the pod's own status says that it will never run again."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_leaving(pod: Object) -> bool:
    """Whether somebody has deleted it."""
    return bool(loose.members(pod.get("metadata")).get("deletionTimestamp"))


def devices_asked(container: Container) -> dict[str, int]:
    """Extended resources a container asks for, by name, in the order of the alphabet; those of amount 0 too."""
    limits = loose.members(loose.members(container.spec.get("resources")).get("limits"))
    return {key: amount(value) for key, value in sorted(limits.items()) if is_extended(key)}


def is_extended(resource: str) -> bool:
    """Whether a resource is one of somebody's, and none of Kubernetes' own."""
    prefix, slash, _ = resource.partition("/")
    return bool(slash) and "kubernetes.io" not in prefix and resource not in _BUILT_IN


def requests_of(pod: Object) -> dict[str, int]:
    """What the pod counts for on its node: cpu in thousandths, everything else in units."""
    spec = loose.members(pod.get("spec"))
    total = busiest(spec, _requests)
    add(total, {key: amount(value, key) for key, value in loose.members(spec.get("overhead")).items()})
    return total


def _requests(container: Mapping[str, object]) -> dict[str, int]:
    resources = loose.members(container.get("resources"))
    asked = {**loose.members(resources.get("limits")), **loose.members(resources.get("requests"))}
    return {key: amount(value, key) for key, value in asked.items()}


def amount(value: object, resource: str = "") -> int:
    """A quantity in whole units, rounded up; of cpu in thousandths. What is none counts as nothing."""
    try:
        quantity = parse_quantity(loose.scalar_text(value) or "0")
    except QuantityError:
        return 0
    return quantity.milli_value() if resource == "cpu" else quantity.value()

"""Kubernetes objects as far as stories look at them: where they are made, and how far a pod has come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tangram.kube.objects import Object

_CLUSTER_WIDE: Final = frozenset({"Namespace", "PriorityClass"})


def collection_of(thing: Object, namespace: str) -> str:
    """Where an object is made; in this namespace where it names none and its kind wants one."""
    kind, version = thing["kind"], thing["apiVersion"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = f"{kind.lower()}es" if kind.endswith("s") else f"{kind.lower()}s"
    if kind in _CLUSTER_WIDE:
        return f"{base}/{plural}"
    return f"{base}/namespaces/{thing['metadata'].get('namespace') or namespace}/{plural}"


def phase_of(pod: Object) -> str:
    """As its kubelet last said."""
    return str(pod.get("status", {}).get("phase", ""))


def is_over(pod: Object) -> bool:
    """Whether it has ended and will not run again."""
    return phase_of(pod) in ("Succeeded", "Failed")


def waits_because(pod: Object) -> str:
    """What the scheduler wrote on a pod that it could not place; empty for any other."""
    for condition in pod.get("status", {}).get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return ""


def reasons_in(message: str) -> str:
    """What a scheduler counts against nodes, without its thoughts on eviction."""
    return message.partition(". ")[0].rstrip(".") + "."


def listed(numbers: Iterable[object]) -> str:
    """Cards or nodes in a sentence: 4, 5, 6, 7."""
    return ", ".join(str(each) for each in numbers)


def without_gate(message: str) -> str:
    """A refusal without the name of who refused."""
    return message.rpartition(" denied the request: ")[2]

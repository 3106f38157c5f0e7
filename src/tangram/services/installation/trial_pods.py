"""Pods that are sent to see what becomes of them: the smallest that asks for a card, and one that must be refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tangram.units.ids import NodeName
from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads
from tangram.wire.node_facts import read_facts

LABEL: Final = {"app.kubernetes.io/name": "tangram-verify"}
LONGEST_S: Final = 600
"""The kubelet ends such a pod by then, whoever was to delete it."""
SLEEP: Final = ("sleep", str(LONGEST_S))
OURS_ASLEEP: Final = ("python3", "-c", f"import time; time.sleep({LONGEST_S})")
"""The same in an image that runs Tangram: it has Python, and need have no other program."""

_NOBODY: Final = 65534
_HOST: Final = {"cpu": "50m", "memory": "64Mi"}

Limits = dict[str, str]
_SMALLEST: Final[tuple[tuple[str, Limits], ...]] = (
    (metax.SGPU, {metax.SGPU: "1", metax.VCORE: "1", metax.VMEMORY: "1"}),
    (mthreads.SGPU_MEMORY, {mthreads.VGPU: "1", mthreads.SGPU_MEMORY: "2", mthreads.SGPU_CORE: "1"}),
    (metax.GPU, {metax.GPU: "1"}),
    (mthreads.GPU, {mthreads.GPU: "1"}),
)
"""By the resource that a node must announce for it; slices before whole cards."""
_IMPOSSIBLE: Final[Mapping[str, Limits]] = {
    metax.SGPU: {metax.SGPU: "1", metax.VCORE: "150", metax.VMEMORY: "1"},
    mthreads.SGPU_MEMORY: {mthreads.VGPU: "1", mthreads.SGPU_MEMORY: "33", mthreads.SGPU_CORE: "1"},
}
"""More compute than a card has; a size that no slice comes in."""


def announced(nodes: Iterable[Mapping[str, Any]]) -> dict[str, list[NodeName]]:
    """By resource of a vendor, the nodes with some of it that is usable."""
    found: dict[str, list[NodeName]] = {}
    for node in nodes:
        facts = read_facts(node)
        for resource in sorted(metax.RESOURCES | mthreads.RESOURCES):
            if facts.counted(resource).usable > 0:
                found.setdefault(resource, []).append(facts.name)
    return found


def smallest(resources: Iterable[str]) -> Limits:
    """The least that can be asked for where these are announced; a slice of MetaX's where none is."""
    there = set(resources)
    return next((limits for resource, limits in _SMALLEST if resource in there), _SMALLEST[0][1])


def impossible(limits: Limits) -> Limits:
    """What is refused, in the words of the same vendor."""
    return _IMPOSSIBLE[
        mthreads.SGPU_MEMORY if any(name in mthreads.RESOURCES for name in limits) else metax.SGPU
    ]


def trial_pod(name: str, limits: Limits, image: str, command: Sequence[str] = SLEEP) -> dict[str, Any]:
    """A pod that names no scheduler, as people write it, and sleeps.

    It asks for no right and states what it uses, so that neither Pod Security nor a quota on processors stops it.
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": LABEL},
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": LONGEST_S,
            # With none the API server would forget it at once, and its card be given on while it still runs.
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _NOBODY,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "main",
                    "image": image,
                    "command": list(command),
                    "resources": {"limits": {**_HOST, **limits}},
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
        },
    }

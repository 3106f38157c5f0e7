"""Workloads that run Tangram, told by the command of their containers: names are the choice of whoever installs.

An image of ours may start `tangram` by itself, so a container whose image is called so and whose first word is one of
our subcommands counts too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from tangram.wire import loose

PROGRAM: Final = "tangram"
DEVICE, LABEL, AWARE, SCHEDULER, DASHBOARD = "gpu-device", "gpu-label", "gpu-aware", "scheduler", "dashboard"
OPERATOR, DRIVER_MANAGER, RUNTIME = "operator", "driver-manager", "container-runtime"
ROLES: Final = (SCHEDULER, DEVICE, LABEL, AWARE, DASHBOARD, OPERATOR, DRIVER_MANAGER, RUNTIME)
ON_NODES: Final = frozenset({DEVICE, LABEL})
ANYWHERE: Final = frozenset({SCHEDULER, OPERATOR})
"""Services that write to nodes other than their own."""
_RELEASE: Final = "meta.helm.sh/release-name"


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """A Deployment or DaemonSet of ours."""

    kind: str
    namespace: str
    name: str
    role: str
    image: str
    wanted: int
    ready: int
    current: bool
    """Whether its controller has seen the last change to it and every pod is of that generation."""
    release: str = ""
    """Helm's name for the installation it belongs to."""
    selector: dict[str, str] = {}

    @property
    def full_name(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def our_workloads(things: Iterable[Mapping[str, Any]], kind: str) -> Iterator[Workload]:
    """Those of a list of Deployments or DaemonSets that run a service of ours."""
    for thing in things:
        metadata, spec = loose.members(thing.get("metadata")), loose.members(thing.get("spec"))
        status = loose.members(thing.get("status"))
        template = loose.members(loose.members(spec.get("template")).get("spec"))
        for role, image in roles_in(template):
            wanted, ready, updated = _counts(kind, spec, status)
            seen = loose.integer(status.get("observedGeneration")) or 0
            yield Workload(
                kind=kind,
                namespace=loose.text(metadata.get("namespace")),
                name=loose.text(metadata.get("name")),
                role=role,
                image=image,
                wanted=wanted,
                ready=ready,
                current=seen >= (loose.integer(metadata.get("generation")) or 0) and updated >= wanted,
                release=loose.text_map(metadata.get("annotations")).get(_RELEASE, ""),
                selector=loose.text_map(loose.members(spec.get("selector")).get("matchLabels")),
            )


def _counts(kind: str, spec: Mapping[str, object], status: Mapping[str, object]) -> tuple[int, int, int]:
    """How many pods there should be, how many are ready, and how many are of the newest generation."""

    def count(of: Mapping[str, object], field: str, otherwise: int = 0) -> int:
        read = loose.integer(of.get(field))
        return otherwise if read is None else read

    if kind == "DaemonSet":
        names = ("desiredNumberScheduled", "numberReady", "updatedNumberScheduled")
        wanted, ready, updated = (count(status, name) for name in names)
        return wanted, ready, updated
    return count(spec, "replicas", 1), count(status, "readyReplicas"), count(status, "updatedReplicas")


def roles_in(template: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The services of ours in a pod, each with its image."""
    for each in loose.elements(template.get("containers")):
        container = loose.members(each)
        image = loose.text(container.get("image"))
        words = [
            loose.text(word) for field in ("command", "args") for word in loose.elements(container.get(field))
        ]
        if words and words[0].rpartition("/")[2] == PROGRAM:
            words = words[1:]
        elif PROGRAM not in image.rpartition("/")[2]:
            continue
        role = next((word for word in words[:1] if word in ROLES), None)
        if role is not None:
            yield role, image

"""Who of Tangram's still runs, to whom it belongs, and which pods hold cards.

What an agent of ours would write again is not removed. So pods of the installation that was uninstalled are waited
for, those of another one keep their nodes' things, and one that no installation owns has to be ended by whoever made
it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from tangram.services.installation.cleaning_keys import WRITERS
from tangram.services.installation.standing import VENDORS
from tangram.services.installation.workloads import (
    ANYWHERE,
    DEVICE,
    DRIVER_MANAGER,
    LABEL,
    OPERATOR,
    RUNTIME,
    SCHEDULER,
    roles_in,
)
from tangram.wire import loose
from tangram.wire.allocation_keys import ANNOTATIONS

TANGRAM, EXTENSIONS, METAX_OPERATOR = "tangram", "metax-gpu-extensions", "metax-operator"
CHARTS: Final = (TANGRAM, EXTENSIONS, METAX_OPERATOR)
ROLES_OF: Final[Mapping[str, frozenset[str]]] = {
    TANGRAM: frozenset({LABEL, DEVICE, SCHEDULER}),
    EXTENSIONS: frozenset({LABEL, DEVICE}),
    METAX_OPERATOR: frozenset({LABEL, DEVICE, OPERATOR, DRIVER_MANAGER, RUNTIME}),
}
"""The services of each chart that write to nodes."""
CHART_LABEL: Final = "app.kubernetes.io/name"
_OVER: Final = frozenset({"Succeeded", "Failed"})


class AgentPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod with services of ours that write to nodes."""

    namespace: str
    name: str
    node: str
    roles: tuple[str, ...]
    chart: str
    """Of which chart it is; empty where it was made otherwise."""
    leaving: bool
    owner: str
    """`DaemonSet name`, or whatever keeps it; `Node name` of a static pod."""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"


class Holder(msgspec.Struct, frozen=True):
    """A pod that holds cards, or is about to."""

    pod: str
    node: str


class Company(msgspec.Struct, frozen=True, kw_only=True):
    """The agents in a cluster, from the view of one installation."""

    ours: tuple[AgentPod, ...] = ()
    """Of this installation, or on their way out: they are waited for."""
    others: tuple[AgentPod, ...] = ()
    """Of another installation."""
    strays: tuple[AgentPod, ...] = ()
    """Of none."""
    late: tuple[AgentPod, ...] = ()
    """On their way out, and longer than anybody waited: what they keep up stays."""

    def roles_to_clean(self, chart: str, node: str) -> frozenset[str]:
        """The services whose marks on a node nobody keeps up any more."""
        busy: set[str] = set()
        for pod in (*self.others, *self.strays, *self.late):
            busy |= ANYWHERE & {*pod.roles}
            if pod.node == node:
                busy |= {*pod.roles}
        if DEVICE in busy:
            # Where agents run is decided by these labels.
            busy.add(LABEL)
        return ROLES_OF[chart] - busy


def agent_in(pod: Mapping[str, Any]) -> AgentPod | None:
    """What a pod is to us; None for everybody else's, and for one that is over."""
    metadata, spec = loose.members(pod.get("metadata")), loose.members(pod.get("spec"))
    roles = tuple(role for role, _ in roles_in(spec) if role in WRITERS)
    if not roles or _is_over(pod):
        return None
    labels = loose.text_map(metadata.get("labels"))
    label = labels.get(CHART_LABEL, "")
    return AgentPod(
        namespace=loose.text(metadata.get("namespace")),
        name=loose.text(metadata.get("name")),
        node=loose.text(spec.get("nodeName")),
        roles=roles,
        chart=label if label in CHARTS else "",
        leaving=bool(metadata.get("deletionTimestamp")),
        owner=_keeper(metadata, labels.get("pod-template-hash", "")),
    )


def _keeper(metadata: Mapping[str, object], template: str) -> str:
    """Whoever would make the pod again: not the ReplicaSet that a Deployment made for one template, but the latter."""
    for each in map(loose.members, loose.elements(metadata.get("ownerReferences"))):
        kind, name = loose.text(each.get("kind")), loose.text(each.get("name"))
        if each.get("controller") is True and template and kind == "ReplicaSet":
            return f"Deployment {name.removesuffix(f'-{template}')}"
        if each.get("controller") is True:
            return f"{kind} {name}".strip()
    return ""


def holder_in(pod: Mapping[str, Any]) -> Holder | None:
    """Whether a pod on a node holds cards, by what it asks for or by what it was given."""
    metadata, spec = loose.members(pod.get("metadata")), loose.members(pod.get("spec"))
    node = loose.text(spec.get("nodeName"))
    if not node or _is_over(pod):
        return None
    annotations = loose.text_map(metadata.get("annotations"))
    if any(annotations.get(key, "").strip() for key in ANNOTATIONS) or _asks(spec):
        return Holder(f"{loose.text(metadata.get('namespace'))}/{loose.text(metadata.get('name'))}", node)
    return None


def company(agents: Iterable[AgentPod], namespace: str, chart: str, nodes: Collection[str] | None) -> Company:
    """Whose each agent is. Of single nodes only what runs there matters, and what writes to nodes from anywhere."""
    ours: list[AgentPod] = []
    others: list[AgentPod] = []
    strays: list[AgentPod] = []
    for pod in agents:
        # A scheduler or operator has no node of its own: about single nodes it is neither waited for nor asked to go.
        widely = bool(ANYWHERE & {*pod.roles})
        if nodes is not None and (pod.node not in nodes or widely):
            others += [pod] if widely else []
        elif (pod.namespace, pod.chart) == (namespace, chart) or (pod.leaving and not pod.chart):
            ours.append(pod)
        elif pod.chart:
            others.append(pod)
        else:
            strays.append(pod)
    return Company(ours=tuple(ours), others=tuple(others), strays=tuple(strays))


def _is_over(pod: Mapping[str, Any]) -> bool:
    return loose.members(pod.get("status")).get("phase") in _OVER


def _asks(spec: Mapping[str, object]) -> bool:
    for kind in ("initContainers", "containers"):
        for each in loose.elements(spec.get(kind)):
            resources = loose.members(loose.members(each).get("resources"))
            for side in ("limits", "requests"):
                if VENDORS & set(loose.members(resources.get(side))):
                    return True
    return False

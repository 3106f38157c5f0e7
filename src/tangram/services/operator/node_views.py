"""A node as the operator decides about it: what its agents say, who cordoned it, and which pods hold its cards.

Nothing is read twice and nothing is judged here. A pod counts as holding cards by what it asks for or by what somebody
wrote that it was given, whichever scheduler placed it; doubt counts as holding, because the price of a wrong no is a
driver that goes away under a running job.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from tangram.model.pods import PodRef
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.vendors.names import KOORDINATOR_RESOURCES
from tangram.wire import hami, loose, metax_allocated, metax_labels
from tangram.wire.errors import WireError
from tangram.wire.koordinator import names as koordinator
from tangram.wire.koordinator.allocated import decode_allocated
from tangram.wire.operator import names
from tangram.wire.operator.node_states import (
    DriverState,
    MacaState,
    RuntimeState,
    Upgrade,
    UpgradePhase,
    state_of,
)

Object = Mapping[str, Any]

_OVER: Final = frozenset({"Succeeded", "Failed"})
_METAX: Final = "metax-tech.com/"
_GIVEN: Final = (
    hami.METAX_WHOLE_TO_ALLOCATE,
    hami.METAX_WHOLE_ALLOCATED,
    hami.METAX_SLICE_TO_ALLOCATE,
    hami.METAX_SLICE_ALLOCATED,
    metax_allocated.ALLOCATED,
    koordinator.GPU_MINORS,
)
_MIRROR: Final = "kubernetes.io/config.mirror"

OUR_LABELS: Final = frozenset(
    {*names.OPERATOR_LABELS, *names.DRIVER_MANAGER_LABELS, *names.RUNTIME_LABELS, *metax_labels.OURS}
)
OUR_ANNOTATIONS: Final = frozenset(
    {*names.OPERATOR_ANNOTATIONS, *names.DRIVER_MANAGER_ANNOTATIONS, *names.RUNTIME_ANNOTATIONS}
)


class GpuPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that is on a node, is not over, and holds cards there or is about to."""

    ref: PodRef
    node: NodeName
    owner: str = ""
    """`Job train`, or whatever keeps it; empty for a pod of its own."""
    daemon: bool = False
    """A DaemonSet would make it again on the same node, whatever is said of scheduling there."""
    mirror: bool = False
    """The node itself keeps it from a file: nobody else can end it."""
    leaves_by: dt.datetime | None = None
    """When its time to end is over, for one that was told to go."""

    @property
    def full_name(self) -> str:
        return f"{self.ref.namespace}/{self.ref.name}"

    @property
    def stays(self) -> bool:
        """Whether asking it to go would be in vain."""
        return self.daemon or self.mirror


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    name: NodeName
    version: str = ""
    """Of the object that this was read from, for patches that must not be made from an older one."""
    managed: bool = False
    ready: bool = False
    leaving: bool = False
    """The Node object is being deleted."""
    unschedulable: bool = False
    driver_ready: bool | None = None
    """The label; None where nobody has written it."""
    driver: DriverState | None = None
    maca: MacaState | None = None
    runtime: RuntimeState | None = None
    upgrade: Upgrade | None = None
    upgrade_unreadable: bool = False
    """Something stands where our own note belongs, so nobody knows who cordoned the node."""
    turn: str | None = None
    removing: bool = False
    removal_asked: dt.datetime | None = None
    marks: tuple[str, ...] = ()
    """Labels and annotations of the operator and its agents that it carries."""
    pods: tuple[GpuPod, ...] = ()

    @property
    def held(self) -> bool:
        """Whether we have taken the node out of service and not given it back."""
        return self.upgrade is not None and self.upgrade.phase is not UpgradePhase.FAILED

    @property
    def cordoned_by_others(self) -> bool:
        return self.unschedulable and not self.held


def gpu_pod(pod: Object) -> GpuPod | None:
    """What a pod is to a change of its node's driver; None for one that has nothing to do with it. Never raises."""
    metadata, spec = loose.members(pod.get("metadata")), loose.members(pod.get("spec"))
    node = loose.text(spec.get("nodeName"))
    if not node or loose.members(pod.get("status")).get("phase") in _OVER:
        return None
    annotations = loose.text_map(metadata.get("annotations"))
    if not (_asks(spec) or _was_given(annotations)):
        return None
    kind, name = _controller(metadata)
    namespace, called = loose.text(metadata.get("namespace")), loose.text(metadata.get("name"))
    return GpuPod(
        ref=PodRef(Namespace(namespace), PodName(called), PodUid(loose.text(metadata.get("uid")))),
        node=NodeName(node),
        owner=f"{kind} {name}".strip(),
        daemon=kind == "DaemonSet",
        mirror=_MIRROR in annotations or kind == "Node",
        leaves_by=moment(loose.text(metadata.get("deletionTimestamp"))),
    )


def node_view(node: Object, pods: Iterable[GpuPod] = ()) -> NodeView:
    """What is known of a node. Pods of other nodes are passed over. Never raises."""
    metadata, spec = loose.members(node.get("metadata")), loose.members(node.get("spec"))
    labels = loose.text_map(metadata.get("labels"))
    annotations = loose.text_map(metadata.get("annotations"))
    name = NodeName(loose.text(metadata.get("name")))
    upgrade = state_of(Upgrade, annotations, names.UPGRADE)
    here = sorted((pod for pod in pods if pod.node == name), key=lambda pod: pod.full_name)
    return NodeView(
        name=name,
        version=loose.text(metadata.get("resourceVersion")),
        managed=labels.get(names.MANAGED) == "true",
        ready=_is_ready(node),
        leaving=bool(metadata.get("deletionTimestamp")),
        unschedulable=spec.get("unschedulable") is True,
        driver_ready={"true": True, "false": False}.get(labels.get(names.DRIVER_READY, "")),
        driver=state_of(DriverState, annotations, names.DRIVER_STATE),
        maca=state_of(MacaState, annotations, names.MACA_STATE),
        runtime=state_of(RuntimeState, annotations, names.RUNTIME_STATE),
        upgrade=upgrade,
        upgrade_unreadable=upgrade is None and names.UPGRADE in annotations,
        turn=annotations.get(names.TURN),
        removing=annotations.get(names.REMOVE) == "true",
        removal_asked=moment(annotations.get(names.REMOVE_ASKED, "")),
        marks=tuple(sorted((OUR_LABELS & labels.keys()) | (OUR_ANNOTATIONS & annotations.keys()))),
        pods=tuple(here),
    )


def is_ours(view: NodeView) -> bool:
    """Whether a node is one that the operator has or had to do with; labels of gpu-label alone do not make it so."""
    return view.managed or bool(set(view.marks) - metax_labels.OURS)


def moment(text: str) -> dt.datetime | None:
    """A time as Kubernetes and we write it; None for anything else."""
    try:
        read = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return read if read.tzinfo is not None else None


def _is_ready(node: Object) -> bool:
    for each in map(loose.members, loose.elements(loose.members(node.get("status")).get("conditions"))):
        if each.get("type") == "Ready":
            return each.get("status") == "True"
    return False


def _controller(metadata: Mapping[str, object]) -> tuple[str, str]:
    for each in map(loose.members, loose.elements(metadata.get("ownerReferences"))):
        if each.get("controller") is True:
            return loose.text(each.get("kind")), loose.text(each.get("name"))
    return "", ""


def _asks(spec: Mapping[str, object]) -> bool:
    for field in ("initContainers", "containers"):
        for container in loose.elements(spec.get(field)):
            resources = loose.members(loose.members(container).get("resources"))
            for side in ("limits", "requests"):
                asked = loose.text_map(resources.get(side))
                if has_cards(asked):
                    return True
    return False


def has_cards(amounts: Mapping[str, str]) -> bool:
    """Whether any of these resources is a card, or a share of one."""
    return any(_is_card(name) and amount.strip() != "0" for name, amount in amounts.items())


def _is_card(resource: str) -> bool:
    # Whole cards, slices, virtual functions, those passed through: whatever of theirs is asked for keeps a card.
    return resource.startswith(_METAX) or resource in KOORDINATOR_RESOURCES


def _was_given(annotations: Mapping[str, str]) -> bool:
    if any(annotations.get(key, "").strip(" ;") for key in _GIVEN):
        return True
    by_koordinator = annotations.get(koordinator.DEVICE_ALLOCATED, "")
    if not by_koordinator.strip():
        return False
    try:
        return bool(decode_allocated(by_koordinator).get(koordinator.GPU))
    except WireError:
        return True

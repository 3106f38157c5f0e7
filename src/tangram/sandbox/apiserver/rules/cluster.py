"""Nodes, namespaces, service accounts, leases and bindings."""

from __future__ import annotations

import copy
from typing import Any, Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    not_negative,
    required,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import placed, quantities, record, records, texts, word
from tangram.sandbox.apiserver.rules.metadata import finalizer_name_faults
from tangram.sandbox.apiserver.rules.placement_faults import EFFECTS
from tangram.sandbox.apiserver.rules.resource_faults import amount_faults
from tangram.sandbox.apiserver.rules.ruling import KindRules, Ruling
from tangram.sandbox.apiserver.wording import label_value, network, qualified

NAME_LABEL: Final = "kubernetes.io/metadata.name"
FINALIZER: Final = "kubernetes"
NOT_READY: Final = "node.kubernetes.io/not-ready"


# ---- nodes


def admit_node(node: Object) -> None:
    """Nothing is placed on a new node before somebody has seen it ready, which is for a controller to say."""
    spec: Object = node.setdefault("spec", {})
    taint = {"key": NOT_READY, "effect": "NoSchedule"}
    if not any(
        word(each, "key") == NOT_READY and each.get("effect") == "NoSchedule"
        for each in records(spec, "taints")
    ):
        spec["taints"] = [*records(spec, "taints"), taint]


def _fill_node(node: Object) -> None:
    status = record(node, "status")
    if "allocatable" not in status and "capacity" in status:
        status["allocatable"] = dict(status["capacity"])


def _node_faults(new: Object, old: Object | None) -> list[Fault]:
    faults = [*_taint_faults(new), *_amounts_faults(new)]
    spec = record(new, "spec")
    ranges = texts(spec, "podCIDRs")
    for position, one in enumerate(ranges):
        faults += each_invalid(f"spec.podCIDRs[{position}]", one, network(one))
    if len(ranges) > 1 and len({":" in one for one in ranges}) < len(ranges):
        faults.append(
            invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")
        )
    return faults if old is None else [*faults, *_node_change_faults(new, old)]


def _node_change_faults(new: Object, old: Object) -> list[Fault]:
    faults = [*_taint_faults(new), *_amounts_faults(new)]
    seen: list[Object] = []
    for at, address in placed(record(new, "status"), "addresses", "status"):
        if address in seen:
            told = {"Type": address.get("type"), "Address": address.get("address")}
            faults.append(duplicate(at, told))
        seen.append(address)
    spec, before = record(new, "spec"), record(old, "spec")
    if texts(before, "podCIDRs") and texts(before, "podCIDRs") != texts(spec, "podCIDRs"):
        detail = 'node updates may not change podCIDR except from "" to valid'
        faults.append(forbidden("spec.podCIDRs", detail))
    if word(before, "providerID") and word(before, "providerID") != word(spec, "providerID"):
        detail = 'node updates may not change providerID except from "" to valid'
        faults.append(forbidden("spec.providerID", detail))
    return faults


def _amounts_faults(node: Object) -> list[Fault]:
    return [
        fault
        for side in ("capacity", "allocatable")
        for name, amount in quantities(record(node, "status"), side).items()
        for fault in amount_faults(name, amount, f"status.{side}.{name}")
    ]


def _taint_faults(node: Object) -> list[Fault]:
    faults: list[Fault] = []
    seen: set[tuple[str, str]] = set()
    # The real server says metadata, where taints once were.
    for at, taint in placed(record(node, "spec"), "taints", "metadata"):
        key, value, effect = word(taint, "key"), word(taint, "value"), word(taint, "effect")
        faults += each_invalid(f"{at}.key", key, qualified(key))
        wrong = label_value(value)
        faults += [invalid(f"{at}.value", value, ";".join(wrong))] if wrong else []
        if not effect:
            faults.append(required(f"{at}.effect"))
        elif effect not in EFFECTS:
            faults.append(unsupported(f"{at}.effect", effect, EFFECTS))
        if (key, effect) in seen:
            told: dict[str, Any] = {
                "Key": key,
                "Value": value,
                "Effect": effect,
                "TimeAdded": taint.get("timeAdded"),
            }
            faults.append(duplicate(at, told, "taints must be unique by key and effect pair"))
        seen.add((key, effect))
    return faults


NODE: Final = Ruling(
    fill=_fill_node, faults=_node_faults, status_faults=_node_change_faults, keeps_status=True
)


# ---- namespaces


class NamespaceRules(KindRules):
    """Finalizers of its contents are changed through a door of their own."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind, _NAMESPACE)

    def prepare_update(self, new: Object, old: Object, subresource: str) -> None:
        wanted = list(texts(record(new, "spec"), "finalizers"))
        super().prepare_update(new, old, subresource)
        if subresource == "finalize":
            new["spec"] = {"finalizers": wanted} if wanted else {}

    def faults(self, new: Object, old: Object | None, subresource: str) -> list[Fault]:
        if subresource != "finalize":
            return super().faults(new, old, subresource)
        return [
            fault
            for position, name in enumerate(texts(record(new, "spec"), "finalizers"))
            for fault in finalizer_name_faults(name, f"spec.finalizers[{position}]")
        ]


def _fill_namespace(namespace: Object) -> None:
    name = word(record(namespace, "metadata"), "name")
    if name:
        namespace["metadata"].setdefault("labels", {})[NAME_LABEL] = name
    record(namespace, "status").setdefault("phase", "Active")


def _create_namespace(namespace: Object) -> None:
    namespace["status"] = {"phase": "Active"}
    finalizers = texts(record(namespace, "spec"), "finalizers")
    if FINALIZER not in finalizers:
        namespace["spec"]["finalizers"] = [*finalizers, FINALIZER]


def _update_namespace(new: Object, old: Object) -> None:
    new["spec"].pop("finalizers", None)
    if "finalizers" in record(old, "spec"):
        new["spec"]["finalizers"] = copy.deepcopy(old["spec"]["finalizers"])


def _namespace_faults(new: Object, _old: Object | None) -> list[Fault]:
    return [
        fault
        for name in texts(record(new, "spec"), "finalizers")
        for fault in finalizer_name_faults(name, "spec.finalizers")
    ]


def _namespace_status_faults(new: Object, _old: Object) -> list[Fault]:
    phase, deleted = word(record(new, "status"), "phase"), record(new, "metadata").get("deletionTimestamp")
    if deleted:
        if phase == "Terminating":
            return []
        return [
            invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
        ]
    if phase == "Active":
        return []
    return [invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")]


_NAMESPACE: Final = Ruling(
    fill=_fill_namespace,
    create=_create_namespace,
    update=_update_namespace,
    faults=_namespace_faults,
    status_faults=_namespace_status_faults,
)


# ---- leases and bindings


def _lease_faults(new: Object, _old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    faults: list[Fault] = []
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        faults.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    faults += not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))
    if spec.get("preferredHolder") and not spec.get("strategy"):
        detail = "may only be specified if `strategy` is defined"
        faults.append(forbidden("spec.preferredHolder", detail))
    return faults


LEASE: Final = Ruling(faults=_lease_faults)


def _binding_faults(new: Object, _old: Object | None) -> list[Fault]:
    target, faults = record(new, "target"), list[Fault]()
    kind = word(target, "kind")
    if kind not in ("", "Node"):
        faults.append(unsupported("target.kind", kind, ("Node", "<empty>")))
    if not word(target, "name"):
        faults.append(required("target.name"))
    return faults


BINDING: Final = Ruling(faults=_binding_faults)

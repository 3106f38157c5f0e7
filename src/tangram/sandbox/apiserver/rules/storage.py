"""Claims, volumes and storage classes: a sandbox stores nothing, and says no to what nobody could."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    each_invalid,
    forbidden,
    invalid,
    required,
    unchanged,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import quantities, record, texts, word
from tangram.sandbox.apiserver.rules.placement_faults import node_selector_faults
from tangram.sandbox.apiserver.rules.pod_defaults import SOURCES
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.rules.selectors import selector_faults
from tangram.sandbox.apiserver.rules.volume_faults import source_faults
from tangram.sandbox.apiserver.wording import qualified, subdomain

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
_NOT_PERSISTENT: Final = ("emptyDir", "gitRepo", "image", "ephemeral")
VOLUME_SOURCES: Final = (*(each for each in SOURCES if each not in _NOT_PERSISTENT), "local")
CLAIM_FINALIZER: Final = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER: Final = "kubernetes.io/pv-protection"
_POSITIVE: Final = "must be greater than zero"
_CLAIM_FIXED: Final = (
    "spec is immutable after creation except resources.requests "
    "and volumeAttributesClassName for bound claims"
)


def _protect(thing: Object, finalizer: str) -> None:
    finalizers = texts(thing["metadata"], "finalizers")
    if finalizer not in finalizers:
        thing["metadata"]["finalizers"] = [*finalizers, finalizer]


def _mode_faults(spec: Object, missing: Fault) -> list[Fault]:
    modes, faults = texts(spec, "accessModes"), list[Fault]()
    if not modes:
        return [missing]
    for mode in modes:
        if mode not in ACCESS_MODES:
            faults.append(unsupported("spec.accessModes", mode, ACCESS_MODES))
    if "ReadWriteOncePod" in modes and {*modes} & {*ACCESS_MODES} - {"ReadWriteOncePod"}:
        detail = "may not use ReadWriteOncePod with other access modes"
        faults.append(forbidden("spec.accessModes", detail))
    return faults


def _fill_claim(claim: Object) -> None:
    claim["spec"].setdefault("volumeMode", "Filesystem")
    record(claim, "status").setdefault("phase", "Pending")


def _create_claim(claim: Object) -> None:
    claim["status"] = {"phase": "Pending"}
    _protect(claim, CLAIM_FINALIZER)


def _claim_faults(new: Object, old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    faults = _mode_faults(spec, required("spec.accessModes", "at least 1 access mode is required"))
    faults += selector_faults(spec.get("selector"), "spec.selector")
    asked = quantities(record(spec, "resources"), "requests").get("storage")
    if asked is None:
        faults.append(required("spec.resources[storage]"))
    elif asked.sign <= 0:
        faults.append(invalid("spec.resources[storage]", str(asked), _POSITIVE))
    name = word(spec, "storageClassName")
    faults += each_invalid("spec.storageClassName", name, subdomain(name)) if name else []
    if word(spec, "volumeMode") not in VOLUME_MODES:
        faults.append(unsupported("spec.volumeMode", word(spec, "volumeMode"), VOLUME_MODES))
    if old is not None:
        faults += _claim_change_faults(spec, record(old, "spec"), record(old, "status"))
    return faults


def _claim_change_faults(spec: Object, before: Object, status: Object) -> list[Fault]:
    bound = word(status, "phase") == "Bound"
    may: set[str] = {"volumeAttributesClassName", "resources"} if bound else set()
    if not before.get("volumeName"):
        # Whoever binds it says so once.
        may.add("volumeName")
    kept = {name: value for name, value in spec.items() if name not in may}
    if kept != {name: value for name, value in before.items() if name not in may}:
        changed = sorted(name for name in {*spec, *before} - may if spec.get(name) != before.get(name))
        return [forbidden("spec", "\n spec.".join((_CLAIM_FIXED, *changed)))]
    now = quantities(record(spec, "resources"), "requests").get("storage")
    was = quantities(record(before, "resources"), "requests").get("storage")
    if now is not None and was is not None and now < was:
        detail = "field can not be less than status.capacity"
        return [forbidden("spec.resources.requests.storage", detail)]
    return []


CLAIM: Final = Ruling(fill=_fill_claim, create=_create_claim, faults=_claim_faults)


def _fill_volume(volume: Object) -> None:
    spec = volume["spec"]
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if isinstance(spec.get("hostPath"), dict):
        spec["hostPath"].setdefault("type", "")
    record(volume, "status").setdefault("phase", "Pending")


def _create_volume(volume: Object) -> None:
    made = record(volume, "metadata").get("creationTimestamp")
    volume["status"] = {"phase": "Pending", **({"lastPhaseTransitionTime": made} if made else {})}
    _protect(volume, VOLUME_FINALIZER)


def _volume_faults(new: Object, old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    faults = _mode_faults(spec, required("spec.accessModes"))
    capacity = quantities(spec, "capacity")
    if not capacity:
        faults.append(required("spec.capacity"))
    if set(capacity) != {"storage"}:
        faults.append(unsupported("spec.capacity", spec.get("capacity"), ("storage",)))
    for name, amount in capacity.items():
        if amount.sign <= 0:
            faults.append(invalid(f"spec.capacity[{name}]", str(amount), _POSITIVE))
    policy = word(spec, "persistentVolumeReclaimPolicy")
    if policy not in ("Delete", "Recycle", "Retain"):
        faults.append(
            unsupported("spec.persistentVolumeReclaimPolicy", policy, ("Delete", "Recycle", "Retain"))
        )
    affinity = record(spec, "nodeAffinity")
    if "required" in affinity:
        faults += node_selector_faults(record(affinity, "required"), "spec.nodeAffinity.required")
    faults += source_faults(spec, "spec", VOLUME_SOURCES)
    if "local" in spec and "required" not in affinity:
        faults.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    name = word(spec, "storageClassName")
    faults += each_invalid("spec.storageClassName", name, subdomain(name)) if name else []
    if word(spec, "volumeMode") not in VOLUME_MODES:
        faults.append(unsupported("spec.volumeMode", word(spec, "volumeMode"), VOLUME_MODES))
    if old is not None:
        before = record(old, "spec")
        if any(spec.get(source) != before.get(source) for source in VOLUME_SOURCES):
            detail = "spec.persistentvolumesource is immutable after creation\n"
            faults.append(forbidden("spec.persistentvolumesource", detail))
        faults += unchanged("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    return faults


VOLUME: Final = Ruling(fill=_fill_volume, create=_create_volume, faults=_volume_faults)


def _fill_class(thing: Object) -> None:
    thing.setdefault("reclaimPolicy", "Delete")
    thing.setdefault("volumeBindingMode", "Immediate")


def _class_faults(new: Object, old: Object | None) -> list[Fault]:
    provisioner = word(new, "provisioner")
    faults = [] if provisioner else [required("provisioner")]
    if provisioner:
        faults += each_invalid("provisioner", provisioner, qualified(provisioner.lower()))
    for name, legal in (
        ("reclaimPolicy", ("Delete", "Retain")), ("volumeBindingMode", ("Immediate", "WaitForFirstConsumer")),
    ):  # fmt: skip
        if word(new, name) not in legal:
            faults.append(unsupported(name, word(new, name), legal))
    if old is not None:
        for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
            faults += unchanged(name, new.get(name), old.get(name))
    return faults


CLASS: Final = Ruling(fill=_fill_class, faults=_class_faults)

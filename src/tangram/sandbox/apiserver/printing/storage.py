"""Volumes, the claims on them and the classes they come from."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.printing.columns import (
    AGE,
    NAME,
    Cells,
    Heading,
    Printer,
    Printers,
    age_of,
    wide,
)
from tangram.sandbox.apiserver.printing.reading import (
    UNSET,
    at,
    is_going,
    name_of,
    quantity,
    text,
    texts,
    truth,
)
from tangram.wire import loose

_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
_OLD_DEFAULT: Final = "storageclass.beta.kubernetes.io/is-default-class"


def _volume(volume: Object, now: datetime) -> Cells:
    claim = at(volume, "spec", "claimRef")
    return [
        name_of(volume),
        quantity(at(volume, "spec", "capacity", "storage")),
        _modes(texts(volume, "spec", "accessModes")),
        text(volume, "spec", "persistentVolumeReclaimPolicy"),
        _phase(volume),
        "" if claim is None else f"{text(claim, 'namespace')}/{text(claim, 'name')}",
        _class(volume),
        _or_unset(at(volume, "spec", "volumeAttributesClassName")),
        text(volume, "status", "reason"),
        age_of(volume, now),
        text(volume, "spec", "volumeMode", otherwise=UNSET),
    ]


def _claim(claim: Object, now: datetime) -> Cells:
    bound = text(claim, "spec", "volumeName")
    return [
        name_of(claim),
        _phase(claim),
        bound,
        quantity(at(claim, "status", "capacity", "storage")) if bound else "",
        _modes(texts(claim, "status", "accessModes")) if bound else "",
        _class(claim),
        _or_unset(at(claim, "spec", "volumeAttributesClassName")),
        age_of(claim, now),
        text(claim, "spec", "volumeMode", otherwise=UNSET),
    ]


def _phase(thing: Object) -> str:
    return "Terminating" if is_going(thing) else text(thing, "status", "phase")


def _or_unset(value: object) -> str:
    """An empty name was set, to nothing."""
    return UNSET if value is None else loose.text(value)


def _modes(modes: list[str]) -> str:
    return ",".join(short for long, short in _MODES.items() if long in modes)


def _class(thing: Object) -> str:
    annotated = loose.members(at(thing, "metadata", "annotations"))
    if _OLD_CLASS in annotated:
        return loose.text(annotated[_OLD_CLASS])
    return text(thing, "spec", "storageClassName")


def _storage_class(thing: Object, now: datetime) -> Cells:
    annotated = loose.members(at(thing, "metadata", "annotations"))
    chosen = "true" in (annotated.get(_DEFAULT), annotated.get(_OLD_DEFAULT))
    return [
        f"{name_of(thing)} (default)" if chosen else name_of(thing),
        text(thing, "provisioner"),
        text(thing, "reclaimPolicy", otherwise="Delete"),
        text(thing, "volumeBindingMode", otherwise="Immediate"),
        truth(thing, "allowVolumeExpansion"),
        age_of(thing, now),
    ]


PRINTERS: Final[Printers] = {
    ("", "PersistentVolume"): Printer(
        (
            NAME,
            Heading("Capacity"),
            Heading("Access Modes"),
            Heading("Reclaim Policy"),
            Heading("Status"),
            Heading("Claim"),
            Heading("StorageClass"),
            Heading("VolumeAttributesClass"),
            Heading("Reason"),
            AGE,
            wide("VolumeMode"),
        ),
        _volume,
    ),
    ("", "PersistentVolumeClaim"): Printer(
        (
            NAME,
            Heading("Status"),
            Heading("Volume"),
            Heading("Capacity"),
            Heading("Access Modes"),
            Heading("StorageClass"),
            Heading("VolumeAttributesClass"),
            AGE,
            wide("VolumeMode"),
        ),
        _claim,
    ),
    ("storage.k8s.io", "StorageClass"): Printer(
        (
            NAME,
            Heading("Provisioner"),
            Heading("ReclaimPolicy"),
            Heading("VolumeBindingMode"),
            Heading("AllowVolumeExpansion"),
            AGE,
        ),
        _storage_class,
    ),
}

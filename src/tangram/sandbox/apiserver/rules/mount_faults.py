"""Where containers find their volumes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import forbidden, invalid, not_found, required, unsupported
from tangram.sandbox.apiserver.rules.looking import placed, record, records, word
from tangram.sandbox.apiserver.rules.volume_faults import backstep_faults, descending_faults

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")


def mount_faults(container: Object, path: str, volumes: Mapping[str, Object]) -> list[Fault]:
    """Of mounts: a volume that is there, a place that is free."""
    faults: list[Fault] = []
    places: set[str] = set()
    for at, mount in placed(container, "volumeMounts", path):
        name, place = word(mount, "name"), word(mount, "mountPath")
        faults += [] if name else [required(f"{at}.name")]
        faults += [] if name in volumes else [not_found(f"{at}.name", name)]
        faults += [] if place else [required(f"{at}.mountPath")]
        if place in places:
            faults.append(invalid(f"{at}.mountPath", place, "must be unique"))
        places.add(place)
        faults += _mount_option_faults(container, mount, f"{path}.volumeMounts", at)
    return faults


def _mount_option_faults(container: Object, mount: Object, path: str, at: str) -> list[Fault]:
    below, spelled = word(mount, "subPath"), word(mount, "subPathExpr")
    faults = descending_faults(below, f"{path}.subPath") if below else []
    if spelled:
        if below:
            detail = "subPathExpr and subPath are mutually exclusive"
            faults.append(invalid(f"{at}.subPathExpr", spelled, detail))
        faults += descending_faults(spelled, f"{path}.subPathExpr")
    propagation = word(mount, "mountPropagation")
    if propagation and propagation not in _PROPAGATIONS:
        faults.append(unsupported(f"{path}.mountPropagation", propagation, _PROPAGATIONS))
    privileged = record(container, "securityContext").get("privileged") is True
    if propagation == "Bidirectional" and not privileged:
        detail = "Bidirectional mount propagation is available only to privileged containers"
        faults.append(forbidden(f"{path}.mountPropagation", detail))
    return faults


def device_faults(container: Object, path: str, volumes: Mapping[str, Object]) -> list[Fault]:
    """Of volumes that are used as devices."""
    faults: list[Fault] = []
    mounted = {word(each, "name") for each in records(container, "volumeMounts")}
    for at, device in placed(container, "volumeDevices", path):
        name, place = word(device, "name"), word(device, "devicePath")
        faults += [] if name else [required(f"{at}.name")]
        if name not in volumes:
            faults.append(not_found(f"{at}.name", name))
        elif not {"persistentVolumeClaim", "ephemeral"} & volumes[name].keys():
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            faults.append(invalid(f"{at}.name", name, detail))
        faults += [] if place else [required(f"{at}.devicePath")]
        if backstep_faults(place, at):
            faults.append(invalid(f"{at}.devicePath", place, "can not contain backsteps ('..')"))
        if name in mounted:
            faults.append(invalid(f"{at}.name", name, "must not already exist in volumeMounts"))
    return faults

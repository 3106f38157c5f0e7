"""Volumes of pods: what they are, and that the files they promise stay where they belong.

Kinds of volume that only clouds have are not looked into: a sandbox mounts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.downward import field_faults, resource_field_faults
from tangram.sandbox.apiserver.rules.faulting import (
    child,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    required,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import placed, quantity, record, records, word
from tangram.sandbox.apiserver.rules.pod_defaults import SOURCES
from tangram.sandbox.apiserver.wording import label

HOST_PATH_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_SHOWN_AS: Final = {"cephfs": "cephFS", "gcePersistentDisk": "persistentDisk"}
_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_SHORTEST_TOKEN: Final = 600
_TWO_SOURCES: Final = "may not specify more than 1 volume type"


def volume_faults(spec: Object, path: str) -> tuple[list[Fault], dict[str, Object]]:
    """What is wrong, and the volumes that are right, by name: only those can be mounted."""
    faults: list[Fault] = []
    good: dict[str, Object] = {}
    for at, volume in placed(spec, "volumes", path):
        name = word(volume, "name")
        found = source_faults(volume, at)
        found += each_invalid(f"{at}.name", name, label(name)) if name else [required(f"{at}.name")]
        if name in good:
            found.append(duplicate(f"{at}.name", name))
        faults += found
        if not found:
            good[name] = volume
    return faults, good


def source_faults(volume: Object, path: str, sources: tuple[str, ...] = SOURCES) -> list[Fault]:
    """Exactly one kind of volume, and that one in order."""
    named = [source for source in sources if source in volume]
    if not named:
        return [required(path, "must specify a volume type")]
    first, *more = named
    look = _LOOKS.get(first)
    at = child(path, _SHOWN_AS.get(first, first))
    faults = look(record(volume, first), at) if look else []
    return [*faults, *(forbidden(child(path, each), _TWO_SOURCES) for each in more)]


def _empty_dir(source: Object, path: str) -> list[Fault]:
    if "sizeLimit" in source and quantity(source["sizeLimit"]).sign < 0:
        return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _host_path(source: Object, path: str) -> list[Fault]:
    place, kind = word(source, "path"), word(source, "type")
    if not place:
        return [required(f"{path}.path")]
    faults = backstep_faults(place, f"{path}.path")
    return (
        faults if kind in HOST_PATH_TYPES else [*faults, unsupported(f"{path}.type", kind, HOST_PATH_TYPES)]
    )


def _secret(source: Object, path: str) -> list[Fault]:
    missing = [] if word(source, "secretName") else [required(f"{path}.secretName")]
    return [*missing, *_file_faults(source, path)]


def _config_map(source: Object, path: str) -> list[Fault]:
    missing = [] if word(source, "name") else [required(f"{path}.name")]
    return [*missing, *_file_faults(source, path)]


def _file_faults(source: Object, path: str) -> list[Fault]:
    faults = _mode_faults(source.get("defaultMode"), f"{path}.defaultMode")
    for at, item in placed(source, "items", path):
        faults += _key_to_path(item, at)
    return faults


def _key_to_path(item: Object, path: str) -> list[Fault]:
    faults = [required(f"{path}.{field}") for field in ("key", "path") if not word(item, field)]
    faults += local_path_faults(word(item, "path"), f"{path}.path")
    return [*faults, *_mode_faults(item.get("mode"), f"{path}.mode")]


def _claim(source: Object, path: str) -> list[Fault]:
    return [] if word(source, "claimName") else [required(f"{path}.claimName")]


def _nfs(source: Object, path: str) -> list[Fault]:
    faults = [required(f"{path}.{field}") for field in ("server", "path") if not word(source, field)]
    if not word(source, "path").startswith("/"):
        faults.append(invalid(f"{path}.path", word(source, "path"), "must be an absolute path"))
    return faults


def _downward(source: Object, path: str) -> list[Fault]:
    faults = _mode_faults(source.get("defaultMode"), f"{path}.defaultMode")
    for item in records(source, "items"):
        faults += _downward_file(item, path)
    return faults


def _downward_file(item: Object, path: str) -> list[Fault]:
    faults = [] if word(item, "path") else [required(f"{path}.path")]
    faults += local_path_faults(word(item, "path"), f"{path}.path")
    if "fieldRef" in item:
        faults += field_faults(record(item, "fieldRef"), f"{path}.fieldRef", _FIELDS)
        if "resourceFieldRef" in item:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            faults.append(invalid(path, "resource", detail))
    elif "resourceFieldRef" in item:
        at = f"{path}.resourceFieldRef"
        faults += resource_field_faults(record(item, "resourceFieldRef"), at, names_container=True)
    else:
        faults.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return [*faults, *_mode_faults(item.get("mode"), f"{path}.mode")]


def _projected(source: Object, path: str) -> list[Fault]:
    faults = _mode_faults(source.get("defaultMode"), f"{path}.defaultMode")
    for at, part in placed(source, "sources", path):
        for name in ("secret", "configMap"):
            if name in part:
                one = record(part, name)
                faults += [] if word(one, "name") else [required(f"{at}.{name}.name")]
                for where, item in placed(one, "items", f"{at}.{name}"):
                    faults += _key_to_path(item, where)
        for item in records(record(part, "downwardAPI"), "items"):
            faults += _downward_file(item, f"{at}.downwardAPI")
        if "serviceAccountToken" in part:
            faults += _token(record(part, "serviceAccountToken"), path, f"{at}.serviceAccountToken")
        if len(part) > 1:
            faults.append(forbidden(at, f"{_TWO_SOURCES} per source"))
    return faults


def _token(token: Object, path: str, at: str) -> list[Fault]:
    faults: list[Fault] = []
    seconds = token.get("expirationSeconds", _SHORTEST_TOKEN)
    if seconds < _SHORTEST_TOKEN:
        faults.append(
            invalid(f"{at}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        )
    if not word(token, "path"):
        return [*faults, required(f"{path}.path")]
    return [*faults, *local_path_faults(word(token, "path"), f"{path}.path")]


def _image(source: Object, path: str) -> list[Fault]:
    return [] if word(source, "reference") else [required(f"{path}.reference")]


def _ephemeral(source: Object, path: str) -> list[Fault]:
    return [] if "volumeClaimTemplate" in source else [required(f"{path}.volumeClaimTemplate")]


_LOOKS: Final[Mapping[str, Callable[[Object, str], list[Fault]]]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "secret": _secret,
    "configMap": _config_map,
    "persistentVolumeClaim": _claim,
    "nfs": _nfs,
    "downwardAPI": _downward,
    "projected": _projected,
    "image": _image,
    "ephemeral": _ephemeral,
}


def backstep_faults(place: str, path: str) -> list[Fault]:
    """A path that never goes up."""
    return [invalid(path, place, "must not contain '..'")] if ".." in place.split("/") else []


def descending_faults(place: str, path: str) -> list[Fault]:
    """A path below where it starts."""
    absolute = [invalid(path, place, "must be a relative path")] if place.startswith("/") else []
    return [*absolute, *backstep_faults(place, path)]


def local_path_faults(place: str, path: str) -> list[Fault]:
    """The same, and not one of the names the kubelet keeps for itself."""
    faults = descending_faults(place, path)
    if place.startswith("..") and not place.startswith("../"):
        faults.append(invalid(path, place, "must not start with '..'"))
    return faults


def _mode_faults(mode: Any, path: str) -> list[Fault]:  # noqa: ANN401 - any JSON
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(path, mode, _MODE)]

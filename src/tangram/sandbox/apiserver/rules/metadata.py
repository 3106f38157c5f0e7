"""What holds for the metadata of every kind: names, labels, annotations, finalizers and owners."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    child,
    each_invalid,
    forbidden,
    invalid,
    required,
    too_long,
    unchanged,
)
from tangram.sandbox.apiserver.rules.looking import group_of, members, record, records, texts, word
from tangram.sandbox.apiserver.wording import label, label_value, path_segment, qualified, subdomain

MOST_ANNOTATIONS: Final = 256 * 1024
ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
STANDARD_FINALIZERS: Final = frozenset({ORPHAN, FOREGROUND, "kubernetes"})
_UNQUALIFIED: Final = "name is neither a standard finalizer name nor is it fully qualified"
_PLAIN_FINALIZERS: Final = frozenset({"apiextensions.k8s.io"})
"""Groups whose finalizers, like those of kinds that people define, need no prefix."""
_LONGEST_CRON_JOB: Final = 52
_FIXED: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)

Wording = Callable[[str], list[str]]


def _cron_job(name: str) -> list[str]:
    """Eleven characters are left for the names of its Jobs."""
    longest = (
        [f"must be no more than {_LONGEST_CRON_JOB} characters"] if len(name) > _LONGEST_CRON_JOB else []
    )
    return [*subdomain(name), *longest]


_NAMES: Final[Mapping[tuple[str, str], Wording]] = {
    ("", "Namespace"): label,
    ("", "Service"): label,
    ("batch", "CronJob"): _cron_job,
    ("", "Event"): path_segment,
    ("rbac.authorization.k8s.io", "Role"): path_segment,
    ("rbac.authorization.k8s.io", "RoleBinding"): path_segment,
    ("rbac.authorization.k8s.io", "ClusterRole"): path_segment,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): path_segment,
}
"""All others have names that are DNS subdomains."""


def metadata_faults(thing: Object, kind: Kind, old: Object | None) -> list[Fault]:
    """Everything wrong with an object's metadata, whatever its kind."""
    metadata, path = record(thing, "metadata"), "metadata"
    faults: list[Fault] = []
    if old is None:
        faults += _name_faults(metadata, _NAMES.get((kind.group, kind.kind), subdomain))
    else:
        faults += _update_faults(metadata, record(old, "metadata"))
    return [
        *faults,
        *label_faults(metadata.get("labels"), child(path, "labels")),
        *annotation_faults(metadata.get("annotations"), child(path, "annotations")),
        *_owner_faults(metadata, child(path, "ownerReferences")),
        *_finalizer_faults(kind, texts(metadata, "finalizers"), child(path, "finalizers")),
    ]


def label_faults(labels: object, path: str) -> list[Fault]:
    """Keys and values."""
    faults: list[Fault] = []
    for key, value in _pairs(labels):
        faults += each_invalid(path, key, qualified(key))
        faults += each_invalid(path, value, label_value(str(value)))
    return faults


def annotation_faults(annotations: object, path: str) -> list[Fault]:
    """Keys, in whatever case, and the size of it all."""
    faults: list[Fault] = []
    size = 0
    for key, value in _pairs(annotations):
        faults += each_invalid(path, key, qualified(key.lower()))
        size += len(key.encode()) + len(str(value).encode())
    return [*faults, too_long(path, MOST_ANNOTATIONS)] if size > MOST_ANNOTATIONS else faults


def finalizer_name_faults(name: str, path: str) -> list[Fault]:
    """What holds a deletion up has a name that tells whose it is."""
    faults = each_invalid(path, name, qualified(name))
    if "/" not in name and name not in STANDARD_FINALIZERS:
        faults.append(invalid(path, name, _UNQUALIFIED))
    return faults


def _pairs(mapping: object) -> list[tuple[str, Any]]:
    return list(members(mapping).items())


def _name_faults(metadata: Object, wording: Wording) -> list[Fault]:
    name, base = word(metadata, "name"), word(metadata, "generateName")
    faults: list[Fault] = []
    if base:
        # What is appended is letters, so a hyphen at the end is none.
        faults += each_invalid(
            "metadata.generateName", base, wording(base[:-1] + "a" if base[-1] == "-" else base)
        )
    if not name:
        return [*faults, required("metadata.name", "name or generateName is required")]
    return [*faults, *each_invalid("metadata.name", name, wording(name))]


def _update_faults(new: Object, old: Object) -> list[Fault]:
    faults: list[Fault] = []
    if old.get("deletionTimestamp"):
        added = [each for each in texts(new, "finalizers") if each not in texts(old, "finalizers")]
        if added:
            faults.append(
                forbidden(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, found new finalizers "
                    f"[]string{{{', '.join(json.dumps(each) for each in sorted(added))}}}",
                )
            )
    for field in _FIXED:
        faults += unchanged(f"metadata.{field}", new.get(field), old.get(field))
    return faults


def _owner_faults(metadata: Object, path: str) -> list[Fault]:
    owners, faults, first = records(metadata, "ownerReferences"), list[Fault](), ""
    for owner in owners:
        faults += _one_owner_faults(owner, path)
        if owner.get("controller") is True:
            called = f"{word(owner, 'kind')}/{word(owner, 'name')}"
            if first:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{first} and {called}"
                )
                faults.append(invalid(path, owners, detail))
            first = first or called
    return faults


def _one_owner_faults(owner: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    if not word(owner, "apiVersion"):
        faults.append(invalid(child(path, "apiVersion"), "", "version must not be empty"))
    missing = [field for field in ("kind", "name", "uid") if not word(owner, field)]
    faults += [invalid(child(path, field), "", "must not be empty") for field in missing]
    group, version = group_of(word(owner, "apiVersion"))
    if (group, version, owner.get("kind")) == ("", "v1", "Event"):
        faults.append(
            invalid(path, owner, f"{group}/{version}, Kind=Event is disallowed from being an owner")
        )
    return faults


def _finalizer_faults(kind: Kind, finalizers: list[str], path: str) -> list[Fault]:
    faults = [fault for name in finalizers for fault in each_invalid(path, name, qualified(name))]
    if kind.definition and kind.group not in _PLAIN_FINALIZERS:
        faults += [
            invalid(f"{path}[{position}]", name, _UNQUALIFIED)
            for position, name in enumerate(finalizers)
            if "/" not in name and name not in STANDARD_FINALIZERS
        ]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        faults.append(invalid(path, finalizers, f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"))
    return faults

"""What an object says of itself: its name, its place, and what only the server writes."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.admission import new_ending
from tangram.sandbox.apiserver.asking import Ask
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.refusals import bad_request, conflict, stale

_LONGEST_BASE: Final = 58
_SYSTEM: Final = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion",
    "generateName",
)  # fmt: skip


def name_new(ask: Ask, thing: Object) -> None:
    """Give a new object its place, and a name where it only says how one begins. Raises `Refused`."""
    metadata: Object = thing.get("metadata") or {}
    thing["metadata"] = metadata
    if ask.target.name:
        metadata.setdefault("name", ask.target.name)
    check_place(ask, metadata, naming=False)
    base = metadata.get("generateName") or ""
    if not metadata.get("name") and base:
        metadata["name"] = base[:_LONGEST_BASE] + new_ending()


def check_place(ask: Ask, metadata: Object, *, naming: bool = True) -> None:
    """What an object says of its own place must be where it was sent. Raises `Refused`."""
    target = ask.target
    if target.kind.namespaced:
        if metadata.get("namespace") and metadata["namespace"] != target.namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        metadata["namespace"] = target.namespace
    else:
        metadata.pop("namespace", None)
    if naming:
        if metadata.get("name") and metadata["name"] != target.name:
            raise bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({target.name})"
            )
        metadata["name"] = target.name


def check_identity(kind: Kind, new: Object, old: Object) -> None:
    """That an object is replaced by itself. Raises `Refused`."""
    uid = new["metadata"].get("uid")
    if uid and uid != old["metadata"]["uid"]:
        name = old["metadata"]["name"]
        raise conflict(
            kind.group, kind.plural, name,
            stale(_place(kind, old), "UID", uid, old["metadata"]["uid"]),
        )  # fmt: skip


def _place(kind: Kind, thing: Object) -> str:
    """Where the store underneath the real server would keep it."""
    metadata = thing["metadata"]
    words = (
        "" if kind.definition else kind.group,
        kind.plural,
        metadata.get("namespace", ""),
        metadata["name"],
    )
    return "/".join(word for word in words if word)


def keep_system_metadata(new: Object, old: Object) -> None:
    """What clients cannot change, whatever they send."""
    metadata, before = new["metadata"], old["metadata"]
    for key in _SYSTEM:
        if key in before:
            metadata[key] = before[key]
        else:
            metadata.pop(key, None)
    if "managedFields" not in metadata and "managedFields" in before:
        metadata["managedFields"] = before["managedFields"]
    metadata.pop("selfLink", None)
    for key in ("labels", "annotations", "finalizers", "ownerReferences"):
        if key in metadata and not metadata[key]:
            del metadata[key]


def owned_by(thing: Object, owners: list[Object] | None) -> Object:
    """The object with these as the owners of its fields."""
    metadata = {key: value for key, value in thing["metadata"].items() if key != "managedFields"}
    return {**thing, "metadata": {**metadata, **({"managedFields": owners} if owners else {})}}


def may_go(thing: Object) -> bool:
    """Whether nobody holds on to an object that is being deleted."""
    metadata = thing["metadata"]
    held = metadata.get("finalizers") or (
        thing["kind"] == "Namespace" and thing.get("spec", {}).get("finalizers")
    )
    return not held and not metadata.get("deletionGracePeriodSeconds")

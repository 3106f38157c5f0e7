"""The definition of the kind `Device`, for clusters where Koordinator is not installed.

Koordinator's components and ours read the same objects, so the kind must be the same whoever brought it: fields,
types, bounds and the one default are Koordinator's, and only the texts that explain them are our own. It is for a
cluster that lacks the kind. Where somebody else has installed it, whoever did owns it and changes it with their own
releases; writing this one over it would take back what a newer one added.
"""

from __future__ import annotations

from typing import Any, Final

GROUP: Final = "scheduling.koordinator.sh"
VERSION: Final = "v1alpha1"
PLURAL: Final = "devices"
NAME: Final = f"{PLURAL}.{GROUP}"
FILE: Final = f"deploy/crds/{GROUP}_{PLURAL}.yaml"
"""Where the same text lies for people who apply files."""

OURS_LABEL: Final = "app.kubernetes.io/managed-by"
OURS_VALUE: Final = "tangram"
"""What tells a definition that we brought from one that somebody else did."""

Schema = dict[str, Any]

_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
_CONDITION_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)


def device_definition() -> dict[str, Any]:
    """The CustomResourceDefinition, as it is applied. Every call makes a new one, so it may be changed."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME, "labels": {OURS_LABEL: OURS_VALUE}},
        "spec": {
            "group": GROUP,
            "names": {"kind": "Device", "listKind": "DeviceList", "plural": PLURAL, "singular": "device"},
            "scope": "Cluster",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _device()},
                }
            ],
        },
    }


def _device() -> Schema:
    return _object(
        {
            "apiVersion": _text(),
            "kind": _text(),
            "metadata": {"type": "object"},
            "spec": _object({"devices": _list(_entry())}),
            "status": _object({"allocations": _list(_allocation())}),
        },
        about="The cards of the node that has this object's name.",
    )


def _entry() -> Schema:
    return _object(
        {
            "type": _text("What kind of device it is; every accelerator is a gpu."),
            "labels": _text_map("What a pod's hint can select by."),
            "id": _text("The card's own identity, the same after a restart of the node."),
            "minor": _integer("The card's number on its node, from 0."),
            "moduleID": _integer("The slot it is in."),
            "health": {
                "type": "boolean",
                "default": False,
                "description": "Whether new pods may be given it.",
            },
            "resources": {
                "type": "object",
                "additionalProperties": {
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "pattern": _QUANTITY,
                    "x-kubernetes-int-or-string": True,
                },
                "description": "What it has to give, by resource name.",
            },
            "topology": _place(),
            "vfGroups": _list(_function_group()),
            "conditions": _list(_condition()),
        },
        required=["health"],
    )


def _place() -> Schema:
    return _object(
        {
            "socketID": _integer("The CPU socket it is nearest to; -1 if it is not known."),
            "nodeID": _integer("The NUMA node it belongs to; -1 if it is not known."),
            "pcieID": _text("The PCIe root it hangs on."),
            "busID": _text("Its address on the bus: domain:bus:device.function."),
        },
        required=["nodeID", "pcieID", "socketID"],
        about="Where on its host it sits.",
    )


def _function_group() -> Schema:
    function = _object(
        {"minor": _integer("The function's number, from 0."), "busID": _text("Its address on the bus.")},
        required=["minor"],
    )
    return _object({"labels": _text_map("What a pod's hint can select by."), "vfs": _list(function)})


def _condition() -> Schema:
    return _object(
        {
            "type": _text(maxLength=316, pattern=_CONDITION_TYPE),
            "status": _text(enum=["True", "False", "Unknown"]),
            "reason": _text("One word, for programs.", minLength=1, maxLength=1024, pattern=_REASON),
            "message": _text("A sentence, for people.", maxLength=32768),
            "lastTransitionTime": _text("Since when the status is what it is.", format="date-time"),
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        },
        required=["lastTransitionTime", "message", "reason", "status", "type"],
    )


def _allocation() -> Schema:
    minors = _list(_integer())
    entry = _object({"name": _text(), "namespace": _text(), "uuid": _text(), "minors": minors})
    return _object({"type": _text(), "entries": _list(entry)})


def _object(properties: Schema, *, required: list[str] | None = None, about: str = "") -> Schema:
    made: Schema = {"type": "object", "properties": properties}
    if required:
        made["required"] = required
    return _told(made, about)


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _text(about: str = "", **bounds: object) -> Schema:
    return _told({"type": "string", **bounds}, about)


def _text_map(about: str) -> Schema:
    return _told({"type": "object", "additionalProperties": _text()}, about)


def _integer(about: str = "") -> Schema:
    return _told({"type": "integer", "format": "int32"}, about)


def _told(schema: Schema, about: str) -> Schema:
    return {**schema, "description": about} if about else schema

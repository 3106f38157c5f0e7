"""The definition of the kind `ClusterOperator`: what the API server itself refuses, fills in and shows.

It keeps to what every Kubernetes from 1.23 on understands: types, enums, patterns and defaults, no rules in CEL. What
depends on two fields at once is refused by `reading`, with a condition and an event.

Field names and enums are those of MetaX's operator. Its blocks that do nothing here are in the schema all the same:
what a schema does not know is dropped in silence, and then nobody could be told that it has no effect.
"""

from __future__ import annotations

from typing import Any, Final

from tangram.wire.operator import names
from tangram.wire.operator.policies import ALSO, DeployPolicy
from tangram.wire.operator.reading import IMAGE_NAME, IMAGE_TAG, REGISTRY
from tangram.wire.operator.spec import USUAL_DRIVER_IMAGE, CleanupPolicy, WhenBusy
from tangram.wire.operator.status import MOST_PROBLEMS, PartState, State

NAME: Final = f"{names.PLURAL}.{names.GROUP}"
FILE: Final = f"deploy/crds/{names.GROUP}_{names.PLURAL}.yaml"
"""Where the same text lies for people and charts that apply files."""

Schema = dict[str, Any]

_DURATION = r"^([0-9]+(\.[0-9]+)?(w|d|h|m|s|ms))+$"
_SPAN = r"^[1-9][0-9]{0,4}[wdhWDH]$"
_SHARE = r"^([1-9][0-9]{0,5}|([1-9][0-9]?|100)%)$"
_NAMESPACE = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
_CONDITION_REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"


def operator_definition() -> dict[str, Any]:
    """The CustomResourceDefinition, as it is applied. Every call makes a new one, so it may be changed."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME, "labels": {"app.kubernetes.io/managed-by": "tangram"}},
        "spec": {
            "group": names.GROUP,
            "names": {
                "kind": names.KIND,
                "listKind": f"{names.KIND}List",
                "plural": names.PLURAL,
                "singular": "clusteroperator",
                "shortNames": ["gpuop"],
            },
            "scope": "Cluster",
            "versions": [
                {
                    "name": names.VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {"name": "State", "type": "string", "jsonPath": ".status.state"},
                        {"name": "Driver", "type": "string", "jsonPath": ".spec.driver.payload.version"},
                        {"name": "Ready nodes", "type": "string", "jsonPath": ".status.readyNodes"},
                        {"name": "Message", "type": "string", "priority": 1, "jsonPath": ".status.message"},
                        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                    ],
                    "schema": {"openAPIV3Schema": _cluster_operator()},
                }
            ],
        },
    }


def _cluster_operator() -> Schema:
    return _object(
        {
            "apiVersion": _text(),
            "kind": _text(),
            "metadata": {"type": "object"},
            "spec": _spec(),
            "status": _status(),
        },
        about=f"What the GPU Operator keeps on the nodes of this cluster. One object counts: {names.OBJECT}.",
    )


def _spec() -> Schema:
    return _object(
        {
            "image": _image(),
            "log": _log("Of all parts; each may have its own."),
            "labelgen": _object(
                {
                    "deploy": _flag(usual=True),
                    "driver": _text("How gpu-label reaches the cards; auto finds out."),
                    "productNames": _text(
                        "How gpu.product is spelled: short (C500) or library (MXC500).",
                        enum=["short", "library"],
                        default="short",
                    ),
                    "driverMode": _text(
                        "What gpu.driver.mode says of who installed the driver; auto for what is so.",
                        enum=["auto", "native", "cloud"],
                        default="auto",
                    ),
                    "log": _log(),
                    "resources": _resources(),
                },
                about="gpu-label.",
            ),
            "driver": _driver(),
            "maca": _maca(),
            "runtime": _runtime(),
            "devicePlugin": _device_plugin(),
            "gpuScheduler": _object(
                {
                    "deploy": _flag("The scheduler of chart tangram is expected, and watched.", usual=False),
                    "namespace": _text("Where it runs; empty for anywhere.", pattern=_NAMESPACE),
                    "version": _text("The vendor's; there is one scheduler here.", enum=["v1", "v2"]),
                }
            ),
            "dataExporter": _not_ours("Refused: gpu-device serves the metrics of cards."),
            "topoDiscovery": _not_ours("Refused: gpu-device finds the links between cards."),
            "openshift": _not_ours("Refused: OpenShift is not supported."),
            "vendor": _anything("Refused unless empty: cards are offered under MetaX's own names."),
            "cluster": _object({"type": _text("auto or k8s; k3s is refused.", enum=["auto", "k8s", "k3s"])}),
        }
    )


def _image() -> Schema:
    return _object(
        {
            "registry": _text(
                "DOMAIN/PROJECT of payload images that name none of their own.", pattern=f"^({REGISTRY})?$"
            ),
            "pullPolicy": _text(enum=["IfNotPresent", "Always", "Never"], default="IfNotPresent"),
            "pullSecrets": _list(_object({"name": _text()}, required=["name"])),
        },
        about="How images are pulled. The parts themselves run the image that the operator runs.",
    )


def _driver() -> Schema:
    return _object(
        {
            "deploy": _flag(
                "false leaves out driver-manager: then a host's driver is all there is.", usual=True
            ),
            "deployPolicy": _text(
                "When the payload's driver is put on a node (docs/driver-manager.md).",
                enum=[*DeployPolicy, *ALSO],
                default=DeployPolicy.IF_NOT_PRESENT.value,
            ),
            "payload": _object(
                {
                    "name": _text(pattern=f"^{IMAGE_NAME}$", default=USUAL_DRIVER_IMAGE),
                    "version": _text(
                        "The tag; mandatory unless the policy is Never.", pattern=f"^({IMAGE_TAG})?$"
                    ),
                    "registry": _text("image.registry unless given.", pattern=f"^({REGISTRY})?$"),
                },
                about="The image that brings the driver.",
            ),
            "fwUpgradePolicy": _text(enum=["Never", "PreferCloud"], default="Never"),
            "fwEffectPolicy": _text(enum=["WaitReboot", "NextReboot", "WarmReset"], default="NextReboot"),
            "fwEnableVirt": _flag(usual=False),
            "deviceAsRootGroup": _flag(usual=False),
            "upgradePolicy": _upgrade_policy(),
            "loader": _text(
                "auto and kmod are the kernel; simulated:unix:SOCKET is for tests.", default="auto"
            ),
            "publicKeySecret": _text("A Secret whose payload.pub payloads must be signed with."),
            "log": _log(),
            "resources": _resources(),
        },
        about="driver-manager.",
    )


def _upgrade_policy() -> Schema:
    return _object(
        {
            "maxUnavailable": {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-int-or-string": True,
                "pattern": _SHARE,
                "default": 1,
                "description": "Nodes out of service at once because of an upgrade: a number or a percentage.",
            },
            "whenBusy": _text(
                "GPU pods on a node whose driver is to change: Wait for them, or Evict them.",
                enum=list(WhenBusy),
                default=WhenBusy.WAIT.value,
            ),
            "evictTimeout": _text(pattern=_DURATION, default="5m"),
            "paused": _flag("Begin no further node.", usual=False),
        },
        about="How a working driver is replaced, node by node.",
    )


def _maca() -> Schema:
    return _object(
        {
            "payload": _object(
                {
                    "images": _list(
                        _text(), about="Name and tag of each, without registry. The first is the default."
                    ),
                    "registry": _text("image.registry unless given.", pattern=f"^({REGISTRY})?$"),
                }
            ),
            "cleanupConfig": _object(
                {
                    "threshold": {"type": "integer", "format": "int32", "minimum": 1, "default": 5},
                    "cleanupPolicy": _text(enum=list(CleanupPolicy), default=CleanupPolicy.NEVER.value),
                },
                about="Versions that nobody lists and nobody uses, once a node has more than the threshold.",
            ),
            "log": _log(),
            "resources": _resources(),
        },
        about="MXMACA on the nodes.",
    )


def _runtime() -> Schema:
    return _object(
        {
            "deploy": _flag(usual=True),
            "config": _object(
                {
                    "cdiMode": _text(
                        "env is the runtime's wrapper.", enum=["auto", "cdi", "env"], default="auto"
                    ),
                    "engine": _text(enum=["auto", "containerd", "cri-o", "docker"], default="auto"),
                }
            ),
            "log": _log(),
            "resources": _resources(),
        },
        about="container-runtime.",
    )


def _device_plugin() -> Schema:
    return _object(
        {
            "deploy": _flag(usual=True),
            "healthyInterval": {
                "type": "integer",
                "format": "int32",
                "minimum": 0,
                "maximum": 3600,
                "default": 5,
                "description": "Seconds between two health checks; 0 switches them off.",
            },
            "driver": _text("How cards are reached; auto finds out.", default="auto"),
            "configNamespace": _text(
                "Of metax-device-config; the operator's unless given.", pattern=_NAMESPACE
            ),
            "deviceConfig": _anything("Content of metax-device-config, if the operator is to make it."),
            "nodeSelector": {"type": "object", "additionalProperties": _text()},
            "log": _log(),
            "resources": _resources(),
        },
        about="gpu-device.",
    )


def _status() -> Schema:
    count: Schema = {"type": "integer", "format": "int32"}
    generation: Schema = {"type": "integer", "format": "int64"}
    return _object(
        {
            "state": _text(enum=list(State)),
            "message": _text(),
            "observedGeneration": generation,
            "readyNodes": _text(),
            "conditions": {
                **_list(
                    _object(
                        {
                            "type": _text(maxLength=316),
                            "status": _text(enum=["True", "False", "Unknown"]),
                            "reason": _text(minLength=1, maxLength=1024, pattern=_CONDITION_REASON),
                            "message": _text(maxLength=32768),
                            "lastTransitionTime": _text(format="date-time"),
                            "observedGeneration": generation,
                        },
                        required=["lastTransitionTime", "message", "reason", "status", "type"],
                    )
                ),
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            },
            "parts": _list(
                _object(
                    {
                        "name": _text(),
                        "state": _text(enum=list(PartState)),
                        "message": _text(),
                        "wanted": count,
                        "ready": count,
                    },
                    required=["name", "state"],
                )
            ),
            "nodes": _object(
                {
                    "managed": count,
                    "ready": count,
                    "problems": {
                        **_list(_object({"name": _text(), "part": _text(), "message": _text()})),
                        "maxItems": MOST_PROBLEMS,
                    },
                    "more": count,
                }
            ),
            "upgradeStatus": _object(
                {
                    "to": _text(),
                    "done": count,
                    "updating": count,
                    "waiting": count,
                    "failed": count,
                    "paused": {"type": "boolean"},
                    "message": _text(),
                }
            ),
        }
    )


def _log(about: str = "") -> Schema:
    return _object(
        {
            "dir": _text("On the node; empty for no files."),
            "level": _text(enum=["debug", "info", "warn", "warning", "error", "fatal"]),
            "format": _text(enum=["json", "text"]),
            "rotationTime": _text(pattern=_SPAN),
            "maxAge": _text(pattern=_SPAN),
        },
        about=about,
    )


def _resources() -> Schema:
    amounts: Schema = {
        "type": "object",
        "additionalProperties": {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": True,
        },
    }
    return _object({"requests": amounts, "limits": amounts})


def _not_ours(about: str) -> Schema:
    return {
        **_object({"deploy": {"type": "boolean"}, "enabled": {"type": "boolean"}}, about=about),
        "x-kubernetes-preserve-unknown-fields": True,
    }


def _anything(about: str) -> Schema:
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "description": about}


def _object(properties: Schema, *, required: list[str] | None = None, about: str = "") -> Schema:
    made: Schema = {"type": "object", "properties": properties}
    if required:
        made["required"] = required
    return _told(made, about)


def _list(items: Schema, about: str = "") -> Schema:
    return _told({"type": "array", "items": items}, about)


def _text(about: str = "", **bounds: object) -> Schema:
    if "enum" in bounds:
        # Plain texts: members of an enum would be written as objects by whoever makes YAML of this.
        bounds["enum"] = [str(word) for word in bounds["enum"]]  # pyright: ignore[reportGeneralTypeIssues,reportUnknownVariableType,reportUnknownArgumentType]
    return _told({"type": "string", **bounds}, about)


def _flag(about: str = "", *, usual: bool) -> Schema:
    return _told({"type": "boolean", "default": usual}, about)


def _told(schema: Schema, about: str) -> Schema:
    return {**schema, "description": about} if about else schema

"""Every option of both charts and what may stand in it, as the `values.schema.json` that helm checks.

The node parts are the same in both charts, so their options are stated once here and written into both files. What one
value demands of another, or of the cluster, a schema cannot say: the templates refuse it.

`python -m shipping.charts.options` writes the files; a test fails while they differ from what stands here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import yaml

from shipping.charts.wording import Schema, closed, number, several, text, word, worded

CHARTS: Final = Path(__file__).parents[2] / "deploy" / "charts"
SCHEMA_FILE: Final = "values.schema.json"

_LABEL: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAME: Final = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_NAME: Final = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_ACCOUNT: Final = rf"system:serviceaccount:{_LABEL}:{_NAME}"
_QUANTITY: Final = r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?"
_WEIGHT: Final = r"[0-9]{1,6}(\.[0-9]{1,6})?"
MOST_ACCOUNTS: Final = 16
"""As many as the scheduler's own file may name."""

_SWITCH: Final[Schema] = {"enum": [True, False]}
_UNLESS_FOUND: Final[Schema] = {"enum": ["auto", True, False]}
_ANYTHING: Final[Schema] = {"type": "object"}
_NAMESPACE: Final = text("the name of a namespace, such as kube-system", _LABEL)
_LEVEL: Final = word("debug", "info", "warning", "warn", "error", "fatal")
_FORMAT: Final = word("json", "text")
_TIME: Final = text("a number of weeks, days or hours, such as 1w, 7d or 168h", "[1-9][0-9]{0,4}[wdhWDH]")
_LOG: Final = closed(
    {
        "dir": worded(
            "a folder of the node by its whole path without .. in it, such as /var/log/metax, or an empty text for no "
            "files",
            {"type": "string", "pattern": r"^$|^(/[^/\x00-\x1f]+)+/?$", "not": {"pattern": r"/\.\.?(/|$)"}},
        ),
        "level": _LEVEL,
        "format": _FORMAT,
        "rotationTime": _TIME,
        "maxAge": _TIME,
    }
)
_LABELS: Final = worded(
    'labels, each a text: for numbers write quotes, as in "1"',
    {"type": "object", "additionalProperties": {"type": "string"}},
)
_NODE_LABELS: Final = worded(
    'labels of nodes, each a text, such as gpu-served-by: tangram; for numbers and true write quotes, as in "1"',
    {
        "type": "object",
        "propertyNames": {"pattern": rf"^({_NAME}/)?{_LABEL_NAME}$"},
        "additionalProperties": {"type": "string", "pattern": f"^({_LABEL_NAME})?$"},
    },
)
_TOLERATION: Final[Schema] = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "pattern": rf"^(({_NAME}/)?{_LABEL_NAME})?$"},
        "operator": {"enum": ["Exists", "Equal"]},
        "value": {"type": "string", "pattern": f"^({_LABEL_NAME})?$"},
        "effect": {"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
        "tolerationSeconds": {"type": "integer"},
    },
    "additionalProperties": False,
}
_AMOUNTS: Final = worded(
    "amounts of cpu, memory and ephemeral-storage, such as cpu: 100m and memory: 128Mi",
    {
        "type": "object",
        "propertyNames": {"enum": ["cpu", "memory", "ephemeral-storage"]},
        "additionalProperties": {"type": ["string", "number"], "pattern": f"^{_QUANTITY}$", "minimum": 0},
    },
)
_RESOURCES: Final = closed({"requests": _AMOUNTS, "limits": _AMOUNTS})
_DRIVER: Final = text(
    "auto, mxsml, mx-smi, sysfs, mtml or gmi, the latter five also with a colon and the path of what they use",
    r"auto|(mxsml|mx-smi|sysfs|mtml|gmi)(:\S+)?|simulated:\S+",
)
_LABEL_DRIVER: Final = text(
    "auto, sysfs, mxsml or mx-smi, the latter three also with a colon and the path of what they use",
    r"auto|(sysfs|mxsml|mx-smi)(:\S+)?|simulated:\S+",
)
"""Others want device nodes or folders of the host that gpu-label's container has not."""
_WEIGHT_TEXT: Final = worded(
    'a number from 0 to 999999 with at most six decimals, such as "1.0"',
    {"type": ["string", "number"], "pattern": f"^{_WEIGHT}$", "minimum": 0, "maximum": 999_999},
)

_INJECTED: Final[dict[str, Schema]] = {"global": _ANYTHING, "tangram-parts": _ANYTHING}
"""What helm itself puts there for charts within charts."""

_IMAGE: Final[dict[str, Schema]] = {
    "registry": text("DOMAIN/PROJECT of a registry, such as harbor.example.com/gpu", r"[^\s/](\S*[^\s/])?"),
    "pullPolicy": word("IfNotPresent", "Always", "Never"),
    "imagePullSecrets": several(
        "a list of Secrets by name, such as [{name: my-registry}]",
        {
            "type": "object",
            "properties": {"name": {"type": "string", "pattern": f"^{_NAME}$"}},
            "required": ["name"],
            "additionalProperties": False,
        },
        MOST_ACCOUNTS,
    ),
}
_GPU_DEVICE: Final[dict[str, Schema]] = {
    "healthyInterval": number("a whole number of seconds up to 3600, or 0 for no health checks", 0, 3600),
    "driver": _DRIVER,
    "configNamespace": _NAMESPACE,
    "deviceConfig": _ANYTHING,
    "nodeSelector": _NODE_LABELS,
    "log": _LOG,
    "resources": _RESOURCES,
}
_GPU_LABEL: Final[dict[str, Schema]] = {"driver": _LABEL_DRIVER, "log": _LOG, "resources": _RESOURCES}
_GPU_AWARE: Final[dict[str, Schema]] = {
    "scoreWeight": _WEIGHT_TEXT,
    "lossWeight": _WEIGHT_TEXT,
    "log": _LOG,
    "resources": _RESOURCES,
}
_CLEANUP: Final = closed({"enabled": _SWITCH})
_SHARED: Final[dict[str, Schema]] = {
    **_IMAGE,
    "deployExtenderGPUAware": _SWITCH,
    "log": _LOG,
    "gpuAware": closed(_GPU_AWARE),
    "cleanup": _CLEANUP,
}

_SCHEDULER_NAME: Final = worded(
    "a name in lower case other than default-scheduler, such as tangram-scheduler",
    {"type": "string", "pattern": f"^{_NAME}$", "maxLength": 253, "not": {"const": "default-scheduler"}},
)
_ACCOUNTS: Final = several(
    "a list of at most 16 accounts, each once, such as system:serviceaccount:kube-system:hami-scheduler",
    {"type": "string", "pattern": f"^{_ACCOUNT}$"},
    MOST_ACCOUNTS,
)
_RESOURCE: Final = worded(
    "the name of an extended resource, DOMAIN/NAME outside kubernetes.io, such as metax-tech.com/sgpu",
    {
        "type": "string",
        "pattern": r"^$|^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$",
        "not": {"pattern": r"^(.*\.)?kubernetes\.io/"},
    },
)
_UNITS: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 65_536}
_DEVICE_CONFIG: Final[Schema] = {
    "type": "object",
    # HAMi's file is shared with other vendors and later releases, whose keys are none of our business.
    "properties": {
        "metax": {
            "type": "object",
            "properties": {
                "resourceCountName": _RESOURCE,
                "resourceVCountName": _RESOURCE,
                "resourceVMemoryName": _RESOURCE,
                "resourceVCoreName": _RESOURCE,
                "sgpuTopologyAware": {"enum": [True, False, "true", "false", ""]},
            },
        },
        "mthreads": {
            "type": "object",
            "properties": {
                "resourceCountName": _RESOURCE,
                "resourceMemoryName": _RESOURCE,
                "resourceCoreName": _RESOURCE,
                "memoryPerCard": worded(
                    "a number of 512 MiB units from 1 to 65536, or a list of up to 16 of them",
                    {"anyOf": [_UNITS, {"type": "array", "items": _UNITS, "minItems": 1, "maxItems": 16}]},
                ),
            },
        },
    },
}
_CARD_ORDERS: Final = "(binpack|spread|numa|topology-aware|mutex)"
_CONFIG: Final = closed(
    {
        "tangram": word("scheduler/v1"),
        "nodePolicy": word("binpack", "spread", "frag"),
        "cardPolicy": text(
            "binpack, spread, numa, topology-aware or mutex, or several of them separated by commas",
            rf"{_CARD_ORDERS}( *, *{_CARD_ORDERS})*",
        ),
        "zoneAware": _SWITCH,
        "schedulerNames": several(
            "a list of at most 16 names of schedulers, each once and none of them default-scheduler",
            {"type": "string", "pattern": f"^{_NAME}$", "not": {"const": "default-scheduler"}},
            MOST_ACCOUNTS,
        ),
        "forceOverwriteDefaultScheduler": _SWITCH,
        "reservationSeconds": number("a whole number of seconds from 5 to 3600", 5, 3600),
        "gangSeconds": number("a whole number of seconds from 5 to 86400", 5, 86_400),
        "demoteSeconds": number("a whole number of seconds from 0 to 3600", 0, 3600),
        "nodeLockSeconds": number("a whole number of seconds from 30 to 3600", 30, 3600),
        "trustedAccounts": _ACCOUNTS,
        "quota": _SWITCH,
    }
)
_SCHEDULER: Final = closed(
    {
        "enabled": _SWITCH,
        "replicas": number("a whole number from 1 to 5", 1, 5),
        "name": _SCHEDULER_NAME,
        "profiles": closed({"hami": _UNLESS_FOUND, "koordinator": _UNLESS_FOUND}),
        "config": _CONFIG,
        "deviceConfig": _DEVICE_CONFIG,
        "trustedAccounts": _ACCOUNTS,
        "trustedAgentAccounts": _ACCOUNTS,
        "legacyMetrics": _SWITCH,
        "nodeSelector": _NODE_LABELS,
        "tolerations": several(
            "a list of tolerations as in a pod, each with any of key, operator, value, effect and tolerationSeconds",
            _TOLERATION,
            64,
        ),
        "log": closed({"level": _LEVEL, "format": _FORMAT}),
        "resources": _RESOURCES,
        "kubeScheduler": closed(
            {
                "enabled": _SWITCH,
                "image": closed(
                    {
                        "registry": _IMAGE["registry"],
                        "name": text(
                            "the name of an image below that registry, such as kube-scheduler", r"[^\s:@]+"
                        ),
                        "tag": text(
                            "a version such as v1.36.3, or an empty text for that of the cluster",
                            r"|[A-Za-z0-9_][-A-Za-z0-9_.]{0,127}",
                        ),
                    }
                ),
                "resources": _RESOURCES,
            }
        ),
        "clientCA": text("the name of a ConfigMap, or an empty text", f"|{_NAME}"),
        "webhook": closed(
            {
                "failurePolicy": word("auto", "Fail", "Ignore"),
                "ignoreNamespaces": several(
                    "a list of namespaces, each once, such as [monitoring]",
                    {"type": "string", "pattern": f"^{_LABEL}$"},
                    256,
                ),
            }
        ),
    }
)
_CERTIFICATES: Final = closed(
    {
        "source": word("self", "cert-manager", "secret"),
        "issuerRef": closed(
            {
                "name": text("the name of an Issuer", _NAME),
                "kind": text("Issuer, ClusterIssuer or a kind of another group", "[A-Z][A-Za-z0-9]*"),
                "group": text("an API group, such as cert-manager.io", _NAME),
            }
        ),
        "secretName": text("the name of a Secret, or an empty text", f"|{_NAME}"),
        "caBundle": worded(
            "certificates as PEM, or an empty text",
            {"type": "string", "pattern": r"^\s*$|-----BEGIN CERTIFICATE-----"},
        ),
    }
)
_MONITORING: Final = closed(
    {
        "serviceMonitor": closed(
            {
                "enabled": _SWITCH,
                "labels": _LABELS,
                "interval": text("a time such as 30s or 1m", "([0-9]+(ms|s|m|h))+"),
            }
        ),
        "dashboards": closed({"enabled": _SWITCH, "labels": _LABELS}),
    }
)


_MAY_BE_MISSING: Final = frozenset(
    {"imagePullSecrets", "deviceConfig", "resources", "nodeSelector", "tolerations"}
)
"""What people take away with `null`, such as amounts that a container is to ask for."""


def chart_schemas() -> dict[str, Schema]:
    """By the chart's name, what its values may be. Every option has a value, so `null` takes none of them away."""
    switched = {"enabled": _SWITCH}
    ours = {
        **_SHARED,
        "gpuDevice": closed({**switched, **_GPU_DEVICE}),
        "gpuLabel": closed({**switched, **_GPU_LABEL}),
        "scheduler": _SCHEDULER,
        "certificates": _CERTIFICATES,
        "monitoring": _MONITORING,
    }
    extensions = {**_SHARED, "gpuDevice": closed(_GPU_DEVICE), "gpuLabel": closed(_GPU_LABEL)}
    return {
        name: {
            "$schema": "http://json-schema.org/draft-07/schema#",
            **_complete(closed(options, unsaid=_INJECTED), _values(name)),
        }
        for name, options in (("tangram", ours), ("metax-gpu-extensions", extensions))
    }


def _values(chart: str) -> dict[str, Any]:
    return yaml.safe_load((CHARTS / chart / "values.yaml").read_text("utf-8"))


def _complete(schema: Schema, values: dict[str, Any]) -> Schema:
    """The same, and whatever has a usual value must be there."""
    properties = {
        key: _complete(each, values[key]) if "properties" in each and values.get(key) else each
        for key, each in schema["properties"].items()
    }
    needed = sorted(key for key in properties if key in values and key not in _MAY_BE_MISSING)
    return {**schema, "properties": properties, "required": needed}


def schema_text(schema: Schema) -> str:
    """As it stands in the chart."""
    return json.dumps(schema, indent=1) + "\n"


if __name__ == "__main__":
    for chart, schema in chart_schemas().items():
        (CHARTS / chart / SCHEMA_FILE).write_text(schema_text(schema), "utf-8")

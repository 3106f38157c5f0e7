"""Every option of the charts and what may stand in it, as the `values.schema.json` that helm checks.

The node parts are the same in all charts, so their options are stated once here and written into every file. What one
value demands of another, or of the cluster, a schema cannot say: the templates refuse it.

`python -m shipping.charts.options` writes the files; a test fails while they differ from what stands here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import yaml

from shipping.charts.forms import (
    ANYTHING,
    FORMAT,
    LABEL,
    LEVEL,
    LOG,
    NAME,
    NAMESPACE,
    NODE_LABELS,
    RESOURCES,
    SWITCH,
    TOLERATIONS,
)
from shipping.charts.operator_options import OF_OPERATOR, OF_REMOVAL
from shipping.charts.wording import Schema, closed, number, several, text, word, worded

CHARTS: Final = Path(__file__).parents[2] / "deploy" / "charts"
SCHEMA_FILE: Final = "values.schema.json"

_ACCOUNT: Final = rf"system:serviceaccount:{LABEL}:{NAME}"
_WEIGHT: Final = r"[0-9]{1,6}(\.[0-9]{1,6})?"
MOST_ACCOUNTS: Final = 16
"""As many as the scheduler's own file may name."""

_UNLESS_FOUND: Final[Schema] = {"enum": ["auto", True, False]}
_LABELS: Final = worded(
    'labels, each a text: for numbers write quotes, as in "1"',
    {"type": "object", "additionalProperties": {"type": "string"}},
)
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

_INJECTED: Final[dict[str, Schema]] = {"global": ANYTHING, "tangram-parts": ANYTHING}
"""What helm itself puts there for charts within charts."""

_IMAGE: Final[dict[str, Schema]] = {
    "registry": text("DOMAIN/PROJECT of a registry, such as harbor.example.com/gpu", r"[^\s/](\S*[^\s/])?"),
    "pullPolicy": word("IfNotPresent", "Always", "Never"),
    "imagePullSecrets": several(
        "a list of Secrets by name, such as [{name: my-registry}]",
        {
            "type": "object",
            "properties": {"name": {"type": "string", "pattern": f"^{NAME}$"}},
            "required": ["name"],
            "additionalProperties": False,
        },
        MOST_ACCOUNTS,
    ),
}
_GPU_DEVICE: Final[dict[str, Schema]] = {
    "healthyInterval": number("a whole number of seconds up to 3600, or 0 for no health checks", 0, 3600),
    "driver": _DRIVER,
    "configNamespace": NAMESPACE,
    "deviceConfig": ANYTHING,
    "nodeSelector": NODE_LABELS,
    "log": LOG,
    "resources": RESOURCES,
}
_COMPUTE_POLICY: Final = word("", "best-effort", "burst-share", "fixed-share")
"""Of Moore Threads' cards, so of chart `tangram` alone; empty leaves each card's own."""
_GPU_LABEL: Final[dict[str, Schema]] = {
    "driver": _LABEL_DRIVER,
    "productNames": word("library", "short"),
    "driverMode": word("auto", "native", "cloud"),
    "log": LOG,
    "resources": RESOURCES,
}
_DEVICES: Final = closed({"metax": closed({"enabled": SWITCH}), "mthreads": closed({"enabled": SWITCH})})
"""Which vendors are served, in the words of HAMi's chart."""
_GPU_AWARE: Final[dict[str, Schema]] = {
    "scoreWeight": _WEIGHT_TEXT,
    "lossWeight": _WEIGHT_TEXT,
    "aliasNamespace": text(
        "the name of a namespace, such as metax-gpu, or an empty text for none", f"({LABEL})?"
    ),
    "log": LOG,
    "resources": RESOURCES,
}
_SHARED: Final[dict[str, Schema]] = {
    **_IMAGE,
    "deployExtenderGPUAware": SWITCH,
    "log": LOG,
    "gpuAware": closed(_GPU_AWARE),
}
_CLEANUP: Final[dict[str, Schema]] = {"enabled": SWITCH}

_SCHEDULER_NAME: Final = worded(
    "a name in lower case other than default-scheduler, such as tangram-scheduler",
    {"type": "string", "pattern": f"^{NAME}$", "maxLength": 253, "not": {"const": "default-scheduler"}},
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
        "qosPolicy": word("best-effort", "fixed-share", "burst-share"),
        "zoneAware": SWITCH,
        "schedulerNames": several(
            "a list of at most 16 names of schedulers, each once and none of them default-scheduler",
            {"type": "string", "pattern": f"^{NAME}$", "not": {"const": "default-scheduler"}},
            MOST_ACCOUNTS,
        ),
        "forceOverwriteDefaultScheduler": SWITCH,
        "reservationSeconds": number("a whole number of seconds from 5 to 3600", 5, 3600),
        "gangSeconds": number("a whole number of seconds from 5 to 86400", 5, 86_400),
        "demoteSeconds": number("a whole number of seconds from 0 to 3600", 0, 3600),
        "nodeLockSeconds": number("a whole number of seconds from 30 to 3600", 30, 3600),
        "trustedAccounts": _ACCOUNTS,
        "quota": SWITCH,
    }
)
_IMAGE_TAG: Final = text(
    "a version such as v1.36.3, or an empty text for that of the cluster",
    r"|[A-Za-z0-9_][-A-Za-z0-9_.]{0,127}",
)
_SCHEDULER: Final[dict[str, Schema]] = {
    "replicas": number("a whole number from 1 to 5", 1, 5),
    "name": _SCHEDULER_NAME,
    "profiles": closed({"hami": _UNLESS_FOUND, "koordinator": _UNLESS_FOUND}),
    "config": _CONFIG,
    "deviceConfig": _DEVICE_CONFIG,
    "trustedAccounts": _ACCOUNTS,
    "trustedAgentAccounts": _ACCOUNTS,
    "legacyMetrics": SWITCH,
    "nodeSelector": NODE_LABELS,
    "tolerations": TOLERATIONS,
    "log": closed({"level": LEVEL, "format": FORMAT}),
    "resources": RESOURCES,
    "kubeScheduler": closed(
        {
            "enabled": SWITCH,
            "image": closed(
                {
                    "registry": _IMAGE["registry"],
                    "name": text(
                        "the name of an image below that registry, such as kube-scheduler", r"[^\s:@]+"
                    ),
                    "tag": _IMAGE_TAG,
                }
            ),
            # HAMi's spelling of the tag.
            "imageTag": _IMAGE_TAG,
            "resources": RESOURCES,
        }
    ),
    "clientCA": text("the name of a ConfigMap, or an empty text", f"|{NAME}"),
    "webhook": closed(
        {
            "failurePolicy": word("auto", "Fail", "Ignore"),
            "ignoreNamespaces": several(
                "a list of namespaces, each once, such as [monitoring]",
                {"type": "string", "pattern": f"^{LABEL}$"},
                256,
            ),
        }
    ),
}
_CERTIFICATES: Final = closed(
    {
        "source": word("self", "cert-manager", "secret"),
        "issuerRef": closed(
            {
                "name": text("the name of an Issuer", NAME),
                "kind": text("Issuer, ClusterIssuer or a kind of another group", "[A-Z][A-Za-z0-9]*"),
                "group": text("an API group, such as cert-manager.io", NAME),
            }
        ),
        "secretName": text("the name of a Secret, or an empty text", f"|{NAME}"),
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
                "enabled": SWITCH,
                "labels": _LABELS,
                "interval": text("a time such as 30s or 1m", "([0-9]+(ms|s|m|h))+"),
            }
        ),
        "dashboards": closed({"enabled": SWITCH, "labels": _LABELS}),
        "rules": closed(
            {
                "enabled": SWITCH,
                "labels": _LABELS,
                "runbooks": text(
                    "the address of a page, such as https://wiki.example.com/runbooks", r"https?://[^\s#]+"
                ),
            }
        ),
    }
)


_DASHBOARD: Final = closed(
    {
        "enabled": SWITCH,
        "signIn": word("token", "proxy"),
        "actions": SWITCH,
        "tlsSecretName": text("the name of a Secret, or an empty text", f"|{NAME}"),
        "historyClaim": text("the name of a PersistentVolumeClaim, or an empty text", f"|{NAME}"),
        "proxy": closed(
            {
                "containers": several(
                    "a list of containers as in a pod, such as [{name: oauth2-proxy, image: ...}]",
                    {"type": "object", "required": ["name", "image"]},
                    8,
                ),
                "port": number("a port from 1 to 65535", 1, 65_535),
                "headers": word("kubernetes", "oauth2-proxy"),
                "userHeader": text("the name of a header, or an empty text", r"|[A-Za-z0-9-]+"),
                "userPrefix": text("a text such as oidc:, or an empty one", r"\S*"),
                "groupPrefix": text("a text such as oidc:, or an empty one", r"\S*"),
            }
        ),
        "nodeSelector": NODE_LABELS,
        "tolerations": TOLERATIONS,
        "log": closed({"level": LEVEL, "format": FORMAT}),
        "resources": RESOURCES,
    }
)


_MAY_BE_MISSING: Final = frozenset(
    {"imagePullSecrets", "deviceConfig", "resources", "nodeSelector", "tolerations"}
)
"""What people take away with `null`, such as amounts that a container is to ask for."""


def chart_schemas() -> dict[str, Schema]:
    """By the chart's name, what its values may be. Every option has a value, so `null` takes none of them away."""
    switched = {"enabled": SWITCH}
    ours = {
        **_SHARED,
        "cleanup": closed(_CLEANUP),
        "devices": _DEVICES,
        # HAMi's documents write both.
        "device": _DEVICES,
        "gpuDevice": closed({**switched, "mthreadsComputePolicy": _COMPUTE_POLICY, **_GPU_DEVICE}),
        "gpuLabel": closed({**switched, **_GPU_LABEL}),
        "scheduler": closed({**switched, **_SCHEDULER}),
        "certificates": _CERTIFICATES,
        "dashboard": _DASHBOARD,
        "monitoring": _MONITORING,
    }
    nodes = {**_SHARED, "gpuDevice": closed(_GPU_DEVICE), "gpuLabel": closed(_GPU_LABEL)}
    extensions = {**nodes, "cleanup": closed(_CLEANUP)}
    operator = {
        **nodes,
        **OF_OPERATOR,
        "scheduler": closed(_SCHEDULER),
        "certificates": _CERTIFICATES,
        "cleanup": closed({**_CLEANUP, **OF_REMOVAL}),
    }
    return {
        name: {
            "$schema": "http://json-schema.org/draft-07/schema#",
            **_complete(closed(options, unsaid=_INJECTED), _values(name)),
        }
        for name, options in (
            ("tangram", ours),
            ("metax-gpu-extensions", extensions),
            ("metax-operator", operator),
        )
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

"""What may stand in options that several parts of the charts have: names, switches, logs, amounts, where pods run."""

from __future__ import annotations

from typing import Final

from shipping.charts.wording import Schema, closed, several, text, word, worded

LABEL: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
NAME: Final = rf"{LABEL}(\.{LABEL})*"
_LABEL_NAME: Final = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_QUANTITY: Final = r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?"
SWITCH: Final[Schema] = {"enum": [True, False]}
ANYTHING: Final[Schema] = {"type": "object"}
NAMESPACE: Final = text("the name of a namespace, such as kube-system", LABEL)
LEVEL: Final = word("debug", "info", "warning", "warn", "error", "fatal")
FORMAT: Final = word("json", "text")
TIME: Final = text("a number of weeks, days or hours, such as 1w, 7d or 168h", "[1-9][0-9]{0,4}[wdhWDH]")
LOG: Final = closed(
    {
        "dir": worded(
            "a folder of the node by its whole path without .. in it, such as /var/log/metax, or an empty text for no "
            "files",
            {"type": "string", "pattern": r"^$|^(/[^/\x00-\x1f]+)+/?$", "not": {"pattern": r"/\.\.?(/|$)"}},
        ),
        "level": LEVEL,
        "format": FORMAT,
        "rotationTime": TIME,
        "maxAge": TIME,
    }
)
NODE_LABELS: Final = worded(
    'labels of nodes, each a text, such as gpu-served-by: tangram; for numbers and true write quotes, as in "1"',
    {
        "type": "object",
        "propertyNames": {"pattern": rf"^({NAME}/)?{_LABEL_NAME}$"},
        "additionalProperties": {"type": "string", "pattern": f"^({_LABEL_NAME})?$"},
    },
)
_TOLERATION: Final[Schema] = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "pattern": rf"^(({NAME}/)?{_LABEL_NAME})?$"},
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
RESOURCES: Final = closed({"requests": _AMOUNTS, "limits": _AMOUNTS})
TOLERATIONS: Final = several(
    "a list of tolerations as in a pod, each with any of key, operator, value, effect and tolerationSeconds",
    _TOLERATION,
    64,
)

"""A case played against the sandbox's rules the way its API server plays them, and answers made comparable."""

import json
import re
from pathlib import Path
from typing import Any, cast

from builders.rule_cases.cases import Object

CAPTURE = Path(__file__).resolve().parents[2] / "data" / "captures" / "rules.json"
ABSENT = ""

Answer = dict[str, Any]
"""An object as stored, or `refused` (the code) with reason, message and causes."""

_PASSING = ("creationTimestamp", "managedFields", "resourceVersion", "selfLink", "deletionTimestamp")
_SUFFIX = re.compile(r"kube-api-access-\w{5}")


def settled(thing: Object) -> Answer:
    """An object without its versions and times, with words for what is given out anew each time."""
    uid = thing["metadata"].get("uid", "")
    text = _SUFFIX.sub("kube-api-access-SUFFIX", json.dumps(thing))
    if uid:
        text = text.replace(uid, "UID")
    copy = cast("Object", json.loads(text))
    for field in _PASSING:
        copy["metadata"].pop(field, None)
    if copy["kind"] == "Service":
        _settle_service(copy["spec"])
    return copy


def _settle_service(spec: Object) -> None:
    if spec.get("clusterIP") not in {None, "None"}:
        spec |= {"clusterIP": "ADDRESS", "clusterIPs": ["ADDRESS"]}
    for port in spec.get("ports", []):
        if "nodePort" in port:
            port["nodePort"] = "GIVEN"
    if "healthCheckNodePort" in spec:
        spec["healthCheckNodePort"] = "GIVEN"


def recorded() -> dict[str, list[Answer]]:
    """What the real server said to every case."""
    return json.loads(CAPTURE.read_text("utf-8"))

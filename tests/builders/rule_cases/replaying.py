"""A case played against the sandbox's rules in the order in which a server plays them, and answers made comparable."""

import copy
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from builders.rule_cases.cases import NAMESPACE, Case, Object
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.refusals import Fault, Refused, invalid
from tangram.sandbox.apiserver.rules import (
    SYSTEM_PRIORITY_CLASSES,
    Rules,
    admit_node,
    admit_pod,
    give_addresses,
    rules_of,
)

CAPTURE = Path(__file__).resolve().parents[2] / "data" / "captures" / "rules.json"
ABSENT = ""
MADE = "2030-01-01T00:00:00Z"

Answer = dict[str, Any]
"""An object as stored, or `refused` (the code) with reason, message and causes."""

_PASSING = ("creationTimestamp", "managedFields", "resourceVersion", "selfLink", "deletionTimestamp")
_SUFFIX = re.compile(r"kube-api-access-\w{5}")
_TOLD = re.compile(r"^(\w+ value): [\[{].*[\]}](: [^{}\[\]]*)?$", re.DOTALL)


def settled(thing: Object) -> Answer:
    """An object without its versions and times, with words for what is given out anew each time."""
    uid = thing["metadata"].get("uid", "")
    text = _SUFFIX.sub("kube-api-access-given", json.dumps(thing))
    if uid:
        text = text.replace(uid, "UID")
    copied = cast("Object", json.loads(text))
    for field in _PASSING:
        copied["metadata"].pop(field, None)
    status = copied.get("status", {})
    status.pop("lastPhaseTransitionTime", None)
    if copied["kind"] == "Pod" and "SchedulingGated" in text:
        for condition in status.get("conditions", ()):
            condition["lastTransitionTime"] = None
    if copied["kind"] == "Service":
        _settle_service(copied["spec"])
    if copied["kind"] == "CustomResourceDefinition":
        # A controller accepts its names, sooner or later.
        copied["status"] = {"storedVersions": status.get("storedVersions")}
    return copied


def _settle_service(spec: Object) -> None:
    if spec.get("clusterIP") not in {None, "None"}:
        spec |= {"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"]}
    for port in spec.get("ports", []):
        if "nodePort" in port:
            port["nodePort"] = 30000
    if "healthCheckNodePort" in spec:
        spec["healthCheckNodePort"] = 30000


def recorded() -> dict[str, list[Answer]]:
    """What the real server said to every case."""
    return json.loads(CAPTURE.read_text("utf-8"))


def played(case: Case, said: list[Answer]) -> list[Answer]:
    """What our rules say to a case's requests. The second one starts from what the real server stored."""
    rules = rules_of(case.kind)
    first = _answer(case.kind, lambda: _created(case, rules))
    if case.change is None or "refused" in said[0]:
        return [first]
    return [first, _answer(case.kind, lambda: _replaced(case, rules, said[0]))]


def _created(case: Case, rules: Rules) -> tuple[Object, list[Fault]]:
    thing, kind = copy.deepcopy(case.thing), case.kind
    thing["metadata"] |= {"uid": "UID", "creationTimestamp": MADE}
    if kind.namespaced:
        thing["metadata"]["namespace"] = NAMESPACE
    rules.complete(thing)
    if kind.kind == "Pod":
        admit_pod(thing, _priority_class(thing), account={}, suffix="abcde")
    if kind.kind == "Node":
        admit_node(thing)
    rules.prepare_create(thing)
    faults = rules.faults(thing, None, "")
    if kind.kind == "Service" and not faults:
        ports = itertools.count(30000)
        give_addresses(thing, lambda: "10.96.0.9", lambda: next(ports))
    return thing, faults


def is_established(thing: Object) -> bool:
    """Whether a definition has its names, which takes the real server a moment."""
    return any(
        each["type"] == "Established" and each["status"] == "True"
        for each in thing.get("status", {}).get("conditions") or ()
    )


def _replaced(case: Case, rules: Rules, old: Object) -> tuple[Object, list[Fault]]:
    old = copy.deepcopy(old) | {"metadata": old["metadata"] | {"creationTimestamp": MADE}}
    if case.kind.kind == "CustomResourceDefinition":
        old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    new = case.replacement(old)
    # A server puts back what nobody may write before it asks anybody.
    if "generation" in old["metadata"]:
        new["metadata"]["generation"] = old["metadata"]["generation"]
    rules.prepare_update(new, old, case.on)
    return new, rules.faults(new, old, case.on)


def _priority_class(pod: Object) -> Object | None:
    name = pod["spec"].get("priorityClassName")
    return next((each for each in SYSTEM_PRIORITY_CLASSES if each["metadata"]["name"] == name), None)


def _answer(kind: Kind, play: Callable[[], tuple[Object, list[Fault]]]) -> Answer:
    try:
        thing, faults = play()
        if not faults:
            return settled(thing)
        raise invalid(kind.group, kind.kind, thing["metadata"]["name"], faults)
    except Refused as refused:
        return {"refused": refused.code, "reason": refused.reason, "message": str(refused),
                "causes": (refused.details or {}).get("causes", [])}  # fmt: skip


def comparable(answer: Answer) -> object:
    """An answer without what need not agree: the order of causes, and the Go structs that some of them print."""
    if "refused" not in answer:
        return answer
    causes = {
        (each["field"], each["reason"], _masked(each["message"])) for each in answer.get("causes") or ()
    }
    return answer["refused"], answer["reason"], sorted(causes) if causes else answer["message"]


def _masked(message: str) -> str:
    return _TOLD.sub(r"\1: ...\2", message.split("\n", 1)[0])

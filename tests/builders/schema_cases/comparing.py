"""What our schemas say to each case, in the form in which the real server's answers are recorded."""

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

from builders.schema_cases.bodies import YAML, Body
from builders.schema_cases.definitions import GROUP, WIDGET
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.refusals import Refused, invalid
from tangram.sandbox.apiserver.schemas import (
    built_in,
    crd_schema_faults,
    fill_defaults,
    prune,
    read_json,
    read_yaml,
    shape_of_crd,
    unknown_fields,
    value_faults,
    wrong_types,
)

Object = dict[str, Any]
CAPTURE = Path(__file__).resolve().parents[2] / "data" / "captures" / "schemas.json"
KIND = Kind(group=GROUP, kind="Widget", plural="widgets", singular="widget")
SHOWS_GO = frozenset(
    {"none stored", "two stored", "version twice", "root with status and enum", "pattern wrong"}
)
"""Here the real server prints Go's structs, or what Go says of a pattern: only field and reason are compared."""


def recorded() -> Object:
    return json.loads(CAPTURE.read_text("utf-8"))


def record(answers: Mapping[str, Any]) -> None:
    CAPTURE.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n", "utf-8")


def of_body(body: Body) -> str:
    """The sentence of refusal."""
    kind = body.of_kind()
    shape = built_in(kind.definition)
    try:
        thing, twice = (read_yaml if body.content == YAML else read_json)(body.text, kind.kind)
    except Refused as refused:
        return str(refused)
    return wrong_types(thing, shape, kind) or strict_refusal([*twice, *unknown_fields(thing, shape)], kind)


def of_object(thing: Object) -> str | Object:
    """The sentence of refusal, or the specification as it would be stored."""
    shape = shape_of_crd(WIDGET)
    given = deepcopy(thing)
    unknown = unknown_fields(given, shape)
    refusal = wrong_types(given, shape, KIND) or (strict_refusal(unknown, KIND) if unknown else "")
    if refusal:
        return refusal
    whole = fill_defaults(prune(given, shape), shape)
    faults = value_faults(whole, shape)
    name = whole["metadata"]["name"]
    return str(invalid(GROUP, "Widget", name, faults)) if faults else {"spec": whole.get("spec")}


def of_definition(crd: Object) -> list[list[str]]:
    """Every fault: field, reason, message."""
    return [[fault.field, fault.reason, fault.message] for fault in crd_schema_faults(crd)]


def comparable(name: str, faults: list[list[str]]) -> list[list[str]]:
    return [fault[:2] for fault in faults] if name in SHOWS_GO else faults


def strict_refusal(texts: list[str], kind: Kind) -> str:
    told = f"strict decoding error: {', '.join(texts)}"
    return f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {told}'


def bare(schema: Any) -> Any:  # noqa: ANN401 - any JSON value, and the same kind of it again
    """A schema without what a server says to people, and without what means nothing."""
    if isinstance(schema, list):
        return [bare(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    said: Object = {
        name: {field: bare(inner) for field, inner in value.items()} if name == "properties" else bare(value)
        for name, value in cast("Object", schema).items()
        if name not in {"description", "x-kubernetes-unions", "x-kubernetes-group-version-kind"}
    }
    if "required" in said:
        said["required"] = sorted(said["required"])
    if "$ref" not in said and said.get("x-kubernetes-map-type") == "granular":
        del said["x-kubernetes-map-type"]
    return said

"""A step of a case done by our own functions, and answers made comparable: ours with those of a real API server."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

from builders.patch_cases.objects import DEFINITIONS, THINGS, VERSIONS, Json, Object, Step
from tangram.sandbox.apiserver.patching import (
    apply_json_patch,
    apply_merge_patch,
    apply_strategic,
    server_side_apply,
    with_managed_fields,
)
from tangram.sandbox.apiserver.refusals import Refused
from tangram.sandbox.apiserver.rules.written import as_written
from tangram.sandbox.apiserver.schemas.crds import shape_of_crd
from tangram.sandbox.apiserver.schemas.data import built_in
from tangram.sandbox.apiserver.shape import Shape

CAPTURE = Path(__file__).resolve().parents[1] / "data" / "captures" / "patches.json"
NOW = "2035-01-01T00:00:00Z"
"""Every time of day the real server wrote becomes this one; times that a case states are older and stay."""
_SECOND_THOUGHTS = "2020"
_PASSING = ("uid", "resourceVersion", "generation", "creationTimestamp", "selfLink")

_shapes: dict[str, Shape] = {}


def shape_of(kind: str) -> Shape:
    if kind not in _shapes:
        known = DEFINITIONS.get(kind)
        _shapes[kind] = built_in(known) if known else shape_of_crd(THINGS)
    return _shapes[kind]


def settled(answer: Object) -> Object:
    """An object or a refusal without what differs from run to run: times, numbers, the order of owners."""
    said = deepcopy(answer)
    if said.get("kind") == "Status":
        # The real server goes through owners, and through what is wrong with a map, in any order.
        opening, *faults = said["message"].split("\n  ")
        said["message"] = "\n  ".join([opening, *sorted(faults)])
        causes: list[Object] = said.get("details", {}).get("causes", [])
        causes.sort(key=lambda cause: (cause["field"], cause["message"]))
        return said
    metadata = said["metadata"]
    for name in _PASSING:
        metadata.pop(name, None)
    entries = metadata.get("managedFields", [])
    for entry in entries:
        if entry.get("time", "") > _SECOND_THOUGHTS:
            entry["time"] = NOW
    entries.sort(key=_place)
    conditions: list[Object] = said.get("status", {}).get("conditions") or []
    for condition in conditions:
        if condition.get("lastTransitionTime"):
            condition["lastTransitionTime"] = NOW
    return said


def _place(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry.get(name, "")) for name in ("operation", "manager", "apiVersion", "subresource"))


def comparable(step: Step, answer: Object) -> Json:
    """What must agree: everything, or of objects that the server does more to, who owns what."""
    if answer.get("kind") == "Status" or not (step.only_owners or step.how == "create"):
        return answer
    return answer["metadata"].get("managedFields", [])


def ours(step: Step, before: Object | None, answer: Object, kind: str) -> Object:
    """What our functions make of the step, or how they refuse it. `answer` is the real one: of a create, which is
    only about owners, it is what they are made for.
    """
    try:
        done = _done(step, before, answer, kind)
    except Refused as refused:
        return settled(refused.status())
    # What the real server reads into a struct and writes again; it does so after every kind of write.
    if kind in DEFINITIONS:
        as_written(done, DEFINITIONS[kind])
    return settled(done)


def _done(step: Step, before: Object | None, answer: Object, kind: str) -> Object:
    shape, version = shape_of(kind), VERSIONS[kind]
    status_apart = kind != "Plain"
    if step.how == "apply":
        return server_side_apply(
            before, deepcopy(step.body), shape, manager=step.manager, force=step.force, api_version=version,
            subresource=step.subresource, now=NOW, status_apart=status_apart,
        )  # fmt: skip
    return with_managed_fields(
        before, _patched(step, before, answer, shape), shape, manager=step.manager, api_version=version,
        subresource=step.subresource, now=NOW, status_apart=status_apart,
    )  # fmt: skip


def _patched(step: Step, before: Object | None, answer: Object, shape: Shape) -> Object:
    if before is None:
        return _as_created(answer, step)
    match step.how:
        case "json":
            patched = apply_json_patch(before, step.body)
        case "strategic":
            patched = apply_strategic(before, step.body, shape)
        case _:
            patched = apply_merge_patch(before, step.body)
    if shape.definition:
        # Writing drops empty lists, and a client that sends no owners means something by it.
        said = patched["metadata"].get("managedFields")
        as_written(patched, shape.definition)
        if said == []:
            patched["metadata"]["managedFields"] = said
    return patched


def _as_created(answer: Object, step: Step) -> Object:
    thing = deepcopy(answer)
    thing["metadata"].pop("managedFields", None)
    for path in step.unowned:
        *way, last = path.split(".")
        place = thing
        for name in way:
            place = cast("Object", place[name])
        place.pop(last, None)
    return thing

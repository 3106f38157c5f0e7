"""The embedded API server's schemas beside the real server: the statement they come from, and what each says to the
same bodies, definitions and objects.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio

import tangram.sandbox.apiserver.schemas as ours
from builders.schema_cases import comparing
from builders.schema_cases.bodies import BODIES
from builders.schema_cases.definitions import DEFINITIONS, GROUP, WIDGET, widgets
from builders.schema_cases.objects import OBJECTS
from e2e.scheduling_kit import poll_until, refusal
from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.schemas.openapi_schemas import name_of_kind
from testbed import schemas
from testbed.api import ApiRefused
from testbed.cluster import Cluster
from testbed.options import Options

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLACE = f"/apis/{GROUP}/v1/namespaces/default/widgets"
STRICT = {"dryRun": "All", "fieldValidation": "Strict"}
Recorded = dict[str, Any]


@pytest_asyncio.fixture(scope="module")
async def plane() -> AsyncIterator[Cluster]:
    """A control plane that knows widgets."""
    async with Cluster.open(Options(nodes=0, controllers=False)) as running:
        await running.api.call("POST", CRDS, widgets())

        async def served() -> bool:
            try:
                await running.api.get(PLACE)
            except ApiRefused:
                return False  # not known yet, or known and without a store
            return f"apis/{GROUP}/v1" in (await running.api.get("/openapi/v3"))["paths"]

        await poll_until(served, what="widgets are served")
        yield running


async def test_the_statement_of_shapes_is_what_the_real_server_says(plane: Cluster) -> None:
    written = Path(ours.__path__[0], "kubernetes.json").read_text("utf-8")
    assert written == await schemas.state(plane.api), "`make schemas` writes it again"


async def test_definitions_in_our_openapi_are_those_of_the_real_server(plane: Cluster) -> None:
    theirs = (await plane.api.get("/openapi/v2"))["definitions"]
    made = ours.openapi_v2(BUILT_IN, {})["definitions"]
    differing = [name for name in made if comparing.bare(made[name]) != comparing.bare(theirs[name])]
    assert not differing
    nameless = [
        name
        for name in map(name_of_kind, BUILT_IN)
        if made[name]["x-kubernetes-group-version-kind"] != theirs[name]["x-kubernetes-group-version-kind"]
    ]
    assert not nameless


async def test_a_defined_kind_is_described_as_the_real_server_describes_it(plane: Cluster) -> None:
    name, written = name_of_kind(comparing.KIND), {(GROUP, "v1", "widgets"): WIDGET}
    third = (await plane.api.get(f"/openapi/v3/apis/{GROUP}/v1"))["components"]["schemas"][name]
    mine = ours.openapi_v3(GROUP, "v1", [comparing.KIND], written)["components"]["schemas"][name]
    assert comparing.bare(mine) == comparing.bare(third)

    async def published() -> bool:
        return name in (await plane.api.get("/openapi/v2"))["definitions"]

    await poll_until(published, what="widgets are in the older document")
    second = (await plane.api.get("/openapi/v2"))["definitions"][name]
    mine = ours.openapi_v2([comparing.KIND], written)["definitions"][name]
    assert comparing.bare(mine) == comparing.bare(second)


async def test_bodies_are_refused_in_the_words_of_the_real_server(plane: Cluster) -> None:
    answers: Recorded = {}
    for name, body in BODIES.items():
        kind = body.of_kind()
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        path = f"{root}/namespaces/default/{kind.plural}"
        refused = await refusal(plane.api.call("POST", path, body.text, content=body.content, **STRICT))
        answers[name] = refused.message
    _keep("bodies", answers)
    assert {name: comparing.of_body(body) for name, body in BODIES.items()} == answers


async def test_definitions_are_refused_for_what_the_real_server_refuses_them(plane: Cluster) -> None:
    answers: Recorded = {}
    for name, crd in DEFINITIONS.items():
        try:
            await plane.api.call("POST", CRDS, crd, dryRun="All")
        except ApiRefused as refused:
            # The one that is there already is a good one.
            causes = refused.answer.get("details", {}).get("causes", [])
            answers[name] = [[cause["field"], cause["reason"], cause["message"]] for cause in causes]
        else:
            answers[name] = []
    _keep("definitions", answers)
    found = {
        name: comparing.comparable(name, comparing.of_definition(crd)) for name, crd in DEFINITIONS.items()
    }
    assert found == {name: comparing.comparable(name, answer) for name, answer in answers.items()}


async def test_objects_of_a_defined_kind_are_completed_and_refused_as_by_the_real_server(
    plane: Cluster,
) -> None:
    answers: Recorded = {}
    for name, thing in OBJECTS.items():
        try:
            made = await plane.api.call("POST", PLACE, thing, **STRICT)
        except ApiRefused as refused:
            answers[name] = refused.message
        else:
            answers[name] = {"spec": made.get("spec")}
    _keep("objects", answers)
    assert {name: comparing.of_object(thing) for name, thing in OBJECTS.items()} == answers


def _keep(part: str, answers: Recorded) -> None:
    if os.environ.get("RECORD"):
        known = comparing.recorded() if comparing.CAPTURE.exists() else {}
        comparing.record({**known, part: answers})

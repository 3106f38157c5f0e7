import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from builders.schema_cases.comparing import KIND as WIDGET_KIND
from builders.schema_cases.definitions import GROUP, WIDGET
from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.schemas import openapi_v2, openapi_v2_protobuf, openapi_v3, openapi_v3_index

KINDS = (*BUILT_IN, WIDGET_KIND)
WRITTEN = {(GROUP, "v1", "widgets"): WIDGET}
GROUPS = sorted({(kind.group, kind.version) for kind in KINDS})
POD_PATH = "/api/v1/namespaces/{namespace}/pods/{name}"
POD_KIND = {"group": "", "version": "v1", "kind": "Pod"}


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in cast("dict[str, object]", node).items():
            if name == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for each in cast("list[object]", node):
            yield from references(each)


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """A protocol buffer read without knowing what it means."""
    place = 0

    def varint() -> int:
        nonlocal place
        number = shift = 0
        while True:
            byte = message[place]
            place += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while place < len(message):
        key = varint()
        match key & 7:
            case 0:
                yield key >> 3, varint()
            case 1:
                yield key >> 3, message[place : place + 8]
                place += 8
            case 2:
                length = varint()
                yield key >> 3, message[place : place + length]
                place += length
            case other:
                raise AssertionError(f"wire type {other}")


def named(message: bytes, number: int) -> dict[str, bytes]:
    """The entries of what stands for a map."""
    entries = (dict(fields(content)) for field, content in fields(message) if field == number)
    return {entry[1].decode(): entry[2] for entry in entries}


@pytest.mark.parametrize(("group", "version"), GROUPS)
def test_every_reference_of_a_document_leads_to_a_definition(group: str, version: str) -> None:
    document = openapi_v3(group, version, KINDS, WRITTEN)
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) <= known


def test_every_reference_of_the_older_document_leads_to_a_definition() -> None:
    document = openapi_v2(KINDS, WRITTEN)
    assert set(references(document)) <= {f"#/definitions/{name}" for name in document["definitions"]}


@pytest.mark.parametrize("edition", [2, 3])
def test_a_patch_names_what_kubectl_looks_for(edition: int) -> None:
    document = openapi_v2(KINDS, WRITTEN) if edition == 2 else openapi_v3("", "v1", KINDS, WRITTEN)
    patch = document["paths"][POD_PATH]["patch"]
    names = {each["name"] for each in patch["parameters"] if each["in"] == "query"}
    assert names == {"dryRun", "fieldManager", "fieldValidation", "force"}
    assert patch["x-kubernetes-group-version-kind"] == POD_KIND
    takes = patch["consumes"] if edition == 2 else patch["requestBody"]["content"]
    assert set(takes) == {
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    }


def test_a_defined_kind_takes_no_strategic_merge_patch() -> None:
    document = openapi_v3(GROUP, "v1", KINDS, WRITTEN)
    patch = document["paths"][f"/apis/{GROUP}/v1/namespaces/{{namespace}}/widgets/{{name}}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]


def test_how_lists_merge_is_said_where_kubectl_looks_for_it() -> None:
    spec = openapi_v3("apps", "v1", KINDS, WRITTEN)["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]
    assert spec["properties"]["containers"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge",
    }


def test_what_the_author_of_a_definition_wrote_is_passed_on() -> None:
    widget = openapi_v3(GROUP, "v1", KINDS, WRITTEN)["components"]["schemas"]["io.example.shapes.v1.Widget"]
    assert widget["description"] == WIDGET["description"]
    assert widget["x-kubernetes-group-version-kind"] == [{"group": GROUP, "kind": "Widget", "version": "v1"}]


def test_verbs_that_a_kind_has_not_are_not_offered() -> None:
    document = openapi_v3("authentication.k8s.io", "v1", KINDS, WRITTEN)
    assert set(document["paths"]["/apis/authentication.k8s.io/v1/tokenreviews"]) == {"post"}
    assert "/apis/authentication.k8s.io/v1/tokenreviews/{name}" not in document["paths"]


def test_operations_are_told_apart() -> None:
    paths = openapi_v2(KINDS, WRITTEN)["paths"].values()
    identities = [one["operationId"] for item in paths for name, one in item.items() if name != "parameters"]
    assert len(identities) == len(set(identities))


def test_the_index_names_every_group_and_version() -> None:
    index = openapi_v3_index(KINDS, WRITTEN)["paths"]
    assert set(index) == {
        f"apis/{group}/{version}" if group else f"api/{version}" for group, version in GROUPS
    }
    assert index["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")


def test_an_address_changes_with_what_stands_there_and_with_nothing_else() -> None:
    before = openapi_v3_index(KINDS, WRITTEN)["paths"]
    after = openapi_v3_index(KINDS, {(GROUP, "v1", "widgets"): {"type": "object"}})["paths"]
    assert {path for path in before if before[path] != after[path]} == {f"apis/{GROUP}/v1"}


def test_the_protocol_buffer_says_what_the_json_says() -> None:
    document = openapi_v2(KINDS, WRITTEN)
    message = dict(fields(openapi_v2_protobuf(KINDS, WRITTEN)))
    assert message[1] == b"2.0"
    definitions = named(message[9], 1)
    assert list(definitions) == list(document["definitions"])
    paths = named(message[8], 2)
    assert list(paths) == list(document["paths"])
    container = definitions["io.k8s.api.core.v1.Container"]
    properties = named(dict(fields(container))[25], 1)
    assert list(properties) == list(document["definitions"]["io.k8s.api.core.v1.Container"]["properties"])
    extensions = {
        name: json.loads(dict(fields(value))[2]) for name, value in named(properties["ports"], 31).items()
    }
    assert extensions["x-kubernetes-patch-merge-key"] == "containerPort"


def test_the_protocol_buffer_names_the_parameters_of_a_patch() -> None:
    message = dict(fields(openapi_v2_protobuf(BUILT_IN, {})))
    patch = dict(fields(named(message[8], 2)[POD_PATH]))[8]
    extension = named(patch, 13)["x-kubernetes-group-version-kind"]
    assert json.loads(dict(fields(extension))[2]) == POD_KIND
    queries: list[str] = []
    for number, item in fields(patch):
        if number == 8:
            parameter = dict(fields(dict(fields(item))[1]))
            if 2 in parameter:
                queries.append(dict(fields(dict(fields(parameter[2]))[3]))[4].decode())
    assert queries == ["dryRun", "fieldManager", "fieldValidation", "force"]

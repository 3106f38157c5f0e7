from copy import deepcopy
from typing import Any

from hypothesis import given

from builders.schema_cases.definitions import definition
from builders.schema_cases.random_schemas import SCHEMAS, THINGS
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.schemas import (
    crd_schema_faults,
    fill_defaults,
    openapi_v2_protobuf,
    openapi_v3,
    prune,
    shape_of_crd,
    unknown_fields,
    value_faults,
    wrong_types,
)

Object = dict[str, Any]
KIND = Kind(group="x.io", kind="Thing", plural="things")


@given(SCHEMAS)
def test_a_structural_schema_has_no_faults_a_shape_and_its_openapi(schema: Object) -> None:
    assert crd_schema_faults(definition(schema)) == []
    assert shape_of_crd(schema).type == "object"
    written = {("x.io", "v1", "things"): schema}
    assert "io.x.v1.Thing" in openapi_v3("x.io", "v1", [KIND], written)["components"]["schemas"]
    assert openapi_v2_protobuf([KIND], written)


@given(SCHEMAS, THINGS)
def test_pruning_twice_is_pruning_once_and_leaves_nothing_unknown(schema: Object, thing: Object) -> None:
    shape = shape_of_crd(schema)
    once = prune(thing, shape)
    assert prune(once, shape) == once
    assert unknown_fields(once, shape) == []


@given(SCHEMAS, THINGS)
def test_what_has_nothing_unknown_is_not_pruned(schema: Object, thing: Object) -> None:
    shape = shape_of_crd(schema)
    assert (prune(thing, shape) == thing) == (unknown_fields(thing, shape) == [])


@given(SCHEMAS, THINGS)
def test_filling_in_defaults_twice_is_filling_them_in_once(schema: Object, thing: Object) -> None:
    shape = shape_of_crd(schema)
    once = fill_defaults(prune(thing, shape), shape)
    assert fill_defaults(once, shape) == once


@given(SCHEMAS, THINGS)
def test_nothing_that_is_given_is_changed(schema: Object, thing: Object) -> None:
    before, shape = deepcopy(thing), shape_of_crd(schema)
    whole = fill_defaults(prune(thing, shape), shape)
    value_faults(whole, shape)
    wrong_types(thing, shape, KIND)
    assert thing == before


@given(SCHEMAS, THINGS)
def test_every_fault_of_a_value_says_where_and_what(schema: Object, thing: Object) -> None:
    shape = shape_of_crd(schema)
    for fault in value_faults(fill_defaults(prune(thing, shape), shape), shape):
        assert fault.field
        assert fault.reason.startswith("FieldValue")
        assert fault.message.partition(":")[0] in {
            "Required value", "Invalid value", "Unsupported value", "Too long", "Too many", "Duplicate value",
        }  # fmt: skip

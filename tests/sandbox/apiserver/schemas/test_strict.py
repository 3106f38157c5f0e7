import pytest

from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.schemas import built_in, prune, shape_of_crd, unknown_fields, wrong_types

POD = built_in("io.k8s.api.core.v1.Pod")
KIND = next(kind for kind in BUILT_IN if kind.kind == "Pod")


def test_unknown_fields_are_told_in_the_order_of_the_document() -> None:
    thing = {"zoo": 1, "spec": {"b": 1, "containers": [{"name": "c"}, {"y": 1, "env": [{"x": 1}]}], "a": 1}}
    assert unknown_fields(thing, POD) == [
        'unknown field "zoo"',
        'unknown field "spec.b"',
        'unknown field "spec.containers[1].y"',
        'unknown field "spec.containers[1].env[0].x"',
        'unknown field "spec.a"',
    ]


def test_unknown_fields_of_a_defined_kind_are_told_by_name_and_metadata_first() -> None:
    shape = shape_of_crd({"type": "object", "properties": {"spec": {"type": "object"}}})
    thing = {"zoo": 1, "bar": 1, "spec": {"x": 1}, "metadata": {"name": "x", "foo": 1}}
    assert unknown_fields(thing, shape) == [
        'unknown field "metadata.foo"',
        'unknown field "bar"',
        'unknown field "spec.x"',
        'unknown field "zoo"',
    ]


def test_a_hundred_unknown_fields_are_enough() -> None:
    assert len(unknown_fields({f"f{number}": 1 for number in range(200)}, POD)) == 100


def test_free_keys_and_whole_objects_inside_others_are_not_unknown() -> None:
    labels = {"metadata": {"labels": {"anything": "x"}}}
    assert unknown_fields(labels, POD) == []
    revision = built_in("io.k8s.api.apps.v1.ControllerRevision")
    assert unknown_fields({"data": {"spec": {"anything": 1}}}, revision) == []


def test_unknown_fields_of_a_definition_are_found_deep_in_its_schema() -> None:
    shape = built_in("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition")
    schema = {"properties": {"spec": {"type": "object", "propertys": 1}}}
    thing = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
    assert unknown_fields(thing, shape) == [
        'unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.propertys"'
    ]


def test_pruning_takes_from_a_built_in_kind_what_is_unknown_and_nothing_else() -> None:
    thing = {"spec": {"containers": [{"name": "c", "imagee": 1}], "nodeSelector": {"a": "b"}}, "zoo": 1}
    assert prune(thing, POD) == {"spec": {"containers": [{"name": "c"}], "nodeSelector": {"a": "b"}}}


def test_null_fits_everywhere() -> None:
    thing = {
        "metadata": {"creationTimestamp": None},
        "spec": {"containers": None, "priority": None},
        "status": None,
    }
    assert wrong_types(thing, POD, KIND) is None


@pytest.mark.parametrize("cpu", [1, 0.5, "500m", "1e3", "2Gi", "-1", "+.5"])
def test_a_quantity_is_a_number_or_a_text(cpu: object) -> None:
    thing = {"spec": {"overhead": {"cpu": cpu}}}
    assert wrong_types(thing, POD, KIND) is None


@pytest.mark.parametrize("moment", ["2024-02-03T04:05:06Z", "2024-02-03T04:05:06.789+01:00"])
def test_a_moment_is_read_with_and_without_fractions_and_zones(moment: str) -> None:
    assert wrong_types({"metadata": {"creationTimestamp": moment}}, POD, KIND) is None


def test_the_version_of_the_kind_is_named() -> None:
    kind = Kind(group="x.io", version="v1beta2", kind="Thing", plural="things")
    refusal = wrong_types({"metadata": 3}, shape_of_crd({"type": "object"}), kind)
    assert refusal is not None
    assert refusal.startswith(
        'Thing in version "v1beta2" cannot be handled as a Thing: json: cannot unmarshal number'
    )


def test_values_of_a_defined_kind_are_left_to_its_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
    }
    assert wrong_types({"spec": {"a": 3}}, shape_of_crd(schema), Kind(kind="Thing", plural="things")) is None

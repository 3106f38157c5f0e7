import json
from importlib import resources

import pytest

from tangram.sandbox.apiserver import schemas
from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.schemas.data import built_in
from tangram.sandbox.apiserver.shape import MISSING, Shape

CORE = "io.k8s.api.core.v1"


def at(definition: str, *fields: str) -> Shape:
    shape = built_in(definition)
    for field in fields:
        shape = (shape.items or shape).properties[field]
    return shape


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.definition) for kind in BUILT_IN])
def test_every_built_in_kind_has_a_shape_with_metadata(kind: Kind) -> None:
    shape = built_in(kind.definition)
    assert shape.type == "object"
    assert shape.definition == kind.definition
    if kind.kind != "SelfSubjectRulesReview":
        assert shape.properties["metadata"].properties["labels"].values is not None


def test_every_definition_can_be_read() -> None:
    stated = json.loads(resources.files(schemas).joinpath("kubernetes.json").read_bytes())
    assert all(built_in(name).definition == name for name in stated)


def test_a_definition_nobody_has_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        built_in(f"{CORE}.Nothing")


def test_a_definition_is_read_once() -> None:
    assert (
        built_in(f"{CORE}.Pod").properties["spec"] is built_in(f"{CORE}.PodTemplateSpec").properties["spec"]
    )


def test_how_lists_merge_is_known() -> None:
    ports = at(f"{CORE}.Pod", "spec", "containers", "ports")
    assert ports.list_type == "map"
    assert ports.list_keys == ("containerPort", "protocol")
    assert ports.merge_key == "containerPort"
    assert ports.strategies == {"merge"}
    assert at(f"{CORE}.Pod", "spec", "containers", "command").list_type == "atomic"
    assert at(f"{CORE}.Pod", "spec", "volumes").strategies == {"merge", "retainKeys"}


def test_a_default_that_means_something_is_kept_and_one_that_does_not_is_not() -> None:
    assert at(f"{CORE}.ContainerPort", "protocol").default == "TCP"
    assert at(f"{CORE}.ContainerPort", "containerPort").default is MISSING


def test_what_is_said_of_one_field_is_not_heard_by_others_of_its_type() -> None:
    assert at("io.k8s.api.apps.v1.Deployment", "spec", "strategy").strategies == {"retainKeys"}
    assert built_in("io.k8s.api.apps.v1.DeploymentStrategy").strategies == frozenset()
    assert built_in(f"{CORE}.ObjectReference").atomic
    assert not at(f"{CORE}.PersistentVolume", "spec", "claimRef").atomic


def test_a_shape_may_contain_itself() -> None:
    schema = built_in("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    assert schema.properties["not"] is schema
    assert schema.properties["properties"].values is schema


def test_enums_of_fields_and_of_what_lists_hold_are_known() -> None:
    assert at(f"{CORE}.Pod", "spec", "restartPolicy").limits["enum"] == ["Always", "Never", "OnFailure"]
    modes = at(f"{CORE}.PersistentVolumeClaim", "spec", "accessModes").items
    assert modes is not None
    assert "ReadWriteOnce" in modes.limits["enum"]


def test_types_that_are_no_objects_are_known() -> None:
    assert built_in("io.k8s.apimachinery.pkg.util.intstr.IntOrString").int_or_string
    assert built_in("io.k8s.apimachinery.pkg.apis.meta.v1.Time").type == "string"
    assert built_in("io.k8s.apimachinery.pkg.runtime.RawExtension").preserve

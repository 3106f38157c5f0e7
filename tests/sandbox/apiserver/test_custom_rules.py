"""Objects of kinds that people defined keep the rules that hold for all of them."""

from __future__ import annotations

from tangram.sandbox.apiserver.custom_rules import CustomRules
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.schemas import shape_of_crd

SHAPE = shape_of_crd(
    {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}},
    }
)
KIND = Kind(group="example.com", kind="Widget", plural="widgets")


def test_leaving_a_field_to_its_default_again_is_no_new_generation() -> None:
    rules = CustomRules(KIND, SHAPE)
    old = {"metadata": {"name": "a", "generation": 1}, "spec": {"size": 3}}
    same = {"metadata": {"name": "a"}, "spec": {}}
    rules.prepare_update(same, old, "")
    assert same == old
    other = {"metadata": {"name": "a"}, "spec": {"size": 4}}
    rules.prepare_update(other, old, "")
    assert other["metadata"] == {"name": "a", "generation": 2}

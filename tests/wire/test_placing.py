import pytest

from tangram.model.pods import LabelRule, NodePreference, Toleration
from tangram.wire.placing import NO_NODE, read_placing

RULE = {"key": "zone", "operator": "In", "values": ["a", 7]}
READ = LabelRule("zone", "In", ("a", "7"))


def required(*terms: object) -> dict[str, object]:
    selector = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


def preferred(*terms: object) -> dict[str, object]:
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


def test_a_selector_is_sorted_so_that_two_spellings_are_one() -> None:
    assert read_placing({"nodeSelector": {"b": "2", "a": True}}).node_selector == (("a", "true"), ("b", "2"))


def test_terms_hold_expressions_and_fields_together() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    term = {"matchExpressions": [RULE], "matchFields": [field]}
    assert read_placing(required(term)).required == (
        (READ, LabelRule("metadata.name", "In", ("n1",), is_field=True)),
    )


def test_an_empty_term_is_left_out_beside_others() -> None:
    assert read_placing(required({}, {"matchExpressions": [RULE]}, None)).required == ((READ,),)


@pytest.mark.parametrize("terms", [[], [{}], [None], ["odd"]])
def test_a_requirement_of_only_empty_terms_matches_no_node(terms: list[object]) -> None:
    assert read_placing(required(*terms)).required == (NO_NODE,)


def test_no_requirement_is_no_requirement() -> None:
    assert read_placing({}).required == ()
    assert read_placing({"affinity": {"nodeAffinity": None}}).required == ()


def test_preferences_keep_their_weight_and_empty_ones_say_nothing() -> None:
    term = {"weight": 30, "preference": {"matchExpressions": [RULE]}}
    assert read_placing(preferred(term, {"weight": 5, "preference": {}}, {"weight": 0})).preferred == (
        NodePreference(30, (READ,)),
    )


def test_tolerations_default_to_equal_and_to_every_effect() -> None:
    spec = {"tolerations": [{"key": "gpu", "value": True}, {"operator": "Exists"}]}
    assert read_placing(spec).tolerations == (
        Toleration("gpu", "Equal", "true", ""),
        Toleration("", "Exists", "", ""),
    )

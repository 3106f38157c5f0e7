"""What holds for every object and every rule, whatever was sent."""

import copy
from typing import Any, cast

from hypothesis import assume, given
from hypothesis import strategies as st

from builders.rule_cases import CASES
from builders.rule_cases.cases import NAMESPACE, Case, Object
from builders.rule_cases.replaying import MADE
from tangram.sandbox.apiserver.rules import rules_of
from tangram.sandbox.apiserver.rules.pod_admission import give_patience


def started(case: Case) -> Object:
    thing = copy.deepcopy(case.thing)
    thing["metadata"] |= {"uid": "UID", "creationTimestamp": MADE, "namespace": NAMESPACE}
    return thing


@given(st.sampled_from(CASES))
def test_doing_a_step_twice_changes_nothing(case: Case) -> None:
    rules, thing = rules_of(case.kind), started(case)
    rules.complete(thing)
    once = copy.deepcopy(thing)
    rules.complete(thing)
    assert thing == once
    rules.prepare_create(thing)
    once = copy.deepcopy(thing)
    rules.prepare_create(thing)
    rules.complete(thing)
    assert thing == once


@given(st.sampled_from(CASES))
def test_an_update_that_changes_nothing_is_no_new_generation_and_has_no_new_faults(case: Case) -> None:
    rules, thing = rules_of(case.kind), started(case)
    if case.kind.kind == "Pod":
        give_patience(thing.setdefault("spec", {}))
    rules.prepare_create(thing)
    assume(not rules.faults(thing, None, ""))
    new = copy.deepcopy(thing)
    for subresource in ("", *(each.name for each in case.kind.subresources if each.name == "status")):
        rules.prepare_update(new, thing, subresource)
        assert new == thing
        assert rules.faults(new, thing, subresource) == []


@given(st.sampled_from(CASES), st.data())
def test_anything_may_be_missing_or_empty_and_the_rules_still_answer(case: Case, data: st.DataObject) -> None:
    rules, thing = rules_of(case.kind), started(case)
    holders = [each for each in inside(thing) if each is not thing["metadata"] and len(each) > 0]
    for holder in data.draw(st.lists(st.sampled_from(range(len(holders))), max_size=3)):
        fields = holders[holder]
        if not fields:
            continue
        name = data.draw(st.sampled_from(sorted(fields)))
        if fields is thing and name in {"metadata", "kind", "apiVersion"}:
            continue
        fields[name] = data.draw(st.sampled_from([None, emptied(fields[name])]))
    old = copy.deepcopy(thing)
    rules.prepare_create(old)
    for fault in rules.faults(old, None, ""):
        assert fault.message
    new = copy.deepcopy(old) | {"spec": thing.get("spec")} if "spec" in old else copy.deepcopy(old)
    rules.prepare_update(new, old, "")
    rules.faults(new, old, "")


def emptied(value: Any) -> Any:  # noqa: ANN401 - any JSON
    return None if value is None else type(value)()


def inside(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any JSON
    """Every object in an object."""
    if isinstance(value, list):
        return [found for each in cast("list[Any]", value) for found in inside(each)]
    if not isinstance(value, dict):
        return []
    whole = cast("dict[str, Any]", value)
    return [whole, *(found for each in whole.values() for found in inside(each))]

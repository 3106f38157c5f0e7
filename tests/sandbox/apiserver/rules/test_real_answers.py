"""The sandbox's rules say what a real API server said, object by object; see `builders.rule_cases`."""

import pytest

from builders.rule_cases import CASES
from builders.rule_cases.cases import Case
from builders.rule_cases.differences import DIFFERENCES
from builders.rule_cases.replaying import comparable, played, recorded
from tangram.sandbox.apiserver.builtin import BUILT_IN

RECORDED = recorded()
REVIEWS = {kind.kind for kind in BUILT_IN if kind.kind.endswith("Review")}


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_an_object_ends_as_at_the_real_server(case: Case) -> None:
    said = RECORDED[case.name]
    ours = [comparable(each) for each in played(case, said)]
    theirs = [comparable(each) for each in said]
    if case.name in DIFFERENCES:
        assert ours != theirs, f"it agrees now ({DIFFERENCES[case.name]}): strike it off"
    else:
        assert ours == theirs


def test_every_case_has_a_name_of_its_own_and_is_recorded() -> None:
    assert [case.name for case in CASES] == list(RECORDED)
    assert DIFFERENCES.keys() <= RECORDED.keys()


def test_every_kind_that_is_kept_is_among_the_cases() -> None:
    shown = {(case.kind.group, case.kind.kind) for case in CASES}
    assert {(kind.group, kind.kind) for kind in BUILT_IN if kind.kind not in REVIEWS} <= shown

"""Every step of `builders.patch_cases`, done by our functions, ends as the real API server ended it."""

import json
from typing import Any

import pytest

from builders.patch_cases import cases, kind_of
from builders.patch_cases.objects import Case
from builders.patch_replay import CAPTURE, comparable, ours

CASES = cases()
TOLD: dict[str, list[dict[str, Any]]] = json.loads(CAPTURE.read_text("utf-8"))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_each_step_ends_as_at_the_real_server(case: Case) -> None:
    before = None
    answers = TOLD[case.name]
    assert len(answers) == len(case.steps), "the capture is of another table: record it again"
    for step, answer in zip(case.steps, answers, strict=True):
        made = ours(step, before, answer, kind_of(case))
        assert comparable(step, made) == comparable(step, answer)
        if answer["kind"] != "Status":
            before = answer


def test_the_table_and_the_capture_have_the_same_cases() -> None:
    assert [case.name for case in CASES] == list(TOLD)


def test_the_table_has_refusals_and_successes_of_every_kind_of_request() -> None:
    ends = {
        (step.how, answer["kind"] == "Status")
        for case in CASES
        for step, answer in zip(case.steps, TOLD[case.name], strict=True)
    }
    assert ends >= {
        (how, refused) for how in ("json", "merge", "strategic", "apply") for refused in (True, False)
    }

"""Patches and owners of fields: what our functions make of a request is what a real kube-apiserver makes of it."""

import json
import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from builders.patch_cases import cases, kind_of
from builders.patch_cases.objects import Case
from builders.patch_replay import CAPTURE, comparable, ours
from e2e.patching_kit import control_plane, played, record
from testbed.api import Object

pytestmark = pytest.mark.xdist_group("patching")

Told = dict[str, list[Object]]


@pytest_asyncio.fixture(scope="module")
async def told() -> AsyncIterator[Told]:
    """What the real server answers to every step of every case, now."""
    async with control_plane() as api:
        answers = {case.name: await played(api, case) for case in cases()}
    if os.environ.get("RECORD"):
        record(answers)
    yield answers


async def test_what_was_recorded_is_what_the_server_answers(told: Told) -> None:
    recorded: Told = json.loads(CAPTURE.read_text("utf-8"))
    assert [name for name, answers in told.items() if answers != recorded.get(name)] == []
    assert list(recorded) == list(told)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases()])
async def test_our_patches_end_as_those_of_the_real_server(told: Told, case: Case) -> None:
    before = None
    for step, answer in zip(case.steps, told[case.name], strict=True):
        made = ours(step, before, answer, kind_of(case))
        assert comparable(step, made) == comparable(step, answer)
        if answer["kind"] != "Status":
            before = answer

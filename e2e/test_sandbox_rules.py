"""What a real API server makes of objects of the built-in kinds, and what the sandbox's rules make of them.

The answers are kept in `tests/data/captures/rules.json` for the tests without a cluster; `RECORD=1` writes them anew.
"""

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from builders.rule_cases import CASES
from builders.rule_cases.differences import DIFFERENCES
from builders.rule_cases.replaying import Answer, comparable, played, recorded
from e2e.rules_kit import answers_to, record
from testbed.cluster import Cluster
from testbed.options import Options

pytestmark = [
    pytest.mark.xdist_group("rules"),
    # One case is a ConfigMap that is too large.
    pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning"),
]


@pytest_asyncio.fixture(scope="module")
async def answers() -> AsyncIterator[dict[str, list[Answer]]]:
    """What the server says to every case."""
    async with Cluster.open(Options(nodes=0, controllers=False)) as running:
        yield await answers_to(running.api, CASES)


async def test_what_was_recorded_of_the_rules_is_what_the_server_answers(
    answers: dict[str, list[Answer]],
) -> None:
    if os.environ.get("RECORD"):
        record(answers)
    kept = recorded()
    assert [case.name for case in CASES] == list(kept)
    changed = {
        name: (kept[name], said)
        for name, said in answers.items()
        if [comparable(each) for each in said] != [comparable(each) for each in kept[name]]
    }
    assert changed == {}


async def test_our_rules_make_of_objects_what_the_server_makes_of_them(
    answers: dict[str, list[Answer]],
) -> None:
    different = [
        case.name
        for case in CASES
        if [comparable(each) for each in played(case, answers[case.name])]
        != [comparable(each) for each in answers[case.name]]
    ]
    assert sorted(different) == sorted(DIFFERENCES)

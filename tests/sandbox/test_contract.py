"""The embedded API server says what the real one was recorded to say, except where a difference is named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from contract.differences import DIFFERENCES, VERB_DIFFERENCES
from contract.embedded import embedded_server
from contract.recorded import read_record
from contract.running import all_cases, observe
from contract.verbs import SESSIONS
from contract.world import Server

CASES = all_cases()
RECORD = read_record()
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "sandbox-contract.md"


@pytest_asyncio.fixture(scope="module")
async def server() -> AsyncIterator[Server]:
    async with embedded_server() as running:
        yield running


@pytest.mark.parametrize("name", [name for name in CASES if name not in DIFFERENCES])
async def test_the_embedded_server_says_what_the_real_one_says(server: Server, name: str) -> None:
    assert await observe(server, CASES[name]) == RECORD[name]


@pytest.mark.parametrize("name", DIFFERENCES)
async def test_a_named_difference_is_still_one(server: Server, name: str) -> None:
    try:
        seen = await observe(server, CASES[name])
    except (AssertionError, KeyError, TypeError, TimeoutError):
        return
    assert seen != RECORD[name], "it agrees again: its line in contract/differences.py can go"


def test_every_case_is_recorded_and_every_record_has_its_case() -> None:
    assert set(RECORD) == set(CASES)


def test_the_page_counts_the_cases_and_names_every_difference() -> None:
    text = PAGE.read_text("utf-8")
    assert f"**{len(CASES)} cases**" in text
    assert dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.MULTILINE)) == {
        subject: str(count) for subject, count in Counter(case.subject for case in CASES.values()).items()
    }
    assert f"{len(DIFFERENCES)} of the {len(CASES)} cases differ" in text
    differing = dict(re.findall(r"^\| (.+?) \| (.+?) \|$", text.partition("## Differences")[2], re.MULTILINE))
    assert differing == {"Case": "Reason", "Command": "Reason"} | {
        CASES[name].sentence: reason for name, reason in DIFFERENCES.items()
    } | {f"`kubectl {line}`": reason for (_session, line), reason in VERB_DIFFERENCES.items()}


def test_the_readme_counts_cases_and_commands_in_hundreds() -> None:
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    steps = sum(len(session.steps) for session in SESSIONS.values())
    cases, commands = len(CASES) // 100 * 100, -(-steps // 100) * 100
    assert steps > commands - 20, "almost means less than twenty short of it"
    assert (
        f"More than {cases} cases and almost {commands} kubectl commands are held to the real one" in readme
    )


def test_the_page_counts_the_commands_of_kubectl() -> None:
    steps = sum(len(session.steps) for session in SESSIONS.values())
    page = " ".join(PAGE.read_text("utf-8").split())
    assert f"{steps} commands of kubectl in {len(SESSIONS)} sessions" in page
    usual = sum(session.usual for session in SESSIONS.values())
    assert f"`make e2e-smoke` runs the {usual} sessions of every day" in page

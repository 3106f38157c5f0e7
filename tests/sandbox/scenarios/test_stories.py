"""Every story, told in a sandbox: it ends as it should, is the one on the page, and its commands work when pasted."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from builders.stories import PAGE, box_for, failures_of, on_page, settled, told, write_on_page
from tangram.sandbox.scenarios import shared_card
from tangram.sandbox.scenarios.all import SCENARIOS, play
from tangram.sandbox.scenarios.clearing import clear
from tangram.sandbox.scenarios.stage import Scenario, ScenarioFailed, Stage
from tangram.sandbox.starting import Sandbox

USUAL = [scenario for scenario in SCENARIOS if not scenario.cluster]
SPECIAL = [scenario for scenario in SCENARIOS if scenario.cluster]

_NAMED = re.compile(r"(?<= logs) .*|(?<= explain) .*|(?<= -n) \S+|(?<= pod| job).*|(?<=--node) \S+|(?<==)\S+")
_typed: set[str] = set()


@pytest_asyncio.fixture(scope="module")
async def box(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sandbox]:
    async with box_for("", tmp_path_factory.mktemp("usual")) as running:
        yield running


def one_of_each_kind(commands: Sequence[str]) -> list[str]:
    """Those unlike any that was typed before, names apart: processes are dear, and `make e2e` types all of them.

    Those of kubectl are typed there alone: what is tested here is the same on a machine without it.
    """
    fresh = [command for command in commands if _NAMED.sub("", command) not in _typed]
    _typed.update(_NAMED.sub("", command) for command in fresh)
    return fresh


async def tell_and_look(scenario: Scenario, box: Sandbox) -> None:
    async with told(scenario, box) as (lines, commands):
        if "RECORD" in os.environ:
            write_on_page(scenario.name, lines)
        assert settled(lines) == settled(on_page(scenario.name))
        assert 3 <= len(commands) <= 5
        assert await failures_of(one_of_each_kind(commands), box, None) == []


@pytest.mark.parametrize("scenario", [pytest.param(each, id=each.name) for each in USUAL])
async def test_a_story_goes_as_on_its_page_and_its_commands_work(scenario: Scenario, box: Sandbox) -> None:
    await tell_and_look(scenario, box)


@pytest.mark.parametrize("scenario", [pytest.param(each, id=each.name) for each in SPECIAL])
async def test_a_story_with_machines_of_its_own_goes_as_on_its_page(
    scenario: Scenario, tmp_path: Path
) -> None:
    async with box_for(scenario.cluster, tmp_path) as box:
        await tell_and_look(scenario, box)


async def test_a_story_can_be_told_again_over_what_it_left_behind(box: Sandbox) -> None:
    lines: list[str] = []
    for _ in range(2):
        await play(shared_card.SCENARIO, box, tell=lines.append, look=lines.append)
    half = len(lines) // 2
    assert lines[:half] == lines[half:]
    await clear(shared_card.SCENARIO.namespaces, box.api)


async def test_a_story_that_does_not_end_as_it_should_says_what_it_saw(box: Sandbox) -> None:
    async def wrong(stage: Stage) -> None:
        await stage.submit(shared_card.NOTEBOOK)
        await stage.until_running("notebook")
        held = await stage.held("notebook")
        stage.check("it has four cards", holds=len(held.cards) == 4, saw=held.cards)

    scenario = Scenario(name="wrong", title="", why="", play=wrong, namespaces=("wrong",))
    with pytest.raises(ScenarioFailed, match=r"^it has four cards: not so, saw \(\d,\)$"):
        async with told(scenario, box):
            pass


async def test_a_pod_that_is_refused_ends_the_story_with_the_sentence(box: Sandbox) -> None:
    async def hopeless(stage: Stage) -> None:
        await stage.submit(shared_card.NOTEBOOK.replace("vcore: 40", "vcore: 400"))

    scenario = Scenario(name="hopeless", title="", why="", play=hopeless, namespaces=("hopeless",))
    with pytest.raises(ScenarioFailed, match=r"^Pod notebook was refused: .*from 0 to 100"):
        async with told(scenario, box):
            pass


async def test_a_manifest_that_is_taken_is_no_refusal(box: Sandbox) -> None:
    async def lenient(stage: Stage) -> None:
        await stage.refusal_of(shared_card.NOTEBOOK)

    scenario = Scenario(name="lenient", title="", why="", play=lenient, namespaces=("lenient",))
    with pytest.raises(ScenarioFailed, match="was taken, and should be refused"):
        async with told(scenario, box):
            pass


def test_stories_are_told_apart_by_name_and_share_no_namespace() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    namespaces = [each for scenario in SCENARIOS for each in scenario.namespaces]
    assert len(set(names)) == len(names) == 10
    assert len(set(namespaces)) == len(namespaces)


def test_the_page_tells_the_stories_in_their_order() -> None:
    headings = [line[3:] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("## ")]
    assert headings == [scenario.name for scenario in SCENARIOS]

"""The stories of the sandbox, told on a real control plane: the same words as on the embedded one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from builders.stories import box_for, failures_of, on_page, settled, told
from tangram.sandbox.scenarios.all import SCENARIOS
from tangram.sandbox.scenarios.stage import Scenario
from tangram.sandbox.starting import Sandbox
from testbed.binaries import find_binaries

USUAL = [scenario for scenario in SCENARIOS if not scenario.cluster]
SPECIAL = [scenario for scenario in SCENARIOS if scenario.cluster]


@pytest_asyncio.fixture(scope="module")
async def box(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sandbox]:
    async with box_for("", tmp_path_factory.mktemp("usual"), real=True) as running:
        yield running


async def tell_and_look(scenario: Scenario, box: Sandbox) -> None:
    async with told(scenario, box) as (lines, commands):
        assert settled(lines) == settled(on_page(scenario.name))
        assert await failures_of(commands, box, find_binaries().path("kubectl")) == []


@pytest.mark.parametrize("scenario", [pytest.param(each, id=each.name) for each in USUAL])
async def test_a_story_goes_on_a_real_control_plane_as_on_its_page(scenario: Scenario, box: Sandbox) -> None:
    await tell_and_look(scenario, box)


@pytest.mark.parametrize("scenario", [pytest.param(each, id=each.name) for each in SPECIAL])
async def test_a_story_with_machines_of_its_own_goes_on_a_real_control_plane_as_on_its_page(
    scenario: Scenario, tmp_path: Path
) -> None:
    async with box_for(scenario.cluster, tmp_path, real=True) as box:
        await tell_and_look(scenario, box)

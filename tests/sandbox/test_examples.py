"""Every example from 10 on gets the cards that its page promises; `make e2e` types the commands of the pages."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tangram.sandbox.starting import Sandbox
from tour import console
from tour.expected import OWN_CLUSTER, TOUR, USUAL
from tour.playing import play, playground
from tour.records import EXAMPLES, Example

FOLDERS = sorted(path.name for path in EXAMPLES.glob("[1-9][0-9]-*"))


@pytest_asyncio.fixture(scope="module")
async def box(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sandbox]:
    async with playground(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


@pytest_asyncio.fixture(scope="module", params=OWN_CLUSTER, ids=lambda example: example.name)
async def own(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Sandbox, Example]]:
    example: Example = request.param
    async with playground(tmp_path_factory.mktemp("own"), example.folder / example.cluster) as running:
        yield running, example


@pytest.mark.parametrize("example", USUAL, ids=lambda example: example.name)
async def test_an_example_gets_its_cards_and_gives_them_back(box: Sandbox, example: Example) -> None:
    await play(example, box)


async def test_an_example_with_a_cluster_of_its_own_gets_its_cards_there(
    own: tuple[Sandbox, Example],
) -> None:
    running, example = own
    await play(example, running)


def test_no_example_and_no_manifest_is_forgotten() -> None:
    assert [example.name for example in sorted(TOUR, key=lambda each: each.name)] == FOLDERS
    for example in TOUR:
        there = {path.name for path in example.folder.glob("*.yaml")} - {example.cluster}
        assert set(example.files) == there, example.name


@pytest.mark.parametrize("example", TOUR, ids=lambda example: example.name)
def test_a_page_applies_every_manifest_of_its_example(example: Example) -> None:
    commands = console.commands_of(console.page_of(example).read_text("utf-8"))
    for file in example.files:
        place = f" -f examples/{example.name}/{file}"
        assert any(
            line.startswith(("kubectl apply", "kubectl create")) and place in line for line in commands
        )
    index = (EXAMPLES / "README.md").read_text("utf-8")
    assert f"({example.name}/README.md)" in index

"""Every example from 10 on gets the cards that it is said to get, and its page shows what is printed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tangram.sandbox.starting import Sandbox
from tour.expected import OWN_CLUSTER, TOUR, USUAL
from tour.playing import play, playground
from tour.records import EXAMPLES, Example

FOLDERS = sorted(path.name for path in EXAMPLES.glob("[1-9][0-9]-*"))


@pytest_asyncio.fixture(scope="module")
async def box(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sandbox]:
    async with playground(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


@pytest.mark.parametrize("example", USUAL, ids=lambda example: example.name)
async def test_every_example_gets_its_cards_and_gives_them_back(box: Sandbox, example: Example) -> None:
    await play(example, box)


@pytest.mark.parametrize("example", OWN_CLUSTER, ids=lambda example: example.name)
async def test_an_example_with_a_cluster_of_its_own_gets_its_cards_there(
    tmp_path_factory: pytest.TempPathFactory, example: Example
) -> None:
    folder = tmp_path_factory.mktemp("own")
    async with playground(folder, example.folder / example.cluster) as running:
        await play(example, running)


def test_no_example_and_no_manifest_is_forgotten() -> None:
    assert [example.name for example in sorted(TOUR, key=lambda each: each.name)] == FOLDERS
    for example in TOUR:
        there = {path.name for path in example.folder.glob("*.yaml")} - {example.cluster}
        assert set(example.files) == there, example.name

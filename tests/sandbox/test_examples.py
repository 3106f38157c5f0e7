"""Every example from 10 on gets the cards that it is said to get, and its page shows what is printed."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tangram.sandbox.starting import Sandbox
from tour import console
from tour.expected import OWN_CLUSTER, TOUR, USUAL
from tour.playing import play, playground, until_free
from tour.records import EXAMPLES, Example

KUBECTL = shutil.which("kubectl")
SOME = ("10-share-a-card", "17-online-and-offline", "26-moore-threads-slices", "34-a-pod-that-waits")
PLAYED = [example for example in USUAL if console.REFRESH or example.name in SOME]
"""A few of the pages in full, command by command; `make e2e` plays every one."""
FOLDERS = sorted(path.name for path in EXAMPLES.glob("[1-9][0-9]-*"))

needs_kubectl = pytest.mark.skipif(
    KUBECTL is None,
    reason="there is no kubectl on PATH; `make e2e` plays the pages with those of the test bed",
)


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


@needs_kubectl
@pytest.mark.parametrize("example", PLAYED, ids=lambda example: example.name)
async def test_a_page_shows_what_kubectl_prints(box: Sandbox, example: Example, tmp_path: Path) -> None:
    await _page_is_true(box, example, tmp_path)


@needs_kubectl
async def test_a_page_with_a_cluster_of_its_own_shows_what_kubectl_prints(
    own: tuple[Sandbox, Example], tmp_path: Path
) -> None:
    await _page_is_true(*own, tmp_path)


async def _page_is_true(box: Sandbox, example: Example, folder: Path) -> None:
    assert KUBECTL is not None
    page = console.page_of(example)
    shown = page.read_text("utf-8")
    printed = await console.played(shown, console.environment(folder, box.folder.kubeconfig, Path(KUBECTL)))
    if console.REFRESH:
        page.write_text(printed, "utf-8")
    assert printed == shown
    await until_free(box)


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

"""The examples in a sandbox on real components, and their pages with the newest kubectl and the oldest one served."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tangram.sandbox.starting import Sandbox
from testbed.binaries import find_binaries
from tour import console
from tour.expected import OWN_CLUSTER, USUAL
from tour.playing import play, playground, until_free
from tour.records import Example

NEWEST, OLDEST = "kubectl", "kubectl-1.28"


@pytest_asyncio.fixture(scope="module")
async def real(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sandbox]:
    async with playground(tmp_path_factory.mktemp("real"), real=True) as running:
        yield running


@pytest_asyncio.fixture(scope="module")
async def embedded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sandbox]:
    async with playground(tmp_path_factory.mktemp("embedded")) as running:
        yield running


@pytest.mark.parametrize("example", USUAL, ids=lambda example: example.name)
async def test_an_example_gets_the_same_cards_on_a_real_control_plane(
    real: Sandbox, example: Example
) -> None:
    await play(example, real)


@pytest.mark.parametrize("example", USUAL, ids=lambda example: example.name)
async def test_a_page_shows_what_the_newest_kubectl_prints_there(
    real: Sandbox, example: Example, tmp_path: Path
) -> None:
    await _page_is_true(real, example, tmp_path, NEWEST)


@pytest.mark.parametrize("example", USUAL, ids=lambda example: example.name)
async def test_a_page_shows_what_the_oldest_kubectl_prints_in_an_embedded_sandbox(
    embedded: Sandbox, example: Example, tmp_path: Path
) -> None:
    await _page_is_true(embedded, example, tmp_path, OLDEST)


@pytest.mark.parametrize("example", OWN_CLUSTER, ids=lambda example: example.name)
async def test_an_example_with_a_cluster_of_its_own_does_the_same_on_a_real_control_plane(
    example: Example, tmp_path: Path
) -> None:
    async with playground(tmp_path / "real", example.folder / example.cluster, real=True) as running:
        await play(example, running)
        await _page_is_true(running, example, tmp_path, NEWEST)


@pytest.mark.parametrize("example", OWN_CLUSTER, ids=lambda example: example.name)
async def test_its_page_shows_what_the_oldest_kubectl_prints_in_an_embedded_sandbox(
    example: Example, tmp_path: Path
) -> None:
    async with playground(tmp_path / "embedded", example.folder / example.cluster) as running:
        await _page_is_true(running, example, tmp_path, OLDEST)


async def _page_is_true(box: Sandbox, example: Example, folder: Path, kubectl: str) -> None:
    page = console.page_of(example)
    shown = page.read_text("utf-8")
    program = Path(find_binaries().path(kubectl))
    printed = await console.played(shown, console.environment(folder, box.folder.kubeconfig, program))
    if console.REFRESH:
        page.write_text(printed, "utf-8")
    assert printed == shown
    await until_free(box)

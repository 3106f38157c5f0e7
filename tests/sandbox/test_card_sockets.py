"""The cards of a sandbox's machines answer at sockets with the names of their nodes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tangram.daemon.yaml_text import parse_document
from tangram.drivers.errors import DriverError
from tangram.drivers.simulated.client import connected
from tangram.drivers.simulated.reading import read_description
from tangram.drivers.simulated.serving import LONGEST_LINE
from tangram.drivers.simulated.world import World
from tangram.sandbox.card_sockets import card_sockets
from tangram.sandbox.folder import Folder, taking

EIGHT = "tangram: cards/v1\nname: metax-a\ncards: [{server: c500-8-two-groups}]\n"
NONE = "tangram: cards/v1\ncards: []\n"


def world(text: str) -> World:
    return World(read_description(parse_document(text)), lambda: 0.0)


@pytest.fixture
def cards() -> World:
    return world(EIGHT)


@pytest_asyncio.fixture
async def folder(tmp_path: Path, cards: World) -> AsyncIterator[Folder]:
    # A person's folder may be deeper than the path of a socket may be.
    with taking(tmp_path / ("deep-" * 20)) as taken:
        async with card_sockets({"metax-a": cards, "cpu-a": world(NONE)}, taken):
            yield taken


def test_every_node_with_cards_has_a_socket_of_its_name(folder: Folder) -> None:
    assert [path.name for path in (folder.path / "cards").iterdir()] == ["metax-a.sock"]


async def asked(folder: Folder, line: str, monkeypatch: pytest.MonkeyPatch) -> object:
    """As a person does, from the folder that `.sandbox` is in."""
    monkeypatch.chdir(folder.path)
    client = connected(Path("cards/metax-a.sock"))
    try:
        return await asyncio.to_thread(client.control, line)
    finally:
        client.close()


async def test_a_card_that_is_failed_there_fails_on_the_machine(
    folder: Folder, cards: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asked(folder, "fail GPU-3", monkeypatch)
    assert [health.healthy for health in cards.health().values()].index(False) == 3
    await asked(folder, "recover GPU-3", monkeypatch)
    assert all(health.healthy for health in cards.health().values())


async def test_an_order_that_makes_no_sense_is_answered_with_a_sentence(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DriverError, match="the commands are"):
        await asked(folder, "explode", monkeypatch)


@pytest.mark.parametrize(
    "said", [b"", b"fail GPU-1", b"x" * (LONGEST_LINE + 1)], ids=["nothing", "half", "much"]
)
async def test_whoever_breaks_off_has_said_nothing(folder: Folder, cards: World, said: bytes) -> None:
    reader, writer = await asyncio.open_unix_connection(
        (folder.path / "cards" / "metax-a.sock").resolve(), limit=2 * LONGEST_LINE
    )
    writer.write(said)
    writer.write_eof()
    assert await reader.read() == b""
    writer.close()
    assert all(health.healthy for health in cards.health().values())


async def test_nothing_is_left_when_it_ends_and_what_a_killed_one_left_is_in_nobodys_way(
    tmp_path: Path, cards: World
) -> None:
    with taking(tmp_path) as taken:
        (tmp_path / "cards").mkdir()
        (tmp_path / "cards" / "gone.sock").symlink_to("nowhere")
        async with card_sockets({"metax-a": cards}, taken):
            assert [path.name for path in (tmp_path / "cards").iterdir()] == ["metax-a.sock"]
        assert not (tmp_path / "cards").exists()

"""The browser's half, as far as it can be held against the server's without a browser."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path

import pytest

from builders.dashboards import card, held, node, view
from builders.system_programs import node_program
from tangram.reports.status_shape import CORDONED, NOT_READY, READY, UNHEALTHY, CardStatus, NodeStatus
from tangram.web.picture import Picture
from tangram.web.sight import Sight
from tangram.web.static_files import FOLDER
from tangram.web.tile_filter import STATES, TileFilter, filtered
from tangram.web.tile_telling import told_whole
from tangram.web.tiles import book_of

SCRIPTS = sorted(FOLDER.glob("*.js"))
SIGHT = Sight(nodes=True, namespaces=frozenset({"research", "vision"}))


def ran(script: str) -> object:
    done = subprocess.run(
        [node_program(), "--input-type=module", "-e", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def some_card(luck: random.Random) -> CardStatus:
    vendor, product = luck.choice((("metax", "MXC500"), ("mthreads", "MTT S4000")))
    holders = [
        held(f"{namespace}/pod", memory=1, cores=1)
        for namespace in ("research", "vision", "b")
        if luck.random() < 0.3
    ]
    return card(
        0,
        *holders,
        vendor=vendor,
        product=product,
        mode=luck.choice(("native", "sgpu", "vgpu", "shared", "undecided")),
        state=luck.choice(("", "", "", CORDONED, UNHEALTHY)),
        qos=luck.choice(("", "best-effort", "fixed-share")),
    )


def some_node(luck: random.Random, number: int) -> NodeStatus:
    cards = [some_card(luck) for _ in range(luck.randint(1, 8))]
    return node(f"GPU-{number}", *cards, state=luck.choice((READY, READY, CORDONED, NOT_READY)))


def test_the_browser_finds_the_nodes_that_the_server_finds() -> None:
    luck = random.Random(13)  # noqa: S311 - the same nodes every time
    picture = Picture()
    picture.take(view(*(some_node(luck, number) for number in range(60))))
    choices = [
        TileFilter(
            vendor=luck.choice(("", "", "metax", "none")),
            product=luck.choice(("", "", "MTT S4000")),
            namespace=luck.choice(("", "", "research", "b")),
            policy=luck.choice(("", "", "fixed-share")),
            state=luck.choice(("", *STATES)),
            q=luck.choice(("", "", "gpu-1", "5")),
        )
        for _ in range(200)
    ]
    found = ran(
        f"""
        const {{ matches, tileOf }} = await import({json.dumps(FOLDER.joinpath("tiles.js").as_uri())});
        const told = {told_whole(picture, SIGHT).decode()};
        const tiles = told.rows.map((row) => tileOf(row, told));
        const choices = {json.dumps([choice.fields for choice in choices])};
        const found = choices.map((by) => tiles.filter((tile) => matches(tile, by)));
        console.log(JSON.stringify(found.map((tiles) => tiles.map((tile) => tile.name))));
        """
    )
    tiles = book_of(picture).seen(SIGHT)
    expected = [[tile.name for tile in filtered(tiles, choice, SIGHT)] for choice in choices]
    assert found == expected
    assert 0 < sum(map(bool, expected)) < len(expected)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_every_script_can_be_read(script: Path) -> None:
    done = subprocess.run(
        [node_program(), "--check", "--input-type=module", "-"],
        input=script.read_bytes(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_make_markup_through_the_one_policy_and_reach_nobody_else(script: Path) -> None:
    text = script.read_text("utf-8")
    assert (
        re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
        == []
    )
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == []
    assert ("createPolicy" in text) == (script.name == "morph.js")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_import_files_that_exist(script: Path) -> None:
    named = re.findall(r"""(?:from|import)\s+"\./([^"]+)\"""", script.read_text("utf-8"))
    assert [name for name in named if not FOLDER.joinpath(name).exists()] == []

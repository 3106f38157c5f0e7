"""The dashboard of a sandbox: its address is printed, it answers this machine alone, and it can be left out."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import cast

import pytest
from aiohttp import ClientSession

from builders.commands import run
from builders.sandbox_process import READY, sandbox_process
from tangram.cli.sandbox_dashboard import Browsers, dashboard_of
from tangram.sandbox.starting import Sandbox

NODES = "tangram: cluster/v1\nnodes: [{name: only-one, product: C500, cards: 2}]\n"
ADDRESS = re.compile(r"^Dashboard  (http://127\.0\.0\.1:(\d+))$", re.MULTILINE)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(NODES, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("port", "sentence"), [("70000", "--dashboard-port is 70000"), ("-1", "--dashboard-port is -1")]
)
def test_a_port_that_is_none_is_refused(port: str, sentence: str) -> None:
    answer = run("sandbox", "--dashboard-port", port)
    assert answer.status == 2
    assert sentence in answer.err


def test_a_port_in_use_is_told_before_anything_is_started(here: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = run("sandbox", "--dashboard-port", str(port))
    assert answer.status == 2
    assert f"port {port} is in use by another program: name another one with --dashboard-port" in answer.err
    assert not (here / ".sandbox").exists()


async def test_it_can_be_left_out() -> None:
    async with dashboard_of(cast("Sandbox", None), Browsers(wanted=False)) as page:
        assert page == ""


async def test_its_address_is_printed_and_answers_as_the_administrator(here: Path) -> None:
    options = ("--port", "0", "--dashboard-port", "0", "--cluster", "cluster.yaml")
    async with sandbox_process(here, *options) as process:
        await process.until(READY)
        found = ADDRESS.search("\n".join(process.lines))
        assert found is not None
        async with ClientSession(found[1]) as session:
            async with session.get("/nodes/only-one") as answer:
                assert answer.status == 200
                assert "only-one" in await answer.text()
            async with session.get("/", headers={"Host": "evil.example"}) as answer:
                assert answer.status == 421, "somebody else's site led the browser here"

"""`tangram cleanup` through the real command line and an API server that keeps who wrote what."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from builders.commands import run
from builders.left_behind import LABELS, LeftBehind, left_behind
from tangram.services.installation import cleaning


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[LeftBehind]:
    monkeypatch.setattr(cleaning, "SETTLED_S", 0.0)
    async with left_behind() as made:
        yield made


async def test_what_helm_shows_after_an_uninstallation(
    cluster: LeftBehind, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    await cluster.knows_devices()
    for name in ("gpu-1", "gpu-2"):
        await cluster.served(name)
        await cluster.describes("tangram-gpu-device", name)
    await cluster.node("cpu-1")
    await cluster.keeps()
    await cluster.pod("train", "default", "gpu-1", annotations={"metax-tech.com/gpu-devices-allocated": "[]"})
    words = ("--kubeconfig", str(cluster.kubeconfig(tmp_path)))
    trial = await asyncio.to_thread(run, "cleanup", "--dry-run", *words)
    done = await asyncio.to_thread(run, "cleanup", *words)
    again = await asyncio.to_thread(run, "cleanup", *words)
    assert (trial.status, done.status, again.status) == (0, 0, 0)
    assert trial.err == done.err == again.err == ""
    assert len(done.out.splitlines()) <= 20
    assert {"trial": trial.out, "done": done.out, "again": again.out} == snapshot


async def test_programs_get_every_name(cluster: LeftBehind, tmp_path: Path) -> None:
    await cluster.served()
    file = str(cluster.kubeconfig(tmp_path))
    answer = await asyncio.to_thread(run, "cleanup", "--dry-run", "-o", "json", "--kubeconfig", file)
    said = json.loads(answer.out)
    assert (said["tangram"], said["dry_run"], said["looked_at"]) == ("cleanup/v1", True, 1)
    assert said["nodes"][0]["labels"] == sorted(LABELS)
    assert said["problems"] == []


async def test_what_could_not_be_done_is_said_and_is_the_exit_status(
    cluster: LeftBehind, tmp_path: Path
) -> None:
    await cluster.served()
    await cluster.agent()
    answer = await asyncio.to_thread(run, "cleanup", "--kubeconfig", str(cluster.kubeconfig(tmp_path)))
    assert answer.status == 1
    assert answer.out.startswith(
        "Not done:\n- 1 pod (gpu-device on gpu-1) runs and no release of a chart owns it"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(
            ("--chart", "hami"),
            "--chart is 'hami': it is tangram, metax-gpu-extensions or metax-operator; write one of these.",
            id="chart",
        ),
        pytest.param(
            ("--node",),
            "--node names no node: name at least one, or leave it out for all of them.",
            id="no-node",
        ),
        pytest.param(("--node", "A_b"), "--node:", id="node"),
        pytest.param(("-n", "A_b"), "-n:", id="namespace"),
        pytest.param(("--timeout", "soon"), "--timeout", id="timeout"),
        pytest.param(("-o", "xml"), "-o is 'xml'", id="format"),
    ],
)
def test_a_command_line_that_cannot_be_read(words: tuple[str, ...], sentence: str) -> None:
    answer = run("cleanup", *words)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err


def test_help_shows_examples_and_exit_statuses() -> None:
    answer = run("cleanup", "--help")
    examples = [line for line in answer.out.splitlines() if line.startswith("  tangram ")]
    assert len(examples) >= 4
    assert all(line.startswith("  tangram cleanup") for line in examples)
    assert "Exit status: 0" in answer.out
    assert max(len(line) for line in answer.out.splitlines()) <= 80

"""The control plane under `tangram sandbox --real`: how its programs are started, ended, and named when they fail.

Here scripts stand in for the programs; `e2e/test_sandbox_real.py` has the real ones.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.waiting import until
from testbed import plane as module
from testbed.binaries import Binaries
from testbed.errors import BedError
from testbed.plane import Plane, serve_plane
from testbed.plane_keys import plane_keys

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
LASTING = "exec sleep 600"

Programs = Callable[..., Binaries]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Scripts that note who they are and last; by name, others that do something else."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "ran").mkdir()

    def make(**others: str) -> Binaries:
        for name in PROGRAMS:
            file = tmp_path / "bin" / name
            note = f'echo "$$ $*" > {tmp_path}/ran/{name}'
            file.write_text(f"#!/bin/sh\n{note}\n{others.get(name.replace('-', '_'), LASTING)}\n", "utf-8")
            file.chmod(0o755)
        found = Binaries({}, {}, {name: tmp_path / "bin" / name for name in PROGRAMS})
        monkeypatch.setattr(module, "find_binaries", lambda: found)
        return found

    async def answers(*_asked: object) -> bool:
        return (tmp_path / "ran" / "kube-apiserver").exists()

    monkeypatch.setattr(module, "_answers", answers)
    return make


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.FileIO]:
    """What the control plane reads; closed: the one who started it is gone."""
    there, here = os.pipe()
    with os.fdopen(there) as reading, io.FileIO(here, "w") as writing:
        monkeypatch.setattr(sys, "stdin", reading)
        yield writing


def ran(tmp_path: Path) -> dict[str, int]:
    """The programs that were started, with their processes."""
    files = (tmp_path / "ran").iterdir()
    return {file.name: int(text.split()[0]) for file in files if (text := file.read_text("utf-8").strip())}


def alive(tmp_path: Path) -> list[str]:
    return [name for name, pid in ran(tmp_path).items() if Path(f"/proc/{pid}").exists()]


async def test_every_program_runs_until_the_end_and_none_after_it(programs: Programs, tmp_path: Path) -> None:
    said: list[dict[str, Any]] = []
    plane = Plane(tmp_path / "plane", programs(), said.append)
    try:
        await plane.start(0)
        await plane.schedule("tangram-scheduler", {"kind": "KubeSchedulerConfiguration"})
        await until(lambda: sorted(ran(tmp_path)) == sorted(PROGRAMS))
        assert sorted(alive(tmp_path)) == sorted(PROGRAMS)
    finally:
        await plane.end()
    assert alive(tmp_path) == []
    ready = next(message["ready"] for message in said if "ready" in message)
    assert ready["server"].startswith("https://127.0.0.1:")
    assert ready["authority"].startswith("-----BEGIN CERTIFICATE-----")
    assert said[-1] == {"scheduling": "tangram-scheduler"}
    kept = json.loads((tmp_path / "plane" / "tangram-scheduler.json").read_text("utf-8"))
    assert kept == {"kind": "KubeSchedulerConfiguration"}


async def test_it_ends_with_the_one_who_started_it(
    programs: Programs, orders: io.FileIO, tmp_path: Path
) -> None:
    programs()
    serving = asyncio.create_task(serve_plane(tmp_path / "plane", 0))
    order: dict[str, Any] = {"schedule": {"name": "ours", "configuration": {}}}
    await until(lambda: "kube-controller-manager" in ran(tmp_path))
    orders.write(json.dumps(order).encode() + b"\n")
    await until(lambda: "kube-scheduler" in ran(tmp_path))
    orders.close()
    await serving
    assert alive(tmp_path) == []


async def test_it_ends_at_once_when_nobody_waits_for_it_any_more(
    programs: Programs, orders: io.FileIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_asked: object) -> bool:
        return False

    monkeypatch.setattr(module, "_answers", never)
    programs()
    serving = asyncio.create_task(serve_plane(tmp_path / "plane", 0))
    await until(lambda: "kube-apiserver" in ran(tmp_path))
    orders.close()
    await serving
    assert alive(tmp_path) == []


async def test_a_program_that_does_not_come_up_is_named_with_its_last_line(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_asked: object) -> bool:
        return False

    monkeypatch.setattr(module, "_answers", never)
    plane = Plane(
        tmp_path / "plane", programs(etcd="echo first; echo disk on fire; exit 3"), lambda _said: None
    )
    try:
        with pytest.raises(BedError, match=r"^etcd did not come up \(status 3\): disk on fire$"):
            await plane.start(0)
    finally:
        await plane.end()
    assert alive(tmp_path) == []


@pytest.mark.usefixtures("orders")
async def test_a_program_that_dies_later_ends_the_rest_and_is_named(
    programs: Programs, tmp_path: Path
) -> None:
    programs(kube_controller_manager="exit 4")
    with pytest.raises(
        BedError, match=r"^kube-controller-manager ended by itself \(status 4\): it said nothing$"
    ):
        await serve_plane(tmp_path / "plane", 0)
    assert alive(tmp_path) == []


async def test_a_port_in_use_is_told(programs: Programs, tmp_path: Path) -> None:
    plane = Plane(tmp_path / "plane", programs(), lambda _said: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BedError, match=rf"port {port} cannot be used \(.*\): name another one"):
            await plane.start(port)
    assert ran(tmp_path) == {}


def test_keys_are_private_and_the_same_the_next_time(tmp_path: Path) -> None:
    first = plane_keys(tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    assert plane_keys(tmp_path) == first
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    for file in (first.server.key, first.accounts.key, first.token_file):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("lost", ["complete", "ca.crt"])
def test_keys_of_somebody_who_was_killed_while_making_them_are_made_anew(tmp_path: Path, lost: str) -> None:
    first = plane_keys(tmp_path)
    authority = first.authority.read_bytes()
    (tmp_path / lost).unlink()
    again = plane_keys(tmp_path)
    assert again.authority.read_bytes() != authority
    assert again.token == first.token

"""Real components under a sandbox: what is said to the process that runs them, and what becomes of us when it fails.

Here a script stands in for that process; `e2e/test_sandbox_real.py` has the real one.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tangram.daemon.errors import SettingError
from tangram.daemon.running import Supervisor
from tangram.sandbox import real as module
from tangram.sandbox.apiserver.server import make_certificate
from tangram.sandbox.failures import PlaneEnded
from tangram.sandbox.folder import Folder
from tangram.sandbox.real import real

Script = Callable[[str], None]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """Have these lines of Python for the command that runs components; `say` prints a message, `READY` is one."""
    issued = make_certificate()
    pair = {"certificate": issued.pair.certificate.decode(), "key": issued.pair.key.decode()}
    ready = {"server": "https://127.0.0.1:1", "authority": issued.authority.decode(), "token": "t"}
    head = textwrap.dedent(
        f"""\
        #!{sys.executable} -S
        import json, sys, time
        READY = {{"ready": {json.dumps(ready | {"kubelets": pair})}}}
        def say(message):
            print(json.dumps(message), flush=True)
        """
    )
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    def write(lines: str) -> None:
        file = tmp_path / "testbed"
        file.write_text(head + textwrap.dedent(lines), "utf-8")
        file.chmod(0o755)

    return write


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "f", tmp_path / "s")


async def test_it_is_told_what_to_schedule_and_ends_when_it_is_not_needed(
    script: Script, folder: Folder, tmp_path: Path
) -> None:
    script(
        f"""
        say({{"step": "etcd"}})
        say(READY)
        for line in sys.stdin:
            order = json.loads(line)["schedule"]
            say({{"scheduling": order["name"]}})
        open({str(tmp_path / "ended")!r}, "w").write(" ".join(sys.argv[1:]))
        """
    )
    supervisor = Supervisor()
    async with real(0, folder, supervisor) as plane:
        assert plane.connection.server == "https://127.0.0.1:1"
        await plane.schedule({"a": {"kind": "KubeSchedulerConfiguration"}, "b": {}})
        assert supervisor.unhealthy() == []
        supervisor.stop()
        await supervisor.until_stopped()
    assert (tmp_path / "ended").read_text() == f"plane --folder {folder.sockets}/plane --port 0"


async def test_where_no_checkout_is_it_says_how_to_get_one(folder: Folder, script: Script) -> None:
    del script
    with pytest.raises(SettingError, match=r"leave --real out, or run it in a checkout after 'make testbed'"):
        await _enter(folder)


async def test_a_port_in_use_is_told_before_anything_is_started(folder: Folder, script: Script) -> None:
    script("raise SystemExit('nobody may start this')")
    taken = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    try:
        with pytest.raises(SettingError, match=rf"port {port} is in use"):
            await _enter(folder, port)
    finally:
        taken.close()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        pytest.param(
            "sys.exit('testbed: The test bed is not built: run `make testbed` first.')",
            r"^The test bed is not built: run `make testbed` first\.$",
            id="not built",
        ),
        pytest.param("int('x')", "^ValueError: invalid literal", id="a traceback is its last line"),
        pytest.param("pass", "ended without a word", id="no word"),
        pytest.param("print('hello', flush=True); sys.stdin.read()", "no language of ours", id="no json"),
        pytest.param("say({'ready': 7}); sys.stdin.read()", "no language of ours", id="other json"),
        pytest.param("print('x' * 3_000_000, flush=True)", "no language of ours", id="an endless line"),
    ],
)
async def test_one_that_does_not_come_up_is_told_in_its_last_words(
    script: Script, folder: Folder, lines: str, words: str
) -> None:
    script(lines)
    with pytest.raises(PlaneEnded, match=words):
        await _enter(folder)


async def test_one_that_never_is_ready_is_given_up(
    script: Script, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "START_S", 0.2)
    script("sys.stdin.read()")
    with pytest.raises(PlaneEnded, match=r"not ready within 0\.2 s"):
        await _enter(folder)


async def test_one_that_dies_later_ends_the_sandbox(script: Script, folder: Folder) -> None:
    script("say(READY); sys.stdin.readline(); sys.exit('testbed: etcd ended by itself (status -9)')")
    supervisor = Supervisor()
    async with real(0, folder, supervisor) as plane:
        ordering = asyncio.create_task(plane.schedule({"a": {}}))
        await supervisor.stopping.wait()
        ordering.cancel()
        assert await supervisor.until_stopped() == 1
    assert supervisor.unhealthy() == [
        "the control plane failed: PlaneEnded: etcd ended by itself (status -9)"
    ]


async def test_one_that_does_not_end_is_killed(
    script: Script, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "END_S", 0.1)
    script("say(READY | {'step': str(__import__('os').getpid())}); time.sleep(600)")
    supervisor = Supervisor()
    async with real(0, folder, supervisor) as plane:
        pid = plane._process.pid  # pyright: ignore[reportPrivateUsage] - nobody else need know
        supervisor.stop()
        await supervisor.until_stopped()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def _enter(folder: Folder, port: int = 0) -> None:
    async with real(port, folder, Supervisor()):
        raise AssertionError("it must not come up")

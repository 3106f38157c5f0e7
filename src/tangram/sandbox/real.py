"""Real components of Kubernetes under a sandbox, where they were built.

They are no part of an installation: a checkout builds them, and has a command that runs them as a control plane on
loopback. It is a process of its own that we speak JSON with over its pipes, and it ends when we do.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from tangram.daemon.certificates import Pair
from tangram.daemon.errors import SettingError
from tangram.daemon.running import Supervisor
from tangram.kube.connection import Connection
from tangram.kube.objects import Object
from tangram.sandbox.apiserver.server import check_port
from tangram.sandbox.failures import PlaneEnded
from tangram.sandbox.folder import Folder

COMMAND: Final = "testbed"
START_S: Final = 90.0
END_S: Final = 15.0
LONGEST_LINE: Final = 2**20

_log = logging.getLogger(__name__)


class _Pair(msgspec.Struct):
    certificate: str
    key: str


class _Ready(msgspec.Struct):
    server: str
    authority: str
    token: str
    kubelets: _Pair


class _Said(msgspec.Struct):
    """One line of the other process."""

    step: str = ""
    ready: _Ready | None = None
    scheduling: str = ""


class RealPlane:
    def __init__(self, process: asyncio.subprocess.Process, ready: _Ready) -> None:
        self._process = process
        self._ready = ready
        self._scheduling: asyncio.Queue[str] = asyncio.Queue()
        tls = ssl.create_default_context(cadata=ready.authority)
        self.connection: Final = Connection(ready.server, tls, token=ready.token)

    @property
    def authority(self) -> bytes:
        return self._ready.authority.encode()

    @property
    def kubelets(self) -> Pair:
        return Pair(self._ready.kubelets.certificate.encode(), self._ready.kubelets.key.encode())

    async def schedule(self, configurations: Mapping[str, Object]) -> None:
        if self._process.stdin is None:
            raise RuntimeError("the control plane was started without a pipe")
        for name, configuration in configurations.items():
            order = {"schedule": {"name": name, "configuration": configuration}}
            try:
                self._process.stdin.write(msgspec.json.encode(order) + b"\n")
                await self._process.stdin.drain()
                async with asyncio.timeout(START_S):
                    await self._scheduling.get()
            except ConnectionError:
                raise PlaneEnded("the control plane ended before it could schedule") from None
            except TimeoutError:
                raise PlaneEnded(f"the control plane did not start {name} within {START_S:g} s") from None

    async def listen(self) -> None:
        """Hear what it says from now on; it ends by itself only when something is wrong. Raises `PlaneEnded`."""
        while (said := await _heard(self._process)) is not None:
            if said.scheduling:
                self._scheduling.put_nowait(said.scheduling)
        raise PlaneEnded(await _last_words(self._process))


@asynccontextmanager
async def real(
    port: int, folder: Folder, supervisor: Supervisor, *, keep: bool = False
) -> AsyncGenerator[RealPlane]:
    """A real control plane. Raises `SettingError` where there is none to be had, `PlaneEnded` where it fails."""
    command = Path(sys.executable).with_name(COMMAND)
    if not command.exists():
        raise SettingError(
            "--real runs on real components of Kubernetes, which a checkout of Tangram builds and an installation "
            "does not bring: leave --real out, or run it in a checkout after 'make testbed'."
        )
    check_port(port)
    home = folder.path / "plane" if keep else folder.sockets / "plane"
    process = await asyncio.create_subprocess_exec(
        str(command), "plane", "--folder", str(home), "--port", str(port),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
        # Ctrl-C reaches every process of a terminal; this one must outlive those who still have something to say to it.
        start_new_session=True,
    )  # fmt: skip
    try:
        ready = await _ready(process)
        plane = RealPlane(process, ready)
        supervisor.vital("the control plane", plane.listen())
        yield plane
    finally:
        await _end(process)


async def _ready(process: asyncio.subprocess.Process) -> _Ready:
    try:
        async with asyncio.timeout(START_S):
            while (said := await _heard(process)) is not None:
                if said.ready is not None:
                    return said.ready
    except TimeoutError:
        raise PlaneEnded(f"the control plane was not ready within {START_S:g} s") from None
    raise PlaneEnded(await _last_words(process))


async def _heard(process: asyncio.subprocess.Process) -> _Said | None:
    if process.stdout is None:
        return None
    try:
        line = await process.stdout.readline()
        return msgspec.json.decode(line, type=_Said) if line else None
    except (ValueError, msgspec.DecodeError):
        raise PlaneEnded(
            "the control plane speaks no language of ours: is the checkout of another version?"
        ) from None


async def _last_words(process: asyncio.subprocess.Process) -> str:
    """Its last line, which of a program that failed is the one that says why."""
    words = b"" if process.stderr is None else await process.stderr.read()
    lines = words.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix(f"{COMMAND}: ") if lines else "the control plane ended without a word"


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), END_S)
    except TimeoutError:
        _log.warning("the control plane does not end, and is killed")
    finally:
        # Also where nobody wants to wait any longer. What it started ends with it.
        if process.returncode is None:
            process.kill()
            await process.wait()

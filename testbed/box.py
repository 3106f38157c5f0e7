"""A box from outside: rooms with no way out, programs started in them, sockets made in them.

`async with Box.open() as box` starts a janitor and process 1, and ends both; whatever happens to this process, the box
ends with it. A box knows nothing of Kubernetes.
"""

import asyncio
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from testbed import cgroups, janitor, leftovers, linux
from testbed.errors import BedError
from testbed.firstprocess import CONTROL
from testbed.places import ClusterFolder, RoomFolder, state_root

ROOM_LIMIT = 300.0
REPOSITORY = Path(__file__).resolve().parent.parent
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent"}


class Box:
    """The namespaces, cgroups and files of one cluster."""

    def __init__(self, folder: ClusterFolder, init: int) -> None:
        self.folder = folder
        self.init = init
        self._networks: dict[str, int] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, *, watchers: int = 0) -> AsyncGenerator["Box"]:
        """A new box that ends with this block, or with this process, and may hold so many inotify instances."""
        refuse_unfit_machine()
        await asyncio.to_thread(leftovers.sweep, state_root())
        folder = ClusterFolder(state_root(), secrets.token_hex(3))
        keeper = await start_janitor(folder, watchers=watchers)
        try:
            yield await cls.join(folder)
        finally:
            await end_janitor(keeper)

    @classmethod
    async def join(cls, folder: ClusterFolder) -> "Box":
        """A box somebody else keeps."""
        try:
            facts = json.loads(folder.facts.read_text(encoding="ascii"))
        except FileNotFoundError:
            raise BedError(
                f"there is no cluster '{folder.name}' in {folder.root}: 'testbed status' lists those there are"
            ) from None
        box = cls(folder, facts["init"])
        box._networks = dict(facts.get("networks", {}))
        return box

    async def _ask(self, **request: object) -> dict[str, Any]:
        reader, writer = await asyncio.open_unix_connection(str(self.folder.socket))
        try:
            writer.write(json.dumps(request).encode() + b"\n")
            line = await reader.readline()
        finally:
            writer.close()
            await writer.wait_closed()
        if not line:
            raise BedError(f"the box '{self.folder.name}' ended while it was asked to {request['do']}")
        answer = json.loads(line)
        if "error" in answer:
            raise BedError(
                f"the box '{self.folder.name}' could not {request['do']} {request.get('name', '')}: {answer['error']}"
            )
        return answer

    async def add_room(self, name: str, number: int) -> RoomFolder:
        """Namespaces of their own for a node, on the cluster's bridge."""
        answer = await self._ask(do="room", name=name, number=number)
        self._networks[name] = answer["net"]
        facts = json.loads(self.folder.facts.read_text(encoding="ascii"))
        facts["networks"] = self._networks
        self.folder.facts.write_text(json.dumps(facts), encoding="ascii")
        return self.folder.of_room(name)

    async def start(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        room: str = CONTROL,
        env: Mapping[str, str] | None = None,
    ) -> int:
        """Start a program under a name; its output goes to `logs/NAME.log`. The number is its pid inside the box."""
        tmp = self.folder.of_room(room).tmp
        environment = {**ENVIRONMENT, "TMPDIR": str(tmp), **(env or {})}
        answer = await self._ask(
            do="start", room=room, name=name, argv=[str(word) for word in argv], env=environment
        )
        return answer["pid"]

    async def send(self, name: str, number: int) -> bool:
        """Whether it was still there to be told."""
        return (await self._ask(do="signal", name=name, signal=int(number)))["sent"]

    async def wait(self, name: str) -> int:
        """The exit status of a program, negative when a signal ended it."""
        return (await self._ask(do="wait", name=name))["status"]

    async def stop(self, name: str, *, by: signal.Signals = signal.SIGTERM, within: float = 20.0) -> int:
        """Ask a program to end, and make it when it does not."""
        await self.send(name, by)
        try:
            async with asyncio.timeout(within):
                return await self.wait(name)
        except TimeoutError:
            await self.send(name, signal.SIGKILL)
            return await self.wait(name)

    async def programs(self) -> list[dict[str, Any]]:
        return (await self._ask(do="list"))["programs"]

    async def make_devices(self, room: str, nodes: Sequence[tuple[str, int, int]]) -> None:
        """Character devices (path, major, minor) in a room's own /dev."""
        await self._ask(do="devices", room=room, nodes=[list(node) for node in nodes])

    def log(self, name: str) -> str:
        path = self.folder.logs / f"{name}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def network(self, room: str = CONTROL) -> Path:
        """The network namespace of a room, as a file others can enter."""
        if room == CONTROL:
            return Path(f"/proc/{self.init}/ns/net")
        return Path(f"/proc/{self.init}/fd/{self._networks[room]}")

    def make_socket(self, room: str = CONTROL, kind: int = socket.SOCK_STREAM) -> socket.socket:
        """A socket of this process that lives in the room's network."""
        with linux.inside_network(self.network(room)):
            return socket.socket(socket.AF_INET, kind)

    def listen(self, address: str, port: int = 0, *, room: str = CONTROL) -> socket.socket:
        """A listening socket of this process inside the box, for servers that tests run themselves."""
        listening = self.make_socket(room)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen(256)
        listening.settimeout(0)
        return listening

    def enter_network(self, room: str = CONTROL) -> tuple[str, ...]:
        """Words to put before a command that shall run on this machine's files but in the room's network."""
        return ("nsenter", f"--net={self.network(room)}", "--")


def refuse_unfit_machine() -> None:
    """Say so before the first system call fails for want of a right."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise BedError("the test bed makes namespaces, device nodes and cgroups: run it as root on Linux")
    cgroups.refuse_unusable()


async def start_janitor(
    folder: ClusterFolder, *, watchers: int, stay: bool = False
) -> subprocess.Popen[bytes]:
    """Start a box and wait until its first process listens; where other clusters leave no room, wait for them."""
    deadline = time.monotonic() + ROOM_LIMIT
    while True:
        keeper, said = await asyncio.to_thread(_try_janitor, folder, watchers, stay=stay)
        if keeper is not None:
            return keeper
        if not said.startswith(janitor.FULL):
            raise BedError(f"the box could not be made: {said}")
        if time.monotonic() > deadline:
            raise BedError(f"no room for another cluster: {said.removeprefix(janitor.FULL).strip()}")
        await asyncio.sleep(0.5)


async def end_janitor(keeper: subprocess.Popen[bytes]) -> None:
    """Let go of the pipe and wait until the box has gone."""
    if keeper.stdin is not None:
        keeper.stdin.close()
    await asyncio.to_thread(keeper.wait)


def _try_janitor(
    folder: ClusterFolder, watchers: int, *, stay: bool
) -> tuple[subprocess.Popen[bytes] | None, str]:
    """A janitor that is ready, or its last words.

    Not a process of the event loop: one that stays outlives the loop, which would complain, or end it.
    """
    folder.root.mkdir(parents=True, exist_ok=True)
    errors = folder.root / f"{folder.name}.err"
    words = [sys.executable, "-m", "testbed.janitor", str(folder.root), folder.name, str(watchers)]
    with errors.open("wb") as complaints:
        keeper = subprocess.Popen(  # noqa: S603 - our own program
            [*words, *(["--stay"] if stay else [])],
            stdin=subprocess.DEVNULL if stay else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            cwd=REPOSITORY,
            start_new_session=True,
        )
    said = ""
    if keeper.stdout is not None:
        with keeper.stdout:
            said = keeper.stdout.readline().decode().strip()
    try:
        if said.startswith(janitor.READY):
            return keeper, said
        if keeper.stdin is not None:
            keeper.stdin.close()
        keeper.wait()
        complaint = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return None, said or (complaint[-1] if complaint else "it did not say why")
    finally:
        errors.unlink()

"""A real registry, as companies run one: TLS by an authority of its own, and accounts.

It is Debian's docker-registry, fetched and run without being installed: its package would leave a service on the
machine of whoever runs the tests. It listens on this machine's loopback, or in a box where nodes reach it.
"""

import asyncio
import base64
import os
import re
import secrets
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from shipping.image.downloads import one_program
from shipping.image.platforms import of_this_machine
from shipping.image.progress import Progress
from testbed.box import Box
from testbed.certificates import Authority
from testbed.rooms import CONTROL_ADDRESS

_LISTENING = re.compile(r"listening on [0-9.]+:(\d+), tls")
_PATIENCE_S = 30
_HASH = "print crypt($ENV{WORD}, q{$2b$05$} . $ENV{SALT})"
"""The registry takes only bcrypt, which the system's C library has and Python does not hand on."""
_IN_BOX = "registry"


@dataclass(frozen=True, slots=True)
class Registry:
    """`address` is what stands before the project in a name; `authority` the certificate that vouches for it."""

    address: str
    authority: Path
    user: str
    word: str

    @property
    def login(self) -> str:
        """What a request has as its header `Authorization`."""
        return f"Basic {base64.b64encode(f'{self.user}:{self.word}'.encode()).decode()}"


@dataclass(frozen=True, slots=True)
class Said:
    status: int
    output: str
    errors: str

    @property
    def everything(self) -> str:
        return self.output + self.errors


@dataclass(frozen=True, slots=True)
class _Prepared:
    """All that a registry needs but a process."""

    command: tuple[Path, str, Path]
    authority: Path
    user: str
    word: str

    def at(self, host: str, port: int) -> Registry:
        return Registry(f"{host}:{port}", self.authority, self.user, self.word)


@asynccontextmanager
async def running_registry(folder: Path) -> AsyncGenerator[Registry]:
    """An empty registry on loopback until the end of the block. What it prints is kept in the folder."""
    prepared = await _prepare(folder, "127.0.0.1", "localhost")
    printed = folder / "registry.log"
    with printed.open("wb") as log:
        process = await asyncio.create_subprocess_exec(*prepared.command, stdout=log, stderr=log)

    async def runs() -> bool:
        return process.returncode is None

    try:
        port = await _port(lambda: printed.read_text("utf-8", "replace"), runs)
        yield prepared.at("localhost", port)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@asynccontextmanager
async def registry_in(box: Box) -> AsyncGenerator[Registry]:
    """One in the network of a box, at the control plane's address."""
    prepared = await _prepare(box.folder.path / _IN_BOX, CONTROL_ADDRESS)
    await box.start(_IN_BOX, prepared.command)

    async def runs() -> bool:
        return any(one["name"] == _IN_BOX and one["status"] is None for one in await box.programs())

    try:
        yield prepared.at(CONTROL_ADDRESS, await _port(lambda: box.log(_IN_BOX), runs))
    finally:
        await box.stop(_IN_BOX)


async def _prepare(folder: Path, address: str, *names: str) -> _Prepared:
    folder.mkdir(exist_ok=True)
    program = await asyncio.to_thread(
        one_program, "docker-registry", "usr/bin/docker-registry", of_this_machine(), Progress(sys.stdout)
    )
    user, word = "pusher", secrets.token_urlsafe(12)
    authority = Authority(folder, "registry-authority")
    pair = authority.issue("registry", "registry", addresses=(address, *names))
    accounts = folder / "accounts"
    accounts.write_text(f"{user}:{await _hashed(word)}\n", "utf-8")
    settings = {
        "version": 0.1,
        "log": {"accesslog": {"disabled": False}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "stored")}},
        "http": {
            # Port 0: the kernel chooses one that is free, and the log says which.
            "addr": f"{address}:0",
            "secret": secrets.token_hex(16),
            "tls": {"certificate": str(pair.certificate), "key": str(pair.key)},
        },
        "auth": {"htpasswd": {"realm": "tangram", "path": str(accounts)}},
    }
    config = folder / "registry.yaml"
    config.write_text(yaml.safe_dump(settings), "utf-8")
    return _Prepared((program, "serve", config), authority.certificate, user, word)


async def said_by(program: Path, *words: str | Path, environment: Mapping[str, str]) -> Said:
    """Run a command to its end with this environment on top of ours."""
    process = await asyncio.create_subprocess_exec(
        program,
        *words,
        env={**os.environ, **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert process.returncode is not None
    return Said(process.returncode, output.decode(), errors.decode())


async def _port(printed: Callable[[], str], runs: Callable[[], Awaitable[bool]]) -> int:
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            still = await runs()
            text = printed()
            found = _LISTENING.search(text)
            if found is not None:
                return int(found[1])
            assert still, f"The registry ended:\n{text}"
            await asyncio.sleep(0.05)


async def _hashed(word: str) -> str:
    salt = "".join(secrets.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(21)) + "u"
    said = await said_by(Path("/usr/bin/perl"), "-e", _HASH, environment={"WORD": word, "SALT": salt})
    assert said.output.startswith("$2b$"), said
    return said.output

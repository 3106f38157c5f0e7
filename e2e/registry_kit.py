"""A real registry on this machine's loopback, as companies run one: TLS by an authority of its own, and accounts.

It is Debian's docker-registry, fetched and run without being installed: its package would leave a service on the
machine of whoever runs the tests.
"""

import asyncio
import os
import re
import secrets
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from shipping.image.downloads import one_program
from shipping.image.platforms import of_this_machine
from shipping.image.progress import Progress
from testbed.certificates import Authority

_LISTENING = re.compile(r"listening on 127\.0\.0\.1:(\d+), tls")
_PATIENCE_S = 30
_HASH = "print crypt($ENV{WORD}, q{$2b$05$} . $ENV{SALT})"
"""The registry takes only bcrypt, which the system's C library has and Python does not hand on."""


@dataclass(frozen=True, slots=True)
class Registry:
    """`address` is what stands before the project in a name; `authority` the certificate that vouches for it."""

    address: str
    authority: Path
    user: str
    word: str


@dataclass(frozen=True, slots=True)
class Said:
    status: int
    output: str
    errors: str

    @property
    def everything(self) -> str:
        return self.output + self.errors


@asynccontextmanager
async def running_registry(folder: Path) -> AsyncGenerator[Registry]:
    """An empty registry until the end of the block. What it prints is kept in the folder."""
    program = await asyncio.to_thread(
        one_program, "docker-registry", "usr/bin/docker-registry", of_this_machine(), Progress(sys.stdout)
    )
    user, word = "pusher", secrets.token_urlsafe(12)
    authority = Authority(folder, "registry-authority")
    pair = authority.issue("registry", "registry", addresses=("127.0.0.1", "localhost"))
    accounts = folder / "accounts"
    accounts.write_text(f"{user}:{await _hashed(word)}\n", "utf-8")
    settings = {
        "version": 0.1,
        "log": {"accesslog": {"disabled": False}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "stored")}},
        "http": {
            # Port 0: the kernel chooses one that is free, and the log says which.
            "addr": "127.0.0.1:0",
            "secret": secrets.token_hex(16),
            "tls": {"certificate": str(pair.certificate), "key": str(pair.key)},
        },
        "auth": {"htpasswd": {"realm": "tangram", "path": str(accounts)}},
    }
    config = folder / "registry.yaml"
    config.write_text(yaml.safe_dump(settings), "utf-8")
    printed = folder / "registry.log"
    with printed.open("wb") as log:
        process = await asyncio.create_subprocess_exec(program, "serve", config, stdout=log, stderr=log)
    try:
        port = await _port(process, printed)
        yield Registry(f"localhost:{port}", authority.certificate, user, word)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


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


async def _port(process: asyncio.subprocess.Process, printed: Path) -> int:
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            text = printed.read_text("utf-8", "replace")
            found = _LISTENING.search(text)
            if found is not None:
                return int(found[1])
            assert process.returncode is None, f"The registry ended:\n{text}"
            await asyncio.sleep(0.05)


async def _hashed(word: str) -> str:
    salt = "".join(secrets.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(21)) + "u"
    said = await said_by(Path("/usr/bin/perl"), "-e", _HASH, environment={"WORD": word, "SALT": salt})
    assert said.output.startswith("$2b$"), said
    return said.output

"""`tangram images` with a real registry and a real containerd: what is sent after a cut, and what is said when it ends.

Between the tool and the registry stands a line that counts what goes through it, and can be cut. What comes out of a
registry is asked without the tool.
"""

import asyncio
import hashlib
import os
import re
import shlex
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from builders.saved_images import BEFORE, BEFORE_FILE, SINCE, SINCE_FILE, saved_archive
from e2e.registry_kit import Registry, Said, running_registry
from tangram.services.images.archive import Archive, opened
from testbed.binaries import find_binaries

TANGRAM = Path(sys.executable).with_name("tangram")
PROJECT = "cloud"
LAYER = 24 << 20
MEGABYTE = 1 << 20
_PUSHED = re.compile(r"^(sha256:[0-9a-f]{12}) pushed", re.MULTILINE)


@dataclass
class Line:
    """A way to the registry. `sent` are the bytes towards it; at `cut_at` of them it breaks, once."""

    address: str
    sent: int = 0
    cut_at: int = 0
    cuts: int = 0
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    wanted: int = 0
    """Bytes after which `reached` is set."""

    def begin(self, *, wanted: int = 0, cut_at: int = 0) -> None:
        self.sent, self.cuts, self.wanted, self.cut_at = 0, 0, wanted, cut_at
        self.reached.clear()


@asynccontextmanager
async def line_to(registry: Registry) -> AsyncGenerator[Line]:
    port = int(registry.address.rpartition(":")[2])
    line = Line("")
    tasks: set[asyncio.Task[None]] = set()

    async def connected(here: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        there, on = await asyncio.open_connection("127.0.0.1", port)

        async def answers() -> None:
            while data := await there.read(65536):
                back.write(data)
                await back.drain()
            back.close()

        task = asyncio.create_task(answers())
        tasks.add(task)
        with suppress(ConnectionError):
            while data := await here.read(65536):
                line.sent += len(data)
                if line.wanted and line.sent >= line.wanted:
                    line.reached.set()
                if line.cut_at and line.sent >= line.cut_at:
                    line.cut_at, line.cuts = 0, line.cuts + 1
                    break
                on.write(data)
                await on.drain()
        for writer in (on, back):
            writer.transport.abort()
        task.cancel()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    line.address = f"localhost:{server.sockets[0].getsockname()[1]}"
    try:
        yield line
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest_asyncio.fixture
async def registry(tmp_path: Path) -> AsyncIterator[Registry]:
    async with running_registry(tmp_path / "registry") as running:
        yield running


@pytest_asyncio.fixture
async def line(registry: Registry) -> AsyncIterator[Line]:
    async with line_to(registry) as line:
        yield line


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MXMACA's image in small: two layers of random bytes."""
    return saved_archive(tmp_path_factory.mktemp("large") / "image.tar", size=LAYER)


async def begins(registry: Registry, *words: str | Path, word: str = "") -> asyncio.subprocess.Process:
    login = ("--ca", registry.authority, "--user", registry.user, "--password-stdin")
    process = await asyncio.create_subprocess_exec(
        TANGRAM,
        *("images", *words, *login),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(f"{word or registry.word}\n".encode())
    process.stdin.close()
    return process


async def said(registry: Registry, *words: str | Path, word: str = "") -> Said:
    return await ending(await begins(registry, *words, word=word))


async def ending(process: asyncio.subprocess.Process) -> Said:
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = await asyncio.gather(process.stdout.read(), process.stderr.read())
    return Said(await process.wait(), output.decode(), errors.decode())


async def kept(registry: Registry, path: str) -> bytes:
    trust = ssl.create_default_context(cafile=str(registry.authority))
    headers = {
        "Accept": "application/vnd.oci.image.manifest.v1+json",
        "Authorization": aiohttp.encode_basic_auth(registry.user, registry.word),
    }
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.get(f"https://{registry.address}/v2/{PROJECT}/{path}", ssl=trust) as answer,
    ):
        return await answer.read() if answer.status == 200 else b""


def blobs(archive: Archive) -> dict[str, int]:
    return {blob.digest: blob.size for blob in archive.images[0].blobs()}


@pytest.mark.smoke
@pytest.mark.parametrize(("file", "name"), [(BEFORE_FILE, BEFORE), (SINCE_FILE, SINCE)])
async def test_metax_files_are_pushed_as_they_are_and_come_back_with_the_same_digests(
    registry: Registry, tmp_path: Path, file: str, name: str
) -> None:
    path = saved_archive(tmp_path / file, names=(name,), size=MEGABYTE)
    place, tail = f"{registry.address}/{PROJECT}", name.rpartition("/")[2]
    pushed = await said(registry, "push", place, "--archive", path)
    assert pushed.status == 0, pushed
    assert f"{place}/{tail} " in pushed.output
    with opened(path) as archive:
        (image,) = archive.images
        manifest = await kept(registry, f"{image.repository}/manifests/{image.tag}")
        assert f"sha256:{hashlib.sha256(manifest).hexdigest()}" == image.top.digest
        for blob in image.blobs():
            assert await kept(registry, f"{image.repository}/blobs/{blob.digest}") == archive.read(blob)
    for options in ((), ("--read",)):
        verified = await said(registry, "verify", place, "--archive", path, *options)
        assert (verified.status, verified.errors) == (0, ""), verified
    again = await said(registry, "push", place, "--archive", path)
    assert " pushed" not in again.everything


async def test_a_push_that_is_killed_sends_again_only_what_had_not_arrived(
    registry: Registry, line: Line, large: Path
) -> None:
    with opened(large) as archive:
        sizes = blobs(archive)
    total = sum(sizes.values())
    words = ("push", f"{line.address}/{PROJECT}", "--archive", large)
    line.begin(wanted=total * 9 // 10)
    process = await begins(registry, *words)
    async with asyncio.timeout(60):
        await line.reached.wait()
    process.send_signal(signal.SIGKILL)
    cut = await ending(process)
    assert cut.status == -signal.SIGKILL
    before = line.sent
    there = {one for one in sizes if await _is_there(registry, one)}
    assert {digest[:19] for digest in there} >= set(_PUSHED.findall(cut.errors))
    name = SINCE.rpartition(":")[2]
    assert await kept(registry, f"mxc500-maca/manifests/{name}") == b"", (
        "nothing can be pulled that is not whole"
    )

    line.begin()
    again = await said(registry, *words)
    assert again.status == 0, again
    rest = total - sum(sizes[one] for one in there)
    assert line.sent <= rest + MEGABYTE, "a blob that was there was sent again"
    repeated = before + line.sent - total
    assert repeated <= sum(size for digest, size in sizes.items() if digest not in there) + MEGABYTE

    line.begin()
    assert (await said(registry, *words)).status == 0
    assert line.sent < MEGABYTE, "all of it is there"


async def _is_there(registry: Registry, digest: str) -> bool:
    return await kept(registry, f"mxc500-maca/blobs/{digest}") != b""


async def test_a_line_that_breaks_in_the_midst_is_no_end_of_a_push(
    registry: Registry, line: Line, large: Path
) -> None:
    with opened(large) as archive:
        total = sum(blobs(archive).values())
    line.begin(cut_at=total // 2)
    pushed = await said(registry, "push", f"{line.address}/{PROJECT}", "--archive", large)
    assert pushed.status == 0, pushed
    assert line.cuts == 1
    assert line.sent <= total + LAYER + MEGABYTE, "at most the blob that was on the broken connection"


async def test_bad_credentials_and_a_missing_layer_are_a_sentence_each(
    registry: Registry, tmp_path: Path
) -> None:
    whole = saved_archive(tmp_path / "image.tar")
    place = f"{registry.address}/{PROJECT}"
    wrong = await said(registry, "push", place, "--archive", whole, word="guess")
    assert (wrong.status, wrong.output, wrong.errors.count("\n")) == (1, "", 1)
    assert "does not accept 'pusher' with this password" in wrong.errors
    lacking = saved_archive(tmp_path / "lacking.xz", changes={"0": None})
    for command in (("push", place), ("verify", place)):
        told = await said(registry, *command, "--archive", lacking)
        assert (told.status, told.output, told.errors.count("\n")) == (1, "", 1)
        assert "a layer, 0" in told.errors
        assert "which manifest.json names, is not in it" in told.errors
    assert await kept(registry, "mxc500-maca/tags/list") == b"", "nothing was sent"
    missing = await said(registry, "verify", place, "--archive", whole)
    assert missing.status == 1
    assert f"{place} is not what {whole} holds: {place}/{SINCE} is missing" in missing.errors


async def test_a_registry_whose_disk_is_full_is_a_sentence(
    registry: Registry, tmp_path: Path, large: Path
) -> None:
    with small_disk(tmp_path / "registry" / "stored", 8):
        told = await said(registry, "push", f"{registry.address}/{PROJECT}", "--archive", large)
    assert (told.status, told.output) == (1, "")
    last = told.errors.splitlines()[-1]
    assert "see its log, and whether its disk is full" in last


@pytest.mark.parametrize("place", ["containerd", "spool"])
def test_a_full_disk_while_loading_is_a_sentence(tmp_path: Path, place: str) -> None:
    """A containerd of its own, in a namespace where its usual socket is free, on a disk of a few megabytes."""
    path = saved_archive(tmp_path / SINCE_FILE, size=LAYER)
    programs = find_binaries()
    folder = tmp_path / "containerd"
    folder.mkdir()
    small = folder if place == "containerd" else tmp_path / "spool"
    small.mkdir(exist_ok=True)
    words = shlex.join([str(TANGRAM), "images", "load", "--runtime", "containerd", "--archive", str(path)])
    script = f"""
mkdir -p /run/containerd; mount -t tmpfs tmpfs /run/containerd; mount -t tmpfs -o size=20m tmpfs {small}
{programs.path("containerd")} --root {folder} --state /run/containerd/state --address /run/containerd/containerd.sock \\
    >{tmp_path}/containerd.log 2>&1 &
for _ in $(seq 200); do [ -S /run/containerd/containerd.sock ] && break; sleep 0.1; done
status=0
TMPDIR={tmp_path if place == "containerd" else small} {words} || status=$?
kill %1; wait
exit $status
"""
    answer = subprocess.run(  # noqa: S603 - our own script
        [
            "/usr/bin/unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "/bin/bash",
            "-ec",
            script,
        ],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{programs.path('ctr').parent}:{os.environ['PATH']}"},
        timeout=120,
    )
    assert (answer.returncode, answer.stdout) == (1, ""), answer
    assert answer.stderr.count("\n") == 1, answer.stderr
    if place == "containerd":
        assert "has no room for mxc500-maca" in answer.stderr
        assert "make room there, then load again" in answer.stderr
    else:
        assert f"is unpacked into {small}, and that disk is full: set TMPDIR" in answer.stderr


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Generator[None]:
    """A file system of so many megabytes over this folder."""
    folder.mkdir(exist_ok=True)
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    subprocess.run(["/bin/mount", *options], check=True)  # noqa: S603 - mount
    try:
        yield
    finally:
        subprocess.run(["/bin/umount", "--lazy", str(folder)], check=True)  # noqa: S603 - umount

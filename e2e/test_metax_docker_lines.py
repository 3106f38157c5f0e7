"""Where the image is in a command line: what we read, held against what Docker's own client sends to its engine.

The engine is a socket that writes down each container that is asked for and refuses it, so that five hundred command
lines need no container.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from builders.docker_lines import starts
from e2e.debian_kit import environment_of, programs_of
from e2e.docker_kit import PACKAGES
from tangram.services.docker_host.option_table import Kinds
from tangram.services.docker_host.reading import read_command, read_start

LINES = 500
AT_ONCE = 4
REFUSAL = json.dumps({"message": "written down"}).encode()


@asynccontextmanager
async def recording_engine(socket: Path, written: dict[str, Any]) -> AsyncIterator[None]:
    """An engine of nobody: `written` has what was asked for by the name of the container."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            request, _, headers = head.partition("\r\n")
            length = next(
                (
                    int(line.split(":")[1])
                    for line in headers.split("\r\n")
                    if line.lower().startswith("content-length:")
                ),
                0,
            )
            body = await reader.readexactly(length)
            status, said = "200 OK", b"OK"
            if "/containers/create" in request:
                found = json.loads(body)
                written[found["Labels"]["line"]] = found
                status, said = "400 Bad Request", REFUSAL
            writer.write(
                f"HTTP/1.1 {status}\r\nApi-Version: 1.41\r\nOSType: linux\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(said)}\r\n\r\n".encode()
                + (b"" if request.startswith("HEAD") else said)
            )
            await writer.drain()
        writer.close()

    async with await asyncio.start_unix_server(answer, socket):
        yield


async def _head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode()
    except (asyncio.IncompleteReadError, ConnectionError):
        return ""


def unasked() -> Kinds:
    raise AssertionError("the table knows every option here")


async def test_m105_docker_finds_the_image_of_five_hundred_lines_where_we_do(tmp_path: Path) -> None:
    programs = await asyncio.to_thread(programs_of, "docker", PACKAGES)
    environment = {
        **environment_of(programs),
        "HOME": str(tmp_path),
        "DOCKER_HOST": f"unix://{tmp_path}/sock",
    }
    (tmp_path / "vars").write_text("A=1\n")
    turn = asyncio.Semaphore(AT_ONCE)

    async def docker(*words: str) -> str:
        async with turn:
            process = await asyncio.create_subprocess_exec(
                "docker",
                *words,
                env=environment,
                cwd=tmp_path,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            out, _ = await process.communicate()
            return out.decode("utf-8", "replace")

    read = [(line, read_start(read_command(line.written).rest, unasked)) for line in starts(4 * LINES, 105)]
    # What came later than this Docker tells nothing about where the image is; trust in content asks a server.
    assert all(line.image == start.image for line, start in read)
    told = [start for _, start in read if _known(start.words, start.image)][: LINES * 5 // 4]
    written: dict[str, Any] = {}
    async with recording_engine(tmp_path / "sock", written):
        said = await asyncio.gather(
            *(docker("run", f"--label=line={at}", *start.words) for at, start in enumerate(told))
        )
    # The rest was refused by the client for its values, before it asked for anything.
    assert len(written) >= LINES, [each for each in said if "written down" not in each][:20]
    for at, start in enumerate(told):
        found = written.get(str(at))
        assert (found is None) == ("written down" not in said[at])
        if found is not None:
            behind = list(start.words[_image_at(start.words, start.image) + 1 :])
            assert (found["Image"], found["Cmd"] or []) == (start.image, behind), start.words


def _image_at(words: tuple[str, ...], image: str | None) -> int:
    """No word behind an image is the name of one here."""
    return max(at for at, word in enumerate(words) if word == image)


def _known(words: tuple[str, ...], image: str | None) -> bool:
    options = words[: _image_at(words, image)]
    names = {word[2:].partition("=")[0] for word in options if word.startswith("--")}
    unusable = {"annotation", "disable-content-trust", "health-start-interval", "quiet", "use-api-socket"}
    return not names & unusable and all("q" not in word for word in options if word[:1] == "-" != word[1:2])

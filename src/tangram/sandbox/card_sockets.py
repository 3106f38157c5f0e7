"""The cards of each machine at a socket, so that people can look at them and break them while pods run.

`tangram simulate-cards ctl` and `--driver simulated:unix:` speak to these as to any other simulation. The sockets are
where paths are short; in the sandbox's folder are links to them, by the names of the nodes. Where there are so many
machines that they sleep until somebody needs them, there are none: a socket each is more than a process may open.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.drivers.simulated.serving import LONGEST_LINE, answer
from tangram.drivers.simulated.world import World
from tangram.sandbox.folder import Folder

LINKS: Final = "cards"


@asynccontextmanager
async def card_sockets(nodes: Mapping[str, World], folder: Folder) -> AsyncGenerator[None]:
    """Meanwhile the cards of every node that has any are served."""
    links, sockets = folder.path / LINKS, folder.sockets / LINKS
    shutil.rmtree(links, ignore_errors=True)
    links.mkdir()
    sockets.mkdir()
    async with AsyncExitStack() as stack:
        for number, (node, world) in enumerate(nodes.items()):
            if world.description.cards:
                path = sockets / str(number)
                await stack.enter_async_context(_served(world, path))
                (links / f"{node}.sock").symlink_to(path)
        try:
            yield
        finally:
            shutil.rmtree(links, ignore_errors=True)


@asynccontextmanager
async def _served(world: World, path: Path) -> AsyncGenerator[None]:
    driver = SimulatedDriver(world)
    open_now: set[asyncio.StreamWriter] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_now.add(writer)
        try:
            # A line that is too long ends the conversation; one that breaks off was never said.
            while (line := await _line(reader)).endswith(b"\n"):
                # A card that hangs takes its time, and the rest of the sandbox must not wait for it.
                writer.write(await asyncio.to_thread(answer, driver, line) + b"\n")
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            open_now.discard(writer)
            writer.close()

    server = await asyncio.start_unix_server(talk, path, limit=LONGEST_LINE)
    try:
        yield
    finally:
        server.close()
        for writer in open_now:
            writer.close()


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:
        return b""

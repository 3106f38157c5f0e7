"""Drivers go back and forth while controller and driver-managers are killed at random moments: it always ends well.

A kill here is SIGKILL to the process inside its container, which the kubelet then starts again; nobody is asked to end.
"""

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from e2e.helm_kit import Shipped
from e2e.operator_kit import NEW, OLD, Operated, operated, values
from e2e.operator_view_kit import host_files, watching_nodes
from tangram.services.driver_manager.journal import Journal
from tangram.wire.operator import names
from testbed import cgroups
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("operator-chaos")

KILLS = 50
BUDGET = 2
PATIENCE = 300.0
SEED = int(os.environ.get("TANGRAM_CHAOS_SEED", "11"))
VICTIMS = ("operator", "driver-manager")
KILLS_OF_A_ROUND = (5, 10)
PAUSE = (0.2, 4.0)


@pytest_asyncio.fixture(scope="module")
async def ready(operator_release: Shipped) -> AsyncIterator[Operated]:
    async with operated(operator_release, Options(nodes=3, hurry=True)) as made:
        await made.install(values(driver__upgradePolicy={"maxUnavailable": BUDGET}))
        await made.until_ready()
        yield made


def processes(ready: Operated) -> list[tuple[int, str]]:
    """Of the programs that are killed, in this cluster and nowhere else, with their command lines."""
    found: dict[int, str] = {}
    for branch in cgroups.branches(ready.cluster.box.folder.name):
        for pid in cgroups.members(branch):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            line = " ".join(Path(word.decode(errors="replace")).name for word in words if word)
            command = line.partition("tangram ")[2]
            if command.split(" ", 1)[0] in VICTIMS:
                found[pid] = f"tangram {command}"
    return sorted(found.items())


async def kill_some(ready: Operated, dice: random.Random, count: int) -> list[str]:
    """Kill so many processes, one after the other; what was killed."""
    killed: list[str] = []
    while len(killed) < count:
        await asyncio.sleep(dice.uniform(*PAUSE))
        there = processes(ready)
        if not there:
            continue
        pid, line = dice.choice(there)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        killed.append(line)
    return killed


async def test_fifty_kills_during_upgrades_leave_every_node_whole(ready: Operated) -> None:
    dice = random.Random(SEED)  # noqa: S311 - dice, not secrets
    killed: list[str] = []
    wanted = OLD
    while len(killed) < KILLS:
        wanted = NEW if wanted == OLD else OLD
        async with watching_nodes(ready.cluster) as timeline:
            await ready.want_driver(wanted)
            killed += await kill_some(ready, dice, dice.randint(*KILLS_OF_A_ROUND))
            # Nobody is killed any more: what was begun is brought to an end.
            await ready.until_ready(wanted, within=PATIENCE)
        print(f"{len(killed)} kills, all nodes run {wanted}: {killed}")  # noqa: T201 - shown when it fails
        assert timeline.most_held() <= BUDGET, timeline.out_of_service
        for name in await ready.nodes():
            assert await ready.loaded(name) == wanted
            await is_whole(ready, name, wanted)
    assert {words.split()[1] for words in killed} == set(VICTIMS)


async def is_whole(ready: Operated, node: str, version: str) -> None:
    """Every folder of a driver is complete, the link leads to the right one, and nothing is under way."""
    room = ready.cluster.box.folder.of_room(node)
    assert (room.opt / "mxdriver").readlink() == Path(f"mxdriver-{version}")
    for folder in room.opt.glob("mxdriver-*"):
        its_own = folder.name.removeprefix("mxdriver-")
        assert (folder / "version").read_text("ascii") == f"{its_own}\n"
        assert (folder / "bin" / "mx-smi").stat().st_mode & 0o111
    text = (room.path / names.JOURNAL.removeprefix("/var/") / "journal.json").read_bytes()
    journal = msgspec.json.decode(text, type=Journal)
    assert journal.change is None
    assert journal.loaded.version == version
    # Whatever is half done has such a name; a folder's own mark of its payload lies inside it.
    places = {Path("/opt"), Path(names.JOURNAL)}
    left = [Path(path) for path in await host_files(ready.cluster, node, *map(str, places))]
    assert [path for path in left if path.name.startswith(".") and path.parent in places] == []

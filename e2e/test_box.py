"""A box ends with whoever opened it, however that ended, and leaves nothing on the machine."""

import asyncio
import contextlib
import gc
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed import cgroups, leftovers
from testbed.box import REPOSITORY, Box
from testbed.cluster import Cluster
from testbed.errors import BedError
from testbed.options import Options
from testbed.places import VARIABLE, ClusterFolder, state_root

# A test process in little: it opens a cluster, says which, and then never ends by itself.
OWNER = """
import asyncio
from testbed.cluster import Cluster
from testbed.options import Options

async def main() -> None:
    async with Cluster.open(Options(nodes=1)) as cluster:
        print(cluster.box.folder.name, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@dataclass(frozen=True, slots=True)
class Traces:
    """Everything by which a cluster could be noticed from outside."""

    folder: ClusterFolder
    processes: frozenset[int]
    namespaces: frozenset[str]

    def left(self) -> list[str]:
        found = [f"process {pid}" for pid in self.processes if Path(f"/proc/{pid}").exists()]
        # The kernel gives the numbers of namespaces that are gone to the next ones, so other clusters do not count.
        others = [
            branch
            for top in cgroups.branches()
            if top.exists()
            for branch in top.iterdir()
            if branch.is_dir()
        ]
        elsewhere = {
            pid for branch in others if branch.name != self.folder.name for pid in cgroups.members(branch)
        }
        found += [f"namespace {one}" for one in self.namespaces & namespaces_of(every_process() - elsewhere)]
        found += [f"cgroup {branch}" for branch in cgroups.branches(self.folder.name) if branch.exists()]
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
        found += [f"mount {line}" for line in mounts.splitlines() if self.folder.name in line]
        return found + [f"folder {self.folder.path}"] * self.folder.path.exists()


def every_process() -> frozenset[int]:
    return frozenset(int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())


def namespaces_of(processes: frozenset[int]) -> frozenset[str]:
    found: set[str] = set()
    for pid in processes:
        with contextlib.suppress(OSError):
            links = [
                link for link in Path(f"/proc/{pid}/ns").iterdir() if not link.name.endswith("_for_children")
            ]
            found |= {str(link.readlink()) for link in links}
    return frozenset(found)


def traces_of(name: str) -> Traces:
    inside = frozenset(pid for branch in cgroups.branches(name) for pid in cgroups.members(branch))
    outside = namespaces_of(frozenset({os.getpid()}))
    return Traces(ClusterFolder(state_root(), name), inside, namespaces_of(inside) - outside)


@contextlib.asynccontextmanager
async def owner() -> AsyncGenerator[tuple[asyncio.subprocess.Process, Traces]]:
    """A process with a cluster of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, stdout=asyncio.subprocess.PIPE, cwd=REPOSITORY
    )
    try:
        assert process.stdout is not None
        traces = traces_of((await process.stdout.readline()).decode().strip())
        assert len(traces.processes) >= 6
        assert len(traces.namespaces) >= 8
        yield process, traces
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def until_nothing_is_left(traces: Traces) -> None:
    async with asyncio.timeout(60):
        while traces.left():
            await asyncio.sleep(0.05)


@pytest.mark.smoke
async def test_a_killed_test_leaves_no_process_mount_cgroup_link_or_namespace() -> None:
    async with owner() as (process, traces):
        process.send_signal(signal.SIGKILL)
        await process.wait()
        await until_nothing_is_left(traces)


@pytest.fixture
def own_root(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Clusters of this test alone: elsewhere the next test of another worker would clear its leftovers first."""
    root = Path(tempfile.mkdtemp(prefix="bed-"))
    monkeypatch.setenv(VARIABLE, str(root))
    yield
    shutil.rmtree(root)


@pytest.mark.usefixtures("own_root")
async def test_what_a_killed_janitor_leaves_is_cleared_by_the_next_run() -> None:
    async with owner() as (process, traces):
        facts = json.loads(traces.folder.facts.read_text(encoding="ascii"))
        os.kill(facts["janitor"], signal.SIGKILL)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        async with asyncio.timeout(60):
            while traces.processes & every_process():
                await asyncio.sleep(0.05)
        assert traces.left(), "files and cgroups stay: the one who clears them away is dead"
        async with Box.open():
            await until_nothing_is_left(traces)


async def test_clusters_run_beside_each_other_and_do_not_meet() -> None:
    async with Cluster.open(Options(nodes=1)) as one, Cluster.open(Options(nodes=1)) as other:
        account = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}
        await one.api.create(account)
        await other.api.create(account)
        assert one.box.folder.name != other.box.folder.name


@pytest.mark.smoke
async def test_twenty_boxes_in_a_row_leak_nothing() -> None:
    async def round_trip() -> str:
        async with Box.open() as box:
            await box.add_room("n1", 1)
            await box.start("sleep", ["/bin/sleep", "1000"], room="n1")
            return box.folder.name

    await round_trip()
    before = _open_files()
    names = [await round_trip() for _ in range(20)]
    assert _open_files() <= before
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    for name in names:
        assert name not in mounts
        assert not any(branch.exists() for branch in cgroups.branches(name))
        assert not ClusterFolder(state_root(), name).path.exists()


def _open_files() -> int:
    """Of this process; what earlier tests merely forgot is closed first, or it would count as ours, or hide ours."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_nothing_of_the_machine_can_be_written_from_inside() -> None:
    script = """
    for file in /usr/written /var/written /proc/sys/vm/swappiness /proc/sys/kernel/pid_max $NOT_MINE; do
      (echo 60 > $file) 2>/dev/null && echo "$file was written"
    done
    echo 10 > /proc/sys/kernel/panic; touch $MINE /run/mine /var/lib/mine /var/log/mine /opt/mine /dev/mine; echo done
    """
    settings = {"control": {"NOT_MINE": "/etc/mine"}, "n1": {"MINE": "/etc/mine"}}
    panic = Path("/proc/sys/kernel/panic").read_text(encoding="ascii")
    async with Box.open() as box:
        await box.add_room("n1", 1)
        for room in ("control", "n1"):
            await box.start(f"writer-{room}", ["/bin/sh", "-c", script], room=room, env=settings[room])
            assert await box.wait(f"writer-{room}") == 0
            assert box.log(f"writer-{room}").split() == ["done"]
    assert Path("/proc/sys/kernel/panic").read_text(encoding="ascii") == panic
    changed = ("/etc", "/run", "/var/lib", "/var/log", "/opt", "/dev")
    assert not any((Path(folder) / "mine").exists() for folder in changed)


async def test_a_rooms_routes_lead_nowhere_else_and_no_name_server_is_known() -> None:
    async with Box.open() as box:
        await box.add_room("n1", 1)
        for room in ("control", "n1"):
            await box.start(
                f"look-{room}", ["/bin/sh", "-c", "ip route show default; cat /etc/resolv.conf"], room=room
            )
            await box.wait(f"look-{room}")
            assert box.log(f"look-{room}").strip() == "unreachable default"


async def test_a_program_that_cannot_start_says_why_and_the_box_goes_on() -> None:
    async with Box.open() as box:
        await box.start("nothing", ["/does/not/exist"])
        assert await box.wait("nothing") == 127
        assert "cannot start /does/not/exist" in box.log("nothing")
        with pytest.raises(BedError, match="no-such-room"):
            await box.start("x", ["/bin/true"], room="no-such-room")
        await box.start("good", ["/bin/true"])
        assert await box.wait("good") == 0


async def test_a_running_cluster_is_never_taken_for_a_leftover() -> None:
    async with Box.open() as box:
        assert box.folder.name not in leftovers.sweep(state_root())
        assert [found.alive for found in leftovers.clusters(state_root()) if found.folder == box.folder] == [
            True
        ]

"""A node with MetaX's driver on it: cards that exist as files of `/sys`, the vendor's library where its package puts
it, and the agent, which finds both as it does on a machine with cards (`--driver auto`).

The library is our twin of it, or the vendor's file where a variable names one. Only the agent sees the made-up `/sys`,
by a mount namespace of its own; kubelet, containerd and containers go on with theirs. What the kernel does at a write
is done by its stand-in inside the agent's process, so the agent is never killed in the middle of that: a kernel would
finish it.
"""

import fcntl
import os
import shutil
import signal
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from builders.metax_tree import CLASS_ROOT, MetaxTree, TreeSlice
from builders.mxsml_twin import SOURCES, c500
from builders.native import shared_object
from e2e.agent_kit import AgentNode, device_config
from e2e.agent_watch_kit import until_counts
from e2e.slice_pods_kit import SLICE
from tangram.drivers.sysfs.driver import Settings, SysfsDriver
from testbed.cluster import Cluster
from testbed.errors import BedError

MXSML = "TANGRAM_MXSML"
"""In the environment: the vendor's libmxsml.so."""
NOT_GIVEN = (
    "MetaX's own library was not given, so the agent ran over our twin of it alone: "
    "make real-libraries MXSML=/path/libmxsml.so KUBELET=1 runs it over both (docs/real-libraries.md)."
)
CARDS = 8
SLOTS = 16
BY_HAND = TreeSlice(15, memory=128, compute=0, alias="by-hand", uuid="b10c0000-0000-0000-0000-000000000015")
"""A slice that a person made, on the last card."""

_HARMLESS = (1, 3)
_LIBRARY = Path("mxdriver/lib/libmxsml.so")
_KERNEL = Path("mxdriver/lib/kernel.so")
_KERNEL_SOURCES = tuple(f"mxsml/{name}.c" for name in ("preload", "kernel", "tree"))
_OVER_SYS = 'mount --bind /run/metax-sys /sys && exec "$@"'


def libraries() -> list[str]:
    """The libraries that the agent is run over."""
    return ["twin", "real"] if os.environ.get(MXSML) else ["twin"]


class CardTree:
    """The made-up `/sys` of a node, from outside."""

    def __init__(self, run: Path) -> None:
        self.sysfs = run / "metax-sys"
        self.dev = run / "metax-dev"
        self._aside = run / "metax-aside"

    def grow(self, tree: MetaxTree) -> None:
        """Instead of what was there."""
        for folder in (self.sysfs, self.dev, self._aside):
            shutil.rmtree(folder, ignore_errors=True)
        tree.grow(self.sysfs, self.dev)

    @contextmanager
    def between_writes(self) -> Generator[None]:
        """A moment at which the kernel's stand-in does nothing: it takes the same lock for each write."""
        lock = os.open(self.sysfs, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def reader(self) -> SysfsDriver:
        """Reads the files themselves, past every library."""
        return SysfsDriver(Settings(sysfs_root=str(self.sysfs), dev_root=str(self.dev)))

    def nameless(self) -> bool:
        """Whether a slice is there that was not named yet."""
        return any(not alias.read_text().strip() for alias in self.sysfs.glob("devices/**/sgpu/sgpu*/alias"))

    # ---- cards that go and return with their slices as they were

    def lose(self, bdf: str) -> None:
        """The card falls off the bus."""
        with self.between_writes():
            home = self._home(bdf)
            for link in self._links(bdf):
                link.unlink()
            for node in self._nodes(bdf):
                self._put_aside(node)
            self._put_aside(home)

    def limit(self, bdf: str) -> None:
        """The card stays on the bus, and its figures cannot be read: the library calls it limited."""
        with self.between_writes():
            self._put_aside(self._home(bdf) / "smi")

    def bring_back(self) -> None:
        """Everything that was lost."""
        with self.between_writes():
            for kept in sorted(self._aside.rglob("*.kept")):
                home = self.sysfs / kept.relative_to(self._aside).with_suffix("")
                home.parent.mkdir(parents=True, exist_ok=True)
                kept.rename(home)
            for home in self.sysfs.glob("devices/**/drm"):
                for link in self._links(home.parent.name):
                    if not link.is_symlink():
                        link.symlink_to(os.path.relpath(home.parent, link.parent))

    def _home(self, bdf: str) -> Path:
        return (self.sysfs / "bus/pci/devices" / bdf).resolve()

    def _links(self, bdf: str) -> tuple[Path, Path]:
        """As the kernel takes them away: from its driver first."""
        bus = self.sysfs / "bus/pci"
        return bus / "drivers/METAX" / bdf, bus / "devices" / bdf

    def _nodes(self, bdf: str) -> list[Path]:
        """Of the card and of its slices, in the kernel's layout."""
        locations = self.sysfs.glob(f"{CLASS_ROOT}/layout/nodes/*/location")
        return [each.parent for each in locations if each.read_text().strip() == bdf]

    def _put_aside(self, path: Path) -> None:
        kept = self._aside / path.relative_to(self.sysfs).with_suffix(f"{path.suffix}.kept")
        kept.parent.mkdir(parents=True, exist_ok=True)
        path.rename(kept)


@dataclass
class MetaxHost(AgentNode):
    """A node with such cards and an agent."""

    @property
    def tree(self) -> CardTree:
        return CardTree(self.cluster.room(self.names).run)

    @property
    def driver(self) -> SysfsDriver:
        return self.tree.reader()

    async def kill_agent(self, when: Callable[[], bool] = lambda: True) -> bool:
        """End it by SIGKILL between two writes of the kernel, if that is so then. Whether it was."""
        with self.tree.between_writes():
            if not when():
                return False
            await self.stop_agent(by=signal.SIGKILL)
        return True


@asynccontextmanager
async def metax_host(cluster: Cluster, library: str) -> AsyncGenerator[MetaxHost]:
    """Eight sliced C500 on the cluster's first node, one with a slice that a person made, and an agent."""
    names = cluster.nodes[0]
    room = cluster.room(names)
    installed = room.opt / _LIBRARY
    installed.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_library(library), installed)
    environment: dict[str, str] = {}
    if library == "real":
        shutil.copyfile(shared_object(_KERNEL_SOURCES, "kernel.so", flags=("-ldl",)), room.opt / _KERNEL)
        environment["LD_PRELOAD"] = f"/opt/{_KERNEL}"
    node = MetaxHost(
        cluster,
        names,
        device_config(cluster, names, "mode: sgpu\n"),
        ("--healthy-interval", "0.5"),
        way="auto",
        launcher=(
            "/usr/bin/unshare",
            "--mount",
            "--propagation",
            "private",
            "/bin/sh",
            "-c",
            _OVER_SYS,
            "agent",
        ),
        environment=environment,
    )
    tree = c500(CARDS).with_card(CARDS - 1, slices=(BY_HAND,)).tree
    node.tree.grow(tree)
    await cluster.box.make_devices(
        names.name,
        [
            (f"/dev/{each.relative_to(node.tree.dev)}", *_HARMLESS)
            for each in node.tree.dev.rglob("*")
            if each.is_file()
        ],
    )
    await node.start_agent()
    try:
        # The numbers of an agent that was here before may still stand on the node.
        await until_counts(node, SLICE, CARDS * SLOTS, CARDS * SLOTS, fresh=True)
        yield node
    finally:
        # For the person who reads why a test failed: pytest shows it then and only then.
        print(node.log())  # noqa: T201
        await node.stop_agent()


def refuse_missing_library() -> None:
    """Say so before the first test that a file is named that is not there."""
    named = os.environ.get(MXSML, "")
    if named and not Path(named).is_file():
        raise BedError(f"{MXSML} is {named!r}, which is no file: name MetaX's libmxsml.so, or nothing")


def left_out(reports: Iterable[pytest.TestReport]) -> str:
    """The sentence for a run of the tests here that had no library of the vendor's; empty for any other run."""
    ran = any("test_agent_real_library" in report.nodeid for report in reports)
    return NOT_GIVEN if ran and not os.environ.get(MXSML) else ""


def _library(name: str) -> Path:
    if name == "real":
        return Path(os.environ[MXSML])
    return shared_object(SOURCES, "libmxsml.so", flags=("-Wl,-soname,libmxsml.so.2", "-Wl,-z,nodelete"))

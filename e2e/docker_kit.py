"""Real engines of Debian's for the tests of `metax-docker`, Docker and podman: fetched, run for a while, and gone.

Nothing is installed: the packages would start an engine on the machine of whoever runs the tests. The engine has
namespaces of its own for processes, mounts and network, its own `/run` and `/opt`, and a cgroup that goes with it; when
its first process ends, the kernel ends everything else. Containers have no network: there is no bridge.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from e2e.debian_kit import environment_of, programs_of
from testbed import cgroups
from testbed.box import REPOSITORY
from testbed.images.busybox import base_tree
from testbed.images.layers import Entry, File, with_parents
from testbed.images.store import key_by_content, stored_layer

PACKAGES: Final = ("docker.io", "containerd", "runc", "libdevmapper1.02.1")
PODMAN: Final = ("podman", "conmon", "runc", "libsubid4", "libgpgme11", "libassuan0")
CARDS: Final = REPOSITORY / "examples" / "cards" / "c500-8-two-groups.yaml"
PLAIN: Final = "local/plain:1"
WITH_MACA: Final = "local/with-maca:1"
MAIN: Final = "import sys; from tangram.cli.docker.entry import main; sys.argv[0] = 'metax-docker'; main()"
TANGRAM: Final = Path(sys.executable).with_name("tangram")

_PATIENCE_S: Final = 60.0
_ROOM: Final = """
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 none /run
mount -t tmpfs -o mode=755 none /opt
ip link set lo up
for version in 2 3; do mkdir -p /opt/maca-$version/lib; echo host-$version > /opt/maca-$version/version; done
ln -s maca-3 /opt/maca
mkdir -p /opt/mxdriver-3/lib; echo host-driver > /opt/mxdriver-3/version; ln -s mxdriver-3 /opt/mxdriver
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class Said:
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@dataclass(slots=True)
class DockerRoom:
    """The engine's namespaces, and the cards beside them."""

    folder: Path
    programs: Path
    process: int
    """The engine, the first process of its namespace."""
    branch: str
    """Its cgroup."""
    environment: dict[str, str] = field(default_factory=dict[str, str])
    patience_s: float = _PATIENCE_S
    """How long one command may take."""

    @property
    def entering(self) -> list[str]:
        return ["nsenter", "--target", str(self.process), "--mount", "--net", "--pid", f"--wd={self.folder}"]

    def command(self, *words: str) -> list[str]:
        """`metax-docker` in the room."""
        return [*self.entering, sys.executable, "-c", MAIN, *words]

    @property
    def everything(self) -> dict[str, str]:
        return {
            **environment_of(self.programs),
            "HOME": str(self.folder),
            "TANGRAM_DRIVER": f"simulated:unix:{self.folder}/cards.sock",
            "METAX_DOCKER_DEVICE_ROOT": str(self.folder / "dev"),
            **self.environment,
        }

    def metax_docker(self, *words: str, stdin: bytes = b"", more: Mapping[str, str] | None = None) -> Said:
        return self._said(self.command(*words), stdin, more)

    def docker(self, *words: str, stdin: bytes = b"") -> Said:
        """The engine itself, without us."""
        engine = self.environment.get("METAX_DOCKER_ENGINE", "docker")
        return self._said([*self.entering, engine, *words], stdin, None)

    def inside(self, *words: str) -> Said:
        """Any program in the room."""
        return self._said([*self.entering, *words], b"", None)

    def given(self, *options: str, image: str = PLAIN) -> list[str]:
        """The device nodes of MetaX that a container with these options sees."""
        look = "ls -d /dev/mxcd /dev/dri/* 2>/dev/null"
        said = self.metax_docker("run", "--rm", "--network=none", *options, image, "sh", "-c", look)
        assert said.status in (0, 1, 2), said
        return said.lines

    def control(self, *words: str) -> object:
        """A command to the simulated cards."""
        done = subprocess.run(  # noqa: S603 - our own words
            [TANGRAM, "simulate-cards", "ctl", "--socket", self.folder / "cards.sock", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    def _said(self, command: Sequence[str], stdin: bytes, more: Mapping[str, str] | None) -> Said:
        done = subprocess.run(  # noqa: S603 - our own words
            command,
            env={**self.everything, **(more or {})},
            input=stdin,
            capture_output=True,
            check=False,
            timeout=self.patience_s,
        )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def simulated_cards(folder: Path) -> Generator[None]:
    """Eight C500 in two groups, with device nodes in a folder."""
    words = [TANGRAM, "simulate-cards", "serve", "--cards", CARDS, "--socket", folder / "cards.sock"]
    words += ["--device-root", folder / "dev"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as serving:  # noqa: S603 - our own words
        try:
            assert serving.stdout is not None
            assert serving.stdout.readline()
            yield
        finally:
            serving.terminate()
            serving.wait()


@asynccontextmanager
async def docker_room(
    folder: Path, *, daemon: str = "{}\n", environment: Mapping[str, str] | None = None
) -> AsyncGenerator[DockerRoom]:
    """A Docker engine with two images and eight cards until the end of the block.

    `daemon` is the text of its daemon.json; `environment` reaches the engine and the runtimes that it starts.
    """
    programs = await asyncio.to_thread(programs_of, "docker", PACKAGES)
    branch = f"tangram-docker-{os.getpid()}"
    (folder / "daemon.json").write_text(daemon, "utf-8")
    words = [
        *("dockerd", "--bridge=none", "--iptables=false", "--ip6tables=false", "--oom-score-adjust=0"),
        *(f"--data-root={folder}/data", f"--exec-root={folder}/exec", f"--pidfile={folder}/docker.pid"),
        *(f"--host=unix://{folder}/docker.sock", f"--cgroup-parent=/{branch}"),
        f"--config-file={folder}/daemon.json",
    ]
    async with _room(folder, programs, branch, words, environment or {}) as (process, log):
        room = DockerRoom(folder, programs, process, branch, {"DOCKER_HOST": f"unix://{folder}/docker.sock"})
        await _until(lambda: "API listen on" in log.read_text("utf-8", "replace"), process, log)
        make_images(room)
        yield room


@asynccontextmanager
async def podman_room(folder: Path) -> AsyncGenerator[DockerRoom]:
    """podman, which has no daemon, with the same images and cards."""
    programs = await asyncio.to_thread(programs_of, "podman", PODMAN)
    branch = f"tangram-podman-{os.getpid()}"
    settings = folder / ".config" / "containers"
    settings.mkdir(parents=True)
    (settings / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}', "utf-8")
    (settings / "containers.conf").write_text(
        f"""[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
conmon_path = ["{programs}/usr/bin/conmon"]
[engine.runtimes]
runc = ["{programs}/usr/sbin/runc"]
""",
        "utf-8",
    )
    (settings / "storage.conf").write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/data"\nrunroot = "{folder}/exec"\n', "utf-8"
    )
    chosen = {
        "METAX_DOCKER_ENGINE": "podman",
        "CONTAINERS_CONF": str(settings / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(settings / "storage.conf"),
    }
    async with _room(folder, programs, branch, ["sleep", "infinity"], {}) as (process, log):
        room = DockerRoom(folder, programs, process, branch, chosen)
        # The room's first process is a shell until it is furnished.
        await _until(lambda: b"infinity" in Path(f"/proc/{process}/cmdline").read_bytes()[:20], process, log)
        make_images(room)
        yield room


@asynccontextmanager
async def _room(
    folder: Path, programs: Path, branch: str, words: Sequence[str], environment: Mapping[str, str]
) -> AsyncGenerator[tuple[int, Path]]:
    """Namespaces whose first process runs these words, beside simulated cards; that process, and what it prints."""
    unshare = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    printed = folder / "engine.log"
    with simulated_cards(folder), printed.open("wb") as log:
        starting = await asyncio.create_subprocess_exec(
            *unshare,
            *("sh", "-c", _ROOM, "room", *words),
            env={**os.environ, **environment_of(programs), **environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            yield await _first_process(starting.pid), printed
        finally:
            if starting.returncode is None:
                # With it goes its child, and with that everything in the room.
                starting.send_signal(signal.SIGKILL)
            await starting.wait()
            for tree in cgroups.hierarchies():
                cgroups.remove(tree.mounted_at / branch)
            for name in ("data", "exec"):
                shutil.rmtree(folder / name, ignore_errors=True)


def make_images(room: DockerRoom) -> None:
    """One image without MXMACA and one with, from busybox. This engine is older than the archives the bed writes."""
    own: dict[str, Entry] = {
        f"opt/{name}/version": File(f"image-{name}\n".encode()) for name in ("maca", "mxdriver")
    }
    plain = base_tree()
    trees = {PLAIN: plain, WITH_MACA: {**plain, **with_parents(own, plain)}}
    for name, tree in trees.items():
        layer = stored_layer("docker-image", key_by_content(tree), lambda tree=tree: tree)
        said = room.docker("import", "--change=ENV PATH=/usr/local/bin:/usr/bin:/bin", str(layer.path), name)
        assert said.status == 0, said


async def _first_process(unshare: int) -> int:
    """The child of `unshare`, as this machine numbers it."""
    children = Path(f"/proc/{unshare}/task/{unshare}/children")
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            found = children.read_text("ascii").split()
            if found:
                return int(found[0])
            await asyncio.sleep(0.05)


async def _until(ready: Callable[[], bool], process: int, log: Path) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not ready():
            said = log.read_text("utf-8", "replace")
            assert Path(f"/proc/{process}").exists(), f"The engine ended:\n{said[-3000:]}"
            await asyncio.sleep(0.1)

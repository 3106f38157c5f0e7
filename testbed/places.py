"""Where a cluster keeps its files. Inside and outside the box the paths are the same, so configurations stay plain.

The root must be short: a unix socket's path may have 107 characters, and the kubelet's lie deep.
"""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import BedError

VARIABLE = "TANGRAM_TESTBED_STATE"
# Replaced inside the box by private folders, so nothing that must be shared can live there.
HIDDEN = (
    Path("/run"),
    Path("/var/run"),
    Path("/var/lib"),
    Path("/var/log"),
    Path("/opt"),
    Path("/dev"),
    Path("/proc"),
    Path("/sys"),
)
LONGEST_ROOT = 40


def state_root() -> Path:
    """The folder of all clusters of this machine."""
    chosen = os.environ.get(VARIABLE)
    root = Path(chosen) if chosen else Path(tempfile.gettempdir()) / "tangram-testbed"
    if (
        not root.is_absolute()
        or len(str(root)) > LONGEST_ROOT
        or any(root.is_relative_to(hidden) for hidden in HIDDEN)
    ):
        raise BedError(
            f"the test bed cannot keep its clusters in '{root}': it needs an absolute path of at most {LONGEST_ROOT} "
            f"characters outside /run, /var/lib, /var/log, /opt, /dev, /proc and /sys; "
            f"set {VARIABLE}, for example to /tmp/bed"
        )
    return root


@dataclass(frozen=True, slots=True)
class ClusterFolder:
    """The files of one cluster, by name. It makes none of them."""

    root: Path
    name: str

    @property
    def path(self) -> Path:
        return self.root / self.name

    @property
    def alive(self) -> Path:
        """Locked by the janitor as long as it lives; whoever gets the lock may clear the rest away."""
        return self.path / "alive"

    @property
    def reserved(self) -> Path:
        """How many inotify instances it was promised."""
        return self.path / "reserved"

    @property
    def sweeping(self) -> Path:
        """Held while clusters come into being or dead ones are cleared away."""
        return self.root / "sweep.lock"

    @property
    def facts(self) -> Path:
        """What a second program needs to join in: process ids, namespaces, addresses (JSON)."""
        return self.path / "box.json"

    @property
    def socket(self) -> Path:
        return self.path / "init.sock"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def certificates(self) -> Path:
        return self.path / "pki"

    @property
    def admin_kubeconfig(self) -> Path:
        return self.path / "admin.conf"

    def of_room(self, room: str) -> "RoomFolder":
        return RoomFolder(self.path / room)


@dataclass(frozen=True, slots=True)
class RoomFolder:
    """The private side of one room (the control plane, or one node): what it sees as /run, /var/lib, /var/log, /opt."""

    path: Path

    @property
    def run(self) -> Path:
        return self.path / "run"

    @property
    def lib(self) -> Path:
        return self.path / "lib"

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def opt(self) -> Path:
        """Empty, unless a test fills it."""
        return self.path / "opt"

    @property
    def firmware(self) -> Path:
        """What the room sees as /lib/firmware, on a machine that has such a folder."""
        return self.path / "firmware"

    @property
    def containerd(self) -> Path:
        """What the room sees as /etc/containerd."""
        return self.path / "containerd"

    @property
    def programs(self) -> Path:
        """What the room has in /usr/bin beside the machine's, or instead of it."""
        return self.path / "programs"

    @property
    def etc(self) -> Path:
        """Our configuration files for the programs of this room."""
        return self.path / "etc"

    @property
    def tmp(self) -> Path:
        return self.path / "tmp"

    @property
    def device_plugins(self) -> Path:
        """The kubelet's /var/lib/kubelet/device-plugins, reachable from outside."""
        return self.lib / "kubelet" / "device-plugins"

    @property
    def pod_resources(self) -> Path:
        return self.lib / "kubelet" / "pod-resources" / "kubelet.sock"

    @property
    def cdi(self) -> Path:
        """The node's /run/cdi."""
        return self.run / "cdi"

    @property
    def static_pods(self) -> Path:
        return self.etc / "static-pods"

    def make(self) -> None:
        private = (self.run, self.lib, self.log, self.opt, self.firmware, self.containerd, self.programs)
        for folder in (*private, self.etc, self.tmp):
            folder.mkdir(parents=True, exist_ok=True)

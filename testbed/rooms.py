"""What a program inside the box sees: its own mounts, devices, kernel settings and network, and no way out.

A *room* is a set of namespaces: one for the control plane, one for each node. This module furnishes a room from
within; it runs in a freshly forked process that has just left the machine's namespaces, and changes nothing outside.
The machine's files stay readable (programs and libraries are there), but its file systems are all read-only here.
"""

import os
import shlex
import socket
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from testbed import cgroups, linux
from testbed.places import HIDDEN, ClusterFolder, RoomFolder

# The kubelet sets these for the whole machine; inside a room it writes to plain files instead.
TUNABLES = {
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
}
PLAIN_DEVICES = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "tty": (5, 0),
    "kmsg": (1, 11),
}
FIRMWARE = Path("/lib/firmware")
NOT_FILES = {"proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "devtmpfs"}

NETWORK = "192.0.2"
CONTROL_ADDRESS = f"{NETWORK}.1"
SERVICE_RANGE = "10.0.0.0/24"
API_SERVICE_ADDRESS = "10.0.0.1"
BRIDGE = "box0"


def node_address(number: int) -> str:
    """Of a node, on the cluster's bridge."""
    return f"{NETWORK}.{10 + number}"


def pod_range(number: int) -> str:
    """The addresses of a node's pods."""
    return f"10.244.{number}.0/24"


def furnish(room: RoomFolder, hostname: str, own: Sequence[Path], *, first: bool) -> None:
    """Turn the namespaces this process is in into a room. `own` are folders that stay writable.

    The first room also mounts /proc, for all rooms of a cluster share one process namespace.
    """
    room.make()
    socket.sethostname(hostname)
    linux.mount("none", "/", flags=linux.RECURSIVE | linux.PRIVATE)
    mounted = _file_systems()
    if first:
        linux.unmount("/proc")
        linux.mount("proc", "/proc", "proc", linux.NO_SUID | linux.NO_DEV | linux.NO_EXEC)
        _protect_kernel_settings(room)
        for folder in own:
            linux.mount(folder, folder, flags=linux.BIND | linux.RECURSIVE)
        for folder, flags in mounted.items():
            if folder not in own:
                linux.mount("none", folder, flags=linux.REMOUNT | linux.BIND | linux.READ_ONLY | flags)
    kept = _opened_before_hiding(own)
    own_folders = {"/run": room.run, "/var/lib": room.lib, "/var/log": room.log, "/opt": room.opt}
    for shown, private in own_folders.items():
        linux.mount(private, Path(shown).resolve(), flags=linux.BIND)
    _show_again(kept)
    if not first:
        _own_settings(room)
        _own_programs(room)
    _own_system_folder()
    _own_devices()
    _no_names(room)
    # What a pod mounts with propagation must reach its siblings, but never leave the room.
    linux.mount("none", "/", flags=linux.RECURSIVE | linux.SHARED)


def _file_systems() -> dict[Path, int]:
    """Every mounted file system of the machine that holds files, with the flags a remount must repeat."""
    known = {
        "nosuid": linux.NO_SUID,
        "nodev": linux.NO_DEV,
        "noexec": linux.NO_EXEC,
        "noatime": 1024,
        "nodiratime": 2048,
        "relatime": 1 << 21,
    }
    found: dict[Path, int] = {}
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        folder = Path(fields[4].encode().decode("unicode_escape"))
        under_pseudo = any(
            folder.is_relative_to(place) for place in (Path("/proc"), Path("/sys"), Path("/dev"))
        )
        if after.split(" ", 1)[0] in NOT_FILES or under_pseudo or not folder.exists():
            continue
        found[folder] = sum(flag for word, flag in known.items() if word in fields[5].split(","))
    return found


def _opened_before_hiding(own: Sequence[Path]) -> dict[Path, int]:
    """Folders the box needs that lie below a path about to be replaced (a home under /var/lib, say)."""
    needed = {*own, Path(sys.prefix), Path(sys.base_prefix), Path(__file__).resolve().parent.parent}
    return {
        folder: os.open(folder, os.O_PATH | os.O_DIRECTORY)
        for folder in needed
        if any(folder.is_relative_to(hidden) for hidden in HIDDEN)
    }


def _show_again(kept: dict[Path, int]) -> None:
    for folder, opened in kept.items():
        folder.mkdir(parents=True, exist_ok=True)
        linux.mount(f"/proc/self/fd/{opened}", folder, flags=linux.BIND | linux.RECURSIVE)
        os.close(opened)


def _protect_kernel_settings(room: RoomFolder) -> None:
    """Leave only the settings of the room's own network writable."""
    settings = Path("/proc/sys")
    linux.mount(settings, settings, flags=linux.BIND | linux.RECURSIVE)
    linux.mount(settings / "net", settings / "net", flags=linux.BIND)
    linux.mount("none", settings, flags=linux.REMOUNT | linux.BIND | linux.READ_ONLY)
    for name, value in TUNABLES.items():
        if not (settings / name).exists():
            continue
        plain = room.etc / name.replace("/", ".")
        if not plain.exists():
            # Every program of the room comes here, and the kubelet may be reading what another one writes.
            beside = plain.with_name(f"{plain.name}.{os.getpid()}")
            beside.write_text(f"{value}\n", encoding="ascii")
            beside.replace(plain)
        linux.mount(plain, settings / name, flags=linux.BIND)


def _own_settings(room: RoomFolder) -> None:
    """/etc of a node: the machine's, with what is written there kept in the room. Pods bring folders into it."""
    kept, work = room.path / "settings", room.path / "settings-work"
    for folder in (kept, work):
        folder.mkdir(exist_ok=True)
    linux.mount("overlay", "/etc", "overlay", data=f"lowerdir=/etc,upperdir={kept},workdir={work}")
    # Not in the layer above: what lies there may not be changed from outside while it is mounted.
    Path("/etc/containerd").mkdir(exist_ok=True)
    linux.mount(room.containerd, "/etc/containerd", flags=linux.BIND)
    if FIRMWARE.is_dir():
        linux.mount(room.firmware, FIRMWARE.resolve(), flags=linux.BIND)


def _own_programs(room: RoomFolder) -> None:
    """What a host has and the machine may not have, or must not be asked: `systemctl`."""
    script = room.programs / "systemctl"
    words = [sys.executable, "-I", Path(__file__).with_name("systemctl.py"), _box_of(room), room.path.name]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    linux.mount("overlay", "/usr/bin", "overlay", linux.READ_ONLY, f"lowerdir={room.programs}:/usr/bin")


def _box_of(room: RoomFolder) -> Path:
    """The socket of the box's first process."""
    return ClusterFolder(room.path.parent.parent, room.path.parent.name).socket


def _own_system_folder() -> None:
    """/sys of the room's network, with only the room's branch of every cgroup hierarchy in it."""
    trees = cgroups.hierarchies()
    linux.unmount("/sys")
    linux.mount("sysfs", "/sys", "sysfs", linux.NO_SUID | linux.NO_DEV | linux.NO_EXEC)
    if not any(tree.mounted_at == cgroups.MACHINE for tree in trees):
        linux.mount(
            "tmpfs", cgroups.MACHINE, "tmpfs", linux.NO_SUID | linux.NO_DEV | linux.NO_EXEC, "mode=755"
        )
    for tree in trees:
        tree.mounted_at.mkdir(parents=True, exist_ok=True)
        linux.mount(
            "cgroup", tree.mounted_at, tree.kind, linux.NO_SUID | linux.NO_DEV | linux.NO_EXEC, tree.options
        )


def _own_devices() -> None:
    linux.unmount("/dev")
    linux.mount("tmpfs", "/dev", "tmpfs", linux.NO_SUID, "mode=755")
    for name, (major, minor) in PLAIN_DEVICES.items():
        make_device(Path("/dev") / name, major, minor)
    for name in ("pts", "shm", "mqueue"):
        (Path("/dev") / name).mkdir()
    linux.mount(
        "devpts", "/dev/pts", "devpts", linux.NO_SUID | linux.NO_EXEC, "newinstance,ptmxmode=0666,mode=0620"
    )
    linux.mount("tmpfs", "/dev/shm", "tmpfs", linux.NO_SUID | linux.NO_DEV, "mode=1777")  # noqa: S108 - the room's own
    linux.mount("mqueue", "/dev/mqueue", "mqueue", linux.NO_SUID | linux.NO_DEV | linux.NO_EXEC)
    for name, target in {
        "ptmx": "pts/ptmx",
        "fd": "/proc/self/fd",
        "stdin": "fd/0",
        "stdout": "fd/1",
        "stderr": "fd/2",
    }.items():
        (Path("/dev") / name).symlink_to(target)


def make_device(path: Path, major: int, minor: int) -> None:
    """A character device anyone may open; made again if it is there with other numbers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number = os.makedev(major, minor)
    if path.exists() or path.is_symlink():
        if stat.S_ISCHR(path.lstat().st_mode) and path.lstat().st_rdev == number:
            return
        path.unlink()
    os.mknod(path, stat.S_IFCHR | 0o666, number)
    path.chmod(0o666)


def _no_names(room: RoomFolder) -> None:
    """No name server to ask, and none of the machine's host names."""
    resolver, hosts = room.etc / "resolv.conf", room.etc / "hosts"
    resolver.write_text("", encoding="ascii")
    hosts.write_text(f"127.0.0.1 localhost\n{CONTROL_ADDRESS} control\n", encoding="ascii")
    for plain, shown in ((resolver, Path("/etc/resolv.conf")), (hosts, Path("/etc/hosts"))):
        if shown.exists():
            linux.mount(plain, shown.resolve(), flags=linux.BIND)


def ip(*lines: str) -> None:
    """Several `ip` commands in one process, in the network namespace of the caller."""
    words = ["ip", "-batch", "-"]
    done = subprocess.run(words, input="\n".join(lines) + "\n", text=True, check=False, capture_output=True)  # noqa: S603 - our own words
    if done.returncode:
        raise OSError(f"ip refused one of {lines}: {done.stderr.strip()}")


def wire_control_plane() -> None:
    """The bridge all nodes hang on, and the API server's service address, which pods then reach without a proxy."""
    ip(
        "link set lo up",
        f"link add {BRIDGE} type bridge",
        f"addr add {CONTROL_ADDRESS}/24 dev {BRIDGE}",
        f"addr add {API_SERVICE_ADDRESS}/32 dev lo",
        f"link set {BRIDGE} up",
        "route add unreachable default",
        "route add unreachable ::/0",
    )
    _forward()


def wire_node(number: int) -> None:
    """A node's own end of its cable: one address, the way to the other nodes' pods, and nothing else."""
    ip(
        "link set lo up",
        f"addr add {node_address(number)}/24 dev eth0",
        "link set eth0 up",
        f"route add {API_SERVICE_ADDRESS}/32 via {CONTROL_ADDRESS}",
        f"route add 10.244.0.0/16 via {CONTROL_ADDRESS}",
        f"route add unreachable {SERVICE_RANGE}",
        "route add unreachable default",
        "route add unreachable ::/0",
    )
    _forward()


def _forward() -> None:
    """Pass packets on between pods and nodes; every one with nowhere to go is told so, not only one a second."""
    settings = Path("/proc/sys/net/ipv4")
    (settings / "ip_forward").write_text("1", encoding="ascii")
    (settings / "icmp_ratelimit").write_text("0", encoding="ascii")


def plug_in(number: int, network_of: int) -> None:
    """From the control plane's side: a cable to the namespace of process `network_of`, and the way to its pods."""
    ip(
        f"link add n{number} type veth peer name eth0 netns {network_of}",
        f"link set n{number} master {BRIDGE} up",
    )


def route_pods(number: int) -> None:
    """Answers to a node's pods find their way back. Only possible once the node's address is up."""
    ip(f"route replace {pod_range(number)} via {node_address(number)}")

"""The bare Debian as a machine: its files and mounts in namespaces of this process, and gone with it.

Mounts belong to a mount namespace of their own and processes to a process namespace, so that both end with this process
however it ends. The network is the machine's: apt and pip need it, and the sandbox listens on loopback.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

from testbed.box import REPOSITORY
from testbed.debian import SYSTEM_PATH, find_program
from testbed.errors import BedError
from testbed.fresh.person import CHECKOUT, HOME, USER, Person
from testbed.fresh.settings import Settings

_INSIDE: Final = "TANGRAM_FRESH_INSIDE"
"""Set in the process that has the namespaces."""
_NAMESPACES: Final = ("--mount", "--pid", "--fork", "--kill-child", "--ipc", "--mount-proc")
_DEVICES: Final = ("full", "null", "random", "tty", "urandom", "zero")
_LINKS: Final = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "ptmx": "pts/ptmx",
}
_RESOLVING: Final = ("etc/hosts", "etc/resolv.conf")


def enter_namespaces() -> None:
    """Start this program again inside namespaces of its own, unless it is there already. Raises `BedError`."""
    if os.environ.get(_INSIDE) == "1":
        return
    if os.geteuid() != 0:
        raise BedError("`make fresh` changes into another root folder, which needs root: run it with sudo.")
    unshare = find_program("unshare")
    if unshare is None:
        raise BedError("`make fresh` needs `unshare`: on Debian, apt-get install util-linux.")
    os.environ[_INSIDE] = "1"
    _replace_process([str(unshare), *_NAMESPACES, sys.executable, "-m", "testbed.fresh", *sys.argv[1:]])


def _replace_process(command: list[str]) -> NoReturn:
    sys.stdout.flush()
    os.execv(command[0], command)  # noqa: S606 - unshare with this program


@contextmanager
def mounted(root: Path, paths: Iterable[Path] = ()) -> Generator[None]:
    """What a running system has beside its files: devices, processes, names of hosts; and paths of this machine."""
    try:
        _mount_all(root, paths)
        yield
    finally:
        for place in reversed(_mounts_below(root)):
            _run("umount", "--lazy", place)


def _mount_all(root: Path, paths: Iterable[Path]) -> None:
    _run("mount", "-t", "proc", "proc", root / "proc")
    _run("mount", "--bind", "-o", "ro", "/sys", root / "sys")
    devices = root / "dev"
    _run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", devices)
    for name in _DEVICES:
        _bound(Path("/dev") / name, devices / name)
    for name in ("pts", "shm"):
        (devices / name).mkdir()
    _run("mount", "-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=620", "devpts", devices / "pts")
    _run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", devices / "shm")
    for name, target in _LINKS.items():
        (devices / name).symlink_to(target)
    for name in _RESOLVING:
        shutil.copyfile(Path("/") / name, root / name)
    for path in paths:
        _bound(path, root / str(path).lstrip("/"), read_only=True)


def _bound(path: Path, target: Path, *, read_only: bool = False) -> None:
    if path.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    _run("mount", "--bind", *(("-o", "ro") if read_only else ()), path.resolve(), target)


def _mounts_below(root: Path) -> list[str]:
    """In the order in which they were made."""
    places = (line.split()[1] for line in Path("/proc/self/mounts").read_text("utf-8").splitlines())
    return [place for place in places if Path(place).is_relative_to(root)]


def set_mirrors(root: Path, settings: Settings) -> None:
    """The mirrors of this machine as they are now; a root out of the cache has those of when it was made."""
    (root / "etc/apt/sources.list").write_text(settings.sources, "utf-8")
    (root / "etc/apt/apt.conf.d/90network").write_text(settings.apt, "utf-8")


def prepare(root: Path, install: str, settings: Settings) -> None:
    """The prerequisites as README installs them, and an ordinary user. Raises `BedError` where apt-get does not."""
    set_mirrors(root, settings)
    # Without the settings' paths: packages write where they are, e.g. certificates.
    with mounted(root):
        administrator = Person(root, {**settings.environment, "DEBIAN_FRONTEND": "noninteractive"})
        answer = subprocess.run(  # noqa: S603 - README's line
            administrator.as_root(install), check=False, stdin=subprocess.DEVNULL
        )
        if answer.returncode != 0:
            raise BedError(
                f"README's line `{install}` ended with status {answer.returncode} on a bare Debian."
            )
        subprocess.run(  # noqa: S603 - a constant
            administrator.as_root(f"useradd --create-home --shell /bin/bash {USER} && apt-get clean"),
            check=True,
        )


def run_as_machine(root: Path, line: str, environment: Mapping[str, str], shared: Iterable[Path]) -> int:
    """The exit status of a line of a shell, run by root where the folder is the root of the whole mount namespace.

    A chroot would not do: the test bed makes namespaces of its own and changes their root. Folders of `shared` are
    those of this machine, at the same place.
    """
    for path in shared:
        _bound(path, root / str(path).lstrip("/"))
    # All of it, for control groups are changed below.
    _run("umount", root / "sys")
    _run("mount", "--rbind", "--make-rslave", "/sys", root / "sys")
    variables = {"HOME": "/root", "USER": "root", "LANG": "C.UTF-8", "PATH": SYSTEM_PATH, **environment}
    enter = (
        'mount --rbind "$1" "$1" && cd "$1" && mkdir -p .before && pivot_root . .before && umount --lazy /.before && '
        'cd "$2" && exec bash -c "$3"'
    )
    return subprocess.run(  # noqa: S603 - a line of README's family
        ["/usr/bin/unshare", "--mount", "/bin/bash", "-c", enter, "bash", str(root), CHECKOUT, line],
        check=False,
        env=variables,
        stdin=subprocess.DEVNULL,
    ).returncode


def clone(root: Path) -> None:
    """The last commit of this checkout, as its user would have it."""
    target = root / CHECKOUT.lstrip("/")
    _run("git", "clone", "--quiet", "--no-hardlinks", REPOSITORY, target)
    owner = (root / HOME.lstrip("/")).stat()
    for place, folders, files in os.walk(target):
        for name in (".", *folders, *files):
            os.chown(Path(place) / name, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _run(*words: str | Path) -> None:
    program = find_program(str(words[0]))
    if program is None:
        raise BedError(f"`make fresh` needs `{words[0]}`, which this machine lacks.")
    answer = subprocess.run(  # noqa: S603 - mount, umount and git with paths of ours
        [program, *words[1:]],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": SYSTEM_PATH},
    )
    if answer.returncode != 0:
        raise BedError(f"`{' '.join(map(str, words))}` failed: {answer.stderr.strip()}")

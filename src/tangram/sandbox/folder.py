"""Where a sandbox keeps its things, and how a second one notices that there is a first.

Everything people use (the kubeconfig, the log, with `--data` the objects) is in one folder that they chose. Sockets are
elsewhere: the system allows their paths a hundred letters, and folders of people are deeper than that.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from tangram.daemon.certificates import Issued
from tangram.daemon.errors import SettingError

LOCK: Final = "lock"
KUBECONFIG: Final = "kubeconfig"
LOG: Final = "sandbox.log"


class Folder(Struct, frozen=True):
    path: Path
    sockets: Path
    """Short, private, gone with the process."""

    @property
    def kubeconfig(self) -> Path:
        return self.path / KUBECONFIG

    @property
    def log(self) -> Path:
        return self.path / LOG


class PairOnDisk(Struct, frozen=True):
    """A certificate, its key and its authority, for those who read files."""

    certificate: Path
    key: Path
    authority: Path


@contextmanager
def taking(path: Path) -> Generator[Folder]:
    """The folder for this process alone. Raises `SettingError`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise SettingError(
            f"the folder {path} cannot be used ({error.strerror}): name one that you may write to with --data."
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            owner = lock.read().strip() or "unknown"
            raise SettingError(
                f"a sandbox runs in {path} already (process {owner}): use that one, stop it with Ctrl-C, or name "
                "another folder with --data and another port with --port."
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        sockets = Path(tempfile.mkdtemp(prefix="tangram-"))
        try:
            yield Folder(path, sockets)
        finally:
            shutil.rmtree(sockets, ignore_errors=True)
            lock.truncate(0)


def write_pair(folder: Path, name: str, issued: Issued) -> PairOnDisk:
    """Write a pair where only this person reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    pair = PairOnDisk(folder / f"{name}.crt", folder / f"{name}.key", folder / f"{name}-ca.crt")
    write_private(pair.certificate, issued.pair.certificate)
    write_private(pair.key, issued.pair.key)
    write_private(pair.authority, issued.authority)
    return pair


def write_private(path: Path, content: bytes) -> None:
    """Replace a file in one step; nobody else may read it."""
    fresh = path.with_name(f"{path.name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    fresh.rename(path)

"""Where a sandbox keeps its things, and how a second one notices that there is a first.

Everything people use (the kubeconfig, the log, with `--data` the objects) is in one folder that they chose. Sockets are
elsewhere: the system allows their paths a hundred letters, and folders of people are deeper than that. The lock says
where, so that the next sandbox clears away what a killed one could not.

The kubeconfig stays behind: kubectl in the other shell then says that nobody answers at that address, which is true,
and does not turn to some other cluster.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

from msgspec import Struct

from tangram.daemon.certificates import Issued
from tangram.daemon.errors import SettingError

LOCK: Final = "lock"
KUBECONFIG: Final = "kubeconfig"
LOG: Final = "sandbox.log"
PREFIX: Final = "tangram-"
_SHORT: Final = Path("/tmp")  # noqa: S108 - what is made in it has a name nobody can foresee, and is private
_LONGEST_TEMPORARY: Final = 24
"""Letters of a folder for temporary files that leave room for the names of sockets."""


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
        lock = _locked(path)
    except OSError as error:
        raise cannot_be_used(path, error) from None
    with lock:
        sockets = _begun(path, lock)
        try:
            yield Folder(path, sockets)
        finally:
            shutil.rmtree(sockets, ignore_errors=True)
            # While it is still ours: whoever opened it meanwhile finds that it is gone, and makes a new one.
            with suppress(OSError):
                (path / LOCK).unlink()


def cannot_be_used(path: Path, error: OSError) -> SettingError:
    """What is said of a folder that nothing can be written to."""
    return SettingError(
        f"the folder {path} cannot be used ({error.strerror}): name one that you may write to with --data."
    )


def shown(path: Path) -> str:
    """As short as the person's own folder allows."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


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


def _locked(path: Path) -> TextIO:
    """The lock, held. Raises `SettingError` where somebody else holds it, and `OSError`."""
    file = path / LOCK
    while True:
        lock = file.open("a+", encoding="utf-8", errors="replace")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is(lock, file):
                return lock
        except BlockingIOError:
            lock.seek(0)
            owner = lock.readline(20).strip() or "unknown"
            lock.close()
            raise SettingError(
                f"a sandbox runs in {path} already (process {owner}): use that one, stop it with Ctrl-C, or name "
                "another folder with --data and another port with --port."
            ) from None
        except OSError:
            lock.close()
            raise
        # Its owner ended between our opening it and our having it.
        lock.close()


def _is(lock: TextIO, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), file.stat())
    except FileNotFoundError:
        return False


def _begun(path: Path, lock: TextIO) -> Path:
    """A folder for sockets, noted in the lock; the one that was noted there before is cleared away."""
    try:
        lock.seek(0)
        _clear_away(lock.read(4096).splitlines()[1:2])
        sockets = Path(tempfile.mkdtemp(prefix=PREFIX, dir=_temporary()))
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n{sockets}\n")
        lock.flush()
    except OSError as error:
        raise cannot_be_used(path, error) from None
    return sockets


def _clear_away(noted: list[str]) -> None:
    """Only a folder that we could have made: whatever else a file may say is nobody's business to remove."""
    for name in noted:
        left = Path(name)
        ours = left.name.startswith(PREFIX) and left.parent in {_SHORT, Path(tempfile.gettempdir())}
        if ours and not left.is_symlink() and left.is_dir() and left.stat().st_uid == os.getuid():
            shutil.rmtree(left, ignore_errors=True)


def _temporary() -> Path:
    """Where temporary files go, unless its path is too long for sockets."""
    usual = Path(tempfile.gettempdir())
    if len(os.fsencode(usual)) > _LONGEST_TEMPORARY and os.access(_SHORT, os.W_OK | os.X_OK):
        return _SHORT
    return usual

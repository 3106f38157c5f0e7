"""Where downloads and finished layers are kept, so that a second image is a matter of seconds.

Everything in the folder can be made again. A folder in it is complete or absent: it is filled under another name and
renamed, so that an interrupted download is never taken for a whole one.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from shipping.image.errors import ImageError

_OWN_SETTING = "TANGRAM_IMAGE_CACHE"
_COMMON_SETTING = "XDG_CACHE_HOME"
_FOLDER_NAME = "tangram-image"
_KINDS = ("layers", "programs", "pythons", "wheels")
_KEPT_S = 30 * 24 * 3600


def cache_folder() -> Path:
    """The folder, which need not exist yet. A relative path is refused: it would mean another one after every `cd`."""
    own = os.environ.get(_OWN_SETTING, "")
    if own:
        return _absolute(_OWN_SETTING, own)
    common = os.environ.get(_COMMON_SETTING, "")
    if common:
        return _absolute(_COMMON_SETTING, common) / _FOLDER_NAME
    try:
        return Path.home() / ".cache" / _FOLDER_NAME
    except RuntimeError:
        raise ImageError(
            f"There is no home folder to keep downloads in: set {_OWN_SETTING} to an absolute path."
        ) from None


def _absolute(setting: str, text: str) -> Path:
    path = Path(text)
    if not path.is_absolute():
        raise ImageError(
            f"{setting} is {text!r}, which depends on the current folder: give an absolute path."
        )
    return path


def key_of(parts: Iterable[str | bytes]) -> str:
    """A name for whatever is made from these inputs; each is closed off, so that none runs into the next."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()[:24]


def filled(target: Path, fill: Callable[[Path], None]) -> Path:
    """`target`, made by `fill` unless it is there. For `only_builder`: what a killed one left half done is removed."""
    if target.is_dir():
        os.utime(target)
        return target
    work = target.parent / f".{target.name}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        fill(work)
        work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def forget_unused(folder: Path, now: float) -> None:
    """Remove what no build used for a month. Wheels and packages of a present image are used by every build."""
    for kind in _KINDS:
        for path in (folder / kind).glob("*"):
            if path.is_dir() and now - path.stat().st_mtime > _KEPT_S:
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def only_builder(folder: Path, say: Callable[[str], None]) -> Generator[None]:
    """Until the end of the block no other build works in this cache: a second one waits, and says so."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Another build works in {folder}: waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield

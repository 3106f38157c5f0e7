"""Finished layers and tarballs in the cache folder: made once, found again by what went into them.

There is no lock. Every file is written under a name of its own and renamed when complete, and equal names mean equal
content, so two processes that make the same image at once do the work twice and both end with a whole file. A name
ends with the file's size, because a machine that loses power can leave a renamed file shorter than it was. Old files
go when the folder has grown, but never one used in the last minutes: somebody may be about to import it.
"""

import hashlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from testbed.cachefolder import cache_folder
from testbed.errors import BedError
from testbed.images.archive import Image, Start, describe, write_archive
from testbed.images.layers import File, Layer, Tree, write_layer

_NAME = re.compile(r"[a-z0-9.-]+(?:/[a-z0-9._-]+)+:[A-Za-z0-9_][A-Za-z0-9._-]*")
_KEPT_BYTES = 2 << 30
_DIGEST_BYTES = 32
_STILL_IN_USE_SECONDS = 600
_ABANDONED_SECONDS = 3600
_FINISHED = ".tar"
_UNFINISHED = ".part"


def stored_layer(kind: str, key: str, make_tree: Callable[[], Tree]) -> Layer:
    """The layer whose inputs have this key, made from the tree only if the cache does not have it."""
    folder = _folder("layers")
    path = _found(folder, f"{kind}-{key}")
    if path is None:
        tree = make_tree()
        path = _written(folder, lambda stream: f"{kind}-{key}.{write_layer(tree, stream)}")
    return Layer(digest=path.name.split(".")[1], size=path.stat().st_size, path=path)


def stored_bytes(key: str, make: Callable[[], bytes]) -> bytes:
    """A small piece of a layer, made only if the cache does not have it. It is kept behind its own digest."""
    folder = _folder("pieces")
    with suppress(FileNotFoundError):
        kept = (folder / key).read_bytes()
        if hashlib.sha256(kept[_DIGEST_BYTES:]).digest() == kept[:_DIGEST_BYTES]:
            return kept[_DIGEST_BYTES:]
    piece = make()
    with _new_file(folder) as (unfinished, stream):
        stream.write(hashlib.sha256(piece).digest() + piece)
        stream.close()
        unfinished.replace(folder / key)
    return piece


def stored_image(name: str, layers: Sequence[Layer], start: Start) -> Image:
    """The tarball of these layers under this name, written only if the cache does not have it."""
    if not _NAME.fullmatch(name):
        raise BedError(
            f"{name!r} is no name for an image of the test bed: write registry, path and tag in lower case, like "
            f"docker.io/local/tangram:dev."
        )
    documents = describe(name, layers, start)
    folder = _folder("tarballs")
    label = re.sub(r"[^a-z0-9]+", "-", name.lower())
    stem = f"{label}-{documents.digest}"
    path = _found(folder, stem)
    if path is None:

        def write(stream: BinaryIO) -> str:
            write_archive(documents, layers, stream)
            return stem

        path = _written(folder, write)
        _prune(folder.parent)
    return Image(
        name=name,
        tarball=path,
        size=path.stat().st_size,
        layers=tuple(f"sha256:{layer.digest}" for layer in layers),
    )


def key_by_content(tree: Tree) -> str:
    """A key that changes when any byte of the tree does: it reads every file, so for small trees."""
    return _key(
        tree, lambda path: hashlib.sha256(path.read_bytes() if isinstance(path, Path) else path).hexdigest()
    )


def key_by_times(tree: Tree) -> str:
    """A key that changes when a file's size or time does: for the large trees that only installers write."""
    return _key(tree, _size_and_time)


def _size_and_time(content: bytes | Path) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    status = content.stat()
    return f"{content} {status.st_size} {status.st_mtime_ns}"


def _key(tree: Tree, mark: Callable[[bytes | Path], str]) -> str:
    summary = hashlib.sha256(_recipe())
    for name, entry in sorted(tree.items()):
        text = f"{entry.executable} {mark(entry.content)}" if isinstance(entry, File) else repr(entry)
        summary.update(f"{name}\0{text}\0".encode())
    return summary.hexdigest()[:32]


@cache
def _recipe() -> bytes:
    """What decides the outcome beside the files: the modules that make images, and the Python that runs them."""
    modules = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return modules + f"{sys.version} {sys.base_exec_prefix}".encode()


def _folder(name: str) -> Path:
    folder = cache_folder() / "images" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BedError(
            f"The cache folder {folder} cannot be made ({error.strerror}): set TANGRAM_TESTBED_CACHE."
        ) from None
    return folder


def _found(folder: Path, stem: str) -> Path | None:
    """The whole file with this stem. Its time is set to now, which keeps it from being removed for a while."""
    for path in sorted(folder.glob(f"{stem}.*{_FINISHED}")):
        with suppress(FileNotFoundError):  # another process removed it just now
            os.utime(path)
            if path.name.endswith(f".{path.stat().st_size}{_FINISHED}"):
                return path
    return None


def _written(folder: Path, write: Callable[[BinaryIO], str]) -> Path:
    """The file that `write` fills and gives a stem. Under its name it is whole or not there at all."""
    with _new_file(folder) as (unfinished, stream):
        stem = write(stream)
        size = stream.tell()
        stream.close()
        return unfinished.replace(folder / f"{stem}.{size}{_FINISHED}")


@contextmanager
def _new_file(folder: Path) -> Generator[tuple[Path, BinaryIO]]:
    """An open file under a name nobody else has. It is gone afterwards, unless the caller closed and renamed it."""
    try:
        handle, name = tempfile.mkstemp(dir=folder, suffix=_UNFINISHED)
        try:
            with os.fdopen(handle, "wb") as stream:
                yield Path(name), stream
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        cause = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error
        raise BedError(
            f"Making an image in {folder} failed ({cause}): if that folder is the reason, free some space there or set "
            f"TANGRAM_TESTBED_CACHE to another."
        ) from error


def _prune(folder: Path) -> None:
    now = time.time()
    kept = 0
    for changed, size, path in sorted(_files(folder), reverse=True):
        kept += size
        limit = _ABANDONED_SECONDS if path.suffix == _UNFINISHED else _STILL_IN_USE_SECONDS
        unwanted = path.suffix == _UNFINISHED or kept > _KEPT_BYTES
        if unwanted and now - changed > limit:
            path.unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    for path in folder.glob("*/*"):
        with suppress(FileNotFoundError):  # another process prunes too
            status = path.stat()
            yield status.st_mtime, status.st_size, path

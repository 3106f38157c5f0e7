"""A compressed archive made readable at any place: unpacked as a stream into a file that has no name.

Layers are read more than once, by several uploads at a time and from wherever one was cut off, which xz and gzip do
not allow. So what is inside is written once to the disk of TMPDIR, piece by piece and never whole in memory, and is
gone with the process. Who only wants to know what is inside gets the documents, and holes where the layers are.
"""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import os
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import IO, BinaryIO, Final, NamedTuple, cast

_XZ: Final = b"\xfd7zXZ\x00"
_GZIP: Final = b"\x1f\x8b"
_PIECE: Final = 1 << 20
_DOCUMENT: Final = 4 << 20
"""What is larger is a layer."""
_HEAD: Final = 512
"""Enough of a layer to see how it is compressed."""
_MOST_MEMBERS: Final = 100_000


class Place(NamedTuple):
    start: int
    size: int


class UnreadableError(Exception):
    """Why a stream could not be read, without the file's name."""


class NoRoomError(Exception):
    """The disk of the temporary folder is full. The text is that folder."""


def is_compressed(head: bytes) -> bool:
    """Whether a file that begins like this is unpacked before it is read."""
    return head.startswith((_XZ, _GZIP))


def spooled(
    source: BinaryIO, *, layers: bool, on_bytes: Callable[[int], None] = lambda _: None
) -> tuple[BinaryIO, dict[str, Place]]:
    """What a compressed archive holds, at the places it has in the archive; `layers` says whether large files too."""
    counted = io.BufferedReader(cast("io.RawIOBase", _Counted(source, on_bytes)), _PIECE)
    head = counted.peek(len(_XZ))
    opener = lzma.open if head.startswith(_XZ) else gzip.open
    file = cast("BinaryIO", tempfile.TemporaryFile(buffering=0))  # noqa: SIM115 - handed on, or closed
    try:
        with opener(counted) as unpacked, tarfile.open(fileobj=cast("IO[bytes]", unpacked), mode="r|") as tar:
            found = members_of(tar, lambda member: _copy(tar, member, file, layers=layers))
            # The last checksum comes behind the archive.
            while unpacked.read(_PIECE):
                pass
    except OSError as error:
        file.close()
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise NoRoomError(tempfile.gettempdir()) from None
        raise UnreadableError(str(error)) from None
    except (EOFError, lzma.LZMAError, zlib.error, tarfile.TarError, ValueError, OverflowError) as error:
        file.close()
        raise UnreadableError(str(error)) from None
    except BaseException:
        file.close()
        raise
    return file, found


def members_of(
    tar: tarfile.TarFile, on_file: Callable[[tarfile.TarInfo], None] = lambda _: None
) -> dict[str, Place]:
    """The files of an archive by name. Older dockers write a layer once, and links for its other names."""
    files: dict[str, Place] = {}
    links: dict[str, str] = {}
    for member in tar:
        name = member.name.removeprefix("./")
        if member.isfile():
            files[name] = Place(member.offset_data, member.size)
            on_file(member)
        elif member.issym():
            links[name] = os.path.normpath(f"{name.rpartition('/')[0]}/{member.linkname}".lstrip("/"))
        elif member.islnk():
            links[name] = member.linkname.removeprefix("./")
        if len(files) + len(links) > _MOST_MEMBERS:
            raise tarfile.ReadError(f"it has more than {_MOST_MEMBERS} files")
    for name, target in links.items():
        with suppress(KeyError):
            files.setdefault(name, files[target])
    return files


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, file: BinaryIO, *, layers: bool) -> None:
    end = member.offset_data + member.size
    source = tar.extractfile(member)
    wanted = member.size if layers or member.size <= _DOCUMENT else _HEAD
    if source is not None:
        at = member.offset_data
        while wanted > 0 and (piece := source.read(min(_PIECE, wanted))):
            wanted -= len(piece)
            rest = memoryview(piece)
            while rest:
                # A disk that is nearly full takes a part.
                written = os.pwrite(file.fileno(), rest, at)
                at, rest = at + written, rest[written:]
        if wanted:
            raise EOFError("its end is missing")
    if os.fstat(file.fileno()).st_size < end:
        os.ftruncate(file.fileno(), end)


class _Counted(io.RawIOBase):
    """The file, with somebody told how much of it has been read."""

    def __init__(self, source: BinaryIO, on_bytes: Callable[[int], None]) -> None:
        super().__init__()
        self._source, self._on_bytes = source, on_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        data = self._source.read(len(buffer))
        buffer[: len(data)] = data
        self._on_bytes(len(data))
        return len(data)

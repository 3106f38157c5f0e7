"""One blob of an archive as an open file, for whoever reads it from beginning to end and must not hold it whole."""

from __future__ import annotations

import io
from collections.abc import Callable

from tangram.services.images.archive import Archive, Descriptor


class BlobReader(io.RawIOBase):
    """A blob, read where it lies in the archive."""

    def __init__(
        self, archive: Archive, blob: Descriptor, on_bytes: Callable[[int], None] = lambda _: None
    ) -> None:
        super().__init__()
        self._archive, self._blob, self._on_bytes = archive, blob, on_bytes
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        data = self._archive.read(self._blob, self._at, min(len(buffer), self._blob.size - self._at))
        buffer[: len(data)] = data
        self._at += len(data)
        self._on_bytes(len(data))
        return len(data)

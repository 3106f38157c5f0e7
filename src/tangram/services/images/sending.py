"""One blob to a registry, in pieces, so that a lost connection costs a piece and not the blob.

A small blob goes in one request. A larger one is begun, sent piece by piece and finished; after a failure the registry
is asked how far it got, and the next piece begins there. Tries are counted from the last piece that arrived: a slow
line may fail a hundred times as long as it gets on. Smaller pieces are tried where a proxy refuses large requests, and
one request where a registry knows no pieces.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Callable
from typing import Final

from yarl import URL

from tangram.services.images.archive import Archive, Descriptor
from tangram.services.images.blob_reader import BlobReader
from tangram.services.images.errors import ImagesError, InterruptedPushError
from tangram.services.images.patience import TRIES, pause_after
from tangram.services.images.places import read_address
from tangram.services.images.registry import Answer, Registry, Streamed

PIECE: Final = 16 << 20
SMALL_PIECE: Final = 1 << 20
"""What nginx lets through unless told otherwise."""
_READ: Final = 1 << 20
_RANGE: Final = re.compile(r"(?:bytes=)?0-([0-9]{1,15})")
_BINARY: Final = {"Content-Type": "application/octet-stream"}
_NO_PIECES: Final = frozenset({404, 405, 415, 501})
_TOO_LARGE: Final = 413
_NOT_THERE: Final = 416
"""The piece does not begin where the last one ended."""


class Sending:
    """One blob on its way. `moved` is told how many of its bytes have arrived."""

    def __init__(
        self,
        registry: Registry,
        repository: str,
        archive: Archive,
        blob: Descriptor,
        moved: Callable[[int], None],
        *,
        piece: int = PIECE,
    ) -> None:
        self._registry = registry
        self._uploads = registry.base / repository / "blobs" / "uploads" / ""
        self._blob_url = registry.base / repository / "blobs" / blob.digest
        self._what = f"{repository}@{blob.digest[:19]}"
        self._archive = archive
        self._blob = blob
        self._moved = moved
        self._piece = piece
        self._whole = False
        self._session: URL | None = None
        self._at = 0

    async def finish(self) -> bool:
        """Bring the blob there; whether anything had to be sent."""
        failures = 0
        while True:
            before = self._at
            try:
                if await self._is_there():
                    return before > 0
                await self._upload()
            except InterruptedPushError as error:
                failures = 1 if self._at > before else failures + 1
                if failures >= TRIES:
                    raise
                await self._registry.pause(pause_after(failures, error))
            else:
                return True

    async def _is_there(self) -> bool:
        answer = await self._registry.ask("HEAD", self._blob_url, self._what, {200, 404})
        if answer.status != 200:
            return False
        told = answer.headers.get("Content-Length")
        if told is not None and told != str(self._blob.size):
            raise ImagesError(
                f"{self._registry.target.domain} holds {self._what} with {told} bytes instead of {self._blob.size}: "
                "its storage is damaged; delete that blob there, then push again."
            )
        self._moved(self._blob.size)
        return True

    async def _upload(self) -> None:
        session = await self._resumed()
        if session is None:
            session = await self._begun()
        while not self._whole and self._blob.size - self._at > (0 if self._at else self._piece):
            session = await self._sent_piece(session)
        rest = await self._rest()
        url = session.update_query({"digest": self._blob.digest})
        answer = await self._registry.ask(
            "PUT", url, self._what, {201, 204, _TOO_LARGE, _NOT_THERE}, headers=_BINARY, body=rest
        )
        self._session = None
        if answer.status == _TOO_LARGE and not self._smaller():
            raise self._registry.speaker.refused(self._what, answer.status, answer.content)
        if answer.status in {_TOO_LARGE, _NOT_THERE}:
            self._at = 0
            raise InterruptedPushError(
                f"{self._registry.target.domain} took {self._what} only in part: push again."
            )
        self._confirm(answer)
        self._moved(self._blob.size)

    async def _rest(self) -> bytes | Streamed:
        if self._blob.size - self._at <= self._piece:
            return await asyncio.to_thread(self._archive.read, self._blob, self._at)
        # Only where a registry knows no pieces, and then from the beginning.
        return Streamed(
            self._blob.size, lambda: io.BufferedReader(BlobReader(self._archive, self._blob), _READ)
        )

    async def _begun(self) -> URL:
        self._at = 0
        answer = await self._registry.ask(
            "POST", self._uploads, self._what, {202}, headers={"Content-Length": "0"}
        )
        shortest = answer.headers.get("OCI-Chunk-Min-Length", "")
        if shortest.isascii() and shortest.isdigit() and len(shortest) < 12:
            self._piece = max(self._piece, int(shortest))
        return self._next(answer, self._uploads)

    async def _resumed(self) -> URL | None:
        """The upload that was interrupted, if the registry still has it."""
        if self._session is None:
            return None
        session = self._session
        answer = await self._registry.ask("GET", session, self._what, {200, 202, 204, *range(400, 500)})
        reached = _RANGE.fullmatch(answer.headers.get("Range", ""))
        if answer.status >= 400 or reached is None:
            self._session = None
            return None
        # A registry says 0-0 for nothing as well as for one byte; no piece of ours has one byte.
        self._at = int(reached[1]) + 1 if int(reached[1]) else 0
        if self._at > self._blob.size:
            self._session = None
            return None
        self._moved(self._at)
        return self._next(answer, session)

    async def _sent_piece(self, session: URL) -> URL:
        piece = await asyncio.to_thread(self._archive.read, self._blob, self._at, self._piece)
        end = self._at + len(piece)
        answer = await self._registry.ask(
            "PATCH",
            session,
            self._what,
            {202, 204, _TOO_LARGE, _NOT_THERE, *_NO_PIECES},
            headers={**_BINARY, "Content-Range": f"{self._at}-{end - 1}"},
            body=piece,
        )
        if answer.status == _TOO_LARGE:
            if self._smaller():
                return session
            raise self._registry.speaker.refused(self._what, answer.status, answer.content)
        if answer.status == _NOT_THERE:
            raise InterruptedPushError(
                f"{self._registry.target.domain} lost a piece of {self._what}: push again."
            )
        if answer.status in _NO_PIECES:
            self._session = None
            if self._at:  # it knew pieces before, so it has forgotten this upload
                self._at = 0
                raise InterruptedPushError(
                    f"{self._registry.target.domain} has forgotten {self._what}: push again."
                )
            self._whole = True
            return await self._begun()
        self._at = end
        self._moved(end)
        return self._next(answer, session)

    def _smaller(self) -> bool:
        if self._piece <= SMALL_PIECE:
            return False
        self._piece = SMALL_PIECE
        return True

    def _next(self, answer: Answer, asked: URL) -> URL:
        """Where an upload goes on. Registries may change it with each answer, and may leave out the host."""
        told = answer.headers.get("Location", "")
        found = read_address(told, asked)
        domain = self._registry.target.domain
        if found is None:
            raise ImagesError(
                f"{domain} sends {self._what} to {told!r:.120}, which is no address of HTTP or HTTPS: mend "
                "its settings."
            )
        if self._registry.base.scheme == "https" and found.scheme == "http":
            raise ImagesError(
                f"{domain} sends {self._what} on to {told!r:.120}, which is not encrypted: let the proxy in front of "
                "it tell it that it is reached by HTTPS (X-Forwarded-Proto: https)."
            )
        self._session = found
        return found

    def _confirm(self, answer: Answer) -> None:
        told = answer.headers.get("Docker-Content-Digest", self._blob.digest)
        if told != self._blob.digest:
            raise ImagesError(
                f"{self._registry.target.domain} received {self._what} as {told:.80}: something on the way changes "
                "what is sent; look at the proxies in between."
            )

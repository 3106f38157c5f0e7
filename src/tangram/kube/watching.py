"""A watch as it comes over the wire: bytes in pieces of any size, one JSON object to a line.

It trusts nothing of it. Pieces may be single bytes, a line may never end or be no event, and the stream may stop in the
middle of one; each of these ends the watch with `ApiUnreachable`, and whoever follows it asks again from where it was.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from typing import Final

import msgspec

from tangram.kube.errors import ApiUnreachable, error_in_watch
from tangram.kube.objects import Object

LONGEST_LINE: Final = 64 << 20
"""Bytes of one event. Objects are stored in far less; more is a stream that is no watch."""


class _WatchEvent(msgspec.Struct):
    type: str
    object: Object


async def whole_lines(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """Lines that have come whole, without their ends; empty ones are left out."""
    pieces: list[bytes] = []
    waiting = 0
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        pieces.append(first)
        waiting += len(first)
        for other in others:
            line = b"".join(pieces)
            if line:
                yield line
            pieces, waiting = [other], len(other)
        if waiting > LONGEST_LINE:
            raise ApiUnreachable(f"a watch brought more than {LONGEST_LINE} bytes without an end of the line")
    if waiting:
        raise ApiUnreachable("a watch ended in the middle of an event")


def event_in(line: bytes) -> tuple[str, Object]:
    """One event as (type, object). Raises `ApiError` for an `ERROR` event."""
    try:
        event = msgspec.json.decode(line, type=_WatchEvent)
    except msgspec.DecodeError as error:
        raise ApiUnreachable(f"a watch brought something that is no event ({error})") from error
    if event.type == "ERROR":
        raise error_in_watch(event.object)
    return event.type, event.object

"""Protobuf's own grammar: a message is a row of numbered pieces. Nothing is known here of what they mean."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

_MOST_SHIFT: Final = 63
_BYTE: Final = 7


class Unreadable(ValueError):  # noqa: N818 - says what is the case
    """Bytes that are no message. Its text is one clause."""


def pieces_of(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each piece: a number, or bytes. Raises `Unreadable`."""
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        field, form = key >> 3, key & 7
        match form:
            case 0:
                value, at = _number(data, at)
                yield field, value
            case 2:
                length, at = _number(data, at)
                if at + length > len(data):
                    raise Unreadable("a field is longer than the body")
                yield field, data[at : at + length]
                at += length
            case 1 | 5:
                width = 8 if form == 1 else 4
                if at + width > len(data):
                    raise Unreadable("the body ends in the middle of a field")
                yield field, data[at : at + width]
                at += width
            case _:
                raise Unreadable(f"a field has the form {form}, which is none of protobuf's")


def numbers_in(data: memoryview) -> list[int]:
    """Numbers that stand one behind the other. Raises `Unreadable`."""
    found: list[int] = []
    at = 0
    while at < len(data):
        value, at = _number(data, at)
        found.append(value)
    return found


def signed(value: int) -> int:
    """The number of 64 bits that was meant."""
    return value - (1 << 64) if value >> _MOST_SHIFT else value


def fraction(value: memoryview) -> float:
    """The number of eight bytes that was meant. Raises `Unreadable`."""
    try:
        return float(struct.unpack("<d", value)[0])
    except struct.error:
        raise Unreadable("a fraction has not eight bytes") from None


def _number(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise Unreadable("the body ends in the middle of a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += _BYTE
        if shift > _MOST_SHIFT:
            raise Unreadable("a number has more than ten bytes")

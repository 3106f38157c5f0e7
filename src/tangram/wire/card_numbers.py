"""Comma lists of card numbers: `gpu-index` for Moore Threads' toolkit, `gpu-minors` for Koordinator's users."""

from __future__ import annotations

from collections.abc import Iterable

from tangram.wire.errors import WireError


def encode_numbers(numbers: Iterable[int], key: str) -> str:
    """The numbers in the order they were given. Raises `WireError` when there are none or a card has none."""
    listed = tuple(numbers)
    if not listed or min(listed) < 0:
        raise WireError("numbers-unwritable", f"{key} needs the number of every card that was given")
    return ",".join(map(str, listed))

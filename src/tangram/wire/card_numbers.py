"""Comma lists of card numbers: `gpu-index` for Moore Threads' toolkit, `gpu-minors` for Koordinator's users."""

from __future__ import annotations

from collections.abc import Iterable

from tangram.wire import loose
from tangram.wire.errors import WireError, shown


def encode_numbers(numbers: Iterable[int], key: str) -> str:
    """The numbers in the order they were given. Raises `WireError` when there are none or a card has none."""
    listed = tuple(numbers)
    if not listed or min(listed) < 0:
        raise WireError("numbers-unwritable", f"{key} needs the number of every card that was given")
    return ",".join(map(str, listed))


def decode_numbers(written: str, key: str) -> tuple[int, ...]:
    """The numbers as listed. Raises `WireError` for anything that is no comma list of them."""
    numbers = tuple(loose.integer(part) for part in written.split(",") if part.strip())
    known = tuple(number for number in numbers if number is not None and number >= 0)
    if not known or len(known) != len(numbers):
        raise WireError(
            "numbers-malformed", f"{key} is {shown(written)}: it is a comma list such as 0 or 3,2"
        )
    return known

"""One object for every figure that could not be had.

A card that does not report its temperature is not at 0 degrees, and a caller that has to catch an exception per figure
will forget one. So a missing figure is `NA`: it prints as "N/A", is encoded as null, and compares unequal to every
number. It refuses arithmetic, because a sum over cards that silently leaves one out is a wrong sum.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, TypeVar


class NotAvailable(Enum):
    """The type of `NA`; an enum, so that type checkers tell it apart from a figure."""

    NA = None

    def __str__(self) -> str:
        return "N/A"

    def __bool__(self) -> Literal[False]:
        return False


NA: Final = NotAvailable.NA

_Figure = TypeVar("_Figure")

Maybe = _Figure | NotAvailable
"""A figure, or `NA`."""


def known(figure: _Figure | NotAvailable, otherwise: _Figure) -> _Figure:
    """The figure, or what to take for it when there is none."""
    return otherwise if isinstance(figure, NotAvailable) else figure

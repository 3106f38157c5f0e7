"""Exact Kubernetes quantities: what a pod asks for and what a node offers.

Kubernetes gives every quantity a precision of one nano, so a quantity is an integer
count of nanos and arithmetic on it is integer arithmetic: nothing is ever a float,
and a thousand additions lose nothing. How a text becomes such a count is the
business of `quantity_grammar`; what the count means and how it is written back is
the business of this module.
"""

import functools
from dataclasses import dataclass
from fractions import Fraction

from tangram.units.quantity_grammar import (
    BINARY_EXPONENTS,
    DECIMAL_EXPONENTS,
    NANOS_PER_ONE,
    Format,
    QuantityError,
    read,
)

__all__ = ["ZERO", "Format", "Quantity", "QuantityError", "parse_quantity"]

_NANOS_PER_MILLI = 10**6
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in DECIMAL_EXPONENTS.items()}
_BINARY_SUFFIXES = ["", *BINARY_EXPONENTS]
_LARGEST_DECIMAL_EXPONENT = max(_DECIMAL_SUFFIXES)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Quantity:
    """An exact number that remembers the family of suffixes it was written with.

    Two quantities are equal when their values are: 1Gi, 1024Mi and 1073741824 are one
    dictionary key. Precision, rounding and text follow apimachinery; it differs on
    purpose only where apimachinery prints or returns a number that is not the
    quantity's own: past 999E, past 1023Ei, past 64 bits, and for some negative
    fractions. Here those stay exact.
    """

    nanos: int
    format: Format = Format.DECIMAL_SI
    kept_text: str | None = None
    """The spelling that apimachinery hands on unchanged, when there is one."""

    @staticmethod
    def parse(text: str) -> "Quantity":
        """Read any text the API server accepts; raise `QuantityError` for any other."""
        return parse_quantity(text)

    @staticmethod
    def whole(number: int, written_as: Format = Format.DECIMAL_SI) -> "Quantity":
        return Quantity(number * NANOS_PER_ONE, written_as)

    @property
    def is_integer(self) -> bool:
        return self.nanos % NANOS_PER_ONE == 0

    @property
    def sign(self) -> int:
        return (self.nanos > 0) - (self.nanos < 0)

    def value(self) -> int:
        """The number as an integer; a fraction goes up to the next one, away from zero."""
        return _rounded_away_from_zero(self.nanos, NANOS_PER_ONE)

    def milli_value(self) -> int:
        """The number of thousandths; a fraction goes up to the next one, away from zero."""
        return _rounded_away_from_zero(self.nanos, _NANOS_PER_MILLI)

    def as_fraction(self) -> Fraction:
        return Fraction(self.nanos, NANOS_PER_ONE)

    def canonical(self) -> str:
        """The shortest text without a fraction: the largest suffix that loses nothing."""
        if not self.nanos:
            return "0"
        if self.format is Format.BINARY_SI and self.is_integer and abs(self.value()) >= 1024:
            return _binary_text(self.value())
        return _decimal_text(self.nanos, self.format)

    def __str__(self) -> str:
        """The text the API server hands out, which is canonical but for a kept spelling."""
        return self.canonical() if self.kept_text is None else self.kept_text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: "Quantity") -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: "Quantity") -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: "Quantity") -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: "Quantity") -> bool:
        return self.nanos >= other.nanos

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos + other.nanos, self._format_of_result(other))

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos - other.nanos, self._format_of_result(other))

    def __neg__(self) -> "Quantity":
        return Quantity(-self.nanos, self.format)

    def _format_of_result(self, other: "Quantity") -> Format:
        # A sum that starts at zero takes the look of its first summand.
        return self.format if self.nanos else other.format


@functools.lru_cache(maxsize=16384)
def parse_quantity(text: str) -> Quantity:
    """Read a quantity; a cluster repeats the same few texts, so repeats cost a lookup."""
    return Quantity(*read(text))


def _rounded_away_from_zero(nanos: int, unit: int) -> int:
    return -(-nanos // unit) if nanos >= 0 else nanos // unit


def _binary_text(number: int) -> str:
    step = 0
    while number % 1024 == 0 and step < len(_BINARY_SUFFIXES) - 1:
        number //= 1024
        step += 1
    return f"{number}{_BINARY_SUFFIXES[step]}"


def _decimal_text(nanos: int, written_as: Format) -> str:
    number, exponent = nanos, -9
    has_letters = written_as is not Format.DECIMAL_EXPONENT
    while number % 1000 == 0 and not (has_letters and exponent == _LARGEST_DECIMAL_EXPONENT):
        number //= 1000
        exponent += 3
    if has_letters:
        return f"{number}{_DECIMAL_SUFFIXES[exponent]}"
    return f"{number}e{exponent}" if exponent else str(number)


ZERO = Quantity(0)

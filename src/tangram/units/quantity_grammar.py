"""How Kubernetes reads a quantity, letter for letter.

The API server, kubelet and every controller written in Go read quantities with
apimachinery's `resource.ParseQuantity`. Where its documentation and its behaviour
differ, its behaviour is what a pod gets, so its behaviour is what is written here:
a text without any digit ("Ki", "+", ".") is zero, a plain number keeps its spelling
when it is already nearly canonical ("+5", "1.500"), and only binary suffixes are
capped at 2^63-1.

Two things it swallows are refused here, because reading them exactly would let one
line of a manifest fill the memory of the reader: texts longer than `LONGEST_TEXT`,
and exponents beyond `LARGEST_EXPONENT`.
"""

import enum
import re
from typing import NamedTuple

from tangram.units.refusal import UnitError

NANOS_PER_ONE = 10**9
LARGEST_BINARY = 2**63 - 1
LONGEST_TEXT = 512
LARGEST_EXPONENT = 512

DECIMAL_EXPONENTS = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
BINARY_EXPONENTS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

_SHAPE = re.compile(r"([+-]?)([0-9]*)(\.[0-9]*)?([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_MISSPELT = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?)(?:([kmgtp])(i?)b?|b)", re.IGNORECASE)
_LEGAL = (
    "a quantity is a number and at most one suffix of n u m k M G T P E, "
    "Ki Mi Gi Ti Pi Ei, or an exponent such as e3"
)


class Format(enum.Enum):
    """The family of suffixes a quantity was written with and is written back in."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class QuantityError(UnitError):
    """A text that is not a Kubernetes quantity, or one too large to read safely."""


class Reading(NamedTuple):
    """What a text says: an exact count of nanos, its format, and its spelling if kept."""

    nanos: int
    format: Format
    kept_text: str | None


class _Suffix(NamedTuple):
    format: Format
    base: int
    exponent: int


def read(text: str) -> Reading:
    """Read a quantity as the API server does, or raise `QuantityError`."""
    if len(text) > LONGEST_TEXT:
        legal = f"a quantity has at most {LONGEST_TEXT} characters, this has {len(text)}"
        raise QuantityError("quantity_too_long", text, legal, "a shorter number, such as 16Gi")
    shape = _SHAPE.fullmatch(text)
    suffix = _read_suffix(text, shape[4]) if shape else None
    if not text or shape is None or suffix is None:
        raise _malformed(text)

    whole = shape[2].lstrip("0") or "0"
    fraction = (shape[3] or ".")[1:]
    digits = whole + fraction
    if _fits_a_machine_word(whole, fraction, suffix):
        kept_text = text if _is_nearly_canonical(digits, fraction, suffix) else None
    elif not shape[2] and not fraction:
        # Without digits only the machine-word path reads zero; the other one finds no number.
        raise _malformed(text)
    else:
        kept_text = None

    nanos = _away_from_zero(
        int(digits) * NANOS_PER_ONE * suffix.base ** max(suffix.exponent, 0),
        10 ** len(fraction) * suffix.base ** max(-suffix.exponent, 0),
    )
    format_ = suffix.format
    if format_ is Format.BINARY_SI:
        nanos = min(nanos, LARGEST_BINARY * NANOS_PER_ONE)
        if 0 < nanos < NANOS_PER_ONE:
            format_ = Format.DECIMAL_SI
    return Reading(-nanos if shape[1] == "-" else nanos, format_, kept_text)


def _read_suffix(text: str, suffix: str) -> _Suffix | None:
    if suffix in DECIMAL_EXPONENTS:
        return _Suffix(Format.DECIMAL_SI, 10, DECIMAL_EXPONENTS[suffix])
    if suffix in BINARY_EXPONENTS:
        return _Suffix(Format.BINARY_SI, 2, BINARY_EXPONENTS[suffix])
    written = _EXPONENT.fullmatch(suffix)
    if written is None:
        return None
    exponent = int(written[1])
    if abs(exponent) > LARGEST_EXPONENT:
        legal = f"an exponent lies between -{LARGEST_EXPONENT} and {LARGEST_EXPONENT}"
        raise QuantityError("quantity_exponent", text, legal, "a smaller exponent, such as 1e9")
    return _Suffix(Format.DECIMAL_EXPONENT, 10, exponent)


def _fits_a_machine_word(whole: str, fraction: str, suffix: _Suffix) -> bool:
    """Whether apimachinery reads this on its 64-bit path, which alone may keep the spelling."""
    if suffix.format is Format.BINARY_SI:
        digits_left = 14 - len(whole) - suffix.exponent * 3 // 10
        return not fraction and digits_left >= 0
    return len(whole) + len(fraction) <= 18 and suffix.exponent - len(fraction) >= -9


def _is_nearly_canonical(digits: str, fraction: str, suffix: _Suffix) -> bool:
    if suffix.format is Format.BINARY_SI:
        return int(digits) % 8 != 0
    aligned = (suffix.exponent - len(fraction)) % 3 == 0
    return aligned and not digits.endswith("000") and not digits.startswith("0")


def _away_from_zero(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def _malformed(text: str) -> QuantityError:
    return QuantityError("quantity_malformed", text, _LEGAL, _nearest_legal(text))


def _nearest_legal(text: str) -> str:
    """Offer the spelling that was most likely meant, such as 16Gi for "16 GiB"."""
    compact = "".join(text.split())
    shape = _SHAPE.fullmatch(compact)
    if shape and shape[2] and (shape[4] in DECIMAL_EXPONENTS or shape[4] in BINARY_EXPONENTS):
        return compact
    meant = _MISSPELT.fullmatch(compact)
    if meant is None:
        return "a number such as 500m, 2 or 16Gi"
    letter = (meant[2] or "").upper()
    if meant[3]:
        return f"{meant[1]}{letter}i"
    return f"{meant[1]}{'k' if letter == 'K' else letter}"

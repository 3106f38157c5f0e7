"""Card memory as an exact number of bytes, and the outside units it comes and goes in.

The outside world counts card memory in three units: MiB (HAMi's ledger and most
tools), GiB (a bare `vmemory`) and blocks of 512 MiB (`sgpu-memory` of Moore Threads).
A number that forgot its unit is how a request for 2 GiB becomes a whole card, so
inside there is one unit, bytes, with a type of its own; every crossing has a function
that names the unit and, where something can be lost, the direction of rounding.
"""

import re
from typing import NewType

from tangram.units.refusal import UnitError

Bytes = NewType("Bytes", int)

KIB = 2**10
MIB = 2**20
GIB = 2**30
TIB = 2**40
SGPU_MEMORY_UNIT = 512 * MIB

_UNITS = {
    "B": 1,
    "bytes": 1,
    "Ki": KIB,
    "KiB": KIB,
    "Mi": MIB,
    "MiB": MIB,
    "Gi": GIB,
    "GiB": GIB,
    "Ti": TIB,
    "TiB": TIB,
}
# Digits beyond these could only be zeros or fractions of a byte, and bound the work of a hostile text.
_SIZE = re.compile(r"([0-9]{1,30})(?:\.([0-9]{1,40}))? ?([A-Za-z]*)")
_LEGAL = "a memory size is a number and a unit of KiB, MiB, GiB or TiB (short Ki, Mi, Gi, Ti)"


class MemorySizeError(UnitError):
    """A text that is no memory size, or a size that an outside unit cannot express."""


def from_mib(mib: int) -> Bytes:
    """The size of a whole number of MiB."""
    return Bytes(_counted(mib, "MiB") * MIB)


def from_gib(gib: int) -> Bytes:
    """The size of a whole number of GiB."""
    return Bytes(_counted(gib, "GiB") * GIB)


def from_512mib_units(units: int) -> Bytes:
    """The size of a number of `sgpu-memory` units."""
    return Bytes(_counted(units, "units of 512 MiB") * SGPU_MEMORY_UNIT)


def floor_mib(size: Bytes) -> int:
    """The whole MiB that fit into a size: for what a card offers."""
    return size // MIB


def ceil_mib(size: Bytes) -> int:
    """The whole MiB that hold a size: for what a workload needs."""
    return -(-size // MIB)


def parse_memory(text: str) -> Bytes:
    """Read a size as people write it in our own files: "64Gi", "64 GiB", "65536MiB".

    A number without a unit is refused, because each of its likely readers would assume
    another one; so are GB and MB, which some tools use for powers of ten and some for
    powers of two. A fraction is welcome as long as it makes whole bytes ("1.5 GiB").
    """
    written = _SIZE.fullmatch(text.strip())
    if written is None:
        raise MemorySizeError("memory_malformed", text, _LEGAL, "a size such as 64 GiB")
    whole, fraction, unit = written[1], written[2] or "", written[3]
    if unit not in _UNITS:
        raise MemorySizeError("memory_unit", text, _LEGAL, _with_legal_unit(whole, fraction, unit))
    size, rest = divmod(int(whole + fraction) * _UNITS[unit], 10 ** len(fraction))
    if rest:
        legal = "a memory size is a whole number of bytes"
        raise MemorySizeError("memory_fraction", text, legal, f"{size} bytes")
    return Bytes(size)


def memory_text(size: Bytes) -> str:
    """The size for people, always exact: "16 GiB", "1.5 GiB", "1126 MiB", "1000 bytes".

    The largest unit that needs at most two decimals wins. GiB is the largest because
    cards are sold and compared in it; 2048 GiB beside 64 GiB needs no arithmetic.
    """
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        hundredths, rest = divmod(abs(size) * 100, unit)
        if not rest and hundredths >= 100:
            return f"{'-' if size < 0 else ''}{_without_trailing_zeros(hundredths)} {name}"
    return f"{size} bytes"


def rough_memory_text(size: Bytes) -> str:
    """The size for a narrow column: exact if that is short, else "about" and one decimal."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(size) >= unit:
            tenths, rest = divmod(abs(size) * 10 + unit // 2, unit)
            text = f"{'-' if size < 0 else ''}{_without_trailing_zeros(tenths * 10)} {name}"
            return text if rest == unit // 2 else f"about {text}"
    return f"{size} bytes"


def _counted(count: int, unit: str) -> int:
    if count < 0:
        raise MemorySizeError("memory_negative", f"{count} {unit}", "memory is never negative", f"0 {unit}")
    return count


def _without_trailing_zeros(hundredths: int) -> str:
    whole, rest = divmod(hundredths, 100)
    return f"{whole}.{rest:02}".rstrip("0").rstrip(".")


def _with_legal_unit(whole: str, fraction: str, unit: str) -> str:
    number = f"{whole}.{fraction}" if fraction else whole
    meant = {legal.lower(): legal for legal in _UNITS}.get(unit.lower())
    if meant is not None:
        return f"{number} {meant}"
    letter = unit[:1].upper()
    return f"{number} {letter}iB" if letter in {"K", "M", "G", "T"} else f"{number} MiB or {number} GiB"

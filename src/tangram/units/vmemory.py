"""What a `metax-tech.com/vmemory` quantity means, without guessing.

A bare number means GiB; a number with a suffix means bytes, floored to MiB. But
nobody ever sees what a person wrote: the API server first rewrites every quantity
canonically, so a bare 2000 arrives as "2k" and looks like 2000 bytes. A reader that
goes by letters alone floors that to 0 MiB, and 0 means "not asked for": the
container silently gets the whole card.

The rule here, always on the text the API server would hand out, so that a manifest
never means one size before it was stored and another one after:

=====================  ============================  ===============================
what arrives           examples                      meaning
=====================  ============================  ===============================
no letter              16, 2048                      GiB
binary suffix          512Mi, 64Gi                   bytes, floored to MiB
decimal, >= 1 MiB      64M (from 64M or 64000000)    bytes, floored to MiB
decimal, < 1 MiB       2k (from 2k or 2000), 16e0    refused, naming both readings
binary, < 1 MiB        512Ki                         refused, never "the whole card"
binary, loses suffix   1.00048828125Mi (is 1049088)  refused, would become GiB
zero, negative         0, -4                         refused
fraction               1500m, 1.1Gi                  refused
=====================  ============================  ===============================
"""

import itertools

from tangram.units.memory import GIB, MIB, Bytes, floor_mib, from_mib, memory_text
from tangram.units.quantity import Format, Quantity, QuantityError, parse_quantity
from tangram.units.refusal import UnitError

_LEGAL = "vmemory is a positive number of GiB, or of bytes with a suffix such as Mi or Gi"


class VmemoryError(UnitError):
    """A `vmemory` that cannot be honoured.

    Its code is one of `vmemory_malformed`, `vmemory_not_positive`, `vmemory_fraction`,
    `vmemory_below_one_mib`, `vmemory_suffix_lost` and `vmemory_ambiguous`; only the last
    one has two readings, and then `as_bytes` and `as_gib` hold both for a caller to show.
    """

    def __init__(
        self,
        code: str,
        read: str,
        legal: str,
        instead: str,
        *,
        as_bytes: Bytes | None = None,
        as_gib: Bytes | None = None,
    ) -> None:
        super().__init__(code, read, legal, instead)
        self.as_bytes = as_bytes
        self.as_gib = as_gib


def vmemory_bytes(asked: str | Quantity) -> Bytes:
    """The memory that a `vmemory` request asks for on each card, in whole MiB.

    Raises `VmemoryError` rather than ever returning zero or a guess.
    """
    quantity = _parsed(asked) if isinstance(asked, str) else asked
    read = asked if isinstance(asked, str) else str(asked)
    if quantity.sign <= 0:
        raise VmemoryError("vmemory_not_positive", read, _LEGAL, "16Gi, or leave it out for the whole card")
    if not quantity.is_integer:
        raise _fraction(read, quantity)
    floored = from_mib(floor_mib(Bytes(quantity.value())))
    if quantity.format is Format.BINARY_SI:
        return _binary(read, quantity, floored)
    if not _has_letter(quantity):
        return Bytes(quantity.value() * GIB)
    if not floored:
        raise _ambiguous(read, quantity)
    return floored


def _binary(read: str, quantity: Quantity, floored: Bytes) -> Bytes:
    if not floored:
        raise VmemoryError("vmemory_below_one_mib", read, "the smallest vmemory is 1 MiB", "1Mi or more")
    if not _has_letter(quantity):
        legal = f"the API server stores it as {quantity} without a suffix, which means GiB"
        raise VmemoryError("vmemory_suffix_lost", read, legal, f"{floor_mib(floored)}Mi")
    return floored


def _parsed(text: str) -> Quantity:
    try:
        return parse_quantity(text)
    except QuantityError as error:
        raise VmemoryError("vmemory_malformed", text, error.legal, error.instead) from error


def _has_letter(quantity: Quantity) -> bool:
    return any(character.isalpha() for character in str(quantity))


def _fraction(read: str, quantity: Quantity) -> VmemoryError:
    # Below 1 MiB of bytes only GiB can have been meant, as in 1.5 or its canonical 1500m.
    factor = 1 if quantity.value() >= MIB else GIB
    mib = floor_mib(Bytes(int(quantity.as_fraction() * factor)))
    legal = "vmemory is a whole number of GiB, or of bytes with a suffix such as Mi or Gi"
    return VmemoryError("vmemory_fraction", read, legal, f"{max(mib, 1)}Mi")


def _ambiguous(read: str, quantity: Quantity) -> VmemoryError:
    number = quantity.value()
    as_bytes, as_gib = Bytes(number), Bytes(number * GIB)
    stored = "" if str(quantity) == read else f"the API server stores it as {quantity}, "
    mantissa = "".join(itertools.takewhile(str.isdigit, quantity.canonical()))
    return VmemoryError(
        "vmemory_ambiguous",
        read,
        f"{stored}as bytes that is below 1 MiB, as GiB it is {memory_text(as_gib)}",
        f"{number}Gi" if mantissa == str(number) else f"{number}Gi or {mantissa}Gi",
        as_bytes=as_bytes,
        as_gib=as_gib,
    )

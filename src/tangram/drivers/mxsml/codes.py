"""What the library's return codes mean to a caller, and what they say in words.

The library has its own words for a code and those are preferred; the ones here are for a library without them and for
tests. Nothing above this package ever sees a number without its kind.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tangram.drivers.errors import Kind

DONE: Final = 0
NO_DEVICE: Final = 2
NOT_SUPPORTED: Final = 3
SYSFS_READ: Final = 4
SYSFS_WRITE: Final = 5
GONE: Final = 6
TOO_SMALL: Final = 10
ABSENT: Final = -1
"""Not the library's: the function itself is not there."""


class Meaning(NamedTuple):
    kind: Kind
    text: str


MEANINGS: Final = {
    1: Meaning(Kind.FAILED, "unexpected failure"),
    NO_DEVICE: Meaning(Kind.NO_DRIVER, "no usable device was found"),
    NOT_SUPPORTED: Meaning(Kind.NOT_SUPPORTED, "the device does not support this"),
    SYSFS_READ: Meaning(Kind.FAILED, "a sysfs file could not be read"),
    SYSFS_WRITE: Meaning(Kind.FAILED, "a sysfs file could not be written"),
    GONE: Meaning(Kind.CARD_GONE, "the device is not there"),
    7: Meaning(Kind.INVALID, "no such die"),
    8: Meaning(Kind.NOT_PERMITTED, "permission denied"),
    9: Meaning(Kind.INVALID, "a value was refused"),
    TOO_SMALL: Meaning(Kind.FAILED, "a buffer was too small"),
    11: Meaning(Kind.FAILED, "reserved code"),
    12: Meaning(Kind.FAILED, "an ioctl failed"),
    13: Meaning(Kind.FAILED, "mapping memory failed"),
    14: Meaning(Kind.FAILED, "unmapping memory failed"),
    15: Meaning(Kind.FAILED, "wrong input for mapping memory"),
    16: Meaning(Kind.FAILED, "reserved code"),
    17: Meaning(Kind.FAILED, "reserved code"),
    18: Meaning(Kind.CARD_GONE, "the virtual function is not there"),
    19: Meaning(Kind.INVALID, "no such frequency"),
    20: Meaning(Kind.BUSY, "the device is being reset"),
    21: Meaning(Kind.FAILED, "the device file could not be opened"),
    22: Meaning(Kind.FAILED, "the device file could not be closed"),
    23: Meaning(Kind.BUSY, "the device is busy"),
    24: Meaning(Kind.FULL, "not enough address space for virtual functions"),
    25: Meaning(Kind.FAILED, "the PCI bridge could not be found"),
    26: Meaning(Kind.NO_LIBRARY, "a library it needs could not be loaded"),
    ABSENT: Meaning(Kind.NOT_SUPPORTED, "this version of the library has no such function"),
}
_UNHEARD_OF: Final = Meaning(Kind.FAILED, "a code the library's interface does not name")


def meaning(code: int) -> Meaning:
    """The kind and our words for a code, known or not."""
    return MEANINGS.get(code, _UNHEARD_OF)

"""What the return codes of Moore Threads' library mean to us.

The same number means different things depending on what was asked: a driver failure while the library starts says
there is no driver, on a card's call it says that this card is in trouble. Both meanings are kept here, in one place.
"""

from __future__ import annotations

from typing import Final

from tangram.drivers.errors import DriverError, Kind

UNINITIALIZED: Final = 666
FUNCTION_NOT_FOUND: Final = 667
GPU_IS_LOST: Final = 669
LIBRARY_NOT_FOUND: Final = 670

_MEANING: Final = {
    1: (Kind.NO_DRIVER, "the kernel driver mtgpu is not loaded"),
    2: (Kind.FAILED, "the kernel driver reports a failure"),
    3: (Kind.INVALID, "the library refuses the arguments, or the handle is no longer valid"),
    4: (Kind.NOT_SUPPORTED, "the card or its driver does not offer this"),
    5: (Kind.NOT_PERMITTED, "this user may not ask; run as root or join the group of the device nodes"),
    6: (Kind.FAILED, "the answer is longer than the library's documented limit"),
    7: (Kind.CARD_GONE, "there is no such card any more"),
    8: (Kind.FAILED, "the library ran out of memory"),
    9: (Kind.NO_DRIVER, "the kernel driver is too old for this library; upgrade the driver"),
    10: (Kind.NO_DRIVER, "the kernel driver is too new for this library; upgrade the library"),
    11: (Kind.FAILED, "the kernel driver did not answer the library in time"),
    12: (Kind.BUSY, "the card is busy; try again"),
    999: (Kind.FAILED, "the library reports an error it has no name for"),
    UNINITIALIZED: (Kind.INVALID, "the library was shut down meanwhile"),
    FUNCTION_NOT_FOUND: (Kind.NOT_SUPPORTED, "this version of the library has no such function"),
    GPU_IS_LOST: (Kind.CARD_GONE, "the card fell off the bus"),
    LIBRARY_NOT_FOUND: (Kind.NO_LIBRARY, "the library is gone"),
}

STARTING: Final = frozenset({"mtmlLibraryInit", "mtmlLibraryCountDevice", "mtmlLibraryInitSystem"})
"""Functions that concern the driver as a whole."""

HANDLES_DOUBTED: Final = frozenset({1, 2, 3, 7, UNINITIALIZED, GPU_IS_LOST})
"""After these the handles may belong to a state of the driver that is no more: start the library anew, look again."""

UNHEALTHY: Final = {
    1: "driver-not-loaded",
    2: "driver-failure",
    11: "driver-timeout",
    999: "driver-failure",
    UNINITIALIZED: "driver-failure",
    GPU_IS_LOST: "gpu-lost",
}
"""Codes that no call gives on a healthy card. Missing features, permissions and busy moments are no illness."""


def failure(call: str, code: int, text: str, subject: str = "") -> DriverError:
    """The error to raise for a function that returned something else than success."""
    kind, meaning = _MEANING.get(code, (Kind.FAILED, "the library reports an error unknown to us"))
    if code == 2 and call in STARTING:
        kind, meaning = Kind.NO_DRIVER, "the kernel driver mtgpu is not loaded or does not work"
    about = f" ({subject})" if subject else ""
    said = f", {text!r}" if text else ""
    return DriverError(
        kind, f"{call}{about} returned {code}{said}: {meaning}", call=call, vendor_code=code, vendor_text=text
    )

"""What can go wrong below us, in kinds that callers can act on.

A kind says what to do (idle, skip the card, try later, tell a person); the vendor's own code and text travel along for
the log. A figure that is merely not offered is not an error: it is `NA`.
"""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    NO_LIBRARY = "no-library"
    """Neither the vendor's library nor its tool was found."""
    NO_DRIVER = "no-driver"
    """The library is there, the kernel driver or the cards are not: idle and look again later."""
    CARD_GONE = "card-gone"
    NOT_SUPPORTED = "not-supported"
    NOT_PERMITTED = "not-permitted"
    BUSY = "busy"
    INVALID = "invalid"
    """The caller asked for something that cannot be; no retry helps."""
    FULL = "full"
    """No slot, memory or compute left to slice."""
    STUCK = "stuck"
    """A call did not return in time. The named call is the one that hangs."""
    OUTDATED = "outdated"
    """What this process loaded cannot see the machine as it is now; only a new process can."""
    FAILED = "failed"
    """The vendor reported a failure that has no better name."""


class DriverError(Exception):
    """Raised by drivers only; `kind` is what to branch on."""

    def __init__(
        self,
        kind: Kind,
        sentence: str,
        *,
        call: str = "",
        vendor_code: int | None = None,
        vendor_text: str = "",
    ) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence
        self.call = call
        """The vendor function, command or file that failed."""
        self.vendor_code = vendor_code
        self.vendor_text = vendor_text

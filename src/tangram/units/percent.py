"""Shares of a card's compute as whole percents.

Schedulers and drivers on both sides of us count compute in whole percents of one card
(`vcore: 60`). A value outside 0..100 has no meaning there, and clamping it would give
a container something nobody asked for, so it is refused before it becomes a `Percent`.
"""

import re
from typing import NewType

from tangram.units.refusal import UnitError

Percent = NewType("Percent", int)

NONE = Percent(0)
ALL = Percent(100)

_LEGAL = "a percentage is a whole number from 0 to 100"
_TEXT = re.compile(r"([+-]?[0-9]{1,18})(?:\.0*)? ?%?")


class PercentError(UnitError):
    """A number or text that is no whole percentage from 0 to 100."""


def percent(number: int) -> Percent:
    """The number as a `Percent`, or a refusal that names the nearest legal one."""
    if not NONE <= number <= ALL:
        nearest = NONE if number < NONE else ALL
        raise PercentError("percent_range", str(number), _LEGAL, str(nearest))
    return Percent(number)


def parse_percent(text: str) -> Percent:
    """Read "30", "30%" or "30.0"; a true fraction such as "30.5" is refused, not rounded."""
    written = _TEXT.fullmatch(text.strip())
    if written is None:
        raise PercentError("percent_malformed", text, _LEGAL, "a number such as 30")
    return percent(int(written[1]))


def percent_text(share: Percent) -> str:
    """The share for people: "30%"."""
    return f"{share}%"

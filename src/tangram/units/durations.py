"""Lengths of time as people write and read them.

Settings say "5s", "1h30m" or "26w"; tables say "3 min". Both are plain seconds
inside. The units are those of Go durations, which every Kubernetes user knows, plus
days and weeks. A bare number is refused: a timeout of "30" that was meant in
minutes is a bug that no test of ours could find.
"""

import re
from fractions import Fraction

from tangram.units.refusal import UnitError

_MILLISECONDS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_AGES = ((604_800, "w"), (86_400, "d"), (3600, "h"), (60, "min"))
_DURATION = re.compile("".join(rf"(?:([0-9]{{1,12}}(?:\.[0-9]{{1,9}})?){unit})?" for unit in _MILLISECONDS))
_LEGAL = "a duration is numbers with units of w, d, h, m, s or ms, the largest first and each at most once"


class DurationError(UnitError):
    """A text that is no duration, or a number of seconds that no duration can express."""


def parse_duration(text: str) -> float:
    """The seconds in a text such as "5s", "1h30m", "1.5h" or "26w"; an int when they are whole."""
    written = _DURATION.fullmatch(text.strip())
    if text.strip() == "0":
        return 0
    if written is None or not any(written.groups()):
        raise DurationError("duration_malformed", text, _LEGAL, _with_a_unit(text.strip()))
    milliseconds = sum(
        Fraction(count) * unit
        for count, unit in zip(written.groups(), _MILLISECONDS.values(), strict=True)
        if count
    )
    seconds = Fraction(milliseconds, 1000)
    return seconds.numerator if seconds.denominator == 1 else float(seconds)


def duration_text(seconds: float) -> str:
    """The duration as it would be written in a setting, exact to the millisecond: "1h30m"."""
    left = round(Fraction(seconds) * 1000)
    if left < 0:
        raise DurationError("duration_negative", f"{seconds} seconds", "a duration is never negative", "0s")
    parts: list[str] = []
    for name, unit in _MILLISECONDS.items():
        count, left = divmod(left, unit)
        if count:
            parts.append(f"{count}{name}")
    return "".join(parts) or "0s"


def age_text(seconds: float) -> str:
    """How long ago, in the largest whole unit that has passed: "45 s", "3 min", "2 h", "5 d".

    Clocks of two machines differ, so an event may lie ahead of us; that is shown
    ("in 3 min"), because hiding it would hide the wrong clock.
    """
    if seconds <= -1:
        return f"in {age_text(-seconds)}"
    passed = int(seconds)
    for unit, name in _AGES:
        # Two weeks and more read better in weeks; nine days do not.
        if passed >= (2 * unit if name == "w" else unit):
            return f"{passed // unit} {name}"
    return f"{passed} s"


def _with_a_unit(text: str) -> str:
    bare = re.fullmatch(r"[0-9]{1,12}", text)
    return f"{text}s or {text}m" if bare else "a duration such as 90s, 1h30m or 2d"

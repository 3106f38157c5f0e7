"""What a person sees during a long build: what is being made, for how long, and how much is left.

On a terminal one line keeps changing; elsewhere (a log of a CI) only beginnings and ends are written, because a line
that rewrites itself is noise there.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from typing import Final, TextIO

from testbed.parts import Component

_CORES_OF_THE_TABLE = 2
_TRUST_IN_THE_TABLE_S = 60.0
"""How many seconds of building it takes until the machine's own pace counts as much as the table."""

_CLEAR: Final = "\r\x1b[K"

Clock = Callable[[], float]


class Estimate:
    """How long is left: typical durations, stretched by how this machine did so far."""

    def __init__(self, components: Sequence[Component], cores: int | None = None) -> None:
        self._waiting = {component.name: component.part.typical_seconds for component in components}
        count = len(os.sched_getaffinity(0)) if cores is None else cores
        # More cores help, but linking and downloading stay as they are.
        self._usual_pace = max(_CORES_OF_THE_TABLE / count, 0.4)
        self._typical = 0.0
        self._taken = 0.0

    def whole(self) -> float:
        return self._pace() * sum(self._waiting.values())

    def done(self, name: str, seconds: float) -> None:
        self._typical += self._waiting.pop(name)
        self._taken += seconds

    def left(self, present: str, elapsed: float) -> float:
        """While a component has been at work for so long. Overdue work makes the rest look slower, too."""
        typical = self._waiting[present]
        pace = self._pace()
        if elapsed > pace * typical:
            pace = self._pace(typical, elapsed)
        others = sum(self._waiting.values()) - typical
        return max(pace * typical - elapsed, 0.0) + pace * others

    def _pace(self, typical: float = 0.0, taken: float = 0.0) -> float:
        trust = _TRUST_IN_THE_TABLE_S
        return (self._usual_pace * trust + self._taken + taken) / (trust + self._typical + typical)


class Progress:
    """Reports on components that are built one after the other."""

    def __init__(
        self,
        output: TextIO,
        components: Sequence[Component],
        clock: Clock = time.monotonic,
        *,
        cores: int | None = None,
    ) -> None:
        self._output = output
        self._live = output.isatty()
        self._clock = clock
        self._estimate = Estimate(components, cores)
        self._count = len(components)
        self._number = 0
        self._began = clock()
        self._component_began = self._began

    def announce(self, place: str, total: int) -> None:
        which = "all" if self._count == total else f"{self._count} of {total}"
        hint = (
            "; a first build takes about this long, the next call less than a second"
            if self._count == total
            else ""
        )
        self._write(
            f"Building {which} components of the test bed into {place}: "
            f"about {duration(self._estimate.whole(), coarse=True)}{hint}.\n"
        )

    def start(self, component: Component) -> None:
        self._number += 1
        self._component_began = self._clock()
        if self._live:
            self.tick(component)
        else:
            self._write(f"Building {self._title(component)}.\n")

    def tick(self, component: Component) -> None:
        """Rewrite the live line; silent where there is none."""
        if self._live:
            elapsed = self._clock() - self._component_began
            left = duration(self._estimate.left(component.name, elapsed), coarse=True)
            line = f"Building {self._title(component)}: {duration(elapsed)} (about {left} left in all)"
            # A line that wraps cannot be rewritten.
            self._write(f"{_CLEAR}{line[: shutil.get_terminal_size().columns - 1]}")

    def done(self, component: Component) -> None:
        seconds = self._clock() - self._component_began
        self._estimate.done(component.name, seconds)
        left = self._estimate.whole()
        rest = f"; about {duration(left, coarse=True)} left" if self._number < self._count else ""
        self._write(
            f"{_CLEAR if self._live else ''}Built {self._title(component)} in {duration(seconds)}{rest}.\n"
        )

    def finish(self) -> None:
        self._write(f"The test bed is built, in {duration(self._clock() - self._began)}.\n")

    def stop(self) -> None:
        """The build ends before its time: leave the terminal as an error message wants it."""
        if self._live:
            self._write(_CLEAR)

    def _title(self, component: Component) -> str:
        return f"{component.name} {component.version.removeprefix('v')} ({self._number} of {self._count})"

    def _write(self, text: str) -> None:
        self._output.write(text)
        self._output.flush()


def duration(seconds: float, *, coarse: bool = False) -> str:
    """For people: seconds up to a minute and a half, then minutes. A coarse one does not pretend to know seconds."""
    if coarse and seconds < 90:
        return f"{max(round(seconds / 10), 1) * 10} s"
    if coarse:
        return f"{round(seconds / 60)} min"
    whole = round(seconds)
    return f"{whole} s" if whole < 90 else f"{whole // 60} min {whole % 60} s"

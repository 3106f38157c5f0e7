"""Opening the driver again and again, as an agent does over months: nothing may be left of an earlier one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tangram.drivers.protocol import Driver
from tangram.drivers.self_test.judging import Footprint, judge_growth, same_cards
from tangram.drivers.self_test.records import Verdict, failed, not_available
from tangram.drivers.self_test.walking import Walk
from tangram.model.devices import Device
from tangram.units.memory import KIB

FIRST_SHARE: Final = 10
"""One opening in so many is made before anything is measured: the first ones fill caches."""
_PROCESS: Final = Path("/proc/self")


def reopened(
    reopen: Callable[[], Driver],
    expected: Sequence[Device],
    walk: Walk,
    times: int,
    limit: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    measure: Callable[[], Footprint | None] | None = None,
) -> Verdict:
    """What many openings leave behind. A driver that is slow to open is opened less often, within the limit."""
    measure = measure or footprint
    warm, until = max(1, times // FIRST_SHARE), clock() + limit
    done, before = 0, None
    while done < times + warm and (done <= warm or clock() < until):
        if done == warm:
            before = measure()
        found = walk.step("opening the driver", lambda: _once(reopen), done, times + warm)
        done += 1
        if not same_cards(found, expected):
            return failed(f"opening {done} lists other cards than the first one")
    after = measure()
    if before is None or after is None:
        return not_available("/proc does not tell what this process holds")
    return judge_growth(before, after, done - warm)


def footprint() -> Footprint | None:
    """Of this process; None where the kernel does not tell."""
    try:
        status = dict(
            line.split(":", 1) for line in (_PROCESS / "status").read_text().splitlines() if ":" in line
        )
        return Footprint(
            memory=int(status["VmRSS"].split()[0]) * KIB,
            descriptors=sum(1 for _ in (_PROCESS / "fd").iterdir()),
            threads=int(status["Threads"]),
        )
    except (OSError, KeyError, ValueError):
        return None


def _once(reopen: Callable[[], Driver]) -> Sequence[Device]:
    driver = reopen()
    try:
        return driver.devices()
    finally:
        driver.close()

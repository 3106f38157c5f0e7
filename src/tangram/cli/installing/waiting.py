"""An installation looked at again and again until nothing fails, or until the time is up.

Right after `helm install` much is on its way: pods start, kubelets hear of plugins, labels are written. So a check that
fails is waited for, and the one who waits is told for what, on standard error and only when it changes. A cluster that
does not answer at all is not waited for: that is a wrong kubeconfig far more often than a slow start.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from tangram.services.installation.verify import Verification
from tangram.services.installation.wording import some_of
from tangram.units.durations import duration_text

BETWEEN_S: Final = 2.0
LOOK_S: Final = 30.0
"""For one look, however little time is left: half a look would find half of everything missing."""
_UNREACHED: Final = "api-server"


async def until_well(
    look: Callable[[float], Awaitable[Verification]],
    patience: float,
    tell: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Verification, float]:
    """The last look, and the seconds that are left. `look` is told how long it may take.

    There is always one look; none is begun when the time is up.
    """
    ends = clock() + patience
    told: list[str] = []
    seen_before = False
    while True:
        seen = await look(LOOK_S)
        left = ends - clock()
        failing = seen.failing
        if not failing or left <= BETWEEN_S or (failing == [_UNREACHED] and not seen_before):
            return seen, max(0.0, left)
        seen_before = True
        if failing != told:
            tell(f"waiting for {some_of(failing, most=6)} ({duration_text(round(left))} left)")
            told = failing
        await asyncio.sleep(BETWEEN_S)

"""How long a Job waits before it replaces pods that failed: longer with each failure since the last success."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.controllers.job_view import finished_at

FIRST_S, LONGEST_S = 10.0, 600.0


class JobBackoff:
    """Kept in memory alone, by the Job's uid: after a restart the first failure is a first one again."""

    def __init__(self) -> None:
        self._records: Final[dict[str, tuple[int, float]]] = {}

    def after(self, uid: str, succeeded: Sequence[Object], failed: Sequence[Object]) -> tuple[int, float]:
        """Failures since the last success and the moment of the last one, with these pods, which are new."""
        failures, last = self._records.get(uid, (0, 0.0))
        moments = sorted(map(finished_at, failed))
        if succeeded:
            success = max(map(finished_at, succeeded))
            moments = [each for each in moments if each > success]
            failures, last = 0, 0.0
        return failures + len(moments), max([last, *moments])

    def keep(self, uid: str, record: tuple[int, float]) -> None:
        self._records[uid] = record

    def forget(self, uid: str) -> None:
        self._records.pop(uid, None)


def seconds_to_wait(record: tuple[int, float], now: float) -> float:
    """Until the next pod may come."""
    failures, last = record
    if not failures:
        return 0.0
    return max(min(FIRST_S * 2 ** min(failures - 1, 16), LONGEST_S) - (now - last), 0.0)

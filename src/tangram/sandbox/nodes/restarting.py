"""When a container that ended is started again: at once the first time, then after pauses that grow. Pure."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.nodes.pod_specs import ALWAYS, NEVER, Container, restart_policy

FIRST_S: Final = 10.0
LONGEST_S: Final = 300.0
CALM_S: Final = 600.0
"""A run of twice the longest pause is a good one: the next failure is a first one."""


def restarts(pod: Object, container: Container, exit_code: int) -> bool:
    """Whether a container that ended so is started again. Sidecars always are."""
    if container.sidecar:
        return True
    policy = restart_policy(pod)
    if container.init:
        return exit_code != 0 and policy != NEVER
    return policy == ALWAYS or (policy != NEVER and exit_code != 0)


class Pauses:
    """The kubelet's back-off of one container."""

    def __init__(self) -> None:
        self._next = 0.0

    def after(self, ran_for: float) -> float:
        """Seconds to wait after a run of that length."""
        if ran_for >= CALM_S:
            self._next = 0.0
        pause = self._next
        self._next = FIRST_S if pause == 0 else min(2 * pause, LONGEST_S)
        return pause


def pause_text(seconds: float) -> str:
    """As Go prints it: `10s`, `1m20s`, `5m0s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"

"""MXMACA kept as it should be: its own rounds, because gigabytes that are unpacked must not keep the driver waiting."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from tangram.daemon.background import in_background
from tangram.drivers.modules.protocol import LoaderError
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kubelet.news import News
from tangram.services.driver_manager.maca import Maca, Outcome
from tangram.services.driver_manager.maca_choosing import UNKNOWN
from tangram.services.driver_manager.manager import Background
from tangram.services.driver_manager.own_node import OwnNode
from tangram.services.driver_manager.problems import Problem, ProblemError
from tangram.services.driver_manager.telling import Telling
from tangram.wire.operator.node_states import MacaState, Phase

LOOK_S: Final = 5.0
REST_S: Final = 15.0
FIRST_RETRY_S: Final = 30.0
LONGEST_RETRY_S: Final = 1800.0

_NO_DRIVER: Final = Problem("driver-not-ready", "MXMACA follows when a driver runs on this node")

log = logging.getLogger("tangram.driver-manager")


class TellsMaca(Protocol):
    async def tell_maca(self, state: MacaState, *, ready: bool | None) -> None: ...


class MacaKeeper:
    """`run` until cancelled; `due` whenever something may have changed."""

    def __init__(
        self,
        maca: Maca,
        own: OwnNode,
        reporter: TellsMaca,
        telling: Telling,
        *,
        driver_runs: Callable[[], bool],
        images: Callable[[], tuple[str, ...] | Problem],
        background: Background = in_background,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._maca = maca
        self._own = own
        self._reporter = reporter
        self._telling = telling
        self._driver_runs = driver_runs
        self._images = images
        self._background = background
        self._clock = clock
        self._news = News()
        self._tidied = False
        self._trouble: Problem | None = None
        self._retry_at = float("-inf")
        self._pause = FIRST_RETRY_S
        self._said = ""
        self._removed: Outcome | None = None

    def due(self) -> None:
        self._news.announce()

    async def run(self) -> None:
        await self._news.keep_looking(self.round)

    async def round(self) -> float:
        """One look and at most one payload. Seconds until the next is due, unless there is news."""
        if not self._own.known:
            return LOOK_S
        try:
            return await self._round()
        except (ProblemError, LoaderError, ApiError, ApiUnreachable) as error:
            if str(error) != self._said:
                log.warning("MXMACA: %s", error)
                if isinstance(error, ProblemError):
                    self._telling.warn("MacaFailed", str(error))
            self._said = str(error)
            return LOOK_S

    async def _round(self) -> float:
        if self._own.remove:
            # Once is enough; what is in use stays, and was named.
            self._removed = self._removed or await self._background(self._maca.remove, "removing-maca")
            await self._tell(self._removed)
            return REST_S
        self._removed = None
        if not self._tidied:
            await self._background(self._maca.tidy, "tidying-maca")
            self._tidied = True
        images = self._images()
        if isinstance(images, Problem):
            await self._without_images(images)
            self._said = ""
            return LOOK_S
        found = await self._background(lambda: self._maca.look(images), "looking-at-maca")
        staged = self._maca.missing(found)
        waits = staged is not None and not self._driver_runs()
        may_try = staged is not None and not waits and self._clock() >= self._retry_at
        failed = self._trouble if staged is not None and not may_try else None
        trouble = _NO_DRIVER if waits else failed
        outcome = await self._background(lambda: self._maca.settle(found, trouble), "linking-maca")
        if waits:
            outcome = _in_phase(outcome, Phase.WAITING)
        if staged is None or not may_try:
            await self._tell(outcome)
            self._said = ""
            return REST_S if staged is None and outcome.state.phase is Phase.READY else LOOK_S
        await self._tell(_in_phase(outcome, Phase.WORKING, f"MXMACA {staged.version} is unpacked"))
        try:
            await self._background(lambda: self._maca.install(staged), "unpacking-maca")
        except ProblemError as error:
            log.warning("%s", error, extra={"code": error.problem.code})
            self._trouble, self._retry_at = error.problem, self._clock() + self._pause
            self._pause = min(2 * self._pause, LONGEST_RETRY_S)
        else:
            self._trouble, self._pause = None, FIRST_RETRY_S
        return 0.0

    async def _without_images(self, why: Problem) -> None:
        """What is installed stays. Where the cards are not known it also stays ready, if the node says that it is."""
        waits = why.code == UNKNOWN
        if waits and not self._driver_runs():
            why = _NO_DRIVER
        before = self._own.maca or MacaState(phase=Phase.WAITING)
        phase = Phase.WAITING if waits else Phase.FAILED
        state = msgspec.structs.replace(before, phase=phase, code=why.code, why=why.why)
        await self._reporter.tell_maca(state, ready=waits and self._own.maca_ready)
        # gpu-label follows the driver within seconds: that is no news.
        if why.code != UNKNOWN:
            self._telling.maca(state)

    async def _tell(self, outcome: Outcome) -> None:
        await self._reporter.tell_maca(outcome.state, ready=outcome.ready)
        self._telling.maca(outcome.state)


def _in_phase(outcome: Outcome, phase: Phase, why: str = "") -> Outcome:
    state = outcome.state
    changed = MacaState(
        phase=phase,
        versions=state.versions,
        default=state.default,
        code=state.code if not why else "",
        why=why or state.why,
    )
    return Outcome(state=changed, ready=outcome.ready)

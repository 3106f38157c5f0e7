"""The driver of one node, kept as it should be: look, decide, tell, take one step, and again.

Telling comes before doing: before a driver is touched the node has said that it is not ready. Nothing is remembered
between two rounds but for how long something has been tried; whoever starts anew merely tries as long again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

import msgspec

from tangram.daemon.background import in_background
from tangram.drivers.modules.protocol import LoaderCode, LoaderError
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kubelet.news import News
from tangram.services.driver_manager.busy import AsksBusy
from tangram.services.driver_manager.deciding import decide
from tangram.services.driver_manager.decisions import (
    AskBusy,
    Begin,
    Clean,
    Decision,
    Discard,
    Load,
    Split,
    Step,
    Undo,
    Unload,
)
from tangram.services.driver_manager.doing import Doer
from tangram.services.driver_manager.facts import Facts, Wish
from tangram.services.driver_manager.looking import Look, Looker
from tangram.services.driver_manager.metrics import Metrics
from tangram.services.driver_manager.own_node import OwnNode
from tangram.services.driver_manager.problems import Problem, ProblemError
from tangram.services.driver_manager.stating import RETRY_S
from tangram.services.driver_manager.telling import Telling
from tangram.wire.operator.node_states import Phase
from tangram.wire.operator.policies import DeployPolicy

SOON_S: Final = 1.0
LOOK_S: Final = 5.0
REST_S: Final = 15.0

log = logging.getLogger("tangram.driver-manager")

_Answer = TypeVar("_Answer")


class Background(Protocol):
    async def __call__(self, work: Callable[[], _Answer], name: str = ..., /) -> _Answer: ...


class TellsDriver(Protocol):
    async def tell_driver(self, decision: Decision) -> None: ...


class Manager:
    """`run` until cancelled; `due` whenever something may have changed."""

    def __init__(
        self,
        *,
        policy: DeployPolicy,
        own: OwnNode,
        looker: Looker,
        doer: Doer,
        asks_busy: AsksBusy,
        reporter: TellsDriver,
        telling: Telling,
        wish: Callable[[], Wish | None],
        metrics: Metrics,
        boot: str,
        needs_runtime: bool = True,
        background: Background = in_background,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy = policy
        self._own = own
        self._looker = looker
        self._doer = doer
        self._asks_busy = asks_busy
        self._reporter = reporter
        self._telling = telling
        self._wish = wish
        self._metrics = metrics
        self._boot = boot
        self._needs_runtime = needs_runtime
        self._background = background
        self._clock = clock
        self._news = News()
        self._trouble: Problem | None = None
        self._tried_at = self._refused_at = float("-inf")
        self._changing: object = None
        self._changing_at = self._loaded_at = clock()
        self._cleaned = False
        self._said = ""
        self.decision: Decision | None = None
        self.unready = "the node has not been looked at yet"

    def due(self) -> None:
        self._news.announce()

    async def run(self) -> None:
        await self._news.keep_looking(self.round)

    async def round(self) -> float:
        """One look and at most one step. Seconds until the next is due, unless there is news."""
        if not self._own.known:
            self.unready = (
                f"the API server has not told about node {self._own.name} yet, or it has no such node"
            )
            return LOOK_S
        try:
            look = await self._background(self._looker.look, "looking-at-the-driver")
            await self._background(self._take_wish, "writing-the-journal")
        except LoaderError as error:
            return self._blind(f"the kernel cannot be asked about its driver: {error.sentence}")
        except ProblemError as error:
            return self._blind(str(error))
        decision = await self._decide(look)
        try:
            await self._reporter.tell_driver(decision)
        except (ApiError, ApiUnreachable) as error:
            # Nothing is done that the node does not say.
            return self._failed(f"the state of the driver cannot be written to the node: {error}")
        self.decision, self.unready, self._said = decision, "", ""
        self._metrics.ready.set(decision.is_ready)
        self._telling.told(decision)
        if decision.step is None:
            return _pace(decision)
        return await self._do(decision.step)

    async def _decide(self, look: Look) -> Decision:
        facts = self._facts(look)
        decision = decide(facts)
        if isinstance(decision.step, AskBusy):
            facts = msgspec.structs.replace(facts, busy=await self._asks_busy())
            decision = decide(facts)
        return decision

    def _take_wish(self) -> None:
        """What is configured now, and turns that were taken back, into the journal."""
        journal = self._doer.journal
        wish = self._wish()
        said = Wish(functions=journal.wish_functions, parameters=journal.wish_parameters)
        if wish is not None and wish != said and not self._own.remove:
            loaded = journal.loaded
            tried = f"{loaded.source} {loaded.version} {loaded.digest} "
            journal = msgspec.structs.replace(
                journal,
                wish_functions=wish.functions,
                wish_parameters=wish.parameters,
                functions_failed=None,
                failed=tuple(each for each in journal.failed if not each.key.startswith(tried)),
            )
        failed = tuple(
            msgspec.structs.replace(each, turn="") if each.turn != self._own.turn else each
            for each in journal.failed
        )
        if failed != journal.failed:
            journal = msgspec.structs.replace(journal, failed=failed)
        self._doer.write(journal)

    def _facts(self, look: Look) -> Facts:
        now, journal, own = self._clock(), self._doer.journal, self._own
        if not own.remove:
            self._cleaned = False
        begun = (own.remove, None if journal.change is None else (journal.change.to, journal.change.undoing))
        if begun != self._changing:
            self._changing, self._changing_at, self._refused_at = begun, now, float("-inf")
            # What failed before is not what is done now.
            self._trouble = None
        if look.loaded is None:
            self._loaded_at = now
        trouble = self._trouble if now - self._tried_at < RETRY_S or journal.change else None
        return Facts(
            policy=self._policy,
            journal=journal,
            cards=look.cards,
            kernel=look.kernel,
            boot=self._boot,
            loaded=look.loaded,
            of_host=look.of_host,
            functions=look.functions,
            sight=look.sight,
            payload=look.payload,
            installed=look.installed,
            link=look.link,
            wish=Wish(functions=journal.wish_functions, parameters=journal.wish_parameters),
            runtime_ready=own.runtime_ready or not self._needs_runtime,
            turn=own.turn,
            remove=own.remove,
            offered=own.offered,
            withdrawn=own.withdrawn,
            trouble=trouble,
            refused_for=max(0.0, now - self._refused_at) if self._refused_at > 0 else 0.0,
            changing_for=now - self._changing_at,
            loaded_for=now - self._loaded_at,
            tried_ago=now - self._tried_at,
            cleaned=self._cleaned,
            left=self._doer.left,
        )

    async def _do(self, step: Step) -> float:
        kind = type(step).__name__.lower()
        log.info("%s", kind, extra={"step": kind})
        try:
            await self._background(lambda: self._doer.do(step), f"driver-{kind}")
        except LoaderError as error:
            self._metrics.steps.labels(kind, error.code).inc()
            if error.code is LoaderCode.BUSY and isinstance(step, Unload | Split):
                log.info("the kernel refuses: %s", error.sentence)
                self._refused_at = self._refused_at if self._refused_at > 0 else self._clock()
                return SOON_S
            return self._stumbled(Problem(error.code, error.sentence))
        except ProblemError as error:
            self._metrics.steps.labels(kind, error.problem.code).inc()
            return self._stumbled(error.problem)
        self._metrics.steps.labels(kind, "done").inc()
        self._done(step)
        # What somebody still uses is not thrown away, and will not be in the next moment.
        return REST_S if isinstance(step, Discard) else 0.0

    def _done(self, step: Step) -> None:
        self._refused_at = float("-inf")
        if isinstance(step, Load | Begin):
            self._loaded_at = self._clock()
        if isinstance(step, Clean):
            self._cleaned = True
        self._trouble = None
        if isinstance(step, Undo):
            log.warning("the change of the driver is taken back: %s", step.why)

    def _stumbled(self, problem: Problem) -> float:
        log.warning("%s", problem.why, extra={"code": problem.code})
        self._trouble, self._tried_at = problem, self._clock()
        return SOON_S

    def _blind(self, sentence: str) -> float:
        """Nothing is known that could be told as a state."""
        if sentence != self._said:
            self._telling.warn("DriverFailed", sentence)
        return self._failed(sentence)

    def _failed(self, sentence: str) -> float:
        self._metrics.failed_looks.inc()
        if sentence != self._said:
            log.warning("%s", sentence)
        self._said = self.unready = sentence
        return LOOK_S


def _pace(decision: Decision) -> float:
    if decision.state.phase is Phase.WORKING:
        return SOON_S
    return REST_S if decision.state.phase in (Phase.READY, Phase.REMOVED) else LOOK_S

"""The containers of one machine, as its runtime has them: they outlive a restart of the kubelet, and nobody else.

A container is a task that says lines and waits. It is given what the agent granted it, holds that on the simulated
cards, and ends by itself or at once when it is told to.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.nodes.commands import steps_of
from tangram.sandbox.nodes.gifts import Gifts
from tangram.sandbox.nodes.log_book import LogBook, LogOfRun
from tangram.sandbox.nodes.occupying import Occupied, Occupying
from tangram.sandbox.nodes.plans import PRETENDED_S, Plan
from tangram.sandbox.nodes.pod_specs import Container, kubelet_uid, name_of, namespace_of
from tangram.sandbox.nodes.steps import Pause, Pretend, Say, Scene
from tangram.units.ids import PodUid
from tangram.wire import loose

TERMINATED: Final = 143
"""The status of a process that SIGTERM ended."""
LOST: Final = 255
"""The status of a container whose machine lost its power."""
_SAYS: Final = "[sandbox]"

Now = Callable[[], dt.datetime]


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    id: str
    exit_code: int
    reason: str
    started_at: dt.datetime
    finished_at: dt.datetime
    message: str = ""


class Run:
    """One run of a container."""

    def __init__(self, log: LogOfRun, started_at: dt.datetime, ended: Ended | None = None) -> None:
        self.id: Final = secrets.token_hex(32) if ended is None else ended.id
        self.log: Final = log
        self.started_at: Final = started_at
        self.ended = ended
        self.over: Final = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        if ended is not None:
            self.over.set()
            log.end()

    def stop(self) -> None:
        """SIGTERM."""
        if self.task is not None:
            self.task.cancel()


class Record:
    """What the runtime remembers of one container of one pod."""

    def __init__(self) -> None:
        self.runs = 0
        self.current: Run | None = None
        self.last: Ended | None = None
        """Of the run before the present one."""

    @property
    def running(self) -> bool:
        return self.current is not None and self.current.ended is None


class Containers:
    """Of one machine. `occupying` is None on a machine whose cards nobody has asked for yet."""

    def __init__(self, logs: LogBook, now: Now, occupying: Callable[[], Occupying | None]) -> None:
        self._logs = logs
        self._now = now
        self._occupying = occupying
        self._records: dict[tuple[PodUid, str], Record] = {}

    def record(self, pod: PodUid, container: str) -> Record:
        return self._records.setdefault((pod, container), Record())

    def running(self, pod: PodUid) -> list[str]:
        return [name for (uid, name), record in self._records.items() if uid == pod and record.running]

    def recall(self, pod: Object) -> None:
        """Take over what the status of a pod says that nobody here has heard of: its machine lost its power."""
        uid = kubelet_uid(pod)
        status = loose.members(pod.get("status"))
        for key in ("initContainerStatuses", "containerStatuses"):
            for told in map(loose.members, loose.elements(status.get(key))):
                ended = _ended(told, self._now())
                name = loose.text(told.get("name"))
                if ended is None or (uid, name) in self._records:
                    continue
                record = self.record(uid, name)
                record.runs = (loose.integer(told.get("restartCount")) or 0) + 1
                log = self._logs.begin(namespace_of(pod), name_of(pod), name)
                log.say(f"{_SAYS} what it said before its machine lost its power is gone")
                record.current = Run(log, ended.started_at, ended)

    def begin(
        self, pod: Object, container: Container, plan: Plan, environment: dict[str, str], gifts: Gifts
    ) -> Run:
        """Start a container. Raises `NotStarted`, and then nothing is held."""
        record = self.record(kubelet_uid(pod), container.name)
        run = Run(self._logs.begin(namespace_of(pod), name_of(pod), container.name), self._now())
        occupying = self._occupying()
        held: Occupied | None = None
        if occupying is not None and (gifts.grants or gifts.environment):
            held = occupying.begin(run.id, name_of(pod), gifts)
        if record.current is not None:
            record.last = record.current.ended
        record.current = run
        record.runs += 1
        for line in _greeting(pod, container, gifts, () if held is None else held.lines):
            run.log.say(f"{_SAYS} {line}")
        scene = Scene(
            environment={**environment, **gifts.environment},
            nodes=gifts.nodes,
            hostname=name_of(pod),
            date=lambda: f"{self._now():%a %b %d %H:%M:%S UTC %Y}",
        )
        run.task = asyncio.create_task(
            self._live(run, plan, scene, occupying, held), name=f"container {container.name}"
        )
        return run

    async def stop(self, pod: PodUid) -> None:
        """End every container of a pod and wait for it."""
        runs = [
            record.current
            for (uid, _), record in self._records.items()
            if uid == pod and record.current is not None and record.running
        ]
        for run in runs:
            run.stop()
        for run in runs:
            await run.over.wait()

    def forget(self, pod: PodUid) -> None:
        for key in [key for key in self._records if key[0] == pod]:
            del self._records[key]

    async def stop_all(self) -> None:
        for pod in {uid for uid, _ in self._records}:
            await self.stop(pod)

    async def _live(
        self, run: Run, plan: Plan, scene: Scene, occupying: Occupying | None, held: Occupied | None
    ) -> None:
        status = TERMINATED
        try:
            status = await self._follow(run, plan, scene)
        except asyncio.CancelledError:
            # Told to stop: that is how containers end, and nobody waits for this task as such.
            status = TERMINATED
        finally:
            if occupying is not None and held is not None:
                occupying.end(held)
            run.ended = Ended(
                id=run.id,
                exit_code=status,
                reason="Completed" if status == 0 else "Error",
                started_at=run.started_at,
                finished_at=self._now(),
            )
            run.log.end()
            run.over.set()

    async def _follow(self, run: Run, plan: Plan, scene: Scene) -> int:
        if plan.run_for is not None:
            run.log.say(f"{_SAYS} runs for {plan.run_for:g} s, as its annotation says")
            await asyncio.sleep(plan.run_for)
            return plan.exit_code or 0
        steps, status = steps_of(plan.argv, scene), 0
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                status = int(end.value)
                break
            match step:
                case Say(text):
                    run.log.say(text)
                case Pause(seconds):
                    await _rest(seconds)
                case Pretend(command):
                    run.log.say(f"{_SAYS} simulated, not executed: {' '.join(command.split()):.200}")
                    await _rest(None if plan.endless else PRETENDED_S)
        return status if plan.exit_code is None else plan.exit_code


async def _rest(seconds: float | None) -> None:
    if seconds is None:
        await asyncio.Event().wait()
    else:
        await asyncio.sleep(seconds)


def _ended(told: Mapping[str, object], now: dt.datetime) -> Ended | None:
    """The end of a container as its status told it; one that was running has lost its machine."""
    state = loose.members(told.get("state"))
    over, running = loose.members(state.get("terminated")), loose.members(state.get("running"))
    if not over and not running:
        return None
    known = over or running
    return Ended(
        id=loose.text(told.get("containerID")).removeprefix("containerd://"),
        exit_code=(loose.integer(over.get("exitCode")) or 0) if over else LOST,
        reason=loose.text(over.get("reason")) if over else "Unknown",
        started_at=moment_in(known.get("startedAt"), now),
        finished_at=moment_in(known.get("finishedAt"), now),
    )


def moment_in(value: object, otherwise: dt.datetime) -> dt.datetime:
    """A moment that a status tells, or another where it tells none."""
    with suppress(ValueError):
        return dt.datetime.fromisoformat(loose.text(value))
    return otherwise


def _greeting(pod: Object, container: Container, gifts: Gifts, cards: Sequence[str]) -> list[str]:
    """The first lines of every log: what the container was given."""
    lines = [f"container {container.name} of pod {namespace_of(pod)}/{name_of(pod)}", *cards]
    if not cards:
        lines.append("no card was given to it")
    if gifts.nodes:
        lines.append(f"device nodes: {' '.join(gifts.nodes)}")
    if gifts.environment:
        lines.append("environment: " + " ".join(f"{key}={value}" for key, value in gifts.environment.items()))
    return lines

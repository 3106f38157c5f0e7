"""The life of one admitted pod on its node: init containers in order, then the others, restarts, an end, a farewell.

Nothing is cancelled from outside. Whoever wants the end sets it, running containers are told to stop, and every part
comes to its end by itself; so a start that is being prepared is finished first and only then ended, as a kubelet does.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.objects import Object
from tangram.kubelet.news import News
from tangram.sandbox.nodes.containers import Ended, Run
from tangram.sandbox.nodes.environments import NotThere, environment_of
from tangram.sandbox.nodes.gifts import Unresolved, gifts_of
from tangram.sandbox.nodes.occupying import NotStarted
from tangram.sandbox.nodes.plans import BadPlan, plan_of
from tangram.sandbox.nodes.plugin_client import PluginError
from tangram.sandbox.nodes.pod_specs import (
    Container,
    containers_of,
    is_leaving,
    kubelet_uid,
    name_of,
    namespace_of,
    path_of,
    uid_of,
)
from tangram.sandbox.nodes.pod_statuses import BACK_OFF
from tangram.sandbox.nodes.pod_view import PodView
from tangram.sandbox.nodes.restarting import Pauses, pause_text, restarts
from tangram.sandbox.nodes.status_writing import StatusWriting
from tangram.sandbox.nodes.ward import Ward
from tangram.wire import loose

RETRY_S: Final = (10.0, 15.0)
"""How long a refused start waits for its next try, unless the pod changes meanwhile."""
SOONEST_RETRY_S: Final = 0.3
DELETE_RETRY_S: Final = 1.0
CONFIG_ERROR: Final = "CreateContainerConfigError"
CREATE_ERROR: Final = "CreateContainerError"
RUN_ERROR: Final = "RunContainerError"
LATE: Final = "Pod was active on the node longer than the specified deadline"


class PodRun:
    """`run()` to the end; `update` with news of the pod; `lose` when the object is gone."""

    def __init__(self, pod: Object, ward: Ward) -> None:
        self.pod = pod
        self._ward = ward
        self._view = PodView(pod, ward)
        self._stopping = asyncio.Event()
        self._changed = News()
        self._gone = False
        self._writing = StatusWriting(ward.api, lambda: self.pod, self.status, ward.writing)
        self._sidecars: dict[str, asyncio.Task[None]] = {}
        self._sidecars_over = False
        self._starts: dict[str, asyncio.Event] = {
            each.name: asyncio.Event() for each in containers_of(pod) if each.sidecar
        }

    @property
    def over(self) -> bool:
        """Nothing of it runs, nor will again: its units are free."""
        return self._view.over

    def status(self) -> Object:
        """The status as it should be now."""
        return self._view.status(self.pod, self._writing.written)

    # ---- news

    def update(self, pod: Object) -> None:
        self.pod = pod
        self._changed.announce()
        if is_leaving(pod):
            self._stopping.set()

    def lose(self) -> None:
        """The object is gone, whatever runs: deleted by force."""
        self._gone = True
        self._stopping.set()
        self._changed.announce()

    def look_again(self) -> None:
        """Something that its status tells may have changed, such as the health of a device."""
        self._writing.due()

    # ---- life

    async def run(self) -> None:
        writing = asyncio.create_task(self._writing.run(), name=f"the status of {name_of(self.pod)}")
        deadline = asyncio.create_task(self._deadline())
        living = asyncio.create_task(self._live(), name=f"pod {name_of(self.pod)}")
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            if is_leaving(self.pod):
                self._stopping.set()
            self._tell()
            await asyncio.wait({living, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set():
                await self._stop_containers()
            await living
            self._view.over = True
            self._tell()
            await self._leave()
        finally:
            # A kubelet that ends takes its work along, and leaves containers as they are.
            stopping.cancel()
            tasks = {writing, deadline, living, *self._sidecars.values()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _live(self) -> None:
        containers = containers_of(self.pod)
        if await self._initialized([each for each in containers if each.init]):
            await asyncio.gather(*(self._keep(each) for each in containers if not each.init))
        self._sidecars_over = True
        self._changed.announce()
        for name, keeping in reversed(self._sidecars.items()):
            run = self._ward.containers.record(kubelet_uid(self.pod), name).current
            if run is not None:
                run.stop()
            await keeping

    async def _initialized(self, containers: Sequence[Container]) -> bool:
        """Bring all init containers to their end, and sidecars to run. Whether that was possible."""
        for container in containers:
            if container.sidecar:
                started = self._starts[container.name]
                self._sidecars[container.name] = asyncio.create_task(self._keep(container))
                await self._first_of(started)
            else:
                await self._keep(container)
                ended = self._view.ended(self.pod, container)
                if ended is None or ended.exit_code != 0:
                    return False
            if self._stopping.is_set():
                return False
        return True

    async def _keep(self, container: Container) -> None:
        """Start a container, and start it again as its pod wishes, until it is over for good."""
        record = self._ward.containers.record(kubelet_uid(self.pod), container.name)
        pauses = Pauses()
        while not self._ends(container):
            # A kubelet that was restarted finds containers: running, or ended while nobody looked.
            run = record.current
            over = None if run is None else run.ended
            if over is not None and not restarts(self.pod, container, over.exit_code):
                return
            if run is None or over is not None:
                run = await self._start(container)
            if run is None:
                return
            if container.name in self._starts:
                self._starts[container.name].set()
            self._view.waiting.pop(container.name, None)
            self._tell()
            if self._ends(container):
                run.stop()
            await run.over.wait()
            self._tell()
            ended = run.ended
            if ended is None or self._ends(container) or not restarts(self.pod, container, ended.exit_code):
                return
            await self._back_off(container, pauses, ended)

    async def _back_off(self, container: Container, pauses: Pauses, ended: Ended) -> None:
        pause = pauses.after((ended.finished_at - ended.started_at).total_seconds())
        if not pause:
            return
        pod = self.pod
        whole = f"{name_of(pod)}_{namespace_of(pod)}({uid_of(pod)})"
        self._wait_with(
            container,
            BACK_OFF,
            f"back-off {pause_text(pause)} restarting failed container={container.name} pod={whole}",
        )
        self._event(
            "BackOff", f"Back-off restarting failed container {container.name} in pod {whole}", warning=True
        )
        await self._sleep(pause)

    async def _start(self, container: Container) -> Run | None:
        """Start it, however often it takes; None when the pod is to end first."""
        while not self._ends(container):
            edition = self._changed.edition
            try:
                run = await self._try(container)
            except (NotThere, BadPlan, PluginError) as error:
                self._refused(container, CONFIG_ERROR, str(error))
            except Unresolved as error:
                self._refused(container, CREATE_ERROR, f"failed to create containerd container: {error}")
            except NotStarted as error:
                self._refused(
                    container, RUN_ERROR, f"failed to create containerd task: the runtime refused: {error}"
                )
            else:
                self._event("Created", "Container created")
                self._event("Started", "Container started")
                return run
            await asyncio.sleep(SOONEST_RETRY_S)
            pause = random.uniform(*RETRY_S)  # noqa: S311 - spreads tries, guards nothing
            await self._changed.after(edition, pause)
        return None

    async def _try(self, container: Container) -> Run:
        ward, pod = self._ward, self.pod
        self._event("Pulled", f'Container image "{container.image}" already present on machine')
        environment = await environment_of(ward.api, pod, container, self._view.ip)
        plan = plan_of(pod, container, environment)
        answers = await ward.devices.prepare(pod, container)
        return ward.containers.begin(pod, container, plan, environment, gifts_of(answers, ward.cdi))

    # ---- the end

    async def _stop_containers(self) -> None:
        uid = kubelet_uid(self.pod)
        self._changed.announce()
        for name in self._ward.containers.running(uid):
            self._event("Killing", f"Stopping container {name}")
        await self._ward.containers.stop(uid)

    async def _deadline(self) -> None:
        seconds = loose.integer(loose.members(self.pod.get("spec")).get("activeDeadlineSeconds"))
        if seconds is None:
            return
        passed = (self._ward.now() - self._view.started_at).total_seconds()
        await asyncio.sleep(max(0.0, seconds - passed))
        if not self.over and not self._stopping.is_set():
            self._view.reason, self._view.message = "DeadlineExceeded", LATE
            self._event("DeadlineExceeded", LATE)
            self._stopping.set()

    async def _leave(self) -> None:
        """Say the last word, wait until somebody deletes the pod, and let the API server remove it."""
        while not self._gone:
            edition = self._changed.edition
            await self._writing.settled()
            if self._writing.moot:
                return
            if is_leaving(self.pod):
                if await remove(self._ward, self.pod):
                    return
                await asyncio.sleep(DELETE_RETRY_S)
            else:
                await self._changed.after(edition)

    # ---- small things

    def _ends(self, container: Container) -> bool:
        return self._stopping.is_set() or (container.sidecar and self._sidecars_over)

    def _tell(self) -> None:
        self._writing.due()

    def _refused(self, container: Container, reason: str, sentence: str) -> None:
        self._event("Failed", f"Error: {sentence}", warning=True)
        self._wait_with(container, reason, sentence)

    def _wait_with(self, container: Container, reason: str, message: str) -> None:
        self._view.waiting[container.name] = (reason, message)
        self._tell()

    def _event(self, reason: str, message: str, *, warning: bool = False) -> None:
        if not self._gone:
            self._ward.record(self.pod, reason, message, warning=warning)

    async def _sleep(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _first_of(self, event: asyncio.Event) -> None:
        """Wait for it, or for the end."""
        waits = [asyncio.create_task(event.wait()), asyncio.create_task(self._stopping.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()


async def remove(ward: Ward, pod: Object) -> bool:
    """Tell the API server that nothing of the pod is left here. Whether it has heard."""
    body = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid_of(pod)}}
    try:
        await ward.api.delete(path_of(pod), body)
    except ApiUnreachable:
        return False
    except ApiError as error:
        return not error.may_pass
    return True

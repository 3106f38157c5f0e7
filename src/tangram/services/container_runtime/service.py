"""container-runtime as a process: follows its node, looks at the host every few seconds, and tells what came of it.

Looking is cheap: only when a file is another than before, the node reports something else or the last look ended badly
is everything gone through again. What is done to the host is done on a thread, because a restart takes its time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from tangram.daemon.background import in_background
from tangram.daemon.endpoints import Address, serving
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.informer import Informer, whole
from tangram.kube.recorder import About, Event, Recorder
from tangram.services.container_runtime.host import Host
from tangram.services.container_runtime.keeping import Facts, Keeper, Outcome
from tangram.services.container_runtime.metrics import Metrics
from tangram.services.container_runtime.programs import HostPrograms, Programs
from tangram.services.container_runtime.restarting import HostRestarter, Restarter
from tangram.services.container_runtime.settings import Settings
from tangram.services.container_runtime.telling import MANAGER, Teller
from tangram.wire import loose
from tangram.wire.operator import names
from tangram.wire.operator.node_states import Phase, RuntimeState

NODES: Final = "/api/v1/nodes"
AGAIN_S: Final = 30.0
"""Between two tries after one that failed, where nothing changed."""
FLUSH_S: Final = 2.0

log = logging.getLogger("tangram.container_runtime")


class Service:
    def __init__(
        self,
        settings: Settings,
        api: Api,
        *,
        programs: Programs | None = None,
        restarter: Restarter | None = None,
    ) -> None:
        host = Host(settings.host_root)
        programs = programs or HostPrograms(host)
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self.metrics: Final = Metrics()
        self._recorder = Recorder(api, MANAGER, str(settings.node))
        self._moved = asyncio.Event()
        self._teller = Teller(api, settings.node, self.metrics, moved=self._moved.set)
        self._keeper = Keeper(
            settings,
            host,
            programs,
            restarter or HostRestarter(host, programs, settings.restart_command),
            working=self._works_soon,
        )
        self._informer = Informer(
            api,
            NODES,
            self._teller.told,
            keep=whole,
            query={"fieldSelector": f"metadata.name={settings.node}"},
            troubled=lambda sentence: log.warning("the API server cannot be followed: %s", sentence),
        )
        self._last: Outcome | None = None

    async def serve(self, supervisor: Supervisor, address: Address | None) -> int:
        """Keep runtime metax until told to stop. Raises `SettingError`."""
        async with serving(
            address, self.metrics.registry, unhealthy=supervisor.unhealthy, unready=self._unready
        ):
            supervisor.vital("following the node", self._informer.run())
            supervisor.vital("telling of the runtime", self._teller.run())
            supervisor.vital("keeping the runtime", self._keep_on())
            supervisor.lasting("recording events", self._recorder.run)
            # Everything stays: whoever starts next finds it, and containers go on with it meanwhile.
            return await supervisor.until_stopped(self._recorder.flush, limit=FLUSH_S)

    def _unready(self) -> list[str]:
        lost = [] if self._informer.fresh else ["the API server does not answer, or not yet"]
        return lost + self._teller.unready()

    async def _keep_on(self) -> None:
        seen: object = None
        tried = 0.0
        while True:
            asked = self._asked()
            if asked is not None:
                stamp = (asked, await in_background(self._keeper.signature, "looking-at-files"))
                done = self._last is not None and self._last.state.phase in (Phase.READY, Phase.REMOVED)
                late = self._loop.time() - tried >= AGAIN_S
                # A restart that others must do shows in no file of ours.
                waits = self._last is not None and self._last.state.phase is Phase.WAITING
                if stamp != seen or waits or (late and not done):
                    tried = self._loop.time()
                    await self._look(*asked)
                    seen = (asked, await in_background(self._keeper.signature, "looking-at-files"))
            self._moved.clear()
            try:
                async with asyncio.timeout(self._settings.interval):
                    await self._moved.wait()
            except TimeoutError:
                continue

    def _asked(self) -> tuple[bool, Facts] | None:
        """Whether everything is to go, and what the node reports; None before it is known."""
        node = self._teller.node
        if node is None:
            return None
        annotations = loose.text_map(loose.members(node.get("metadata")).get("annotations"))
        info = loose.text_map(loose.members(node.get("status")).get("nodeInfo"))
        facts = Facts(kubelet=info.get("kubeletVersion", ""), runtime=info.get("containerRuntimeVersion", ""))
        return annotations.get(names.REMOVE) == "true", facts

    async def _look(self, going: bool, facts: Facts) -> None:  # noqa: FBT001 - as `_asked` answers
        work: Callable[[], Outcome] = (
            (lambda: self._keeper.remove(facts)) if going else (lambda: self._keeper.keep(facts))
        )
        outcome = await in_background(work, "keeping-the-runtime")
        self._report(outcome)
        self._last = outcome
        self._teller.say(outcome.state)

    def _works_soon(self, state: RuntimeState) -> None:
        """From the thread that works."""
        self._loop.call_soon_threadsafe(self._works, state)

    def _works(self, state: RuntimeState) -> None:
        """A change begins. A runtime that works already goes on working meanwhile, and its label stays."""
        if self._last is None or self._last.state.phase is not Phase.READY:
            self._teller.say(state)

    def _report(self, outcome: Outcome) -> None:
        state, before = outcome.state, self._last.state if self._last is not None else None
        if outcome.changed:
            self.metrics.changes.inc()
            healed = before is not None and before.phase is Phase.READY and state.phase is Phase.READY
            reason = (
                "MetaxRuntimeRemoved"
                if state.phase is Phase.REMOVED
                else ("MetaxRuntimeRestored" if healed else "MetaxRuntimeRegistered")
            )
            how = f"; containers get MXMACA by {state.way}" if state.way else ""
            self._record(reason, f"{outcome.changed}{how}", warning=healed)
        if state.phase in (Phase.FAILED, Phase.WAITING):
            self.metrics.failures.inc()
        if state.why and (before is None or (before.code, before.why) != (state.code, state.why)):
            waits = state.phase is Phase.WAITING
            reason = {Phase.WAITING: "MetaxRuntimeWaiting", Phase.REMOVED: "MetaxRuntimeRemoved"}.get(
                state.phase, "MetaxRuntimeFailed"
            )
            self._record(reason, f"{state.why} [{state.code}]", warning=not waits)

    def _record(self, reason: str, message: str, *, warning: bool) -> None:
        log.log(logging.WARNING if warning else logging.INFO, "%s", message, extra={"reason": reason})
        about = About("Node", str(self._settings.node))
        self._recorder.record(Event(about, reason, message, warning=warning))


async def serve(
    supervisor: Supervisor, settings: Settings, connection: Connection, address: Address | None
) -> int:
    """Keep runtime metax on this node until stopped. Raises `SettingError`."""
    async with Api(connection, agent=MANAGER) as api:
        return await Service(settings, api).serve(supervisor, address)

"""The operator put together: copies of the cluster in, one look after another, what follows from it written.

Of two replicas one writes, whoever holds the Lease; the other has the same copies and is ready to go on. Nothing that a
new leader needs is remembered in a process: it is on the nodes and in the status of the one object.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from tangram.daemon.running import Supervisor
from tangram.kube.api import Api, Object
from tangram.kube.election import Election, LeaseName
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.objects import version_of
from tangram.kube.recorder import About, Event, Recorder
from tangram.services.operator import marking, reporting
from tangram.services.operator.applying import ABOUT, Applier
from tangram.services.operator.copies import NODES, OBJECTS, Copies
from tangram.services.operator.keeping import keep_parts
from tangram.services.operator.metrics import Metrics
from tangram.services.operator.own_kind import keep_own_kind
from tangram.services.operator.part_pods import PullWords
from tangram.services.operator.parts.catalogue import DEVICE_CONFIG
from tangram.services.operator.parts.pods import MANAGER, Site
from tangram.services.operator.readiness import World, judge
from tangram.services.operator.remover import Remover
from tangram.services.operator.upgrader import Upgrader
from tangram.vendors.metax.maca_images import read_maca_image
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.operator.names import API_VERSION, FINALIZER, KIND, OBJECT
from tangram.wire.operator.reading import read_name, read_spec, whose
from tangram.wire.operator.spec import Spec
from tangram.wire.operator.status import State, Status, UpgradeStatus

COMPONENT: Final = "tangram-operator"
EVERY_S: Final = 5.0
"""Between two looks when nothing happens: what waits for a clock is seen then."""
PACE_S: Final = 0.3
"""Between two looks at least, however much happens."""
LONGEST_PAUSE_S: Final = 10.0
GONE: Final = f"ClusterOperator {OBJECT} is gone, so nothing is managed; helm upgrade makes it again"

_log = logging.getLogger("tangram.operator")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    site: Site
    lease: LeaseName
    identity: str
    """New in every process."""


class Operator:
    """`start` begins everything; `unready` says what keeps an installation from being complete, or us from working."""

    def __init__(
        self,
        settings: Settings,
        api: Api,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self._settings = settings
        self._api = api
        self._now = now
        self._supervisor: Supervisor | None = None
        self._woken = asyncio.Event()
        self.metrics: Final = Metrics()
        self.recorder: Final = Recorder(api, COMPONENT, settings.identity)
        self.election: Final = Election(api, settings.lease, settings.identity, clock=clock, now=now)
        self.copies: Final = Copies(api, settings.site.namespace, self._woken.set, clock)
        self._applier = Applier(
            api, self.recorder.record, leading=self._leads, counted=self.metrics.wrote, clock=clock
        )
        self._upgrader = Upgrader(api, self.recorder.record, leading=self._leads, now=now)
        self._remover = Remover(api, self.recorder.record, self.copies.live, leading=self._leads, now=now)
        self._marks = marking.Pace(clock)
        self._pull_words = PullWords()
        self._spec: Spec | None = None
        """The last that could be read."""
        self._told: set[tuple[str, str]] = set()
        self._state: State | None = None
        self._in_vain: tuple[str, Object] | None = None
        """A patch of the status that changed nothing, and the state of the object that it was made for."""
        self.trouble = ""
        self.gone = False
        """The object was looked for, and is not there."""

    async def follow(self, supervisor: Supervisor) -> None:
        """Begin everything, and never end."""
        await self.start(supervisor)
        await asyncio.Event().wait()

    async def start(self, supervisor: Supervisor) -> None:
        """Begin everything; returns once the cluster was read."""
        self._supervisor = supervisor
        supervisor.lasting("events", self.recorder.run)
        supervisor.vital("leading", self._lead(supervisor))
        await self.copies.fill(supervisor)

    def unready(self) -> list[str]:
        """For `/readyz`: before everything was ready once, what is missing; after that, what keeps us from working."""
        behind = self.copies.unready()
        if behind:
            return behind
        thing = self.copies.operator()
        if thing is None:
            return [GONE]
        theirs = whose(thing)
        if theirs:
            return [theirs]
        if reporting.is_installed(thing):
            return []
        told = reporting.status_now(thing).message or "nobody leads yet"
        # Of a leader that cannot write, the object does not know.
        return [f"not everything is installed yet: {self.trouble or self.election.trouble or told}"]

    async def release(self) -> None:
        """At an orderly end: whoever waits may go on at once."""
        await self.election.release()

    def _leads(self) -> bool:
        return self.election.held

    # ---- the life of a leader

    async def _lead(self, supervisor: Supervisor) -> None:
        await self.election.acquire()
        self.metrics.leading.set(1)
        # Losing the Lease ends the process, and with it all that it believes.
        supervisor.vital("keeping the Lease", self.election.keep())
        await keep_own_kind(self._api)
        pause = PACE_S
        while True:
            self._woken.clear()
            if not self.copies.unready():
                try:
                    await self.look()
                    self.trouble, pause = "", PACE_S
                except (ApiError, ApiUnreachable) as error:
                    self._failed(str(error))
                    pause = min(2 * pause, LONGEST_PAUSE_S)
            await asyncio.sleep(pause)
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    await self._woken.wait()

    async def look(self) -> None:
        """Go through everything once. Raises `ApiError` and `ApiUnreachable`: then look again later."""
        if not self.election.held:
            return
        self.metrics.looks.inc()
        self._refuse_others()
        thing = self.copies.operator()
        self._note_absence(thing is None)
        if thing is None:
            await self._upgrader.give_back(self.copies.views())
            return
        theirs = whose(thing)
        if theirs:
            self._tell_once(thing, Event(ABOUT, "NotOurs", theirs))
            return
        if thing["metadata"].get("deletionTimestamp"):
            await self._remove(thing)
            return
        await self._hold(thing)
        refused = await self._read(thing)
        if self._spec is not None:
            await self._keep(thing, self._spec, silent=refused)
        else:
            await self._upgrader.give_back(self.copies.views())

    async def _keep(self, thing: Object, spec: Spec, *, silent: bool) -> None:
        """Make it so; `silent` where something else is to be said of the object."""
        site, unread = self._settings.site, ""
        if self._supervisor is not None:
            place = spec.device_plugin.config_namespace or site.namespace
            unread = self.copies.follow_device_config(self._supervisor, place)
        # Who gives no content needs no right to read it.
        matters = DEVICE_CONFIG.wanted(spec)
        troubles = await keep_parts(
            self._applier, spec, site, self.copies.live(), {DEVICE_CONFIG.name: unread if matters else ""}
        )
        unmarked = await self._mark(spec)
        upgrade, failed = await self._upgrade(spec)
        pods = self.copies.part_pods()
        world = World(
            spec=spec,
            site=site,
            live=self.copies.live(),
            troubles=troubles,
            nodes=self.copies.seen_nodes(),
            pods=pods,
            pod_words=self._pull_words.told(pods),
            schedulers=self.copies.schedulers(spec.gpu_scheduler.namespace),
            upgrade=upgrade,
        )
        if not silent:
            await self._report(thing, reporting.judged(thing, judge(world), upgrade, self._now()))
        # What went wrong with nodes must not keep the status from being written, nor be forgotten.
        error = unmarked or failed
        if error is not None:
            raise error

    async def _mark(self, spec: Spec) -> ApiError | ApiUnreachable | None:
        refused: ApiError | None = None
        images = [found for found in map(read_maca_image, spec.maca_images) if found is not None]
        for node, patch in self._marks.due(marking.changes(self.copies.nodes.objects.values(), images)):
            if not self.election.held:
                return None
            try:
                await self._api.merge(f"{NODES}/{node}", patch, fieldManager=MANAGER)
            except ApiUnreachable as error:
                return error
            except ApiError as error:
                # Seen too late: the next look has the newer state. A refusal is of this node alone.
                if error.status not in (CONFLICT, NOT_FOUND):
                    refused = refused or error
            else:
                managed = marking.is_managed(patch)
                if managed is not None:
                    _log.info(
                        "node %s %s", node, "is managed from now on" if managed else "is not managed any more"
                    )
                self._marks.done(node)
        return refused

    async def _upgrade(self, spec: Spec) -> tuple[UpgradeStatus | None, ApiError | ApiUnreachable | None]:
        try:
            driver = spec.driver
            return await self._upgrader.step(
                self.copies.views(), driver.upgrade_policy, deployed=driver.deploy
            ), None
        except (ApiError, ApiUnreachable) as error:
            status = reporting.status_now(self.copies.operator() or {})
            return status.upgrade_status, error

    # ---- the one object

    async def _read(self, thing: Object) -> bool:
        """Whether the spec is refused. Then the last one that was not still counts, so that what runs is healed."""
        try:
            self._spec = read_spec(thing)
        except WireError as error:
            sentence = f"the spec is refused: {error.sentence}"
            self._tell_once(thing, Event(ABOUT, reporting.REFUSED, sentence))
            await self._report(thing, reporting.refused(thing, sentence, self._now()))
            return True
        return False

    async def _hold(self, thing: Object) -> None:
        """Without our finalizer a deletion would leave the nodes as they are."""
        finalizers = [str(each) for each in loose.elements(thing["metadata"].get("finalizers"))]
        if FINALIZER not in finalizers:
            version = thing["metadata"].get("resourceVersion")
            metadata = {"resourceVersion": version, "finalizers": [*finalizers, FINALIZER]}
            await self._patch({"metadata": metadata})

    async def _remove(self, thing: Object) -> None:
        if FINALIZER not in loose.elements(thing["metadata"].get("finalizers")):
            return
        await self._see_all_of_ours(thing)
        sentence = await self._remover.step(thing, self.copies.views())
        await self._report(thing, reporting.removing(thing, sentence, self._now()))

    async def _see_all_of_ours(self, thing: Object) -> None:
        """What is not seen is not removed: the ConfigMap that is only followed from the first reading of a spec on."""
        plugin = loose.members(loose.members(thing.get("spec")).get("devicePlugin"))
        place = loose.text(plugin.get("configNamespace")) or self._settings.site.namespace
        if self._supervisor is None or place in self.copies.device_configs:
            return
        self.copies.follow_device_config(self._supervisor, place)
        with suppress(TimeoutError):
            async with asyncio.timeout(EVERY_S):
                await self.copies.device_configs[place].synced.wait()

    async def _report(self, thing: Object, status: Status) -> None:
        self.metrics.tell(status)
        patch = reporting.patch_for(thing, status)
        version = loose.text(thing["metadata"].get("resourceVersion"))
        if patch is None or not self.election.held or self._in_vain == (version, patch):
            return
        # What was judged from an older state of the object is not written: its times would be wrong.
        answer = await self._patch({**patch, "metadata": {"resourceVersion": version}}, "/status")
        if answer is not None and version_of(answer) == version:
            # A definition of another release does not know all of it and drops the rest: it would never be the same.
            self._in_vain = (version, patch)
        if self._state is not status.state:
            self._announce(status)

    def _announce(self, status: Status) -> None:
        self._state = status.state
        _log.info("%s: %s", status.state.value, status.message)
        if status.state in (State.READY, State.ERROR):
            word = "Ready" if status.state is State.READY else "Failed"
            self.recorder.record(Event(ABOUT, word, status.message, warning=status.state is State.ERROR))

    async def _patch(self, patch: Object, part: str = "") -> Object | None:
        try:
            return await self._api.merge(f"{OBJECTS}/{OBJECT}{part}", patch, fieldManager=MANAGER)
        except ApiError as error:
            if error.status not in (CONFLICT, NOT_FOUND):
                raise
            return None

    # ---- words

    def _refuse_others(self) -> None:
        for thing in self.copies.others():
            name = loose.text(thing["metadata"].get("name"))
            about = About(KIND, name, uid=loose.text(thing["metadata"].get("uid")), api_version=API_VERSION)
            self._tell_once(thing, Event(about, "NotLookedAt", read_name(thing)))

    def _tell_once(self, thing: Object, event: Event) -> None:
        key = (loose.text(thing["metadata"].get("uid")), event.message)
        if key not in self._told:
            self._told.add(key)
            _log.warning("%s", event.message)
            self.recorder.record(event)

    def _failed(self, sentence: str) -> None:
        if sentence != self.trouble:
            _log.warning("not everything could be done: %s", sentence)
        self.trouble = sentence

    def _note_absence(self, absent: bool) -> None:  # noqa: FBT001 - one fact
        if absent and not self.gone:
            _log.warning("%s", GONE)
        if absent:
            self._spec = None
        self.gone = absent

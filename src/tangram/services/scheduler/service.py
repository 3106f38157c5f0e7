"""The scheduler put together: one state, the verbs over it, and what runs beside them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry

from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.informer import Change
from tangram.kube.leases import LeaseWatch
from tangram.kube.probing import server_version
from tangram.kube.recorder import Recorder
from tangram.services.scheduler.answering import Answering, Parts
from tangram.services.scheduler.binding import Binding
from tangram.services.scheduler.configuration import Configuration, InForce
from tangram.services.scheduler.copies import Copies
from tangram.services.scheduler.device_summaries import DeviceSummaries
from tangram.services.scheduler.explain_turns import Turns
from tangram.services.scheduler.explaining import Explaining
from tangram.services.scheduler.exposition import Exposition
from tangram.services.scheduler.failing import failing
from tangram.services.scheduler.filtering import Filtering
from tangram.services.scheduler.forgotten_locks import ForgottenLocks
from tangram.services.scheduler.leadership import Leadership
from tangram.services.scheduler.locks import NodeLocks
from tangram.services.scheduler.nominating import Nominator
from tangram.services.scheduler.preempting import Preempting
from tangram.services.scheduler.quota_book import QuotaBook
from tangram.services.scheduler.quotas import Quotas
from tangram.services.scheduler.reservations import Times
from tangram.services.scheduler.reviewing import ReviewRules
from tangram.services.scheduler.second_looks import SecondLooks
from tangram.services.scheduler.seen import Seen, Waiting
from tangram.services.scheduler.settings import SchedulerSettings
from tangram.services.scheduler.state import State
from tangram.services.scheduler.takeover import Takeover
from tangram.services.scheduler.telemetry import Figures, Telemetry, Written
from tangram.services.scheduler.telling import Telling
from tangram.services.scheduler.verdicts import Verdicts
from tangram.services.scheduler.victims import Victims
from tangram.services.scheduler.viewing import Viewing
from tangram.units.ids import NodeName
from tangram.wire.trust_policy import TrustedAccounts

COMPONENT: Final = "tangram-scheduler"
EXPIRE_EVERY_S: Final = 1.0
FIRST_WITH_NOMINATIONS: Final = (1, 35)


class Scheduler:
    """`desk` answers; `start` begins what runs beside. Raises `SettingError` for configuration files that are none."""

    def __init__(
        self, settings: SchedulerSettings, api: Api, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._api = api
        self._clock = clock
        self._deaths: Callable[[], Sequence[str]] = list[str]
        self._unready: list[Callable[[], Sequence[str]]] = []
        self.state: Final = State(clock, served=settings.served)
        self._telemetry: Final = Telemetry(CollectorRegistry())
        self._configuration: Final = Configuration(
            settings.config, settings.device_config, changed=self._configure, counted=self._telemetry.reloaded
        )
        self._verdicts: Final = Verdicts()
        self._quotas: Final = Quotas()
        self._book: Final = QuotaBook(self.state, self._quotas)
        self._lease: Final = _lease_watch(settings, api, self._lease_changed)
        self.leadership: Final = Leadership(self._lease, clock)
        self._recorder: Final = Recorder(api, COMPONENT, settings.identity)
        telling = Telling(self._recorder)
        self._locks: Final = NodeLocks(api, self._waits_for_plugin, wrote=self._counting("lock"))
        self._nominator: Final = Nominator(
            self.state, api, self._may_decide, self._book.over, wrote=self._counting("nomination")
        )
        self._second_looks: Final = SecondLooks(self.state, self._nominator.look_at, clock)
        self._takeover: Final = Takeover(api, self.leadership, self._nominator.wake)
        self._preempting: Final = Preempting(
            self.state,
            api,
            self._may_decide,
            telling.preempted,
            counted=self._telemetry.evicted,
            wrote=self._telemetry.wrote,
        )
        self._binding: Final = Binding(
            self.state,
            api,
            self.leadership,
            self._locks,
            over_quota=self._book.over,
            wrote=self._counting("binding"),
        )
        self.copies: Final = Copies(
            api, self.state, self.leadership, self._book.quota_changed, self._preempting.budget_changed
        )
        self.copies.pod_listeners.append(self._pod_changed)
        self._forgotten: Final = ForgottenLocks(
            self.copies.nodes.objects, self._locks, self._waits_for_plugin, self._may_decide
        )
        self.copies.node_listeners.append(self._second_looks.changed)
        turns = Turns()
        self._viewing: Final = Viewing(self.state, self._verdicts, self.leadership, clock, turns=turns)
        self.state.arrived = self._arrived
        self.state.reservations.ended = self._telemetry.promise_ended
        self._exposition: Final = Exposition(
            self._telemetry.registry,
            self.state.ledger,
            demand=lambda: self.state.frag.demand,
            quotas=self._book.figures,
            legacy=settings.legacy_metrics,
        )
        self._telemetry.observe(self._figures)
        self.desk: Final = Answering(
            Parts(
                state=self.state,
                leadership=self.leadership,
                filtering=Filtering(self.state, failing, self._book.over),
                binding=self._binding,
                preempting=self._preempting,
                victims=Victims(self.state, self.leadership, self._preempting),
                second_looks=self._second_looks,
                explaining=Explaining(self.state, self._verdicts, turns),
                viewing=self._viewing,
                summaries=DeviceSummaries(self.state.ledger),
                verdicts=self._verdicts,
                telling=telling,
                telemetry=self._telemetry,
                exposition=self._exposition,
                review_rules=self._review_rules,
                accounts=self._accounts,
                after_bind=self._nominator.wake,
                unready=self.unready,
                unhealthy=self._unhealthy,
            )
        )
        self._configure(self._configuration.load())

    # --- life ----------------------------------------------------------------------------------------------------

    async def start(self, supervisor: Supervisor) -> None:
        """Begin everything that runs beside the verbs; they answer with an error until the cluster is read."""
        self._deaths = supervisor.unhealthy
        if self._lease is not None:
            self.leadership.caught_up = False
            supervisor.vital("kube-scheduler's Lease", self._lease.run())
            supervisor.lasting("taking over", self._takeover.run)
        supervisor.lasting("events", self._recorder.run)
        supervisor.lasting("configuration", self._configuration.run)
        supervisor.vital("filling of copies", self._fill(supervisor))

    def also_unready(self, reasons: Callable[[], Sequence[str]]) -> None:
        """Something else that must be well before anybody is sent here."""
        self._unready.append(reasons)

    def _unhealthy(self) -> Sequence[str]:
        return self._deaths()

    def unready(self) -> Sequence[str]:
        return [*self.leadership.unready(), *(one for reasons in self._unready for one in reasons())]

    async def _fill(self, supervisor: Supervisor) -> None:
        await self.copies.fill(supervisor)
        supervisor.lasting("end of promises", self._expire)
        supervisor.lasting("preemption", self._preempting.run)
        supervisor.lasting("forgotten locks", self._forgotten.run)
        self._nominator.ahead = await self._nominates()
        supervisor.lasting("nominations", self._nominator.run)
        supervisor.lasting("second looks", self._second_looks.run)
        await asyncio.Event().wait()

    async def _nominates(self) -> bool:
        if self._settings.nominate is not None:
            return self._settings.nominate
        try:
            return await server_version(self._api) >= FIRST_WITH_NOMINATIONS
        except (ApiError, ApiUnreachable):
            return False

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(EXPIRE_EVERY_S)
            ended = self.state.reservations.expire()
            if ended:
                self._telemetry.promise_ended("expired", len(ended))
                self._nominator.wake()

    # --- what the parts ask of each other ------------------------------------------------------------------------

    def _configure(self, now: InForce) -> None:
        config = now.scheduler
        self.state.defaults = now.defaults
        self.state.served = self._settings.served | frozenset(config.scheduler_names)
        self.state.reservations.times = Times(
            promise=config.reservation_seconds,
            long_promise=config.gang_seconds,
            demotion=config.demote_seconds,
        )
        self.state.use_policies(config.vendors, config.qos_policy)
        self.state.use_names(now.devices.renamed, now.devices.mthreads_memory_per_card)
        self._quotas.renamed = now.devices.renamed
        self._book.enabled = config.quota
        self._locks.lasts = float(config.node_lock_seconds)

    def _review_rules(self) -> ReviewRules:
        config = self._configuration.in_force.scheduler
        return ReviewRules(
            settings=self.state.settings_of_new_pods,
            scheduler_name=self._settings.name,
            served=self.state.served,
            force_overwrite=config.overwrite_default_scheduler,
            over_quota=self._book.over_at_admission,
        )

    def _accounts(self) -> TrustedAccounts:
        config = self._configuration.in_force.scheduler
        return TrustedAccounts(
            scheduler=self._settings.account, peers=config.trusted_accounts, agents=self._settings.agents
        )

    def _counting(self, thing: Written) -> Callable[[], None]:
        return lambda: self._telemetry.wrote(thing)

    def _lease_changed(self, ours: bool) -> None:  # noqa: FBT001 - a callback with one fact
        self._takeover.lease_changed(ours)

    def _may_decide(self) -> bool:
        return self.leadership.why_not_decide() is None

    def _waits_for_plugin(self, namespace: str, name: str, uid: str, node: NodeName) -> bool:
        known = self.state.known(namespace, name)
        return (
            known is not None
            and not known.ended
            and uid in ("", known.ref.uid)
            and known.node in (None, node)
        )

    def _arrived(self, waiting: Waiting) -> None:
        self._viewing.arrived(waiting)
        self._nominator.wake(waiting)

    def _pod_changed(self, change: Change[Seen]) -> None:
        if change.old is not None and (change.new is None or change.new.ended):
            self._verdicts.forget(change.old.ref.uid)
            self._nominator.wake()
        if change.new is None or change.new.node is not None:
            self._second_looks.changed()

    def _figures(self) -> Figures:
        now = self._clock()
        return Figures(
            reservations=len(self.state.reservations),
            waiting=len(self.state.waiting),
            nominations=self.state.reservations.ahead(),
            leader=self.leadership.active,
            stale_seconds=max((copy.stale_for(now) for copy in self.leadership.copies.values()), default=0.0),
            configuration_troubles=len(self._configuration.troubles),
            pending=self._verdicts.why_pending(),
            room=self._exposition.room,
        )


def _lease_watch(settings: SchedulerSettings, api: Api, changed: Callable[[bool], None]) -> LeaseWatch | None:
    if settings.lease is None:
        return None
    beginning = f"{settings.identity}_"
    return LeaseWatch(
        api,
        settings.lease.namespace,
        settings.lease.name,
        lambda holder: holder.startswith(beginning),
        changed=changed,
    )

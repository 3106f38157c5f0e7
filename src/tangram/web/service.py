"""The dashboard put together: one picture, the pages over it, and what runs beside them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from tangram.daemon.errors import SettingError
from tangram.daemon.running import Supervisor
from tangram.daemon.web_asking import application, probe
from tangram.kube.api import Api
from tangram.kube.recorder import Recorder
from tangram.kube.rights import Rights
from tangram.web.acting import Actor
from tangram.web.answers import Answers
from tangram.web.app import Parts, dashboard_app
from tangram.web.checking import Checking
from tangram.web.events import Hub
from tangram.web.following import Follower
from tangram.web.history.filing import HistoryFile, UnusableFileError, tend
from tangram.web.history.keeping import History
from tangram.web.knowing import Knowing, Sources
from tangram.web.picture import Picture
from tangram.web.reception import Reception
from tangram.web.rendering import Rendering
from tangram.web.scheduler_client import SchedulerClient
from tangram.web.seeing import Namespaces, Seeing
from tangram.web.settings import COMPONENT, DashboardSettings
from tangram.web.static_files import StaticFiles
from tangram.web.telemetry import Telemetry
from tangram.web.tiles import keeps_tiles

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Connections:
    """To the API server, and two to the scheduler: one waits for news, the other asks."""

    api: Api
    following: Api
    asking: Api


class Dashboard:
    """`app` answers; `start` begins what runs beside. Raises `SettingError` for a history that cannot be kept."""

    def __init__(
        self,
        settings: DashboardSettings,
        to: Connections,
        *,
        trust: Callable[[], None] = lambda: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._deaths: Callable[[], Sequence[str]] = list[str]
        self._also_unready: Callable[[], Sequence[str]] = list[str]
        self.picture: Final = Picture()
        self._history: Final = History()
        self._file: Final = None if settings.history is None else HistoryFile(settings.history)
        self._load()
        namespaces, rights = Namespaces(), Rights(to.api)
        namespaces.add({each.namespace for each in self._history.used(0.0)})
        # First who may see a namespace has to know of it, then the history, then browsers are told.
        self.picture.listeners.extend((namespaces.note, self._history.note, keeps_tiles(self.picture)))
        seeing = Seeing(rights, namespaces)
        reception = Reception(rights, seeing, settings.ways)
        self._recorder: Final = Recorder(to.api, COMPONENT, "")
        scheduler = SchedulerClient(to.following, to.asking, trust)
        self._follower: Final = Follower(self.picture, scheduler)
        self._checks: Final = Checking(settings.kubeconfig)
        known = Knowing(
            self.picture,
            self._history,
            Sources(
                scheduler=scheduler,
                api=to.api,
                rights=rights,
                actor=Actor(to.api, rights, self._recorder, reception.own_token),
                checks=self._checks,
            ),
        )
        self.hub: Final = Hub(known, now)
        statics = StaticFiles()
        self._rendering: Final = Rendering(statics.address)
        telemetry = Telemetry(self.picture, self.hub, now)
        self._parts: Final = Parts(
            known=known,
            reception=reception,
            answers=Answers(self._rendering, known, self.hub.stamp),
            statics=statics,
            hub=self.hub,
            probes={
                "/healthz": probe(self._unhealthy),
                "/readyz": probe(self.unready),
                "/metrics": telemetry.metrics,
            },
            clock=now,
            served=telemetry.served,
        )

    def app(self, *, for_proxy: bool = False) -> web.Application:
        return dashboard_app(self._parts, for_proxy=for_proxy)

    def probes_app(self) -> web.Application:
        """Probes and metrics alone."""
        return application({path: {"GET": answering} for path, answering in self._parts.probes.items()})

    def prepare(self) -> None:
        """What would otherwise be done for the first who looks; it takes half a second."""
        self._rendering.prepare()

    def start(self, supervisor: Supervisor) -> None:
        """Begin everything that runs beside the pages."""
        self._deaths = supervisor.unhealthy
        supervisor.lasting("dashboard: the scheduler's view", self._follower.run)
        supervisor.lasting("dashboard: news for browsers", self.hub.run)
        supervisor.lasting("dashboard: events", self._recorder.run)
        supervisor.lasting("dashboard: history", lambda: tend(self._history, self._file))

    async def close(self) -> None:
        await self.hub.close()
        await self._checks.close()

    def also_unready(self, reasons: Callable[[], Sequence[str]]) -> None:
        """Something else that must be well before anybody is sent here."""
        self._also_unready = reasons

    def unready(self) -> Sequence[str]:
        """A picture that grows old is shown with its age, and is no reason to show nothing."""
        waiting = (
            []
            if self.picture.complete
            else [self.picture.trouble or "the scheduler has not told everything yet"]
        )
        return [*waiting, *self._also_unready()]

    def _unhealthy(self) -> Sequence[str]:
        return self._deaths()

    def _load(self) -> None:
        if self._file is None:
            return
        try:
            set_aside = self._file.load(self._history)
        except UnusableFileError as error:
            raise SettingError(str(error)) from None
        if set_aside:
            _log.warning("%s", set_aside)

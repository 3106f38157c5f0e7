"""The agent put together: which part hears what from which, what runs side by side, and how it begins and ends.

Serving the kubelet comes first and waits for nobody: not for the API server, and for the driver only as long as a tick.
Everything else follows from looks at the node, which are taken whenever something happened and now and then besides.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Container
from typing import Final

from tangram.daemon.endpoints import Address, serving
from tangram.daemon.memory import give_back
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.informer import Informer, whole
from tangram.kube.objects import Key
from tangram.kube.recorder import Recorder
from tangram.kubelet.news import News
from tangram.kubelet.notebook import Notebook
from tangram.kubelet.plugin import Plugin
from tangram.kubelet.podresources import PodResourcesClient
from tangram.kubelet.watching import FolderWatch
from tangram.services.gpu_device import config_elsewhere
from tangram.services.gpu_device.answers import PluginAnswers
from tangram.services.gpu_device.bound_pods import BoundPods, bound_part
from tangram.services.gpu_device.card_metrics import CardMetrics
from tangram.services.gpu_device.card_qos import CardQos
from tangram.services.gpu_device.card_readings import CardReadings
from tangram.services.gpu_device.card_watch import CardWatch
from tangram.services.gpu_device.claims import Claims
from tangram.services.gpu_device.compute_policy import ComputePolicies
from tangram.services.gpu_device.config_elsewhere import MisplacedConfig
from tangram.services.gpu_device.config_kept import KeptConfig
from tangram.services.gpu_device.config_maps import ConfigMaps
from tangram.services.gpu_device.delivery import Delivery
from tangram.services.gpu_device.device_modes import DeviceModes
from tangram.services.gpu_device.direct import Directly
from tangram.services.gpu_device.folders import HostFolders
from tangram.services.gpu_device.giving import Giving
from tangram.services.gpu_device.grant_files import GrantFiles
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.koordinator import KoordinatorReports
from tangram.services.gpu_device.kubelet_view import KubeletView
from tangram.services.gpu_device.leaving import ARRIVE_S, until_arrived
from tangram.services.gpu_device.lock_release import LockRelease
from tangram.services.gpu_device.metric_scene import Scene
from tangram.services.gpu_device.mode_condition import ModeCondition
from tangram.services.gpu_device.node_hold import NodeHold
from tangram.services.gpu_device.pod_writes import PodWrites
from tangram.services.gpu_device.probing import Probing
from tangram.services.gpu_device.publishing import OwnNode, Publisher
from tangram.services.gpu_device.records import BoundPod
from tangram.services.gpu_device.resources import WHOLE
from tangram.services.gpu_device.settings import AgentSettings
from tangram.services.gpu_device.slices import Slices
from tangram.services.gpu_device.survey import Survey
from tangram.services.gpu_device.switching import Switching
from tangram.services.gpu_device.telemetry import Telemetry
from tangram.services.gpu_device.telling import Telling
from tangram.services.gpu_device.tidying import Tidying
from tangram.services.gpu_device.turnstile import Turnstile
from tangram.services.gpu_device.unserved import asks_for
from tangram.units.ids import PodUid

log = logging.getLogger("tangram.gpu-device")

GRACE_S: Final = 5.0
"""How long calls of the kubelet may take to end when the agent is told to stop."""
COMPONENT: Final = "tangram-gpu-device"


class Agent:
    def __init__(self, settings: AgentSettings, api: Api, hardware: Hardware) -> None:
        self._settings = settings
        self._api = api
        self._hardware = hardware
        self.telemetry: Final = Telemetry()
        self._due = News()
        self._news = News()
        self._probing = Probing(settings)
        node = settings.node
        self._cards = CardWatch(node, hardware, lambda: self._modes.config)
        self._own = OwnNode(self._node_changed)
        self._pods = BoundPods(lambda: self._cards.inventory, self._happened)
        self._pods_informer = Informer(
            api,
            "/api/v1/pods",
            self._pods.told,
            keep=bound_part,
            query={"fieldSelector": f"spec.nodeName={node}"},
        )
        self._node_informer = Informer(
            api, "/api/v1/nodes", self._own.told, keep=whole, query={"fieldSelector": f"metadata.name={node}"}
        )
        self._recorder = Recorder(api, COMPONENT, str(node))
        self._writes = PodWrites(api, self.telemetry.wrote)
        self._resources = PodResourcesClient(settings.pod_resources)
        self._kubelet = KubeletView(
            self._resources, Notebook(settings.device_plugins), settings.pauses.listen
        )
        self._files = GrantFiles(settings.cdi_folder)
        self._claims = Claims(settings.state_folder)
        self._qos = CardQos(hardware, lambda: self._cards.inventory.cards, self._due.announce)
        self._slices = Slices(hardware, self.telemetry.did, self._qos.due)
        self._hold = NodeHold(settings.state_folder, self._pods.all, self._serving)
        self._switching = Switching(hardware, self.telemetry.did, told=settings.pauses.told)
        self._telling = Telling(
            node=node,
            recorder=self._recorder,
            writes=self._writes,
            pods=self._pods,
            telemetry=self.telemetry,
            happened=self._due.announce,
        )
        self._maps = (
            ConfigMaps(api, settings.config_namespace, self._reconfigured)
            if settings.config_namespace
            else None
        )
        self._modes = DeviceModes(
            node,
            maps=self._maps,
            folder=settings.config_folder,
            kept=KeptConfig(settings.state_folder),
            heard=self._telling,
        )
        self._tidying = Tidying(
            stock=lambda: self._cards.inventory,
            pods=self._pods,
            fresh=self._fresh,
            kubelet=self._kubelet,
            hardware=hardware,
            slices=self._slices,
            files=self._files,
            claims=self._claims,
            counted=self.telemetry.did,
        )
        self._survey = Survey(
            cards=self._cards,
            kubelet=self._kubelet,
            pods=self._pods,
            own=self._own,
            writes=self._writes,
            switching=self._switching,
            policies=ComputePolicies(hardware, settings.compute_policy, self.telemetry.did),
            fresh=self._fresh,
            published=lambda: self._own.known and not self._publisher.trouble and self._publisher.settled,
            minors=lambda: self._reports.device.minors,
            granted=self._files.pods,
            vendors=settings.vendors,
            running_qos=lambda: self._qos.running,
            hold=self._hold,
        )
        self._publisher = Publisher(
            api, node, self._own, self._survey.wanted, self.telemetry.wrote, pace=settings.pauses.publish
        )
        self._condition = ModeCondition(
            api, node, self._own, lambda: self._survey.waiting, self.telemetry.wrote
        )
        self._reports = KoordinatorReports(
            api,
            node,
            present=lambda: self._node_informer.objects.get(Key("", node)),
            pods=self._pods,
            described=self._survey.described,
            folder=settings.device_infos,
            pauses=settings.pauses,
            told=self._telling.unreported,
            counted=self.telemetry.wrote,
            became=self.telemetry.reported_by,
        )
        giving = Giving(
            stock=lambda: self._cards.inventory,
            pods=self._pods,
            kubelet=self._kubelet,
            files=self._files,
            claims=self._claims,
            slices=self._slices,
            way=self._probing.way,
            removable=self._tidying.dead_on,
            news=self._news,
            folders=HostFolders(settings.container_folders, settings.folder_root),
            took=self.telemetry.step_took,
            patience=settings.patience,
        )
        self._answers = PluginAnswers(
            stock=lambda: self._cards.inventory,
            pods=self._pods,
            claims=self._claims,
            giving=giving,
            directly=Directly(
                stock=lambda: self._cards.inventory,
                pods=self._pods,
                kubelet=self._kubelet,
                giving=giving,
                node_annotations=lambda: self._own.annotations,
                news=self._news,
            ),
            way=self._probing.way,
            heard=self._telling,
        )
        self.readings: Final = CardReadings(lambda: self._cards.inventory, hardware)
        self.telemetry.registry.register(CardMetrics(self._scene, self.readings.age))
        self._watch = FolderWatch(settings.device_plugins)
        self._plugins: dict[str, Plugin] = {}

    # ---- life

    async def serve(self, supervisor: Supervisor, address: Address | None) -> int:
        """Run until told to stop. Raises `OSError` or `SettingError` for what no later try would change."""
        turnstile = Turnstile(self._settings.state_folder)
        async with serving(
            address,
            self.telemetry.registry,
            unhealthy=supervisor.unhealthy,
            unready=self.unready,
            refresh=self.readings.refresh,
        ):
            entering = asyncio.create_task(turnstile.enter())
            stopping = asyncio.create_task(supervisor.stopping.wait())
            await asyncio.wait({entering, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not entering.done():
                entering.cancel()
                return await supervisor.until_stopped()
            stopping.cancel()
            await entering
            try:
                self._load()
                supervisor.vital("the look at pods", self._pods_informer.run())
                supervisor.vital("the look at the node", self._node_informer.run())
                supervisor.vital("the look at cards", self._tick(supervisor))
                supervisor.vital("the survey", self._surveying(supervisor))
                supervisor.vital("publishing", self._publisher.run())
                locks = LockRelease(
                    self._api,
                    self._settings.node,
                    self._own,
                    self._served,
                    self.telemetry.wrote,
                    ours=lambda: self._hold.lock,
                )
                supervisor.vital(
                    "releasing locks", locks.run(self._news, self._settings.pauses.look_at_least)
                )
                # Cards are served whatever becomes of what is told about them.
                supervisor.lasting("the condition of the node", self._condition.run)
                supervisor.lasting("the look at QoS policies", self._qos.run)
                if self._maps is not None:
                    supervisor.lasting("the look at the device ConfigMap", self._maps.run)
                    if self._maps.namespace != config_elsewhere.PLACE:
                        misplaced = MisplacedConfig(self._api, self._maps.namespace, self._telling)
                        supervisor.lasting("the look for a misplaced ConfigMap", misplaced.run)
                supervisor.lasting("the look at the Device", self._reports.device.run)
                supervisor.lasting("reporting to Koordinator", self._reports.run)
                supervisor.lasting("writing on pods", self._writes.run)
                supervisor.lasting("recording events", self._recorder.run)
                return await supervisor.until_stopped(self._drain, limit=ARRIVE_S + GRACE_S + 5.0)
            finally:
                await self._resources.close()
                await self._hardware.close()
                turnstile.leave()

    def _load(self) -> None:
        self._modes.load()
        self._modes.refresh()
        self._claims.load()
        self._hold.load()
        for claim in self._files.load():
            log.warning("a CDI file of ours cannot be read and is left alone", extra={"claim": claim})

    async def _drain(self) -> None:
        """The scheduler first, so that it sends nobody into the gap; then those it has sent; then the kubelet."""
        self._survey.stopping = True
        try:
            async with asyncio.timeout(2.0):
                await self._publisher.write()
        except TimeoutError:
            log.warning("the cluster could not be told of the end in time")
        else:
            if missing := await until_arrived(self._pods.all, self._kubelet.notes, self._begun_pods):
                log.warning("pods that are on their way here may be refused", extra={"pods": missing})
        await asyncio.gather(*(plugin.drain(GRACE_S) for plugin in self._plugins.values()))
        try:
            async with asyncio.timeout(2.0):
                await self._writes.flush(2.0)
                await self._recorder.flush()
        except TimeoutError:
            log.warning("some events or annotations were not written before the end")

    # ---- looking

    async def _tick(self, supervisor: Supervisor) -> None:
        del supervisor
        interval = self._settings.healthy_interval
        while True:
            self._reconfigured()
            before = self._cards.fingerprint
            await self._cards.look(health=interval > 0)
            if self._cards.fingerprint != before:
                self._due.announce()
            await asyncio.sleep(interval or self._settings.pauses.look_at_least)

    async def _surveying(self, supervisor: Supervisor) -> None:
        pauses = self._settings.pauses
        edition, tidied, left_over = -1, -pauses.tidy, False
        while True:
            soon = left_over or self._switching.closed
            begun = time.monotonic()
            await self._due.after(edition, pauses.look_soon if soon else pauses.look_at_least)
            if time.monotonic() - begun >= pauses.look_at_least:
                give_back()
            edition = self._due.edition
            noted = self._survey.sight.notes
            # The first offer waits for nobody: a kubelet that just started may be about to admit a pod.
            hurried = not self._plugins
            offered = await self._survey.look(hurried=hurried)
            for resource, units in offered.items():
                self._plugin(supervisor, resource).offer(units)
            if self._survey.sight.notes is not noted:
                self._news.announce()
            self._withdraw(offered)
            self._publisher.due()
            self._reports.due()
            self._condition.due()
            self._qos.look_again()
            if self._cards.known:
                self._modes.compare(self._cards.inventory.devices)
            self._telling.health(self._cards.inventory.cards)
            self._telling.unserved(self._survey.unserved)
            if not hurried and time.monotonic() - tidied >= pauses.tidy:
                tidied = time.monotonic()
                left_over = await self._tidying.tidy(self._survey.sight)
            else:
                # What this look has found dead, or was too hurried to find, must not wait for what happens next.
                left_over = bool(self._plugins)
            # Before the cards are known there is nothing to pace, and the kubelet waits to be offered them.
            await asyncio.sleep(pauses.look_at_most if offered else 0)

    def _plugin(self, supervisor: Supervisor, resource: str) -> Plugin:
        plugin = self._plugins.get(resource)
        if plugin is None:
            plugin = Plugin(
                self._settings.device_plugins,
                resource,
                self._answers,
                prefers=resource in WHOLE,
                on_change=lambda: self._registration(resource),
                watch=self._watch,
            )
            self._plugins[resource] = plugin
            supervisor.vital(f"the plugin of {resource}", plugin.run())
        return plugin

    def _withdraw(self, offered: Container[str]) -> None:
        """A resource whose last card is offered otherwise now has no units left; the kubelet keeps its name."""
        for resource, plugin in self._plugins.items():
            if resource not in offered:
                plugin.offer(())

    def _served(self) -> list[BoundPod]:
        """The pods that need a peer's lock no more; without CDI it tells for whom Allocate is called.

        A vendor whose cards are left to others has a plugin that goes by the lock itself.
        """
        direct = self._probing.way().delivery is Delivery.DIRECT
        answered = {each.pod_uid for each in self._survey.sight.allocations}
        ours = (each for each in self._pods.all() if asks_for(each, self._settings.vendors))
        return [each for each in ours if not direct or each.kubelet_uid in answered]

    def _begun_pods(self) -> frozenset[PodUid] | None:
        return None if self._probing.way().delivery is Delivery.DIRECT else self._files.pods()

    # ---- what the parts tell

    def _node_changed(self) -> None:
        self._probing.look(self._own.info)
        self._happened()

    def _happened(self) -> None:
        self._news.announce()
        self._due.announce()

    def _fresh(self) -> bool:
        return self._pods_informer.synced.is_set() and self._pods_informer.fresh

    def _registration(self, resource: str) -> None:
        plugin = self._plugins.get(resource)
        if plugin is not None:
            self.telemetry.registration(
                resource,
                registered=plugin.registered,
                count=plugin.registrations,
                seconds=plugin.registration_seconds,
            )
        # A lock that keeps peers off the node is given back once the kubelet has everything.
        self._publisher.due()

    def _serving(self) -> bool:
        return bool(self._plugins) and all(plugin.registered for plugin in self._plugins.values())

    def _reconfigured(self) -> None:
        if self._modes.refresh():
            self._due.announce()

    def _scene(self) -> Scene:
        return Scene(
            inventory=self._cards.inventory,
            usage=self._survey.usage,
            holdings=self._survey.holdings,
            pods=self._pods.all(),
            grants=self._files.all(),
            readings=self.readings.by_card,
        )

    def unready(self) -> list[str]:
        reasons = [
            f"{resource} is not registered with the kubelet"
            for resource, plugin in self._plugins.items()
            if not plugin.registered
        ]
        if self._cards.trouble:
            reasons.append(f"the driver does not answer: {self._cards.trouble}")
        if not self._pods_informer.synced.is_set():
            reasons.append("the pods of this node are not known yet")
        return reasons + self._modes.unready()

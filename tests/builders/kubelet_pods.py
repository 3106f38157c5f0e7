"""The kubelet of a node without containers: the sandbox's own device manager, driven step by step by a test."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from tangram.kube.objects import Object
from tangram.kubelet.sockets import Refusal
from tangram.sandbox.nodes.device_manager import DeviceManager, NotAllocated
from tangram.sandbox.nodes.plugin_client import PluginClient
from tangram.sandbox.nodes.pod_resources import PodResources
from tangram.sandbox.nodes.pod_specs import Container, containers_of, kubelet_uid
from tangram.units.ids import PodUid
from tangram.wire.kubelet.checkpoint import CheckpointedAllocation
from tangram.wire.kubelet.deviceplugin import ContainerAllocateResponse


class _Watched(PodResources):
    """Counts who asks, may be told to be silent, and has no limit: tests ask faster than anybody should."""

    def __init__(self, socket: Path, devices: DeviceManager, pods: dict[PodUid, Object]) -> None:
        super().__init__(socket, devices, lambda: list(pods.values()))
        self.silent: Refusal | None = None
        self.questions = 0

    def take_turn(self) -> None:
        self.questions += 1
        if self.silent is not None:
            raise self.silent


class KubeletPods:
    """The pods of one node. Everything is keyed by the pod's UID, as the kubelet spells it."""

    def __init__(self, device_plugins: Path, pod_resources: Path) -> None:
        self._pods: dict[PodUid, Object] = {}
        self.devices = DeviceManager(device_plugins, living=lambda: self._pods)
        self.resources = _Watched(pod_resources, self.devices, self._pods)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.die()

    async def start(self) -> None:
        await self.resources.start()
        await self.devices.start()

    async def die(self) -> None:
        await self.devices.stop()
        await self.resources.stop()

    async def restart(self) -> None:
        """Pods stay, and so do the notes; every plugin has to introduce itself again."""
        await self.die()
        await self.start()

    def plugin(self, resource: str) -> PluginClient:
        client = self.devices.door.client(resource)
        assert client is not None, f"no plugin has registered {resource}"
        return client

    # ---- pods

    async def admit(self, pod: Object) -> dict[str, dict[str, tuple[str, ...]]]:
        """Give every container its ids, in order. By container and resource, the ids. Raises `NotAllocated`."""
        uid = kubelet_uid(pod)
        self._pods[uid] = pod
        try:
            await self.devices.admit(pod)
        except NotAllocated:
            self.forget(pod)
            raise
        given: dict[str, dict[str, tuple[str, ...]]] = {}
        for container in containers_of(pod):
            for each in self.held(pod, container.name):
                given.setdefault(container.name, {})[each.resource] = each.ids
        return given

    async def start_container(self, pod: Object, container: str) -> None:
        """What precedes its creation: PreStartContainer for each resource. Raises what the plugin answers."""
        await self.devices.prepare(pod, _named(pod, container))

    async def run(self, pod: Object) -> dict[str, dict[str, tuple[str, ...]]]:
        """Admit the pod and start all its containers."""
        given = await self.admit(pod)
        for container in containers_of(pod):
            await self.start_container(pod, container.name)
        return given

    def forget(self, pod: Object) -> None:
        """The pod is over: PodResources shows it no more, the notes keep it until the next admission."""
        self._pods.pop(kubelet_uid(pod), None)

    def held(self, pod: Object, container: str) -> tuple[CheckpointedAllocation, ...]:
        return self.devices.book.of_container(kubelet_uid(pod), container)

    def answer(self, pod: Object, container: str, resource: str) -> ContainerAllocateResponse:
        """What the plugin answered when the container was admitted."""
        return next(each.response() for each in self.held(pod, container) if each.resource == resource)


def _named(pod: Object, name: str) -> Container:
    return next(each for each in containers_of(pod) if each.name == name)

"""The kubelet's PodResources: who holds what, for whoever asks on the node, and not too often.

Ordinary init containers are never shown and pods have no UID in it. A hundred questions a second are answered, ten at
once; the rest is refused and may be asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import grpc

from tangram.kube.objects import Object
from tangram.kubelet.sockets import Refusal, SocketServer, answering, serve
from tangram.sandbox.nodes.device_manager import DeviceManager
from tangram.sandbox.nodes.pod_specs import Container, containers_of, kubelet_uid, name_of, namespace_of
from tangram.wire.kubelet import podresources

PER_SECOND: Final = 100
AT_ONCE: Final = 10
ENDING_S: Final = 0.2


class Turns:
    """So many a second, a few at once."""

    def __init__(self, clock: Callable[[], float], rate: float = PER_SECOND, burst: float = AT_ONCE) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._counted_at = clock()

    def take(self) -> bool:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._counted_at) * self._rate)
        self._counted_at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class PodResources:
    """`pods` are those of the node that the kubelet counts as living."""

    def __init__(self, socket: Path, devices: DeviceManager, pods: Callable[[], Sequence[Object]]) -> None:
        self._socket = socket
        self._devices = devices
        self._pods = pods
        self._server: SocketServer | None = None
        self._turns: Turns | None = None

    async def start(self) -> None:
        self._socket.parent.mkdir(parents=True, exist_ok=True)
        self._turns = Turns(asyncio.get_running_loop().time)
        self._server = await serve(
            self._socket,
            [
                answering(podresources.LIST, self._on_list),
                answering(podresources.GET_ALLOCATABLE_RESOURCES, self._on_allocatable),
                answering(podresources.GET, self._on_get),
            ],
        )

    async def stop(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            # Cut off at once, gRPC writes a line about it to people's terminals.
            await server.stop(grace=ENDING_S)

    async def _on_list(
        self, _asked: podresources.ListPodResourcesRequest
    ) -> podresources.ListPodResourcesResponse:
        self.take_turn()
        self._devices.clear_out()
        return podresources.ListPodResourcesResponse(pod_resources=[self._told(pod) for pod in self._pods()])

    async def _on_allocatable(
        self, _asked: podresources.AllocatableResourcesRequest
    ) -> podresources.AllocatableResourcesResponse:
        self.take_turn()
        return podresources.AllocatableResourcesResponse(
            devices=[
                podresources.ContainerDevices(
                    resource_name=resource,
                    device_ids=[device.ID],
                    topology=_topology(node.ID for node in device.topology.nodes),
                )
                for resource, device in self._devices.plugins.devices()
            ]
        )

    async def _on_get(
        self, asked: podresources.GetPodResourcesRequest
    ) -> podresources.GetPodResourcesResponse:
        self.take_turn()
        for pod in self._pods():
            if (namespace_of(pod), name_of(pod)) == (asked.pod_namespace, asked.pod_name):
                return podresources.GetPodResourcesResponse(pod_resources=self._told(pod))
        raise Refusal(
            grpc.StatusCode.UNKNOWN, f"pod {asked.pod_name} in namespace {asked.pod_namespace} not found"
        )

    def take_turn(self) -> None:
        """Count one question. Raises `Refusal` for one too many."""
        if self._turns is not None and not self._turns.take():
            raise Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")

    def _told(self, pod: Object) -> podresources.PodResources:
        return podresources.PodResources(
            name=name_of(pod),
            namespace=namespace_of(pod),
            containers=[self._container(pod, each) for each in containers_of(pod) if not each.ends_first],
        )

    def _container(self, pod: Object, container: Container) -> podresources.ContainerResources:
        return podresources.ContainerResources(
            name=container.name,
            devices=[
                podresources.ContainerDevices(
                    resource_name=each.resource,
                    device_ids=[unit],
                    topology=_topology([group.numa]),
                )
                for each in self._devices.book.of_container(kubelet_uid(pod), container.name)
                for group in each.by_numa
                for unit in group.ids
            ],
        )


def _topology(numa: Iterable[int]) -> podresources.TopologyInfo | None:
    nodes = [podresources.NUMANode(ID=each) for each in numa if each >= 0]
    return podresources.TopologyInfo(nodes=nodes) if nodes else None

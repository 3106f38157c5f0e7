"""Asking a kubelet who holds which devices, over its PodResources socket."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from tangram.kubelet.sockets import ask, open_channel, socket_address
from tangram.wire.kubelet import podresources
from tangram.wire.kubelet.holdings import HeldDevices, held_by
from tangram.wire.kubelet.methods import Method
from testbed.errors import BedError

_Asked = TypeVar("_Asked", bound=Message)
_Answered = TypeVar("_Answered", bound=Message)


class PodResourcesError(BedError):
    """The kubelet did not answer, or answered no; the code says which."""

    def __init__(self, sentence: str, code: grpc.StatusCode) -> None:
        super().__init__(sentence)
        self.code = code


class PodResourcesClient:
    """Connects anew for every question, so a kubelet's restart in between leaves no trace.

    The kubelet answers 100 questions a second, 10 at once, and refuses the rest (RESOURCE_EXHAUSTED).
    """

    def __init__(self, socket: Path, *, within: float = 10.0) -> None:
        socket_address(socket)
        self._socket = socket
        self._within = within

    async def list(self) -> tuple[HeldDevices, ...]:
        """What every container on the node holds."""
        answer = await self._ask(podresources.LIST, podresources.ListPodResourcesRequest())
        return held_by(answer.pod_resources)

    async def get(self, namespace: str, pod: str) -> tuple[HeldDevices, ...]:
        """What one pod's containers hold. Raises `PodResourcesError` for a pod the kubelet does not know."""
        question = podresources.GetPodResourcesRequest(pod_name=pod, pod_namespace=namespace)
        answer = await self._ask(podresources.GET, question)
        return held_by([answer.pod_resources])

    async def allocatable(self) -> dict[str, tuple[str, ...]]:
        """The ids of every resource that the node has, held or not."""
        answer = await self._ask(
            podresources.GET_ALLOCATABLE_RESOURCES, podresources.AllocatableResourcesRequest()
        )
        found: dict[str, tuple[str, ...]] = {}
        for each in answer.devices:
            found[each.resource_name] = (*found.get(each.resource_name, ()), *each.device_ids)
        return found

    async def _ask(self, method: Method[_Asked, _Answered], question: _Asked) -> _Answered:
        try:
            async with open_channel(self._socket) as channel:
                return await ask(channel, method, question, within=self._within)
        except grpc.aio.AioRpcError as error:
            raise PodResourcesError(
                f"the kubelet did not answer {method.name} at '{self._socket}': "
                f"{error.code().name}, {error.details()}",
                error.code(),
            ) from error

"""The kubelet's connection to one device plugin: what it asks, and the list it follows.

Allocate and GetPreferredAllocation are asked without a time limit, as the kubelet does: whoever answers slowly holds up
every new pod of the node. PreStartContainer has thirty seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import grpc
import grpc.aio

from tangram.kubelet.sockets import ask, open_channel, watch
from tangram.wire.kubelet import deviceplugin

PRE_START_S: Final = 30.0
CONNECT_S: Final = 10.0
_UNLIMITED_S: Final = 365 * 24 * 3600.0


class PluginError(Exception):
    """What a plugin answered in place of an answer, in the words in which Go prints an error of gRPC."""


class PluginClient:
    """`connect`, then `follow`; `listed` hears of every list and `ended` of the end of the stream, each with itself."""

    def __init__(
        self,
        path: Path,
        introduction: deviceplugin.RegisterRequest,
        listed: Callable[[PluginClient, Sequence[deviceplugin.Device]], None] = lambda _self, _devices: None,
        ended: Callable[[PluginClient], None] = lambda _self: None,
    ) -> None:
        self.introduction: Final = introduction
        self.options = introduction.options
        self._listed = listed
        self._ended = ended
        self._channel = open_channel(path)
        self._following: asyncio.Task[None] | None = None

    @property
    def resource(self) -> str:
        return self.introduction.resource_name

    async def connect(self) -> None:
        """Ask for the plugin's options. Raises `PluginError`."""
        try:
            self.options = await ask(
                self._channel, deviceplugin.GET_DEVICE_PLUGIN_OPTIONS, deviceplugin.Empty(), within=CONNECT_S
            )
        except grpc.aio.AioRpcError as error:
            await self._channel.close()
            raise PluginError(f"failed to get device plugin options: {in_go(error)}") from error

    def follow(self) -> None:
        """Read the plugin's list from now on."""
        self._following = asyncio.create_task(self._follow(), name=f"the list of {self.resource}")

    async def prefer(
        self, available: Collection[str], must_include: Collection[str], size: int
    ) -> tuple[str, ...]:
        """Raises `PluginError`, and so do the others."""
        asked = deviceplugin.ContainerPreferredAllocationRequest(
            available_deviceIDs=available, must_include_deviceIDs=must_include, allocation_size=size
        )
        question = deviceplugin.PreferredAllocationRequest(container_requests=[asked])
        try:
            answer = await ask(
                self._channel, deviceplugin.GET_PREFERRED_ALLOCATION, question, within=_UNLIMITED_S
            )
        except grpc.aio.AioRpcError as error:
            raise PluginError(
                f"device plugin GetPreferredAllocation rpc failed with err: {in_go(error)}"
            ) from error
        return tuple(answer.container_responses[0].deviceIDs) if answer.container_responses else ()

    async def allocate(self, ids: Sequence[str]) -> deviceplugin.ContainerAllocateResponse:
        question = deviceplugin.AllocateRequest(
            container_requests=[deviceplugin.ContainerAllocateRequest(devices_ids=ids)]
        )
        try:
            answer = await ask(self._channel, deviceplugin.ALLOCATE, question, within=_UNLIMITED_S)
        except grpc.aio.AioRpcError as error:
            raise PluginError(in_go(error)) from error
        if not answer.container_responses:
            raise PluginError("no containers return in allocation response &AllocateResponse{}")
        return answer.container_responses[0]

    async def pre_start(self, ids: Sequence[str], within: float = PRE_START_S) -> None:
        question = deviceplugin.PreStartContainerRequest(devices_ids=ids)
        try:
            await ask(self._channel, deviceplugin.PRE_START_CONTAINER, question, within=within)
        except grpc.aio.AioRpcError as error:
            raise PluginError(
                f"device plugin PreStartContainer rpc failed with err: {in_go(error)}"
            ) from error

    async def close(self) -> None:
        """Cut the connection; `ended` is not called for it."""
        if self._following is not None and self._following is not asyncio.current_task():
            self._following.cancel()
            with suppress(asyncio.CancelledError):
                await self._following
        await self._channel.close()

    async def _follow(self) -> None:
        stream = watch(self._channel, deviceplugin.LIST_AND_WATCH, deviceplugin.Empty())
        with suppress(grpc.aio.AioRpcError):
            async for message in stream:
                self._listed(self, tuple(message.devices))
        self._ended(self)


def in_go(error: grpc.aio.AioRpcError) -> str:
    """A refusal as the kubelet's log and the pod's status quote it."""
    code = "".join(word.capitalize() for word in error.code().name.split("_"))
    return f"rpc error: code = {code} desc = {error.details()}"

"""A kubelet's side of the device plugin API, without the kubelet: for tests of plugins that need no containers.

It does what a real one does and no more: serve registration, connect back to whoever registers, watch its devices, and
call it when the test says so. Its restart removes every socket in the directory, as the real one's does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc
import grpc.aio

from tangram.kubelet.sockets import (
    Refusal,
    SocketServer,
    answering,
    ask,
    open_channel,
    serve,
    socket_file_at,
    watch,
)
from tangram.wire.kubelet import deviceplugin
from testbed.changes import Changes, cut_off
from testbed.errors import BedError


class PluginClient:
    """The kubelet's connection to one plugin, and the devices it was last told of."""

    def __init__(self, path: Path, introduction: deviceplugin.RegisterRequest) -> None:
        self.introduction = introduction
        self.lists: list[dict[str, str]] = []
        """Every list received: health by device id."""
        self.received: list[deviceplugin.ListAndWatchResponse] = []
        self.ended: str | None = None
        """Why the stream ended, once it has: the name of a gRPC status."""
        self._channel = open_channel(path)
        self._changes = Changes()
        self._watching = asyncio.create_task(self._watch())

    async def prefer(self, available: Iterable[str], size: int, must: Iterable[str] = ()) -> tuple[str, ...]:
        asked = deviceplugin.ContainerPreferredAllocationRequest(
            available_deviceIDs=available, must_include_deviceIDs=must, allocation_size=size
        )
        answer = await ask(
            self._channel,
            deviceplugin.GET_PREFERRED_ALLOCATION,
            deviceplugin.PreferredAllocationRequest(container_requests=[asked]),
            within=30,
        )
        return tuple(answer.container_responses[0].deviceIDs)

    async def allocate(self, *ids: str) -> deviceplugin.ContainerAllocateResponse:
        asked = deviceplugin.ContainerAllocateRequest(devices_ids=ids)
        answer = await ask(
            self._channel,
            deviceplugin.ALLOCATE,
            deviceplugin.AllocateRequest(container_requests=[asked]),
            within=30,
        )
        return answer.container_responses[0]

    async def pre_start(self, *ids: str, within: float = 30) -> None:
        asked = deviceplugin.PreStartContainerRequest(devices_ids=ids)
        await ask(self._channel, deviceplugin.PRE_START_CONTAINER, asked, within=within)

    async def options(self) -> deviceplugin.DevicePluginOptions:
        return await ask(
            self._channel, deviceplugin.GET_DEVICE_PLUGIN_OPTIONS, deviceplugin.Empty(), within=30
        )

    async def wait_for_devices(self, expected: dict[str, str], *, within: float = 10.0) -> None:
        """Return once the last list received is this one (health by id)."""
        await self._wait(lambda: bool(self.lists) and self.lists[-1] == expected, f"{expected}", within)

    async def wait_for_end(self, *, within: float = 10.0) -> str:
        """The status with which the plugin's list ended."""
        await self._wait(lambda: self.ended is not None, "the end of its list", within)
        return str(self.ended)

    async def close(self) -> None:
        await cut_off(self._watching)
        await self._channel.close()

    async def _watch(self) -> None:
        stream = watch(self._channel, deviceplugin.LIST_AND_WATCH, deviceplugin.Empty())
        try:
            async for message in stream:
                self.received.append(message)
                self.lists.append({device.ID: device.health for device in message.devices})
                self._changes.announce()
            self.ended = grpc.StatusCode.OK.name
        except grpc.aio.AioRpcError as error:
            self.ended = error.code().name
        self._changes.announce()

    async def _wait(self, holds: Callable[[], bool], what: str, within: float) -> None:
        if not await self._changes.until(holds, within=within):
            last = self.lists[-1] if self.lists else "nothing"
            raise BedError(
                f"within {within:g} s {self.introduction.resource_name} sent {last}, awaited: {what}"
            )


class FakeKubelet:
    """Serves registration in a directory. The newest registration of a resource replaces the one before."""

    def __init__(self, directory: Path) -> None:
        self.introductions: list[deviceplugin.RegisterRequest] = []
        self.refusal: Refusal | None = None
        """Set it to refuse whoever registers next."""
        self._directory = directory
        self._clients: dict[str, PluginClient] = {}
        self._server: SocketServer | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.die()

    @property
    def resources(self) -> frozenset[str]:
        """What is registered now."""
        return frozenset(self._clients)

    def plugin(self, resource: str) -> PluginClient:
        """The client of a resource that has registered."""
        if resource not in self._clients:
            raise BedError(f"no plugin has registered {resource}: registered are {sorted(self._clients)}")
        return self._clients[resource]

    async def start(self) -> None:
        """Remove every socket in the directory, then listen."""
        for path in self._directory.iterdir():
            if socket_file_at(path) is not None:
                path.unlink()
        self._server = await serve(
            self._directory / deviceplugin.KUBELET_SOCKET,
            [answering(deviceplugin.REGISTER, self._on_register)],
        )

    async def die(self) -> None:
        """As if killed: connections close, the socket file stays."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(leave_file=True)

    async def restart(self) -> None:
        await self.die()
        await self.start()

    async def _on_register(self, asked: deviceplugin.RegisterRequest) -> deviceplugin.Empty:
        self.introductions.append(asked)
        if self.refusal is not None:
            raise self.refusal
        before = self._clients.pop(asked.resource_name, None)
        if before is not None:
            await before.close()
        self._clients[asked.resource_name] = PluginClient(self._directory / asked.endpoint, asked)
        return deviceplugin.Empty()

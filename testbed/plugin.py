"""A device plugin that does what the test says, on a real kubelet's socket directory.

It runs in the test's own process and event loop: behaviours are plain functions of the test, and what the kubelet did
can be looked at without asking anyone. It offers what a plugin can get wrong (refuse, hang, crash, come back, register
twice), and it hides no mistake of its own script: an exception in a behaviour is raised when the plugin stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

import grpc

from tangram.kubelet.sockets import (
    SocketFile,
    SocketServer,
    SocketUnusable,
    ask,
    open_channel,
    serve,
    socket_address,
    socket_file_at,
)
from tangram.wire.kubelet import deviceplugin
from testbed.call_log import CallLog
from testbed.changes import Changes, cut_off
from testbed.device_list import DeviceList
from testbed.errors import BedError
from testbed.plugin_behaviours import Script
from testbed.plugin_records import Call, Ending, MethodName, PluginDevice, Registration
from testbed.plugin_service import PluginService

# How often the kubelet's socket is looked at. Plugins have about 100 ms after its appearance.
_LOOK_EVERY = 0.02
_GRACE = 0.5


@dataclass(frozen=True, slots=True)
class PluginOptions:
    pre_start: bool = True
    """Whether the kubelet is to call PreStartContainer."""
    preferences: bool = False
    """Whether it may call GetPreferredAllocation."""
    follow_kubelet: bool = False
    """Whether to serve and register again by itself whenever the kubelet has made its socket anew."""

    def message(self) -> deviceplugin.DevicePluginOptions:
        return deviceplugin.DevicePluginOptions(
            pre_start_required=self.pre_start, get_preferred_allocation_available=self.preferences
        )


class ScriptedPlugin:
    """The plugin of one resource. `async with` starts and registers it, and stops it whatever happened."""

    def __init__(
        self,
        directory: Path,
        resource: str,
        devices: Iterable[PluginDevice] = (),
        *,
        options: PluginOptions | None = None,
        endpoint: str | None = None,
        script: Script | None = None,
    ) -> None:
        self.resource: Final = resource
        self.devices: Final = DeviceList(devices)
        self.script: Final = script or Script()
        self.log: Final = CallLog(resource)
        self._options = options or PluginOptions()
        self._service = PluginService(self._options.message(), self.devices, self.script, self.log)
        self._endpoint = endpoint or f"{resource.replace('/', '_')}.sock"
        self._kubelet = directory / deviceplugin.KUBELET_SOCKET
        self._socket = directory / self._endpoint
        self._registrations: list[Registration] = []
        self._registered = Changes()
        self._introduced_to: SocketFile | None = None
        self._server: SocketServer | None = None
        self._follower: asyncio.Task[None] | None = None
        if "/" in self._endpoint or self._endpoint == deviceplugin.KUBELET_SOCKET:
            raise BedError(
                f"a plugin cannot serve at '{self._endpoint}': its endpoint is a file name of its own in '{directory}'"
            )
        try:
            socket_address(self._socket)
            socket_address(self._kubelet)
        except SocketUnusable as error:
            raise BedError(str(error)) from error

    # ---- life

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self._end(grace=None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self, *, register: bool = True, within: float = 10.0) -> None:
        """Serve, register, and follow the kubelet if the options say so. Also after a crash or a stop."""
        if self._server is not None:
            raise BedError(f"the plugin of {self.resource} runs already: stop it or let it crash first")
        self.devices.open_streams()
        await self._serve()
        if register:
            await self.register(within=within)
        if self._options.follow_kubelet:
            self._follower = asyncio.create_task(
                self._follow(), name=f"follow the kubelet for {self.resource}"
            )

    async def stop(self) -> None:
        """End as a well-behaved plugin does: close the list, answer what is asked, remove the socket.

        Raises what behaviours raised that was no `Refusal`.
        """
        self.devices.shut_streams()
        await self._end(grace=_GRACE)
        if faults := self._service.take_faults():
            raise ExceptionGroup(f"behaviours of the plugin of {self.resource} failed", faults)

    async def crash(self, *, socket_file: Literal["stays", "goes"] = "stays") -> None:
        """End as a killed process does: every call is cut off, and the socket file stays, leading nowhere."""
        await self._end(grace=None, leave_file=socket_file == "stays")

    # ---- registration

    @property
    def registrations(self) -> tuple[Registration, ...]:
        return tuple(self._registrations)

    async def register(self, *, within: float = 10.0) -> None:
        """Tell the kubelet about this plugin, serving anew first if the kubelet removed the socket.

        Raises `BedError` when the kubelet refuses or does not answer in time.
        """
        asked_at = time.monotonic()
        refusal = await self._introduce(asked_at + within)
        self._registrations.append(Registration(asked_at, time.monotonic(), refusal))
        self._registered.announce()
        if refusal is not None:
            raise BedError(
                f"the kubelet at '{self._kubelet}' did not register {self.resource} within {within:g} s: {refusal}"
            )

    async def wait_for_registration(self, count: int = 1, *, within: float = 10.0) -> None:
        """Return once the kubelet has accepted this plugin so many times."""

        def accepted() -> int:
            return sum(registration.refusal is None for registration in self._registrations)

        if not await self._registered.until(lambda: accepted() >= count, within=within):
            raise BedError(
                f"within {within:g} s {self.resource} was registered {accepted()} of {count} times"
            )

    async def _introduce(self, deadline: float) -> str | None:
        """Register at the socket that is there, waiting for one if need be. Returns why not, or nothing."""
        introduction = deviceplugin.RegisterRequest(
            version=deviceplugin.VERSION,
            endpoint=self._endpoint,
            resource_name=self.resource,
            options=self._options.message(),
        )
        refusal = "there is no such socket"
        while (left := deadline - time.monotonic()) > 0:
            # Looked at before each attempt, so that it is known which kubelet gave the answer.
            kubelet = socket_file_at(self._kubelet)
            if kubelet is not None:
                # A starting kubelet removes all sockets before it makes its own.
                if self._server is None or not self._server.reachable:
                    await self._serve()
                try:
                    async with open_channel(self._kubelet) as channel:
                        await ask(channel, deviceplugin.REGISTER, introduction, within=left)
                except grpc.aio.AioRpcError as error:
                    refusal = f"{error.code().name}, {error.details()}"
                    # A file without a listener: left by a dead kubelet, or not listening yet.
                    if error.code() is not grpc.StatusCode.UNAVAILABLE:
                        self._introduced_to = kubelet
                        return refusal
                else:
                    self._introduced_to = kubelet
                    return None
            await asyncio.sleep(_LOOK_EVERY)
        return refusal

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            if socket_file_at(self._kubelet) not in {None, self._introduced_to}:
                # A refusal is kept in the registrations. The kubelet may have gone again; the next look decides.
                with contextlib.suppress(BedError):
                    await self.register()

    # ---- what was called

    @property
    def calls(self) -> tuple[Call, ...]:
        return self.log.calls

    async def wait_for_call(
        self, method: MethodName, count: int = 1, *, within: float = 10.0
    ) -> tuple[Call, ...]:
        """The first so many calls of a method. Raises `BedError` when they do not come in time."""
        return await self.log.calls_of(method, count, within)

    async def wait_for_ending(
        self, method: MethodName, count: int = 1, *, within: float = 10.0
    ) -> tuple[Ending, ...]:
        """The first so many endings of calls of a method, in the order in which they ended."""
        return await self.log.endings_of(method, count, within)

    # ---- serving

    async def _serve(self) -> None:
        if self._server is not None:
            await self._server.stop()
            self._server = None
        try:
            self._server = await serve(self._socket, self._service.methods())
        except SocketUnusable as error:
            raise BedError(str(error)) from error

    async def _end(self, *, grace: float | None, leave_file: bool = False) -> None:
        if self._follower is not None:
            follower, self._follower = self._follower, None
            await cut_off(follower)
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(grace=grace, leave_file=leave_file)

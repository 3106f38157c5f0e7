"""The five methods of a scripted plugin: each call is written down, answered as the script says, and its end noted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc

from tangram.kubelet.sockets import Answering, Refusal, answering, streaming
from tangram.wire.kubelet import deviceplugin
from testbed.call_log import CallLog
from testbed.device_list import DeviceList
from testbed.plugin_behaviours import Script
from testbed.plugin_records import Call, allocation, listing, preferences_in

_Answer = TypeVar("_Answer")


class PluginService:
    """What the kubelet talks to. It outlives the servers it is offered on."""

    def __init__(
        self, options: deviceplugin.DevicePluginOptions, devices: DeviceList, script: Script, log: CallLog
    ) -> None:
        self._options = options
        self._devices = devices
        self._script = script
        self._log = log
        self._faults: list[Exception] = []

    def methods(self) -> tuple[Answering, ...]:
        return (
            answering(deviceplugin.GET_DEVICE_PLUGIN_OPTIONS, self._on_options),
            streaming(deviceplugin.LIST_AND_WATCH, self._on_list_and_watch),
            answering(deviceplugin.GET_PREFERRED_ALLOCATION, self._on_preference),
            answering(deviceplugin.ALLOCATE, self._on_allocate),
            answering(deviceplugin.PRE_START_CONTAINER, self._on_pre_start),
        )

    def take_faults(self) -> list[Exception]:
        """What behaviours raised that was no refusal, once."""
        faults, self._faults = self._faults, []
        return faults

    async def _on_options(self, _asked: deviceplugin.Empty) -> deviceplugin.DevicePluginOptions:
        self._log.end(self._log.begin("GetDevicePluginOptions"), "answered")
        return self._options

    async def _on_list_and_watch(
        self,
        _asked: deviceplugin.Empty,
        send: Callable[[deviceplugin.ListAndWatchResponse], Awaitable[None]],
    ) -> None:
        call = self._log.begin("ListAndWatch")
        await self._followed(call, self._devices.stream(lambda devices: send(listing(devices))))

    async def _on_preference(
        self, asked: deviceplugin.PreferredAllocationRequest
    ) -> deviceplugin.PreferredAllocationResponse:
        call = self._log.begin("GetPreferredAllocation", preferences=preferences_in(asked))
        chosen = await self._followed(call, self._script.prefer(call))
        return deviceplugin.PreferredAllocationResponse(
            container_responses=[
                deviceplugin.ContainerPreferredAllocationResponse(deviceIDs=ids) for ids in chosen
            ]
        )

    async def _on_allocate(self, asked: deviceplugin.AllocateRequest) -> deviceplugin.AllocateResponse:
        ids = tuple(tuple(container.devices_ids) for container in asked.container_requests)
        call = self._log.begin("Allocate", ids=ids)
        return allocation(await self._followed(call, self._script.allocate(call)))

    async def _on_pre_start(
        self, asked: deviceplugin.PreStartContainerRequest
    ) -> deviceplugin.PreStartContainerResponse:
        call = self._log.begin("PreStartContainer", ids=(tuple(asked.devices_ids),))
        await self._followed(call, self._script.pre_start(call))
        return deviceplugin.PreStartContainerResponse()

    async def _followed(self, call: Call, answer: Awaitable[_Answer]) -> _Answer:
        """The answer, with a note of how the call ended."""
        try:
            given = await answer
        except Refusal as refusal:
            self._log.end(call, "failed", refusal.sentence)
            raise
        except asyncio.CancelledError:
            self._log.end(call, "cancelled")
            raise
        except Exception as error:
            self._faults.append(error)
            self._log.end(call, "failed", repr(error))
            raise Refusal(grpc.StatusCode.INTERNAL, f"the test's own behaviour failed: {error!r}") from error
        self._log.end(call, "answered")
        return given

"""The methods that the kubelet calls on a device plugin, between gRPC's messages and whoever decides.

What an answer is worth to the kubelet differs, and so does what is done when there is none. An error to
GetPreferredAllocation or to Allocate ends the pod for good; an error to PreStartContainer only delays it. So a
preference that cannot be had is an empty one, and the choice is the kubelet's. An Allocate that went wrong in a way
nobody foresaw is an error all the same: an empty answer would start a container without its card.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Generator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

import grpc

from tangram.kubelet.listing import Listing, Send
from tangram.kubelet.news import News
from tangram.kubelet.sockets import Answering, Refusal, answering, streaming
from tangram.wire.kubelet import deviceplugin

_log = logging.getLogger("tangram.kubelet")

_Answer = TypeVar("_Answer")


class Answers(Protocol):
    """Who decides. `Refusal` is how to answer Allocate and PreStartContainer with an error of one's own choice."""

    async def prefer(
        self, resource: str, available: Sequence[str], must_include: Sequence[str], size: int
    ) -> Sequence[str]: ...

    async def allocate(self, resource: str, ids: Sequence[str]) -> deviceplugin.ContainerAllocateResponse: ...

    async def pre_start(self, resource: str, ids: Sequence[str]) -> None: ...


class PluginService:
    """What the kubelet talks to. It outlives the servers it is offered on."""

    def __init__(self, resource: str, answers: Answers, listing: Listing, *, prefers: bool) -> None:
        self.options = deviceplugin.DevicePluginOptions(
            pre_start_required=True, get_preferred_allocation_available=prefers
        )
        self._resource = resource
        self._answers = answers
        self._listing = listing
        self._under_way = 0
        self._ended = News()

    def methods(self) -> tuple[Answering, ...]:
        return (
            answering(deviceplugin.GET_DEVICE_PLUGIN_OPTIONS, self._on_options),
            streaming(deviceplugin.LIST_AND_WATCH, self._on_list_and_watch),
            answering(deviceplugin.GET_PREFERRED_ALLOCATION, self._on_preference),
            answering(deviceplugin.ALLOCATE, self._on_allocate),
            answering(deviceplugin.PRE_START_CONTAINER, self._on_pre_start),
        )

    async def until_idle(self) -> None:
        """Return at a moment when no call but the list is under way."""
        while self._under_way:
            await self._ended.after(self._ended.edition)

    async def _on_options(self, _asked: deviceplugin.Empty) -> deviceplugin.DevicePluginOptions:
        return self.options

    async def _on_list_and_watch(self, _asked: deviceplugin.Empty, send: Send) -> None:
        await self._listing.stream(send)

    async def _on_preference(
        self, asked: deviceplugin.PreferredAllocationRequest
    ) -> deviceplugin.PreferredAllocationResponse:
        with self._counted():
            return deviceplugin.PreferredAllocationResponse(
                container_responses=[await self._preferred(one) for one in asked.container_requests]
            )

    async def _preferred(
        self, asked: deviceplugin.ContainerPreferredAllocationRequest
    ) -> deviceplugin.ContainerPreferredAllocationResponse:
        preferred: Sequence[str] = ()
        try:
            preferred = await self._answers.prefer(
                self._resource,
                tuple(asked.available_deviceIDs),
                tuple(asked.must_include_deviceIDs),
                asked.allocation_size,
            )
        except Exception:  # noqa: BLE001 - whatever it is, an error here would end the pod for good
            _log.exception(
                "no preference could be found, so the kubelet chooses", extra={"resource": self._resource}
            )
        return deviceplugin.ContainerPreferredAllocationResponse(deviceIDs=preferred)

    async def _on_allocate(self, asked: deviceplugin.AllocateRequest) -> deviceplugin.AllocateResponse:
        with self._counted():
            return deviceplugin.AllocateResponse(
                container_responses=[
                    await self._answered("Allocate", ids, self._answers.allocate(self._resource, ids))
                    for ids in (tuple(one.devices_ids) for one in asked.container_requests)
                ]
            )

    async def _on_pre_start(
        self, asked: deviceplugin.PreStartContainerRequest
    ) -> deviceplugin.PreStartContainerResponse:
        ids = tuple(asked.devices_ids)
        with self._counted():
            await self._answered("PreStartContainer", ids, self._answers.pre_start(self._resource, ids))
        return deviceplugin.PreStartContainerResponse()

    async def _answered(self, method: str, ids: tuple[str, ...], answer: Awaitable[_Answer]) -> _Answer:
        """The answer, or a refusal that says no more than where to look."""
        try:
            return await answer
        except Refusal:
            raise
        except Exception as error:
            _log.exception("%s failed", method, extra={"resource": self._resource, "ids": ids})
            raise Refusal(
                grpc.StatusCode.INTERNAL,
                f"{method} for {self._resource} failed inside Tangram's node agent "
                f"({type(error).__name__}): its log on this node says why",
            ) from error

    @contextmanager
    def _counted(self) -> Generator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._ended.announce()

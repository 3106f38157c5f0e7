"""The agent's side of the device plugin API.

Allocate and GetPreferredAllocation never fail: an error there ends the pod for good. Nor do they wait, because a slow
answer holds up every other pod of the node, with one exception: the kubelet may have heard of a pod before us, and what
the scheduler chose for it is worth a moment. With CDI Allocate needs to know nothing about the pod.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import grpc

from tangram.kubelet.sockets import Refusal as Answered
from tangram.model.allocations import Tenant
from tangram.model.pods import Phase, Pod
from tangram.model.refusals import Refusal
from tangram.services.gpu_device.bound_pods import BoundPods
from tangram.services.gpu_device.claims import Claims
from tangram.services.gpu_device.delivery import Delivery, direct_answer, named_answer
from tangram.services.gpu_device.direct import Directly
from tangram.services.gpu_device.giving import Given, Giving, Way
from tangram.services.gpu_device.prefer import preferred_units
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.refusing import Refused
from tangram.services.gpu_device.resources import CARRIERS, WHOLE
from tangram.units.ids import CardUuid
from tangram.wire.kubelet.deviceplugin import ContainerAllocateResponse

HEARING_STEP_S: Final = 0.01
HEARING_STEPS: Final = 25


class Heard(Protocol):
    """Who is told what came of the kubelet's calls."""

    def took(self, call: str, resource: str, seconds: float) -> None: ...
    def allocated(self) -> None: ...
    def given(self, given: Given) -> None: ...
    def refused(self, resource: str, refused: Refused) -> None: ...


class PluginAnswers:
    def __init__(
        self,
        *,
        stock: Callable[[], Inventory],
        pods: BoundPods,
        claims: Claims,
        giving: Giving,
        directly: Directly,
        way: Callable[[], Way],
        heard: Heard,
    ) -> None:
        self._stock = stock
        self._pods = pods
        self._claims = claims
        self._giving = giving
        self._directly = directly
        self._way = way
        self._heard = heard

    async def prefer(
        self, resource: str, available: Sequence[str], must_include: Sequence[str], size: int
    ) -> Sequence[str]:
        begun = time.monotonic()
        if resource in WHOLE:
            await self._hear_of_pod(resource, size)
        promised = self._promises(size) if resource in WHOLE else ()
        chosen = preferred_units(self._stock(), available, must_include, size, promised)
        self._heard.took("prefer", resource, time.monotonic() - begun)
        return chosen

    async def allocate(self, resource: str, ids: Sequence[str]) -> ContainerAllocateResponse:
        begun = time.monotonic()
        answer = await self._answer(resource, ids)
        self._heard.took("allocate", resource, time.monotonic() - begun)
        self._heard.allocated()
        return answer

    async def pre_start(self, resource: str, ids: Sequence[str]) -> None:
        begun = time.monotonic()
        try:
            given = await self._giving.give(resource, ids)
        except Refused as refused:
            self._heard.refused(resource, refused)
            raise Answered(grpc.StatusCode.FAILED_PRECONDITION, _answer_text(refused.refusal)) from None
        finally:
            self._heard.took("pre-start", resource, time.monotonic() - begun)
        if given is not None:
            self._heard.given(given)

    async def _answer(self, resource: str, ids: Sequence[str]) -> ContainerAllocateResponse:
        if resource not in CARRIERS:
            return ContainerAllocateResponse()
        delivery = self._way().delivery
        if delivery is not Delivery.DIRECT:
            return named_answer(self._claims.new(resource, ids), delivery)
        try:
            return direct_answer(await self._directly.edits(resource, ids))
        except Refused as refused:
            # The container is refused again when it starts, where a refusal does not end the pod.
            self._heard.refused(resource, refused)
            return ContainerAllocateResponse()

    async def _hear_of_pod(self, resource: str, size: int) -> None:
        """Wait a moment while no pod is known that the kubelet can mean."""
        for _ in range(HEARING_STEPS):
            if any(_may_be_meant(bound.pod, resource, size) for bound in self._pods.all()):
                return
            await asyncio.sleep(HEARING_STEP_S)

    def _promises(self, size: int) -> list[frozenset[CardUuid]]:
        """The cards that the scheduler meant for the pods of this node, the first bound first."""
        promised: list[frozenset[CardUuid]] = []
        for bound in sorted(self._pods.all(), key=lambda each: each.bound_at):
            if bound.pod.ended or not isinstance(bound.holds, Tenant):
                continue
            for container in bound.holds.allocation.containers:
                cards = frozenset(share.card for share in container.shares)
                if len(cards) == size:
                    promised.append(cards)
        return promised


def _may_be_meant(pod: Pod, resource: str, size: int) -> bool:
    """Whether the pod has yet to start and one of its containers asks for so many."""
    return pod.phase is Phase.PENDING and any(
        container.limits.get(resource) == str(size) for container in pod.containers
    )


def _answer_text(refusal: Refusal) -> str:
    return f"{refusal.sentence} [{refusal.code}]"

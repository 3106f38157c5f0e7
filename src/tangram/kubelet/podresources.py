"""Asking the kubelet which container holds which units, as often as wanted and no more often than it likes.

The kubelet answers about 100 questions a second over all who ask, in bursts of 10; forty containers that start at once
would use that up for everybody. So questions are put together. But an answer may be older than the question it is
given to: whoever asks has just seen something happen, and must get a list that was begun afterwards. Questions that
come while a list is under way therefore share the next one, and forty of them cost two.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc.aio

from tangram.kubelet.sockets import SocketFile, ask, open_channel, socket_address, socket_file_at
from tangram.wire.kubelet import podresources
from tangram.wire.kubelet.holdings import HeldDevices, held_by

RETRY_S: Final = 0.05
"""Between two tries, be it that the kubelet is away or that it was asked too often."""
LONGEST_LIST_S: Final = 5.0
"""For one list, so that one which never comes does not keep the others waiting."""


class KubeletSilent(Exception):  # noqa: N818 - says what is the case, as callers read it
    """The kubelet gave no list in time; the sentence says what it gave instead."""


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    answer: asyncio.Future[tuple[HeldDevices, ...]]
    deadline: float


class PodResourcesClient:
    """For one event loop. Raises `SocketUnusable` for a path that no socket can have."""

    def __init__(self, socket: Path) -> None:
        socket_address(socket)
        self._socket = socket
        self._questions: list[_Question] = []
        self._asking: asyncio.Task[None] | None = None
        self._channel: grpc.aio.Channel | None = None
        self._leads_to: SocketFile | None = None
        self._trouble = ""

    async def held(self, within: float = 5.0) -> tuple[HeldDevices, ...]:
        """What every container of the node holds, from a list that began after this call. Raises `KubeletSilent`."""
        question = _Question(asyncio.get_running_loop().create_future(), time.monotonic() + within)
        self._questions.append(question)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_for_all(), name="ask for pod resources")
        try:
            async with asyncio.timeout(within):
                return await question.answer
        except TimeoutError:
            trouble = self._trouble or "no answer"
            raise KubeletSilent(
                f"the kubelet did not say within {within:g} s who holds which units, at '{self._socket}': {trouble}"
            ) from None

    async def close(self) -> None:
        """Whoever still waits is told that there will be no answer."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait({self._asking})
        for question in self._questions:
            if not question.answer.done():
                question.answer.set_exception(
                    KubeletSilent("the kubelet is asked no more: the agent is ending")
                )
        self._questions.clear()
        await self._disconnect()

    async def _ask_for_all(self) -> None:
        while self._questions:
            # Only these: one that comes while the list is under way must not be given it.
            batch = tuple(self._questions)
            longest = max(question.deadline for question in batch) - time.monotonic()
            try:
                answer = await self._list(min(LONGEST_LIST_S, max(RETRY_S, longest)))
            except grpc.aio.AioRpcError as error:
                self._trouble = f"{error.code().name}, {error.details()}"
                await asyncio.sleep(RETRY_S)
            else:
                self._trouble = ""
                for question in batch:
                    if not question.answer.done():
                        question.answer.set_result(answer)
            self._questions = [one for one in self._questions if not one.answer.done()]

    async def _list(self, within: float) -> tuple[HeldDevices, ...]:
        # A new kubelet makes a new socket; the connection to an old one may outlive it and answer from the past.
        leads_to = socket_file_at(self._socket)
        if self._channel is None or leads_to != self._leads_to:
            await self._disconnect()
            self._channel, self._leads_to = open_channel(self._socket), leads_to
        try:
            answer = await ask(
                self._channel, podresources.LIST, podresources.ListPodResourcesRequest(), within=within
            )
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                await self._disconnect()
            raise
        return held_by(answer.pod_resources)

    async def _disconnect(self) -> None:
        if self._channel is not None:
            channel, self._channel = self._channel, None
            await channel.close()

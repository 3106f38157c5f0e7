"""The picture kept true: the scheduler is asked for what is new, for as long as the dashboard runs.

Another scheduler process tells everything anew, in parts. The parts are put together before they are taken, so that
nobody sees half of a cluster while a scheduler is replaced. Of several replicas the active one is wanted, which alone
knows promises and verdicts: who reaches a standby tries other connections for a while and takes what it gets then. When
nobody answers the picture stays as it was and says why it grows old.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec

from tangram.kube.backoff import Backoff
from tangram.reports.status_shape import NodeStatus
from tangram.reports.view_shape import View, WaitingPod
from tangram.web.known import NotKnown
from tangram.web.picture import Picture

WAIT_S: Final = 4.0
"""For news. A quiet cluster is asked so often, lest what is known looks old when only nothing has happened."""
FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 5.0
TRIES: Final = 6
"""Connections that are tried for an active replica before a standby is believed."""
TRY_AGAIN_S: Final = 30.0
"""How long a standby is followed before others are tried again."""
_MOST_PARTS: Final = 1000
"""Of one beginning. More than any cluster has; a scheduler that never ends one must not fill this process."""

_log = logging.getLogger(__name__)


class Source(Protocol):
    """Raises `NotKnown`."""

    async def view(self, epoch: str, since: int, wait: float) -> View: ...

    async def leave(self) -> None: ...


class Follower:
    def __init__(
        self, picture: Picture, source: Source, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._picture = picture
        self._source = source
        self._pause = pause
        self._backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        self._standbys = 0
        """In a row, each over a connection of its own."""
        self._next_try = 0.0

    async def run(self) -> None:
        """Follow for ever."""
        while True:
            try:
                await self._step()
            except NotKnown as failure:
                self._note(failure.sentence)
                # The next try should find another replica, where there is one.
                await self._source.leave()
                await self._pause(self._backoff.pause())
            else:
                self._note("")
                self._backoff.reset()

    async def _step(self) -> None:
        picture = self._picture
        trying = 0 < self._standbys < TRIES
        wait = WAIT_S if picture.complete and not trying else 0
        view = await self._source.view(picture.epoch, picture.told, wait)
        if not view.active and self._wants_another():
            self._standbys += 1
            await self._source.leave()
            if self._standbys < TRIES:
                await self._pause(FIRST_PAUSE_S)
                return
            self._next_try = asyncio.get_running_loop().time() + TRY_AGAIN_S
        if view.active:
            self._standbys = 0
        picture.take(await self._whole(view))

    def _wants_another(self) -> bool:
        """Whether a standby's answer is left for a better one: a few times, and again after a while."""
        if asyncio.get_running_loop().time() >= self._next_try > 0:
            self._standbys, self._next_try = 0, 0.0
        return self._standbys < TRIES

    async def _whole(self, view: View) -> View:
        """An answer that begins anew, with all its parts; any other as it is."""
        if not view.more or view.epoch == self._picture.epoch:
            return view
        nodes: dict[str, NodeStatus] = {}
        waiting: dict[str, WaitingPod] = {}
        first, room, rules, unread = view, view.room, view.rules, view.unread
        for _ in range(_MOST_PARTS):
            for name in view.gone_nodes:
                nodes.pop(name, None)
            for uid in view.gone_waiting:
                waiting.pop(uid, None)
            nodes.update((each.node, each) for each in view.nodes)
            waiting.update((each.uid, each) for each in view.waiting)
            room, rules = view.room or room, view.rules or rules
            unread = unread if view.unread is None else view.unread
            if not view.more:
                break
            view = await self._source.view(view.epoch, view.version, 0)
            if view.epoch != first.epoch:
                raise NotKnown(
                    "another-scheduler", "Another scheduler answers than a moment ago; it is asked anew."
                )
        return msgspec.structs.replace(
            view,
            more=False,
            nodes=list(nodes.values()),
            gone_nodes=[],
            waiting=list(waiting.values()),
            gone_waiting=[],
            room=room,
            rules=rules,
            unread=unread,
        )

    def _note(self, trouble: str) -> None:
        if bool(trouble) != bool(self._picture.trouble):
            if trouble:
                _log.warning("the scheduler is not heard: %s", trouble)
            else:
                _log.info("the scheduler is heard again")
        self._picture.trouble = trouble

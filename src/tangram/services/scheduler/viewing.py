"""The scheduler's view of the cluster, told to a dashboard: first all of it, then what changed.

It is told from the books that pods are placed by, in the process that places them, so every answer is bounded and
written in small pieces with the loop let go in between. While nothing changes a follower waits here, which costs a
comparison of clocks a few times a second. Who follows is not remembered: they say what they have heard.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from tangram.engine.demand import Shape, demand_of
from tangram.engine.room import Room, room_of
from tangram.reports.expecting import shapes_there
from tangram.reports.status import node_status
from tangram.reports.status_shape import TERMINATING, NodeStatus
from tangram.reports.view_shape import (
    LONGEST_WAIT_S,
    MOST_NODES,
    MOST_UNREAD,
    IdleRoom,
    Rules,
    View,
)
from tangram.services.scheduler.desk import Reply
from tangram.services.scheduler.explain_turns import Turns
from tangram.services.scheduler.leadership import Leadership
from tangram.services.scheduler.seen import Waiting
from tangram.services.scheduler.state import State
from tangram.services.scheduler.verdicts import Verdicts
from tangram.services.scheduler.view_changes import Entry, Versions
from tangram.services.scheduler.view_node import node_detail
from tangram.services.scheduler.view_waiting import ViewOfWaiting
from tangram.units.ids import NodeName, PodUid

LOOK_S: Final = 0.25
"""How often a follower who waits is looked after."""
ROOM_S: Final = 10.0
MOST_FOLLOWERS: Final = 16
"""Who wait at once: each costs a connection, and one dashboard is one."""
MOST_SENTENCES: Final = 3
"""About one node that could not be read."""
PIECE: Final = 16
"""Nodes told of at a time, in a millisecond or two: pods are waiting to be placed meanwhile."""
POD_PIECE: Final = 500
"""Pods counted at a time, in as long."""

_EPOCH = re.compile(r"[0-9a-zA-Z._-]{0,64}")
_NUMBER = re.compile(r"[0-9]{1,18}")
_SECONDS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,6})?")

_encode = msgspec.json.Encoder().encode


class _Heard(NamedTuple):
    """What a follower has heard, of a story that began with version `began`."""

    since: int
    began: int
    fresh: bool


class Viewing:
    def __init__(
        self,
        state: State,
        verdicts: Verdicts,
        leadership: Leadership,
        clock: Callable[[], float],
        *,
        now: Callable[[], float] = time.time,
        turns: Turns | None = None,
    ) -> None:
        self._state = state
        self._turns = turns or Turns()
        self._leadership = leadership
        self._clock = clock
        self._now = now
        self._process = secrets.token_hex(8)
        self._version = 0
        self._nodes: Final = Versions[NodeName](self._next)
        self._waiting: Final = ViewOfWaiting(state, verdicts, self._next, now)
        self._rules: Rules | None = None
        self._rules_version = 0
        self._unread: dict[str, list[str]] = {}
        self._unread_version = 0
        self._edition = -1
        self._ledger_clock = -1
        self._roster = -1
        self._leaving: frozenset[PodUid] = frozenset()
        self._looked = float("-inf")
        self._room: IdleRoom | None = None
        self._room_begun = float("-inf")
        self._followers = 0
        self._ending = asyncio.Event()

    def arrived(self, waiting: Waiting) -> None:
        """A pod begins to wait."""
        self._waiting.arrived(waiting.pod.ref.uid)

    def end(self) -> None:
        """Nobody is kept waiting any more: the process is about to end."""
        self._ending.set()

    async def view(self, epoch: str = "", since: str = "", wait: str = "") -> Reply:
        """What is newer than that version; waits up to so many seconds for something."""
        unreadable = _unreadable(epoch, since, wait)
        if unreadable:
            return _refusal(400, unreadable)
        if not self._leadership.synced:
            return _refusal(503, "the cluster has not been read yet; ask again in a moment")
        self._look()
        heard = self._heard(epoch, int(since or 0))
        if heard is None:
            return _refusal(
                400,
                f"since is {since}, and this scheduler has only told up to version {self._version}: write the version "
                "of its last answer, or leave epoch and since away to begin",
            )
        # Before anybody waits for news, so that news never wait for it.
        await self._work_out_room()
        seconds = float(wait or 0)
        if seconds and not self._news(heard):
            if self._followers >= MOST_FOLLOWERS:
                return _refusal(
                    503,
                    f"{self._followers} wait for news already, and no more may: ask without wait, or later",
                )
            self._followers += 1
            try:
                await self._wait(heard, seconds)
            finally:
                self._followers -= 1
        return await self._answer(heard)

    async def node(self, name: str, pod: str = "") -> Reply:
        """One node in full, with the sets of cards that were weighed for a pod, which may take as long as a reason."""
        if not self._leadership.synced:
            return _refusal(503, "the cluster has not been read yet; ask again in a moment")
        found = await self._turns.made(lambda: node_detail(self._state, name, pod, self._now()))
        if isinstance(found, str):
            return _refusal(404, found)
        return Reply(_encode(found))

    # --- what there is to tell -----------------------------------------------------------------------------------

    def _next(self) -> int:
        self._version += 1
        return self._version

    def _look(self) -> None:
        """Give everything that changed a new version. Whoever looked a moment ago has seen the same."""
        now = asyncio.get_running_loop().time()
        if now - self._looked < LOOK_S / 2:
            return
        self._looked = now
        self._look_at_nodes()
        self._waiting.look()
        rules = _rules_of(self._state)
        if rules != self._rules:
            self._rules, self._rules_version = rules, self._next()
        if self._state.edition != self._edition:
            self._edition = self._state.edition
            unread = _unread_of(self._state)
            if unread != self._unread:
                self._unread, self._unread_version = unread, self._next()

    def _look_at_nodes(self) -> None:
        ledger, leaving = self._state.ledger, self._state.leaving
        if leaving.keys() != self._leaving:
            # The books are the same until the pod is gone; what is told of it is not.
            for uid in leaving.keys() - self._leaving:
                if leaving[uid] in self._nodes:
                    self._nodes.changed(leaving[uid])
            self._leaving = frozenset(leaving)
        if ledger.clock == self._ledger_clock:
            return
        for name in ledger.changed_after(self._ledger_clock):
            node = ledger.node(name)
            if node is not None and node.cards:
                self._nodes.changed(name)
            else:
                self._nodes.went((name,))
        if ledger.roster != self._roster:
            self._nodes.went([name for name in self._nodes.there() if ledger.row_of(name) is None])
        self._ledger_clock, self._roster = ledger.clock, ledger.roster

    async def _work_out_room(self) -> None:
        """Once in a while, and by whoever asks first."""
        begun = asyncio.get_running_loop().time()
        if begun - self._room_begun < ROOM_S:
            return
        self._room_begun = begun
        state, room, counts = self._state, Room(), Counter[Shape]()
        waiting = [each.waiting.request for each in state.waiting.values() if each.waiting is not None]
        shapes = shapes_there(state.ledger, [each for each in waiting if each is not None])
        while some := Counter(islice(shapes, POD_PIECE)):
            counts += some
            await asyncio.sleep(0)
        demand = demand_of(counts)
        for room in room_of(state.ledger, demand):  # noqa: B007 - only the last one is whole
            await asyncio.sleep(0)
        self._room = IdleRoom(
            at=self._now(),
            idle=round(room.idle, 4),
            fragmented=round(room.fragmented, 4),
            without_demand=round(room.without_demand, 4),
            shapes=len(demand.shapes),
        )

    # --- telling -------------------------------------------------------------------------------------------------

    def _heard(self, epoch: str, since: int) -> _Heard | None:
        """None for a version that nobody was told."""
        process, _, began = epoch.rpartition(".")
        if process != self._process or not _NUMBER.fullmatch(began) or int(began) > self._version:
            return _Heard(0, self._version, fresh=True)
        if since > self._version:
            return None
        heard = max(since, int(began))
        if max(self._nodes.forgotten, self._waiting.forgotten) > heard:
            return _Heard(0, self._version, fresh=True)
        return _Heard(since, int(began), fresh=False)

    def _news(self, heard: _Heard) -> bool:
        return heard.fresh or self._version > heard.since

    async def _wait(self, heard: _Heard, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while not self._news(heard) and not self._ending.is_set() and loop.time() < until:
            try:
                async with asyncio.timeout(min(LOOK_S, max(0.0, until - loop.time()))):
                    await self._ending.wait()
            except TimeoutError:
                self._look()

    async def _answer(self, heard: _Heard) -> Reply:
        changed = self._nodes.after(heard.since, began=heard.began)
        more = len(changed) > MOST_NODES
        # What is told is cut at one version, so that the follower can go on from there.
        upto = changed[MOST_NODES - 1].version if more else self._version
        waiting, gone_waiting = self._waiting.between(heard.since, upto, began=heard.began)
        rules = self._rules if heard.since < self._rules_version <= upto else None
        at, untold = self._now(), self._waiting.untold
        nodes, gone = await self._told(changed[:MOST_NODES])
        view = View(
            epoch=f"{self._process}.{heard.began}",
            version=upto,
            more=more,
            at=at,
            active=self._leadership.active,
            behind_s=round(self._behind(), 3),
            nodes=nodes,
            gone_nodes=gone,
            waiting=waiting,
            gone_waiting=gone_waiting,
            untold_waiting=untold,
            room=self._room,
            rules=rules,
            unread=self._unread if heard.since < self._unread_version <= upto else None,
        )
        return Reply(_encode(view))

    async def _told(self, changed: list[Entry[NodeName]]) -> tuple[list[NodeStatus], list[str]]:
        ledger = self._state.ledger
        told: list[NodeStatus] = []
        phases = dict.fromkeys(self._state.leaving, TERMINATING)
        for at, each in enumerate(changed, 1):
            node = None if each.gone else ledger.node(each.key)
            if node is not None and node.cards:
                told.append(node_status(ledger, node, phases))
            if at % PIECE == 0:
                await asyncio.sleep(0)
        return told, [str(each.key) for each in changed if each.gone]

    def _behind(self) -> float:
        now = self._clock()
        return max((copy.stale_for(now) for copy in self._leadership.copies.values()), default=0.0)


def _unread_of(state: State) -> dict[str, list[str]]:
    names = sorted(state.problems)[:MOST_UNREAD]
    return {name: list(state.problems[name][:MOST_SENTENCES]) for name in names}


def _rules_of(state: State) -> Rules:
    defaults = state.defaults
    return Rules(
        node_policy=defaults.node_policy,
        card_policy=[*defaults.card_order],
        scheduler_names=sorted(state.served),
        renamed=dict(state.admissions.settings.renamed),
    )


def _unreadable(epoch: str, since: str, wait: str) -> str:
    """What is wrong with a question; empty when nothing is."""
    if not _EPOCH.fullmatch(epoch):
        return f"epoch is {epoch!r:.80}, which no scheduler has said: write that of the last answer, or leave it away"
    if since and not _NUMBER.fullmatch(since):
        return (
            f"since is {since!r:.80}: write the version of the last answer, a whole number, or leave it away"
        )
    if wait and not (_SECONDS.fullmatch(wait) and float(wait) <= LONGEST_WAIT_S):
        return f"wait is {wait!r:.80}: write how many seconds to wait for news, from 0 to {LONGEST_WAIT_S:g}"
    return ""


def _refusal(status: int, sentence: str) -> Reply:
    return Reply(_encode({"Error": sentence}), status)

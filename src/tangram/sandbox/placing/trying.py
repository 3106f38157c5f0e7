"""One pod, one decision: kube-scheduler's cycle from its filters over the extenders to the choice of a node.

The nominated node is tried first and alone; only if it will not do are all others looked at. Extenders are asked one
after the other about what is left, and not at all if nothing is.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from tangram.sandbox.placing.budgets import Budget
from tangram.sandbox.placing.configuration import Extender, Settings
from tangram.sandbox.placing.extenders import ExtenderFailed, Extenders
from tangram.sandbox.placing.hosts import Host
from tangram.sandbox.placing.picture import Picture
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.rules import EXTENDER, NODE_AFFINITY, Judge, No
from tangram.sandbox.placing.sacrificing import Room, Sacrifice, Sacrificing
from tangram.sandbox.placing.scores import EXTENDER_STEP, best, scores
from tangram.sandbox.placing.sentences import AFTER_CONFLICT, CONFLICT, NO_NODES, NOT_NAMED, SILENT, no_fit
from tangram.sandbox.placing.standing import named_nodes

FEWEST_SOUGHT: Final = 100
SMALLEST_SHARE: Final = 5


class Chosen(NamedTuple):
    node: str


class Unfit(NamedTuple):
    """No node will do now."""

    message: str
    rejected: frozenset[str]
    """Rules that were in the way; none means that nothing is known that could help."""
    nomination: str | None
    """The pod's new nomination; None to leave it."""
    sacrifice: Sacrifice | None = None


class Wrong(NamedTuple):
    """Something failed; it is tried again after a while."""

    message: str


Decision = Chosen | Unfit | Wrong


class _Noes:
    """What was said of each node so far."""

    def __init__(self) -> None:
        self.of: dict[str, No] = {}
        self.others: No = SILENT
        self.before = ""
        self.rejected: set[str] = set()


class Trying:
    def __init__(
        self,
        settings: Settings,
        picture: Picture,
        extenders: Extenders,
        budgets: Callable[[], Iterable[Budget]],
        chance: random.Random,
    ) -> None:
        self._settings = settings
        self._picture = picture
        self._extenders = extenders
        self._chance = chance
        self._sacrificing = Sacrificing(picture, extenders, budgets, chance)
        self._start = 0

    async def decide(self, pod: Pod) -> Decision:
        if not self._picture.nodes:
            return Unfit(NO_NODES, frozenset(), "")
        judge = Judge.of(pod, self._picture, self._settings.ignored)
        noes = _Noes()
        try:
            fitting = await self._fitting(judge, noes)
            if fitting:
                return Chosen(await self._best(pod, fitting))
        except ExtenderFailed as error:
            return Wrong(str(error))
        return await self._unfit(judge, noes)

    # --- which nodes will do ---------------------------------------------------------------------------------------

    async def _fitting(self, judge: Judge, noes: _Noes) -> list[str]:
        pod = judge.pod
        named = named_nodes(pod.placing)
        if named is not None and not named:
            noes.before = CONFLICT
            noes.rejected.add(NODE_AFFINITY)
            return []
        host = self._picture.node(pod.nominated) if pod.nominated else None
        if host is not None:
            fitting = await self._nominated(judge, host, noes)
            if fitting:
                return fitting
        hosts = self._picture.nodes
        if named is not None:
            noes.others = NOT_NAMED
            noes.rejected.add(NODE_AFFINITY)
            hosts = [each for name in sorted(named) if (each := self._picture.node(name)) is not None]
        fitting = self._passing(judge, hosts, noes)
        left = await self._asked(pod, [each.name for each in fitting], noes)
        if len(left) != len(fitting):
            noes.rejected.add(EXTENDER)
        return left

    async def _nominated(self, judge: Judge, host: Host, noes: _Noes) -> list[str]:
        no = judge.verdict(host)
        if no is not None:
            noes.of[host.name] = no
            noes.rejected.add(no.rule)
            return []
        try:
            return await self._asked(judge.pod, [host.name], noes)
        except ExtenderFailed:
            # All nodes are tried next, this one among them.
            return []

    def _passing(self, judge: Judge, hosts: Sequence[Host], noes: _Noes) -> list[Host]:
        """Hosts that the rules leave, as many as are wanted, from where the last look ended."""
        wanted = self._sought(judge.pod.scheduler, len(hosts))
        passing: list[Host] = []
        seen = 0
        for number in range(len(hosts)):
            if len(passing) >= wanted:
                break
            host = hosts[(self._start + number) % len(hosts)]
            seen += 1
            no = judge.verdict(host)
            if no is None:
                passing.append(host)
            else:
                noes.of[host.name] = no
                noes.rejected.add(no.rule)
        self._start = (self._start + seen) % len(self._picture.nodes)
        return passing

    def _sought(self, scheduler: str, hosts: int) -> int:
        if hosts < FEWEST_SOUGHT:
            return hosts
        share = self._settings.percentages.get(scheduler, 0) or max(SMALLEST_SHARE, 50 - hosts // 125)
        return max(FEWEST_SOUGHT, hosts * share // 100)

    async def _asked(self, pod: Pod, names: list[str], noes: _Noes) -> list[str]:
        """The nodes that extenders leave. Raises `ExtenderFailed` for one that may not be passed over."""
        for extender in self._extenders.minding(pod):
            if not names:
                break
            if not extender.filter:
                continue
            hosts = self._there(names)
            try:
                names = await self._ask_one(extender, pod, hosts, noes)
            except ExtenderFailed:
                if not extender.ignorable:
                    raise
        return names

    async def _ask_one(self, extender: Extender, pod: Pod, hosts: list[Host], noes: _Noes) -> list[str]:
        answer = await self._extenders.filter(extender, pod, hosts)
        for name, reason in answer.failed.items():
            noes.of[name] = No((reason,), resolvable=True)
        for name, reason in answer.unresolvable.items():
            noes.of[name] = No((reason,), resolvable=False)
        return list(answer.names)

    # --- which of them is best -------------------------------------------------------------------------------------

    async def _best(self, pod: Pod, names: list[str]) -> str:
        hosts = self._there(names)
        if len(hosts) < 2:
            return names[0]
        totals = scores(pod, hosts)
        raters = [each for each in self._extenders.minding(pod) if each.prioritize]
        for extender, rated in zip(
            raters, await asyncio.gather(*(self._rated(each, pod, hosts) for each in raters)), strict=True
        ):
            for name, score in rated.items():
                if name in totals:
                    totals[name] += score * extender.weight * EXTENDER_STEP
        return best(totals, self._chance)

    async def _rated(self, extender: Extender, pod: Pod, hosts: list[Host]) -> dict[str, int]:
        try:
            return await self._extenders.prioritize(extender, pod, hosts)
        except ExtenderFailed:
            # A failure to score is no failure to place.
            return {}

    async def _unfit(self, judge: Judge, noes: _Noes) -> Unfit:
        room = Room(AFTER_CONFLICT) if noes.before else await self._sacrificing.room_for(judge, noes.of)
        total = len(self._picture.nodes)
        message = no_fit(total, noes.of, noes.others, before=noes.before, after=room.told)
        return Unfit(message, frozenset(noes.rejected - {""}), room.nomination, room.sacrifice)

    def _there(self, names: Iterable[str]) -> list[Host]:
        """Nodes may go while others are asked about them."""
        return [host for name in names if (host := self._picture.node(name)) is not None]

"""Room for a pod that fits nowhere: who has to go, if the extenders agree, or why nobody does."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tangram.sandbox.placing.budgets import Budget
from tangram.sandbox.placing.configuration import Extender
from tangram.sandbox.placing.extenders import ExtenderFailed, Extenders
from tangram.sandbox.placing.picture import Picture
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.rules import Judge, No
from tangram.sandbox.placing.sentences import NOT_HELPFUL, no_fit, no_preemption, no_victims_on
from tangram.sandbox.placing.victims import Victims, find, least_harmful, may_preempt


class Sacrifice(NamedTuple):
    """Room is made on a node by ending these pods."""

    node: str
    victims: Victims


class Room(NamedTuple):
    """What came of it."""

    told: str
    """Said behind the reasons of the nodes; nothing where room is made."""
    nomination: str | None = None
    """The pod's new one; None to leave the one it has, which its victims may still be ending for."""
    sacrifice: Sacrifice | None = None


class Sacrificing:
    def __init__(
        self,
        picture: Picture,
        extenders: Extenders,
        budgets: Callable[[], Iterable[Budget]],
        chance: random.Random,
    ) -> None:
        self._picture = picture
        self._extenders = extenders
        self._budgets = budgets
        self._chance = chance

    async def room_for(self, judge: Judge, noes: Mapping[str, No]) -> Room:
        """`noes` is what was said of each node."""
        why_not = may_preempt(judge.pod, noes.get(judge.pod.nominated), self._picture)
        if why_not:
            return Room(no_preemption(why_not))
        nodes = self._picture.nodes
        hosts = [each for each in nodes if each.name in noes and noes[each.name].resolvable]
        found = find(judge, hosts, len(nodes), list(self._budgets()), self._chance)
        if not found.candidates:
            if found.needless:
                return Room(no_preemption(no_victims_on(found.needless), failed=True))
            return Room(no_preemption(no_fit(len(nodes), found.noes, NOT_HELPFUL)), "")
        try:
            agreed = await self._agreed(judge.pod, found.candidates)
        except ExtenderFailed as error:
            return Room(no_preemption(str(error), failed=True))
        if not agreed:
            return Room(no_preemption("no candidate node for preemption"))
        node = least_harmful(agreed)
        return Room("", node, Sacrifice(node, agreed[node]))

    async def _agreed(self, pod: Pod, candidates: dict[str, Victims]) -> dict[str, Victims]:
        for extender in self._extenders.minding(pod):
            if not extender.preempt or not candidates:
                continue
            try:
                candidates = await self._agreed_by(extender, pod, candidates)
            except ExtenderFailed:
                if not extender.ignorable:
                    raise
        return candidates

    async def _agreed_by(
        self, extender: Extender, pod: Pod, candidates: dict[str, Victims]
    ) -> dict[str, Victims]:
        answer = await self._extenders.preempt(extender, pod, candidates, self._picture.hosts)
        unharmed = [node for node, victims in answer.items() if not victims.pods]
        if unharmed and not extender.ignorable:
            raise ExtenderFailed(no_victims_on(unharmed[:1]))
        return {node: victims for node, victims in answer.items() if victims.pods}

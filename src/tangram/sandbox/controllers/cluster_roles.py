"""ClusterRoles that gather the rules of others are given them, whenever one of the others changes."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.hands import Hands
from tangram.sandbox.controllers.reading import is_going
from tangram.sandbox.controllers.resources import CLUSTER_ROLES
from tangram.sandbox.controllers.work import WorkQueue
from tangram.wire.cluster_roles import aggregated


class ClusterRoles:
    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._roles = hands.copies.of(CLUSTER_ROLES)
        self.queue: Final = WorkQueue[str]("cluster roles", self.look)
        self._roles.listeners.append(self._changed)

    def _changed(self, _before: Object | None, _after: Object | None) -> None:
        for key, role in self._roles.things.items():
            if role.get("aggregationRule"):
                self.queue.add(key.name)

    async def look(self, name: str) -> None:
        role = self._roles.get(Key("", name))
        if role is None or is_going(role) or not role.get("aggregationRule"):
            return
        rules = aggregated(role, self._roles.things.values())
        if rules != (role.get("rules") or []):
            await self._hands.replace(self._roles, {**role, "rules": rules})

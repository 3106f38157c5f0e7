"""The scheduler as it runs, its desk and all parts behind it, over a cluster in memory instead of an API server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from builders.scheduling import Object, World
from tangram.model.allocations import Tenant
from tangram.services.scheduler.answering import Answering
from tangram.services.scheduler.desk import Reply
from tangram.services.scheduler.service import Scheduler
from tangram.services.scheduler.settings import SchedulerSettings
from tangram.services.scheduler.verdicts import Verdicts
from tangram.units.ids import PodUid

Holdings = dict[PodUid, tuple[Tenant, bool]]


class WholeScheduler:
    """`world` is the cluster, and what the scheduler hears of it; `desk` is what doors ask."""

    def __init__(self, *nodes: Object, settings: SchedulerSettings | None = None) -> None:
        self.world = World()
        self.scheduler = Scheduler(
            settings or SchedulerSettings(identity="here"), self.world.api, clock=lambda: self.world.now
        )
        self.scheduler.leadership.synced = True
        self.world.state = self.scheduler.state
        self.world.leadership = self.scheduler.leadership
        for each in nodes:
            self.world.put_node(each)

    @property
    def desk(self) -> Answering:
        return self.scheduler.desk

    @property
    def verdicts(self) -> Verdicts:
        return self.scheduler._verdicts  # pyright: ignore[reportPrivateUsage] - its bound is the promise

    async def filter(self, name: str, names: Iterable[str], namespace: str = "default") -> Object:
        asked = {"Pod": self.world.pods[namespace, name], "NodeNames": list(names)}
        return said(await self.desk.filter(msgspec.json.encode(asked)))

    async def bind(self, name: str, node: str, namespace: str = "default") -> str:
        """The sentence of the answer, empty for a pod that is bound."""
        uid = self.world.pods[namespace, name]["metadata"]["uid"]
        order = {"PodName": name, "PodNamespace": namespace, "PodUID": uid, "Node": node}
        return said(await self.desk.bind(msgspec.json.encode(order)))["Error"]

    def holdings(self) -> Holdings:
        """Who holds or is promised what, and which of these are bound."""
        return {
            each.tenant.pod.uid: (each.tenant, each.bound) for each in self.scheduler.state.ledger.holdings()
        }


def said(reply: Reply) -> Any:  # noqa: ANN401 - JSON
    """The answer of a verb, which is always a 200 with JSON."""
    assert reply.status == 200
    assert reply.kind == "application/json"
    return msgspec.json.decode(reply.body)

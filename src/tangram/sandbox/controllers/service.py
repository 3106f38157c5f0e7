"""All controllers together, on one connection and one copy of the cluster.

Each has its own queue and its own task, which is begun again should it ever end: one that stumbles over an object keeps
nobody else from theirs.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Coroutine
from typing import Final, Protocol

from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.sandbox.controllers import (
    budgets,
    cron_jobs,
    daemon_sets,
    evictions,
    heartbeats,
    jobs,
    replica_sets,
    rollout_sets,
    stateful_sets,
)
from tangram.sandbox.controllers.accounts import Accounts
from tangram.sandbox.controllers.budgets import Budgets
from tangram.sandbox.controllers.cluster_roles import ClusterRoles
from tangram.sandbox.controllers.copies import Copies
from tangram.sandbox.controllers.cron_jobs import CronJobs
from tangram.sandbox.controllers.daemon_sets import DaemonSets
from tangram.sandbox.controllers.deployments import Deployments
from tangram.sandbox.controllers.evictions import Evictions
from tangram.sandbox.controllers.garbage import Garbage, NewKinds
from tangram.sandbox.controllers.hands import Clock, Hands
from tangram.sandbox.controllers.heartbeats import GRACE_S, Heartbeats
from tangram.sandbox.controllers.jobs import Jobs
from tangram.sandbox.controllers.namespaces import Namespaces
from tangram.sandbox.controllers.node_leftovers import NodeLeftovers
from tangram.sandbox.controllers.node_taints import NodeTaints
from tangram.sandbox.controllers.pods_by_node import PodsByNode
from tangram.sandbox.controllers.quotas import Quotas
from tangram.sandbox.controllers.replica_sets import ReplicaSets
from tangram.sandbox.controllers.served import Served
from tangram.sandbox.controllers.stateful_sets import StatefulSets

COMPONENTS: Final = (
    replica_sets.COMPONENT,
    rollout_sets.COMPONENT,
    daemon_sets.COMPONENT,
    stateful_sets.COMPONENT,
    jobs.COMPONENT,
    cron_jobs.COMPONENT,
    budgets.COMPONENT,
    heartbeats.COMPONENT,
    evictions.COMPONENT,
)
"""Those that tell people something."""


class _Queue(Protocol):
    def run(self) -> Coroutine[None, None, None]: ...


def wall_clock() -> dt.datetime:
    """The time as people read it."""
    return dt.datetime.now(dt.UTC)


class Controllers:
    """`run` begins everything and returns when every copy has been read; the supervisor's end is the end of it all."""

    def __init__(
        self, api: Api, *, clock: Clock = wall_clock, authority_pem: str, grace: float = GRACE_S
    ) -> None:
        """`grace` is how long a node may be silent; very many of them renew their leases less often."""
        self.hands: Final = Hands(api, Copies(api), clock)
        self._grace = grace
        self._served = Served(api)
        self._authority_pem = authority_pem

    async def run(self, supervisor: Supervisor) -> None:
        await self._served.read()
        queues = self._queues(supervisor)
        # After the others: of kinds that nobody else follows it keeps only who they are.
        await self._garbage.follow_everything(supervisor)
        self.hands.begin(supervisor, *COMPONENTS)
        for name, queue in queues.items():
            supervisor.lasting(f"controller of {name}", queue.run)

    def _queues(self, supervisor: Supervisor) -> dict[str, _Queue]:
        hands, served = self.hands, self._served
        by_node = PodsByNode(hands.copies)
        job_controller, leftovers = Jobs(hands), NodeLeftovers(hands, by_node)
        self._garbage = Garbage(hands, served)
        namespaces = Namespaces(hands, served)
        self._garbage.gone.append(namespaces.thing_gone)
        return {
            "ReplicaSets": ReplicaSets(hands).queue,
            "Deployments": Deployments(hands).queue,
            "DaemonSets": DaemonSets(hands).queue,
            "StatefulSets": StatefulSets(hands).queue,
            "Jobs": job_controller.queue,
            "orphans of Jobs": job_controller.orphans,
            "CronJobs": CronJobs(hands).queue,
            "budgets": Budgets(hands, served).queue,
            "quotas": Quotas(hands, served).queue,
            "namespaces": namespaces.queue,
            "accounts": Accounts(hands, self._authority_pem).queue,
            "cluster roles": ClusterRoles(hands).queue,
            "node taints": NodeTaints(hands).queue,
            "heartbeats": Heartbeats(hands, by_node, grace=self._grace).queue,
            "evictions": Evictions(hands, by_node).queue,
            "leftovers of nodes": leftovers.queue,
            "pods without a node": leftovers.waiting,
            "garbage": self._garbage.queue,
            "new kinds": NewKinds(hands, served, self._garbage, supervisor).queue,
        }

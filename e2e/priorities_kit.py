"""Pods of different importance, and budgets that protect them, for the tests of preemption."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from e2e.card_nodes_kit import Pool
from e2e.restarts_kit import PATIENCE
from testbed.api import Api, ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import is_gone

SCHEDULING = "scheduling.k8s.io/v1"
POLICY = "policy/v1"
LOW, MIDDLE, HIGH = "low", "middle", "high"
POLITE = "polite"
"""As important as `HIGH`, and lets nobody be evicted for it."""
_CLASSES = {LOW: (10, ""), MIDDLE: (100, ""), HIGH: (1000, ""), POLITE: (1000, "Never")}


async def make_priorities(api: Api) -> None:
    """The four classes, where they are not there yet."""
    for name, (value, policy) in _CLASSES.items():
        made: Object = {
            "apiVersion": SCHEDULING,
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        if policy:
            made["preemptionPolicy"] = policy
        try:
            await api.create(made)
        except ApiRefused as refused:
            if refused.reason != "AlreadyExists":
                raise


def ranked(made: Object, priority: str) -> Object:
    """The same pod, of this importance."""
    made["spec"]["priorityClassName"] = priority
    return made


async def held(
    pool: Pool,
    name: str,
    node: str,
    limits: Mapping[str, str | int],
    *cards: int,
    priority: str = LOW,
    labels: Mapping[str, str] | None = None,
) -> Object:
    """A pod of this importance on this node, on one of these cards of it if any are named, once it is bound."""
    made = ranked(pool.pod(name, limits), priority)
    made["spec"]["nodeSelector"]["kubernetes.io/hostname"] = node
    made["metadata"]["labels"] |= labels or {}
    if cards:
        uuids = ",".join(f"GPU-{node}-{number}" for number in cards)
        made["metadata"]["annotations"]["metax-tech.com/use-gpuuuid"] = uuids
    return await pool.bound(made)


def name_of(made: Object) -> str:
    return made["metadata"]["name"]


async def names_left(pool: Pool) -> set[str]:
    """The pods of the pool that are there and do not end, without the pool's name before theirs."""
    return {
        name_of(one).removeprefix(f"{pool.name}-")
        for one in await pool.pods()
        if "deletionTimestamp" not in one["metadata"]
    }


async def until_gone(cluster: Cluster, *pods: Object) -> None:
    for one in pods:
        await cluster.until_pod(name_of(one), is_gone, within=PATIENCE, what=f"pod {name_of(one)} gone")


@asynccontextmanager
async def budget(
    cluster: Cluster, name: str, labels: Mapping[str, str], at_least: int, *, allowed: int, healthy: int
) -> AsyncGenerator[None]:
    """A budget over pods with these labels, once its controller has seen so many healthy and allows so many to go."""
    await cluster.api.create(
        {
            "apiVersion": POLICY,
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": {"minAvailable": at_least, "selector": {"matchLabels": dict(labels)}},
        }
    )
    path = path_of("PodDisruptionBudget", name, version=POLICY)

    def settled(seen: Object) -> bool:
        status = seen.get("status", {})
        return (status.get("currentHealthy"), status.get("disruptionsAllowed")) == (healthy, allowed)

    try:
        await cluster.api.until(path, settled, within=PATIENCE, what=f"budget {name} allows {allowed}")
        yield
    finally:
        await cluster.api.delete(path)

"""The installation page, followed to the letter: its objects are taken, and its rights are all that is needed."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.agent_view_kit import SGPU
from e2e.card_nodes_kit import POOL, agent_node, closed_node
from e2e.doors_kit import until_let_in
from e2e.install_kit import OURS, Installed, page_objects
from e2e.scheduler_kit import SCHEDULER, annotations_of, until_bound
from e2e.scheduling_kit import poll_until
from testbed.api import ApiRefused, Object, path_of
from testbed.cluster import SCHEDULER as KUBE_SCHEDULER
from testbed.cluster import Cluster
from testbed.manifests import container, is_gone, pod, tolerates_kwok
from testbed.options import Options

HALF = {SGPU: 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 8}
REFUSED = re.compile(r"forbidden|cannot (?:get|list|watch|create|patch|update)|may not", re.IGNORECASE)


@pytest_asyncio.fixture(scope="module")
async def installed() -> AsyncIterator[Installed]:
    async with Cluster.open(Options(nodes=0, kwok_nodes=1)) as cluster:
        # Two kube-schedulers would want the same port.
        await cluster.box.stop(KUBE_SCHEDULER)
        for made in (agent_node("page-a", 1), closed_node("page-b", 1)):
            made["metadata"]["labels"][POOL] = made["metadata"]["name"]
            await cluster.api.create(made)
        page = Installed(cluster)
        await page.follow()
        await until_let_in(cluster, asking("first", "page-a"))
        try:
            yield page
        finally:
            await page.stop()


def asking(name: str, pool: str, *, priority: str = "") -> Object:
    """A pod as people write it: it names no scheduler."""
    made = pod(name, container(limits=HALF), tolerations=tolerates_kwok())
    made["spec"].pop("schedulerName", None)
    made["spec"]["nodeSelector"] = {POOL: pool}
    if priority:
        made["spec"]["priorityClassName"] = priority
    return made


async def test_the_pages_objects_are_taken_and_its_rights_are_enough_to_place_nominate_lock_and_evict(
    installed: Installed,
) -> None:
    cluster = installed.cluster
    assert len(installed.made) == len(page_objects())
    for number in range(2):
        await cluster.api.create(asking(f"low-{number}", "page-a"))
    for number in range(2):
        seen = await until_bound(cluster, f"low-{number}")
        assert seen["spec"]["schedulerName"] == SCHEDULER
        assert annotations_of(seen)["hami.io/vgpu-node"] == "page-a"
    await cluster.api.create(asking("locked", "page-b"))
    assert (await until_bound(cluster, "locked"))["spec"]["nodeName"] == "page-b"
    node = await cluster.api.get(path_of("Node", "page-b"))
    assert annotations_of(node)["hami.io/mutex.lock"].endswith(",default,locked")
    classed: Object = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "page-high"},
        "value": 1000,
    }
    await cluster.api.create(classed)
    budget: Object = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "page", "namespace": "default"},
        "spec": {"minAvailable": 0, "selector": {}},
    }
    await cluster.api.create(budget)
    await cluster.api.create(asking("high", "page-a", priority="page-high"))
    assert (await until_bound(cluster, "high"))["spec"]["nodeName"] == "page-a"

    async def told() -> bool:
        events = await cluster.api.list(path_of("Event", namespace="default"))
        return any(each["reason"] == "RoomMade" for each in events)

    await poll_until(told, what="the event about the room that was made")
    refusals = [line for line in cluster.box.log(OURS).splitlines() if REFUSED.search(line)]
    assert refusals == []


async def test_a_pod_without_cards_needs_no_webhook_and_one_with_cards_waits_for_it(
    installed: Installed,
) -> None:
    cluster = installed.cluster
    await cluster.box.stop(OURS)
    plain = pod("plain", tolerations=tolerates_kwok())
    await cluster.api.create(plain)
    with pytest.raises(ApiRefused, match=r"pods\.tangram\.dev"):
        await cluster.api.create(asking("carded", "page-a"))
    await cluster.api.delete(path_of("Pod", "plain"), grace=0)
    await cluster.until_pod("plain", is_gone)


async def test_the_pages_policy_refuses_a_forged_allocation(installed: Installed) -> None:
    forged = pod("forged", annotations={"hami.io/vgpu-node": "page-a"}, tolerations=tolerates_kwok())
    with pytest.raises(ApiRefused, match="what says which cards a pod holds is written by its scheduler"):
        await installed.cluster.api.create(forged)

"""What makes every part of an installation ask the API server for everything that it ever asks for.

A chapter each, for two nodes: n1 with one card in slices, n2 with three whole ones. They are told in this order, each
about what the one before has left. Where a right is for every namespace, a chapter plays in two.
"""

import asyncio
import json
from collections.abc import Mapping
from itertools import product

from e2e.agent_view_kit import GPU, SGPU, VCORE, VMEMORY
from e2e.audit_kit import questions
from e2e.card_nodes_kit import closed_node, pooled
from e2e.explain_kit import Person, let_scrape
from e2e.helm_kit import NAMESPACE, Helm
from e2e.priorities_kit import HIGH, LOW, make_priorities, ranked
from e2e.scheduler_kit import asking
from e2e.scheduling_kit import poll_until
from e2e.trust_kit import made_once, token
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import is_bound, is_gone, is_running

TEAM = "team"
HOMES = ("default", TEAM)
"""Of people's pods: what is done in one namespace alone could be a right there alone."""
DEVICE_CONFIG = path_of("ConfigMap", "metax-device-config", namespace="kube-system")
WEBHOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/tangram-scheduler"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/tangram-scheduler"
SCHEDULER = "tangram-scheduler"
NOT_OURS = {"kubernetes.io/os": "none"}
"""Of nodes that are only objects, on which nothing of the chart could really run."""


async def make_homes(cluster: Cluster) -> None:
    for node, resource in (("n1", SGPU), ("n2", GPU)):
        await cluster.until_node(
            node, lambda seen, name=resource: int(seen["status"]["allocatable"].get(name, 0)) > 0
        )
    await make_priorities(cluster.api)
    await made_once(cluster.api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})
    for name in ("default", "scraper"):
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": TEAM},
        }
        await made_once(cluster.api, account)


def card_pod(name: str, home: str, limits: Mapping[str, str | int], priority: str = LOW) -> Object:
    one = ranked(asking(name, limits), priority)
    one["metadata"]["namespace"] = home
    return one


def share(percent: int) -> dict[str, str | int]:
    return {SGPU: 1, VCORE: percent, VMEMORY: 4}


async def cards_are_given(cluster: Cluster) -> None:
    """Whole cards and slices in a burst, so that pods are nominated and cards noted on them."""
    wanted = [("whole", {GPU: 1}), *((f"slice-{number}", share(25)) for number in range(2))]
    for home, (name, limits) in product(HOMES, wanted):
        await cluster.api.create(card_pod(name, home, limits))
    for home, (name, _) in product(HOMES, wanted):
        await cluster.until_pod(name, is_running, namespace=home, within=90)
        if name == "whole":
            await cluster.until_pod(name, _has_noted_cards, namespace=home)


def _has_noted_cards(seen: Object) -> bool:
    return "hami.io/metax-gpu-devices-allocated" in seen["metadata"].get("annotations", {})


async def room_is_made(cluster: Cluster) -> None:
    """All slices of the one card have to go for two pods, which are nominated meanwhile."""
    for home in HOMES:
        await cluster.api.create(card_pod("urgent", home, share(50), HIGH))
    for home in HOMES:
        await cluster.until_pod("urgent", is_running, namespace=home, within=90)
    for home, number in product(HOMES, range(2)):
        await cluster.until_pod(f"slice-{number}", is_gone, namespace=home)


async def a_verdict_is_repeated(cluster: Cluster) -> None:
    """Pods that find the one card taken, asked about again: one event, whose count grows."""
    for home in HOMES:
        await cluster.api.create(card_pod("late", home, share(50)))
    number = 0

    async def counted() -> bool:
        nonlocal number
        number += 1
        label = {"metadata": {"labels": {"something": f"changed-{number}"}}}
        await cluster.api.patch(path_of("Node", "n1"), label)
        await asyncio.sleep(0.5)
        return all([await _most(cluster, home, "late") > 1 for home in HOMES])

    await poll_until(counted, what="the same verdict twice")


async def _most(cluster: Cluster, namespace: str, about: str) -> int:
    events = await cluster.api.list(path_of("Event", namespace=namespace))
    return max(
        (
            event.get("count", 0)
            for event in events
            if event["involvedObject"]["name"] == about
            and event["source"].get("component", "").startswith("tangram-")
        ),
        default=0,
    )


async def closed_plugins_are_served(cluster: Cluster) -> None:
    """HAMi's lock, on two nodes that a vendor's plugin has told of."""
    names = ("closed-1", "closed-2")
    nodes = [closed_node(name, 1) for name in names]
    for node in nodes:
        node["metadata"]["labels"] |= NOT_OURS
    async with pooled(cluster, "closed", nodes) as pool:
        for name in names:
            await pool.fill(name, name, share(10))


async def a_bind_is_looked_into(cluster: Cluster) -> None:
    """kube-scheduler asks to bind pods that are gone meanwhile, which is found out by reading them."""
    for home in HOMES:
        body = {"PodName": "gone", "PodNamespace": home, "PodUID": "gone", "Node": "n1"}
        said = await inside_the_active_scheduler(cluster, "http://127.0.0.1:8080/bind", json.dumps(body))
        assert "is gone" in said


async def somebody_scrapes(cluster: Cluster) -> None:
    file = cluster.box.folder.path / "scraper-token"
    file.write_text(await token(cluster.api, TEAM, "scraper"))
    scraper = Person(f"system:serviceaccount:{TEAM}:scraper", file)
    await let_scrape(cluster.api, scraper)
    said = await inside_the_active_scheduler(cluster, "https://127.0.0.1:9443/metrics", "", scraper.token)
    assert "tangram_scheduler_" in said


async def inside_the_active_scheduler(cluster: Cluster, url: str, body: str, shown: str = "") -> str:
    """What a door of its pod answers, which opens to its loopback alone."""
    script = (
        "import ssl,sys,urllib.request as u\n"
        "url, body, shown = sys.argv[1:]\n"
        "headers = {'Authorization': 'Bearer ' + shown} if shown else {}\n"
        "asked = u.Request(url, data=body.encode() or None, headers=headers)\n"
        "context = ssl._create_unverified_context()\n"
        "print(u.urlopen(asked, context=context, timeout=30).read().decode())\n"
    )
    holder = await active_scheduler(cluster)
    said = ("python3", "-c", script, url, body, shown)
    done = await cluster.kubectl("exec", "-n", NAMESPACE, holder, "-c", SCHEDULER, "--", *said)
    assert done.status == 0, done.errors
    return done.output


async def the_authority_is_written_again(cluster: Cluster) -> None:
    found = await cluster.api.get(WEBHOOK)
    (hook,) = found["webhooks"]
    was = hook["clientConfig"].pop("caBundle")
    await cluster.api.patch(WEBHOOK, {"webhooks": [hook]})

    async def back() -> bool:
        (now,) = (await cluster.api.get(WEBHOOK))["webhooks"]
        return now["clientConfig"].get("caBundle") == was

    await poll_until(back, what="the caBundle")


async def a_wrong_configuration_is_told_twice(cluster: Cluster) -> None:
    """On both nodes, and on the ConfigMap."""
    right = (await cluster.api.get(DEVICE_CONFIG))["data"]["cluster-config"]
    places = (("default", "n1"), ("default", "n2"), ("kube-system", "metax-device-config"))

    async def told() -> bool:
        for text in ("mode: sideways\n", right):
            await cluster.api.patch(DEVICE_CONFIG, {"data": {"cluster-config": text}})
            await asyncio.sleep(1)
        return all([await _most(cluster, *place) > 1 for place in places])

    await poll_until(told, what="the same wrong configuration told twice")


async def a_mode_waits_for_pods(cluster: Cluster) -> None:
    """The node says so in a condition, which stays to the end."""
    sliced = "".join(f"- {{nodeName: {node.name}, mode: sgpu}}\n" for node in cluster.nodes)
    await cluster.api.patch(DEVICE_CONFIG, {"data": {"nodes-config": sliced}})
    await cluster.until_node("n2", _waits, what="n2 waiting for its cards")


def _waits(seen: Object) -> bool:
    return any(
        (one["type"], one["status"]) == ("GpuModeChangePending", "True")
        for one in seen["status"]["conditions"]
    )


async def what_was_taken_off_comes_back(cluster: Cluster) -> None:
    key = "metax-tech.com/gpu.installed"
    await cluster.api.patch(path_of("Node", "n2"), {"metadata": {"labels": {key: None}}})
    await cluster.until_node("n2", lambda seen: seen["metadata"]["labels"].get(key) == "true")


async def another_takes_over(cluster: Cluster) -> None:
    """What a scheduler asks that has just become the active one."""
    before = await active_scheduler(cluster)
    await cluster.api.delete(path_of("Pod", before, namespace=NAMESPACE))

    async def so() -> bool:
        return await active_scheduler(cluster) not in (before, "")

    await poll_until(so, what="another active scheduler")
    await cluster.api.create(card_pod("after", TEAM, {GPU: 1}))
    await cluster.until_pod("after", is_bound, namespace=TEAM, within=90)


async def active_scheduler(cluster: Cluster) -> str:
    """Its pod."""
    return (await cluster.api.get(LEASE))["spec"].get("holderIdentity", "").partition("_")[0]


async def remove_pods(cluster: Cluster) -> None:
    for home in HOMES:
        await cluster.kubectl("delete", "pods", "--all", "-n", home, "--grace-period=1")


async def uninstalled_around_a_pod_that_stays(helm: Helm) -> None:
    """Somebody took a pod out of its DaemonSet to look at it: it is waited for, after a look at who might keep it."""
    cluster = helm.cluster
    chosen = {"labelSelector": "app.kubernetes.io/component=gpu-label", "fieldSelector": "spec.nodeName=n2"}
    (seen,) = await cluster.api.list(path_of("Pod", namespace=NAMESPACE), **chosen)
    path = path_of("Pod", seen["metadata"]["name"], namespace=NAMESPACE)
    label = {"app.kubernetes.io/component": "looked-at"}
    await cluster.api.patch(path, {"metadata": {"labels": label, "ownerReferences": None}})

    async def looked() -> bool:
        return any(
            (question.account, question.resource) == ("tangram-cleanup", "deployments")
            for question in questions(cluster)
        )

    async with asyncio.TaskGroup() as together:
        together.create_task(helm.uninstall())
        await poll_until(looked, what="a look at who keeps the pod")
        await cluster.api.delete(path, grace=1)

"""Each account of the chart has the rights that its programs use, and no other: read from the API server's audit log.

One story that makes every part do everything it ever asks the API server for. What it asked is then compared with the
roles of the chart, both ways. What is listed at a start or made once needs no chapter of its own: the installation is
one.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Generator, Iterable
from itertools import product

import pytest
import pytest_asyncio
import yaml

from e2e.agent_view_kit import GPU, SGPU, VCORE, VMEMORY
from e2e.audit_kit import Audit, auditing_accounts, questions
from e2e.card_nodes_kit import closed_node, pooled
from e2e.explain_kit import let_scrape
from e2e.explain_kit import Person
from e2e.helm_kit import DRIVER, NAMESPACE, Helm, Shipped, load, serve_cards, ship
from e2e.koordinator_kit import install_definition
from e2e.priorities_kit import HIGH, LOW, make_priorities, ranked
from e2e.rights_kit import BINDINGS, ROLES, Right, allowed, beyond, built_in_rights, judged, own_rights
from e2e.scheduler_kit import asking, made, until_waiting
from e2e.scheduling_kit import poll_until
from e2e.trust_kit import made_once, token
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import is_gone, is_running
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("helm")

CARDS = {
    "n1": "tangram: cards/v1\ncards: [{product: C500, count: 1}]\n",
    "n2": "tangram: cards/v1\ncards: [{product: C500, count: 3}]\n",
}
SLICED = {
    "version": "v1",
    "cluster-config": {"mode": "native"},
    "nodes-config": [{"nodeName": "n1", "mode": "sgpu"}],
}
VALUES: dict[str, object] = {
    "deployExtenderGPUAware": True,
    "gpuDevice": {"driver": DRIVER, "deviceConfig": SLICED},
    "gpuLabel": {"driver": DRIVER},
}
TEAM = "team"
HOMES = ("default", TEAM)
"""Of people's pods: what is done in one namespace alone could be a right there alone."""
DEVICE_CONFIG = path_of("ConfigMap", "metax-device-config", namespace="kube-system")
WEBHOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/tangram-scheduler"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/tangram-scheduler"
SCHEDULER = "tangram-scheduler"


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shipped]:
    with pytest.MonkeyPatch.context() as patch:
        yield ship(tmp_path_factory.mktemp("rights"), patch)


@pytest_asyncio.fixture(scope="module")
async def cluster(shipped: Shipped, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    policy = tmp_path_factory.mktemp("audit") / "policy.json"
    audited = auditing_accounts(policy, NAMESPACE)
    async with Cluster.open(
        Options(nodes=2, kwok_nodes=1, services=True, api_server_flags=audited)
    ) as running:
        await load(running, shipped)
        for node in running.nodes:
            await serve_cards(running, node, CARDS[node.name])
        # Of the two, the one that gpu-aware belongs on.
        label = {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}
        await running.api.patch(path_of("Node", "n1"), label)
        await install_definition(running)
        yield running
        import shutil, subprocess
        for w in (["get","nodes","-o","yaml"],["get","pods","-A","-o","wide"],["get","events","-A"],["logs","-n","tangram","-l","app.kubernetes.io/component=gpu-device","--tail=200","--prefix"],["logs","-n","tangram","-l","app.kubernetes.io/component=scheduler","--all-containers","--tail=300","--prefix"]):
            d=await running.kubectl(*w)
            open("/tmp/G-state.txt","a").write(" ".join(w)+"\n"+d.output+d.errors+"\n")
        shutil.copytree(running.box.folder.logs, "/tmp/G-logs", dirs_exist_ok=True)

        shutil.copy(running.box.folder.of_room("control").log / "audit.log", "/tmp/G-audit.log")


async def test_every_account_has_the_rights_that_its_programs_use_and_no_other(
    cluster: Cluster, shipped: Shipped
) -> None:
    helm = Helm(cluster)
    await helm.install(shipped.chart("tangram"), VALUES)
    objects = [
        one
        for part in ("manifest", "hooks")
        for one in yaml.safe_load_all(
            (await helm.run("get", part, helm.release, "-n", helm.namespace)).output
        )
        if one and one["kind"] in ROLES | BINDINGS
    ]
    own, built_in = own_rights(objects), await built_in_rights(cluster, objects)
    await make_homes(cluster)

    await cards_are_given(cluster)
    await room_is_made(cluster)
    await a_verdict_is_repeated(cluster)
    await closed_plugins_are_served(cluster)
    await a_bind_is_looked_into(cluster)
    await somebody_scrapes(cluster)
    await the_authority_is_written_again(cluster)
    await a_wrong_configuration_is_told_twice(cluster)
    await what_was_taken_off_comes_back(cluster)
    live = {right for right in own if right.account != "tangram-cleanup"}
    await nothing_lies_beyond(cluster, live)
    await remove_pods(cluster)
    await helm.uninstall()
    async with made(cluster, *(one for one in objects if one["metadata"]["name"] == "tangram-cleanup")):
        await nothing_lies_beyond(cluster, own - live)

    asked = questions(cluster)
    assert {question.account for question in asked} == {right.account for right in own}
    assert [entry for entry in Audit(cluster).entries() if _is_refused(entry)] == []
    found = judged(own, built_in, asked)
    assert found.borrowed == []
    assert found.unused == []
    assert found.too_wide == []


def _is_refused(entry: Object) -> bool:
    return entry.get("annotations", {}).get("authorization.k8s.io/decision") != "allow"


async def nothing_lies_beyond(cluster: Cluster, rights: Iterable[Right]) -> None:
    known = list(rights)
    assert [str(right) for right in known if not await allowed(cluster, NAMESPACE, right)] == []
    outside = {each for right in known for each in beyond(right)}
    assert [str(right) for right in outside if await allowed(cluster, NAMESPACE, right)] == []


# ---- the chapters


async def make_homes(cluster: Cluster) -> None:
    await make_priorities(cluster.api)
    await made_once(cluster.api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})
    for name in ("default", "scraper"):
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": TEAM},
        }
        await made_once(cluster.api, account)


def card_pod(name: str, home: str, limits: dict[str, str | int], priority: str = LOW) -> Object:
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
    """All slices of the one card have to go."""
    await cluster.api.create(card_pod("urgent", TEAM, share(100), HIGH))
    await cluster.until_pod("urgent", is_running, namespace=TEAM, within=90)
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
    async with pooled(cluster, "closed", [closed_node(name, 1) for name in names]) as pool:
        for name in names:
            await pool.fill(name, name, share(10))


async def a_bind_is_looked_into(cluster: Cluster) -> None:
    """kube-scheduler asks to bind pods that are gone meanwhile, which is found out by reading them."""
    for name in ("gone", "gone-too"):
        body = {"PodName": name, "PodNamespace": "default", "PodUID": name, "Node": "n1"}
        said = await inside_the_active_scheduler(cluster, f"http://127.0.0.1:8080/bind", json.dumps(body))
        assert "is gone" in said


async def somebody_scrapes(cluster: Cluster) -> None:
    user = f"system:serviceaccount:{TEAM}:scraper"
    await let_scrape(cluster.api, Person(user, cluster.box.folder.admin_kubeconfig))
    shown = await token(cluster.api, TEAM, "scraper")
    said = await inside_the_active_scheduler(cluster, "https://127.0.0.1:9443/metrics", "", shown)
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
    holder = (await cluster.api.get(LEASE))["spec"]["holderIdentity"].partition("_")[0]
    done = await cluster.kubectl(
        "exec", "-n", NAMESPACE, holder, "-c", SCHEDULER, "--", "python3", "-c", script, url, body, shown
    )
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
    right = (await cluster.api.get(DEVICE_CONFIG))["data"]["cluster-config"]
    for times in (1, 2):
        await cluster.api.patch(DEVICE_CONFIG, {"data": {"cluster-config": "mode: sideways\n"}})

        async def told() -> bool:
            places = (("default", "n1"), ("default", "n2"), ("kube-system", "metax-device-config"))
            return all([await _most(cluster, *place) >= times for place in places])

        await poll_until(told, what=f"a wrong configuration told {times} times")
        await cluster.api.patch(DEVICE_CONFIG, {"data": {"cluster-config": right}})
        await asyncio.sleep(1)


async def what_was_taken_off_comes_back(cluster: Cluster) -> None:
    key = "metax-tech.com/gpu.installed"
    await cluster.api.patch(path_of("Node", "n2"), {"metadata": {"labels": {key: None}}})
    await cluster.until_node("n2", lambda seen: seen["metadata"]["labels"].get(key) == "true")


async def remove_pods(cluster: Cluster) -> None:
    for home in HOMES:
        await cluster.kubectl("delete", "pods", "--all", "-n", home, "--grace-period=1")

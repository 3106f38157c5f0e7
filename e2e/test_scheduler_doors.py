"""The scheduler's door for other machines before a real API server: its certificates, and who may ask it what."""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator, Callable

import pytest
import pytest_asyncio

from e2e.doors_kit import WHO, Door, opened, registered, until_let_in
from e2e.scheduler_kit import asking
from e2e.scheduling_kit import NOBODY, fleet_pod, poll_until
from e2e.trust_kit import made_once, token
from testbed.api import ApiRefused, Object, path_of
from testbed.certificates import Authority
from testbed.cluster import Cluster
from testbed.rooms import CONTROL_ADDRESS

Unique = Callable[[str], str]
ROTATIONS = 3
BINDING = {"PodName": "p", "PodNamespace": "default", "PodUID": "u", "Node": "n"}
FORGED = "e30.e30.e30"
RBAC = "rbac.authorization.k8s.io"


@pytest_asyncio.fixture
async def namespace(object_fleet: Cluster, unique: Unique) -> AsyncGenerator[str]:
    name = unique("doors")
    await make_namespace(object_fleet, name)
    yield name
    await object_fleet.api.delete(path_of("Namespace", name))


async def make_namespace(cluster: Cluster, name: str) -> None:
    await cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    await made_once(
        cluster.api,
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}},
    )


def plain_pod(namespace: str, name: str = "made") -> Object:
    made = fleet_pod(name, scheduler=NOBODY)
    made["metadata"]["namespace"] = namespace
    return made


@pytest.mark.xdist_group("doors")
async def test_no_pod_is_refused_while_the_webhooks_certificates_change_and_a_replica_is_killed(
    object_fleet: Cluster, namespace: str
) -> None:
    """Both replicas must let every pod pass; the second is killed and comes back between two rotations."""
    cluster = object_fleet
    refused: list[str] = []
    made = 0
    rotating = True

    async def make(worker: int) -> None:
        nonlocal made
        try:
            await cluster.api.create(plain_pod(namespace, f"pod-{worker}"), dryRun="All")
        except ApiRefused as error:
            refused.append(error.message)
        made += 1

    async def keep_making(worker: int) -> None:
        while rotating:
            await make(worker)

    async def rotation(door: Door, seen: set[str]) -> None:
        async with asyncio.timeout(60):
            while (now := await door.shown()) in seen:
                await asyncio.sleep(0.2)
        seen.add(now)
        # More at once than there are connections: the API server opens new ones, and meets the new certificate.
        await asyncio.gather(*(make(number) for number in range(40)))

    async with (
        registered(cluster, namespace, [9543]),
        opened(cluster, "doors-1", 9543, hurried=True) as first,
        opened(cluster, "doors-2", 9553, hurried=True) as second,
    ):
        await until_let_in(cluster, plain_pod(namespace))
        seen = {await first.shown()}
        assert await second.shown() in seen, "two replicas, one certificate"
        async with asyncio.TaskGroup() as tasks:
            for worker in range(3):
                tasks.create_task(keep_making(worker))
            try:
                for number in range(ROTATIONS):
                    await rotation(first, seen)
                    if number == 0:
                        await cluster.box.stop("doors-2", by=signal.SIGKILL)
                    if number == 1:
                        await second.start(hurried=True)
                async with asyncio.timeout(60):
                    while await second.shown() != await first.shown():
                        await asyncio.sleep(0.2)
            finally:
                rotating = False
    assert (refused, len(seen)) == ([], ROTATIONS + 1)
    assert made > 100


@pytest.mark.xdist_group("doors")
async def test_a_bundle_that_an_installer_took_away_is_written_again(
    object_fleet: Cluster, namespace: str
) -> None:
    cluster = object_fleet
    async with registered(cluster, namespace, [9543]), opened(cluster, "doors-1", 9543):
        await until_let_in(cluster, plain_pod(namespace))
        path = path_of("MutatingWebhookConfiguration", WHO, version="admissionregistration.k8s.io/v1")
        hooks = (await cluster.api.get(path))["webhooks"]
        hooks[0]["clientConfig"].pop("caBundle")
        hooks[0]["timeoutSeconds"] = 7
        await cluster.api.patch(path, {"webhooks": hooks})

        async def written_again() -> bool:
            (hook,) = (await cluster.api.get(path))["webhooks"]
            assert hook["timeoutSeconds"] == 7
            return bool(hook["clientConfig"].get("caBundle"))

        # A pod may be let in by the bundle that the API server still remembers.
        await poll_until(written_again, what="the bundle written again")
        await until_let_in(cluster, plain_pod(namespace))


@pytest.mark.xdist_group("doors")
async def test_bind_is_for_those_with_a_certificate_of_the_named_authority_and_loopback_is_nobodys_else(
    object_fleet: Cluster,
) -> None:
    cluster = object_fleet
    folder = cluster.box.folder.certificates
    named = Authority(folder, "doors-named")
    known, stranger = (
        named.issue("known", "kube-scheduler"),
        Authority(folder, "doors-other").issue("other", "x"),
    )
    async with opened(cluster, "doors-1", 9543) as door:
        status, told = await door.ask("/bind", BINDING, client=known)
        assert (status, "there is no such path" in told) == (404, True)
        connection = cluster.box.make_socket()
        connection.settimeout(0)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.get_running_loop().sock_connect(connection, (CONTROL_ADDRESS, door.loopback))
        connection.close()
    async with opened(cluster, "doors-1", 9543, "--client-ca", named.certificate) as door:
        for verb in ("filter", "bind", "preempt"):
            status, told = await door.ask(f"/{verb}", BINDING)
            assert (status, f"/{verb} needs a client certificate" in told) == (403, True)
        with pytest.raises((OSError, IndexError)):
            await door.ask("/bind", BINDING, client=stranger)
        status, told = await door.ask("/bind", BINDING, client=known)
        assert (status, bool(json.loads(told)["Error"])) == (200, True), (
            "heard, and refused for its own reasons"
        )


async def let(cluster: Cluster, name: str, account: str, home: str, *rules: Object, where: str = "") -> None:
    """Rights for a service account: in one namespace, or everywhere when none is named."""
    kind = "Role" if where else "ClusterRole"
    metadata = {"name": name} | ({"namespace": where} if where else {})
    things: dict[str, Object] = {
        kind: {"rules": list(rules)},
        f"{kind}Binding": {
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": home}],
        },
    }
    for made, content in things.items():
        folder = f"/apis/{RBAC}/v1" + (f"/namespaces/{where}" if where else "")
        body = {"apiVersion": f"{RBAC}/v1", "kind": made, "metadata": metadata, **content}
        await cluster.api.call("POST", f"{folder}/{made.lower()}s", body)


async def until_answered(door: Door, path: str, secret: str) -> None:
    """A right is known to the API server a moment after it was given, and a no is remembered for seconds."""
    async with asyncio.timeout(60):
        while (await door.ask(path, token=secret))[0] != 200:
            await asyncio.sleep(1)


@pytest.mark.xdist_group("doors")
async def test_explain_and_metrics_follow_the_callers_rights_in_kubernetes(
    object_fleet: Cluster, namespace: str, unique: Unique
) -> None:
    cluster, other = object_fleet, unique("neighbour")
    await make_namespace(cluster, other)
    for home in (namespace, other):
        pod = asking(
            "waits", {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 10, "metax-tech.com/vmemory": 1}
        )
        pod["metadata"]["namespace"] = home
        pod["spec"]["schedulerName"] = NOBODY
        await cluster.api.create(pod)
    user = f"system:serviceaccount:{namespace}:default"
    secret = await token(cluster.api, namespace, "default")
    reads = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    await let(cluster, f"{namespace}-reads", "default", namespace, reads, where=namespace)
    try:
        async with opened(cluster, "doors-1", 9543) as door:
            status, told = await door.ask(f"/explain?namespace={namespace}&pod=waits")
            assert (status, f"that may get pods in namespace '{namespace}'" in told) == (401, True)
            assert (await door.ask(f"/explain?namespace={namespace}&pod=waits", token=FORGED))[0] == 401

            status, told = await door.ask(f"/explain?namespace={other}&pod=waits", token=secret)
            refusal = f"'{user}' may not get pods in namespace '{other}', which /explain needs; "
            assert (status, json.loads(told)["Error"].startswith(refusal)) == (403, True)
            await until_answered(door, f"/explain?namespace={namespace}&pod=waits", secret)

            status, told = await door.ask("/metrics", token=secret)
            assert (status, "may not get the non-resource URL /metrics" in told) == (403, True)
            scrapes = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
            await let(cluster, f"{namespace}-scrapes", "default", namespace, scrapes)
            await until_answered(door, "/metrics", secret)
    finally:
        await cluster.api.delete(path_of("Namespace", other))

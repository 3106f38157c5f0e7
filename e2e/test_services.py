"""Services in a box: they answer from pods, nodes and the control plane, webhooks are reached by them, and they end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from e2e.scheduling_kit import poll_until
from testbed.api import ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.firstprocess import CONTROL
from testbed.manifests import container, is_running, pod
from testbed.options import Options
from testbed.rooms import CONTROL_ADDRESS
from testbed.webhook import ScriptedWebhook, annotate

ADMISSION = "admissionregistration.k8s.io/v1"
SERVES = "mkdir /tmp/www; echo I am $HOSTNAME > /tmp/www/index.html; exec httpd -f -p 8000 -h /tmp/www"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
LOOKER = "looker"
ASKS = {"asks": "hook"}
CHECKED = "example.com/checked"


@pytest_asyncio.fixture(scope="module")
async def served() -> AsyncIterator[Cluster]:
    async with Cluster.open(Options(nodes=2, services=True)) as cluster:
        for node in cluster.nodes:
            await cluster.api.create(pod(f"{LOOKER}-{node.name}", node=node.name))
        for node in cluster.nodes:
            await cluster.until_pod(f"{LOOKER}-{node.name}", is_running)
        yield cluster


def service(name: str, selector: dict[str, str], port: int, to: int) -> Object:
    ports = [{"name": "main", "port": port, "targetPort": to}]
    spec = {"selector": selector, "ports": ports} if selector else {"ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


async def seen_from_pod(cluster: Cluster, node: str, address: str) -> str:
    """A static busybox's own wget wants libraries to look up names, even where there is none to look up."""
    script = f"printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 3 {address} 80 | tail -n 1"
    asked = await cluster.kubectl("exec", f"{LOOKER}-{node}", "--", "/bin/sh", "-c", script)
    return asked.output.strip() or asked.errors.strip()


async def seen_from_room(cluster: Cluster, room: str, address: str) -> str:
    connection = cluster.box.make_socket(room)
    connection.settimeout(0)
    try:
        async with asyncio.timeout(3):
            await asyncio.get_running_loop().sock_connect(connection, (address, 80))
            reader, writer = await asyncio.open_connection(sock=connection)
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            answer = (await reader.read()).decode()
            writer.close()
            return answer.splitlines()[-1]
    except OSError as error:
        connection.close()
        return str(error)


async def everywhere(cluster: Cluster, address: str) -> list[str]:
    """What is seen of an address from a pod of each node, from each node, and from the control plane."""
    names = [node.name for node in cluster.nodes]
    return await asyncio.gather(
        *(seen_from_pod(cluster, node, address) for node in names),
        *(seen_from_room(cluster, room, address) for room in (*names, CONTROL)),
    )


@pytest.mark.parametrize("home", ["n1", "n2"])
async def test_a_service_answers_from_everywhere_until_it_is_deleted(served: Cluster, home: str) -> None:
    name = f"web-{home}"
    await served.api.create(pod(name, container(script=SERVES), node=home, labels={"app": name}))
    await served.until_pod(name, is_running)
    made = await served.api.create(service(name, {"app": name}, 80, 8000))
    address = made["spec"]["clusterIP"]

    async def answers() -> bool:
        return await everywhere(served, address) == [f"I am {name}"] * 5

    await poll_until(answers, what=f"everybody's reaching {address}")
    await served.api.delete(path_of("Service", name))

    async def silent() -> bool:
        return not any("I am" in one for one in await everywhere(served, address))

    await poll_until(silent, what=f"nobody's reaching {address}")


async def test_the_api_server_calls_a_webhook_by_its_service_as_soon_as_there_is_one(served: Cluster) -> None:
    authority, api = served.credentials.authority, served.api

    async def answer() -> str:
        """What comes of a pod that the webhook is to be asked about."""
        try:
            made = await api.create(pod("asked", scheduler="nobody", labels=ASKS), dryRun="All")
        except ApiRefused as refused:
            return refused.message
        return made["metadata"].get("annotations", {}).get(CHECKED, "not asked")

    async def says(text: str) -> None:
        await poll_until(lambda: _contains(answer, text), what=f"the answer {text!r}")

    async with ScriptedWebhook.serve(served.box, authority, service="hook.default.svc") as webhook:
        webhook.judge("by-service", annotate(CHECKED, "by its Service"))
        client = webhook.client("by-service")
        port = int(client["url"].split(":")[2].partition("/")[0])
        await api.create(configuration(client["caBundle"]))
        try:
            await says('service "hook" not found')
            await api.create(service("hook", {}, 443, port))
            await says('failed calling webhook "hook.example.com"')
            await api.call("POST", SLICES, endpoint("hook", CONTROL_ADDRESS, port))
            await says("by its Service")
        finally:
            await api.delete(path_of("MutatingWebhookConfiguration", "hook", version=ADMISSION))


async def _contains(answer: Callable[[], Awaitable[str]], text: str) -> bool:
    return text in await answer()


def endpoint(name: str, address: str, port: int) -> Object:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"{name}-1", "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [{"name": "main", "port": port}],
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
    }


def configuration(authority: str) -> Object:
    called = {"name": "hook", "namespace": "default", "path": "/by-service"}
    hook: Object = {
        "name": "hook.example.com",
        "clientConfig": {"service": called, "caBundle": authority},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
        ],
        "objectSelector": {"matchLabels": ASKS},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 2,
    }
    kind = "MutatingWebhookConfiguration"
    return {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": "hook"}, "webhooks": [hook]}

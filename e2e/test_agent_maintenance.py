"""Both daemons as people run them, in pods of DaemonSets with accounts of their own, and a node that is taken out of
service for maintenance and put back.
"""

import asyncio
import json
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode, slices
from e2e.agent_view_kit import (
    GPU,
    SGPU,
    empty,
    inside,
    left_on,
    metax,
    nodes_of,
    run_here,
    running,
    slice_of,
    whole_pod,
)
from e2e.agent_watch_kit import until, until_counts
from e2e.restarts_kit import PATIENCE, same_container
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.images import environment_image
from testbed.manifests import is_gone, pod
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("agent in maintenance")

SPACE = "tangram"
PREFIX = "metax-tech.com/"
INSTALLED = f"{PREFIX}gpu.installed"
CARDS = "tangram: cards/v1\ncards:\n- {product: C500, count: 2}\n- {product: C500, count: 2, sliced: true}\n"
DRIVER = ["--driver", "simulated:unix:/run/cards.sock"]

GPU_LABEL_RULES: list[Object] = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
]
GPU_DEVICE_RULES: list[Object] = [
    # Its own node: cordons and the lock are read there, the inventory is written.
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch", "patch"]},
    # The node's pods: allocations are read there, the cards that were really given are written.
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch", "patch"]},
    # Refusals and broken cards are told there; the same again is counted up.
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]
"""All that the agent may do; docs/gpu-device.md quotes it."""
GPU_DEVICE_PATHS = {
    "device-plugins": "/var/lib/kubelet/device-plugins",
    "pod-resources": "/var/lib/kubelet/pod-resources",
    "cdi": "/run/cdi",
    "state": "/run/tangram",
    "dev": "/dev",
}
"""All that the agent sees of the host."""


def account(name: str, rules: list[Object]) -> list[Object]:
    """A service account that may do just this."""
    rbac = "rbac.authorization.k8s.io"
    role = {"apiGroup": rbac, "kind": "ClusterRole", "name": name}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": SPACE}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": role,
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": SPACE}],
        },
    ]


def daemon_set(name: str, image: str, arguments: list[str], pod_spec: Object, container: Object) -> Object:
    main = {
        "name": name,
        "image": image,
        "imagePullPolicy": "Never",
        "command": ["tangram", name, *DRIVER, "--log-dir", "", "--log-format", "text", *arguments],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        **container,
    }
    spec = {"serviceAccountName": name, "terminationGracePeriodSeconds": 20, "containers": [main], **pod_spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        },
    }


def gpu_label(image: str) -> Object:
    socket = {"name": "cards", "hostPath": {"path": "/run/cards.sock"}}
    return daemon_set(
        "gpu-label",
        image,
        ["--interval", "1s"],
        {"volumes": [socket]},
        {"volumeMounts": [{"name": "cards", "mountPath": "/run/cards.sock"}]},
    )


def gpu_device(image: str) -> Object:
    volumes: list[Object] = [
        {"name": name, "hostPath": {"path": path}} for name, path in GPU_DEVICE_PATHS.items()
    ]
    mounts = [{"name": name, "mountPath": path} for name, path in GPU_DEVICE_PATHS.items()]
    volumes += [
        {"name": "cards", "hostPath": {"path": "/run/cards.sock"}},
        {"name": "config", "configMap": {"name": "device-config"}},
    ]
    mounts += [{"name": "cards", "mountPath": "/run/cards.sock"}, {"name": "config", "mountPath": "/config"}]
    return daemon_set(
        "gpu-device",
        image,
        ["--config", "/config"],
        {"volumes": volumes, "nodeSelector": {INSTALLED: "true"}},
        {"volumeMounts": mounts, "securityContext": {"privileged": True}},
    )


@pytest_asyncio.fixture(scope="module")
async def node() -> AsyncGenerator[AgentNode]:
    async with Cluster.open(Options(nodes=1)) as cluster:
        here = AgentNode(cluster, cluster.nodes[0])
        image = await asyncio.to_thread(environment_image)
        await cluster.load_image(image)
        await here.start_cards(CARDS)
        (cluster.room(here.names).run / "tangram").mkdir(exist_ok=True)
        await cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        config = {"version": "v1", "cluster-config": "mode: mixed\nslicedCards: [2, 3]\n"}
        await cluster.api.create(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "device-config", "namespace": SPACE},
                "data": config,
            }
        )
        for thing in (
            *account("gpu-label", GPU_LABEL_RULES),
            *account("gpu-device", GPU_DEVICE_RULES),
            gpu_label(image.name),
            gpu_device(image.name),
        ):
            await cluster.api.create(thing)
        yield here
        await cluster.box.stop(here.program("cards"))


async def labels(node: AgentNode) -> dict[str, str]:
    seen = await node.cluster.api.get(path_of("Node", node.name))
    return {key: value for key, value in seen["metadata"]["labels"].items() if key.startswith(PREFIX)}


async def daemons(node: AgentNode, name: str) -> list[Object]:
    return await node.cluster.api.list(path_of("Pod", namespace=SPACE), labelSelector=f"app={name}")


async def log_of(node: AgentNode, name: str) -> str:
    (one,) = await daemons(node, name)
    return await node.cluster.pod_log(one["metadata"]["name"], namespace=SPACE)


async def until_in_service(node: AgentNode) -> dict[str, str]:
    """The labels, once cards are offered."""
    await node.cluster.until_node(
        node.name, lambda seen: seen["metadata"]["labels"].get(INSTALLED) == "true", within=PATIENCE
    )
    await until_counts(node, GPU, 2, 2, fresh=True)
    await until_counts(node, SGPU, 32, 32)
    return await labels(node)


async def evict(node: AgentNode, name: str) -> None:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
    await node.cluster.api.call("POST", f"{path_of('Pod', name)}/eviction", body)
    await node.cluster.until_pod(name, is_gone, within=PATIENCE)


async def test_a_cordoned_node_leaves_gpu_service_and_an_uncordoned_one_is_as_it_was(node: AgentNode) -> None:
    before = await until_in_service(node)
    assert before[f"{PREFIX}driver.ready"] == "true"
    cards = metax(node)
    await run_here(node, whole_pod("whole", 1))
    await node.place(pod("slice", slice_of()), slices([(cards[3].uuid, 1024, 10)]))
    assert (await inside(node, "slice")).nodes == nodes_of([cards[3]])
    held = [await running(node, name) for name in ("whole", "slice")]

    done = await node.cluster.kubectl("cordon", node.name)
    assert done.status == 0, done.errors
    await node.cluster.until_node(
        node.name,
        lambda seen: not any(key.startswith(PREFIX) for key in seen["metadata"]["labels"]),
        within=PATIENCE,
        what="no label of the vendor is left",
    )

    async def gone() -> bool:
        return not await daemons(node, "gpu-device")

    await until(gone, "the gpu-device pod has left the node", pause=0.1)
    for resource in (GPU, SGPU):
        await node.cluster.until_node(
            node.name,
            lambda seen, name=resource: seen["status"]["allocatable"].get(name, "0") == "0",
            within=PATIENCE,
            what=f"no {resource} is left to give",
        )
    for was in held:
        assert same_container(await running(node, was["metadata"]["name"]), was)
    for was in held:
        await evict(node, was["metadata"]["name"])
    assert left_on(node), "nobody was there to tidy up"

    done = await node.cluster.kubectl("uncordon", node.name)
    assert done.status == 0, done.errors
    assert await until_in_service(node) == before
    await until(lambda: not left_on(node), "what the evicted pods had is gone")
    described = (await node.cluster.kubectl("describe", "node", node.name)).output
    for words in (f"{INSTALLED}=true", f"{GPU}:", f"{SGPU}:"):
        assert words in described
    await run_here(node, whole_pod("again", 2))
    assert (await inside(node, "again")).nodes == nodes_of(cards[:2])
    await empty(node)


async def test_the_accounts_of_the_daemons_may_do_all_that_they_need(node: AgentNode) -> None:
    await until_in_service(node)
    card = metax(node)[3]
    # Everything that is ever written: the node, a pod, an event and its repetition.
    await node.cluster.api.create(pod("lost", slice_of(), node=str(node.name)))
    await run_here(node, whole_pod("whole", 1))
    await node.cluster.until_pod(
        "whole", lambda seen: "hami.io/metax-gpu-devices-allocated" in seen["metadata"].get("annotations", {})
    )

    async def told_twice() -> bool:
        events = await node.cluster.api.list(path_of("Event"), fieldSelector="involvedObject.name=lost")
        return any(one["reason"] == "GpuNotGiven" and one.get("count", 1) > 1 for one in events)

    await until(told_twice, "the refusal was told and counted up", pause=0.2)
    assert card.uuid in json.dumps((await node.cluster.api.get(path_of("Node", node.name)))["metadata"])
    for name in ("gpu-device", "gpu-label"):
        # What the API server forbids it tells with the account's name.
        assert "system:serviceaccount" not in await log_of(node, name)
    await empty(node)

"""What the accounts of the agents may write, on a real API server: their own node, and of it what is theirs.

Accounts, rights and policies are those that the chart makes. The tokens are bound to pods of the node, as the kubelet
hands them out; the agents that run with them are the real ones.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from builders.charts.cases import TANGRAM as CHART
from builders.charts.cases import case_named
from builders.charts.goldens import objects_of
from builders.charts.policies import policies, trust_manifests
from builders.charts.reading import labels_of
from e2e.agent_kit import TANGRAM, AgentNode
from e2e.agent_view_kit import (
    GPU,
    SGPU,
    WHOLE_COUNTED,
    WHOLE_GIVEN,
    end_pods,
    inside,
    metax,
    nodes_of,
    place_known,
    predicted,
    whole_pod,
)
from e2e.agent_watch_kit import until, until_annotation, until_counts, until_pod_says
from e2e.scheduler_kit import apply
from e2e.trust_kit import token
from tangram.wire.koordinator.definition import NAME, device_definition
from tangram.wire.trust_policy import TrustedAccounts, service_account
from testbed.api import Api, ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, pod

pytestmark = pytest.mark.xdist_group("agents behind their fence")

HOME = "tangram"
HERE, THERE = "n1", "elsewhere"
DEVICE, LABEL = "tangram-gpu-device", "tangram-gpu-label"
OWN_NODE, OWN_WORDS = (
    each["message"].removesuffix(".") for each in policies(CHART, "default", DEVICE)[0]["spec"]["validations"]
)
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
CARDS = "tangram: cards/v1\ncards:\n- {product: C500, count: 2}\n- {product: S4000, count: 1}\n"
PHASE = "hami.io/bind-phase"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Fence:
    """The cluster, and tokens of the two accounts: bound to a pod of the node, or to none."""

    cluster: Cluster
    tokens: Mapping[str, str]

    def kubeconfig(self, account: str) -> Path:
        """With which a program of ours asks as that account."""
        asked: Any = json.loads(self.cluster.box.folder.admin_kubeconfig.read_text())
        asked["users"] = [{"name": "user", "user": {"token": self.tokens[account]}}]
        file = self.cluster.box.folder.path / f"{account}.conf"
        file.write_text(json.dumps(asked))
        return file

    async def objection(self, account: str, path: str, change: Object, content: str = MERGE) -> str | None:
        """With which sentence an attempt is refused; None where it would be done. Nothing is really written."""
        query = {"fieldManager": account} if content == APPLY else {}
        authority = self.cluster.credentials.authority
        async with Api(self.cluster.box, authority, None, token=self.tokens[account]) as api:
            try:
                await api.call("PATCH", path, change, content=content, dryRun="All", **query)
            except ApiRefused as refused:
                if refused.reason != "Forbidden" or "ValidatingAdmissionPolicy" not in refused.message:
                    raise
                return refused.message.partition(" request: ")[2]
        return None


def chart_objects() -> list[Object]:
    """What the chart makes for its agents, but for the agents themselves."""
    made = [
        each
        for each in objects_of(case_named(CHART, "default"))
        if each["kind"] != "DaemonSet"
        and labels_of(each)["app.kubernetes.io/component"] in {"gpu-device", "gpu-label"}
    ]
    assert {"ClusterRole", "ValidatingAdmissionPolicy"} <= {each["kind"] for each in made}
    return made


def trust() -> list[Object]:
    """Who may say which cards a pod holds: the test, which places pods, and the agent."""
    return trust_manifests(TrustedAccounts(scheduler="admin", agents=(service_account(HOME, DEVICE),)))


def bound(name: str, node: str, namespace: str = "default", **more: object) -> Object:
    made = pod(name, container(), node=node, scheduler="" if node else "nobody")
    made["metadata"]["namespace"] = namespace
    made["spec"] |= more
    return made


@pytest_asyncio.fixture(scope="module")
async def fence(bed: Cluster) -> AsyncIterator[Fence]:
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}
    other = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": THERE}}
    await apply(bed, home, other, device_definition())
    await bed.kubectl("wait", "--for=condition=established", f"crd/{NAME}")
    await apply(bed, *chart_objects(), *trust())
    tokens: dict[str, str] = {}
    for account in (DEVICE, LABEL):
        await bed.api.create(bound(account, HERE, HOME, serviceAccountName=account))
        tokens[account] = await token(bed.api, HOME, account, pod=account)
        tokens[f"{account} of no node"] = await token(bed.api, HOME, account)
    await bed.api.create(bound("here", HERE))
    await bed.api.create(bound("there", THERE))
    await bed.api.create(bound("nowhere", ""))
    standing = Fence(bed, tokens)
    for account in (DEVICE, LABEL):

        async def in_force(account: str = account) -> bool:
            return await standing.objection(account, node_path(THERE), label("x")) is not None

        await until(in_force, f"the policy of {account} counts")
    yield standing


def node_path(name: str, part: str = "") -> str:
    return path_of("Node", name) + part


def label(key: str, value: str | None = "x") -> Object:
    return {"metadata": {"labels": {key: value}}}


def note(key: str, value: str | None = "x") -> Object:
    return {"metadata": {"annotations": {key: value}}}


# ---- what the agents do


@pytest.mark.smoke
async def test_the_agents_do_all_their_work_with_nothing_but_what_the_chart_gives_them(fence: Fence) -> None:
    bed = fence.cluster
    node = AgentNode(
        bed, bed.nodes[0], extra=("--config-namespace", "kube-system"), kubeconfig=fence.kubeconfig(DEVICE)
    )
    await node.start_cards(CARDS)
    try:
        await node.start_agent()
        try:
            await labels_are_written(fence, node)
            await cards_are_published(node)
            await pods_are_told(node)
            await a_mode_that_waits_is_told(node)
        finally:
            await node.stop_agent()
        await until_annotation(node, "tangram.dev/agent", lambda value: "stopping" in value)
        assert "denied request" not in node.log()
        assert "is forbidden" not in node.log()
    finally:
        print(node.log())  # noqa: T201 - pytest shows it when the test failed
        await bed.box.stop(node.program("cards"))
        await bed.kubectl(
            "-n", "kube-system", "delete", "configmap", "metax-device-config", "--ignore-not-found"
        )


async def labels_are_written(fence: Fence, node: AgentNode) -> None:
    program = node.program("gpu-label")
    command: list[str | Path] = [
        TANGRAM, "gpu-label", "--node-name", HERE, "--driver", "simulated:unix:/run/cards.sock",
        "--kubeconfig", fence.kubeconfig(LABEL), "--log-dir", "", "--log-format", "text",
    ]  # fmt: skip
    await node.cluster.box.start(program, command, room=HERE)
    try:
        seen = await node.cluster.until_node(
            HERE,
            lambda it: it["metadata"]["labels"].get("metax-tech.com/gpu.installed") == "true",
            within=60.0,
            what="the labels",
        )
    finally:
        await node.cluster.box.stop(program)
    assert seen["metadata"]["labels"]["tangram.dev/mthreads.count"] == "1"
    assert "denied request" not in node.cluster.box.log(program)


async def cards_are_published(node: AgentNode) -> None:
    """Annotations, labels, Koordinator's object and its amounts."""
    await until_counts(node, GPU, 2, 2, fresh=True)
    seen = await node.cluster.until_node(
        HERE,
        lambda it: (
            "koordinator.sh/gpu-core" in it["status"]["allocatable"]
            and "node.koordinator.sh/gpu-vendor" in it["metadata"]["labels"]
            and "tangram.dev/node-inventory" in it["metadata"]["annotations"]
        ),
        what="everything about the cards",
        within=90.0,
    )
    assert seen["metadata"]["labels"]["mthreads.com/gpu.count"] == "1"
    assert [key for key in seen["metadata"]["labels"] if re.fullmatch(r"mthreads\.com/gpu\d\.memory", key)]
    reported = await node.cluster.api.get(f"{DEVICES}/{HERE}")
    assert [entry["id"] for entry in reported["spec"]["devices"]] == [card.uuid for card in metax(node)]


async def pods_are_told(node: AgentNode) -> None:
    """The phase that HAMi waits for, its lock given back, and cards that are other than predicted."""
    cards = metax(node)
    waits = {PHASE: "allocating"}
    await place_known(node, whole_pod("first", 1), {**predicted(node, cards[:1]), **waits})
    await until_pod_says(node, "first", PHASE, "success")
    promised = predicted(node, cards[:1])
    await place_known(node, whole_pod("second", 1), {**promised, **waits})
    await until_pod_says(node, "second", PHASE, "success")
    assert (await inside(node, "second")).nodes == nodes_of(cards[1:2])
    corrected = predicted(node, cards[1:2])
    for key in (WHOLE_COUNTED, WHOLE_GIVEN):
        await until_pod_says(node, "second", key, corrected[key])


async def a_mode_that_waits_is_told(node: AgentNode) -> None:
    """The condition of the node, while pods hold its cards and after."""
    text = {"version": "v1", "cluster-config": "mode: sgpu\n"}
    named = {"name": "metax-device-config", "namespace": "kube-system"}
    await apply(node.cluster, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": text})
    for reason in ("CardsBusy", "ModesInForce"):
        await node.cluster.until_node(
            HERE,
            lambda it, reason=reason: reason in [each.get("reason") for each in it["status"]["conditions"]],
            within=90.0,
            what=f"the condition {reason}",
        )
        await end_pods(node, "first", "second")
    await until_counts(node, SGPU, 32, 32)


# ---- what they may not


def status(**parts: object) -> Object:
    return {"status": parts}


ELSEWHERE: list[tuple[str, str, str, Object, str]] = [
    ("another-node", DEVICE, node_path(THERE), note("tangram.dev/agent"), f"Node {THERE}"),
    (
        "another-nodes-status",
        DEVICE,
        node_path(THERE, "/status"),
        status(capacity={"koordinator.sh/gpu-core": "100"}),
        f"Node {THERE}",
    ),
    ("another-nodes-pod", DEVICE, path_of("Pod", "there"), note("x"), f"Pod there of node {THERE}"),
    ("a-pod-of-no-node", DEVICE, path_of("Pod", "nowhere"), note("x"), "Pod nowhere of no node"),
    ("labels-of-another-node", LABEL, node_path(THERE), label("metax-tech.com/gpu.family"), f"Node {THERE}"),
]


@pytest.mark.parametrize(
    ("account", "path", "change", "what"), [pytest.param(*row[1:], id=row[0]) for row in ELSEWHERE]
)
async def test_an_agent_writes_nothing_that_is_another_nodes(
    fence: Fence, account: str, path: str, change: Object, what: str
) -> None:
    told = await fence.objection(account, path, change)
    who = f"system:serviceaccount:{HOME}:{account}"
    assert (
        told == f"{who} writes {what} with a token of node {HERE}; {OWN_NODE}; leave it to the agent there."
    )


def device(name: str, *entries: Object) -> Object:
    version = "scheduling.koordinator.sh/v1alpha1"
    return {
        "apiVersion": version,
        "kind": "Device",
        "metadata": {"name": name},
        "spec": {"devices": list(entries)},
    }


async def test_an_agent_makes_and_changes_the_device_of_its_own_node_alone(fence: Fence) -> None:
    for name in (HERE, THERE):
        told = await fence.objection(DEVICE, f"{DEVICES}/{name}", device(name), APPLY)
        assert (told is None) == (name == HERE), told
    card: Object = {"type": "gpu", "id": "GPU-1", "minor": 0, "health": True}
    await fence.cluster.api.call("POST", DEVICES, device(THERE, card))
    told = await fence.objection(DEVICE, f"{DEVICES}/{THERE}", {"spec": device(THERE)["spec"]})
    assert told is not None
    assert f"writes Device {THERE} with a token of node {HERE};" in told


@pytest.mark.parametrize("account", [DEVICE, LABEL])
async def test_a_token_that_names_no_node_writes_nothing(fence: Fence, account: str) -> None:
    told = await fence.objection(f"{account} of no node", node_path(HERE), label("metax-tech.com/gpu.family"))
    assert told is not None
    assert f"writes Node {HERE} with a token of no node; {OWN_NODE}" in told
    assert told.endswith("; run it as a pod, whose token names its node.")


TAINT = {"key": "gpu", "effect": "NoExecute"}
OWNER = {"apiVersion": "v1", "kind": "Node", "name": THERE, "uid": "1"}
FOREIGN: list[tuple[str, str, str, Object, str]] = [
    ("cordon", DEVICE, node_path(HERE), {"spec": {"unschedulable": True}}, "spec of Node n1"),
    ("taint", DEVICE, node_path(HERE), {"spec": {"taints": [TAINT]}}, "spec of Node n1"),
    ("taint-by-the-labeller", LABEL, node_path(HERE), {"spec": {"taints": [TAINT]}}, "spec of Node n1"),
    ("label", DEVICE, node_path(HERE), label("pool"), "label pool of Node n1"),
    ("label-of-gpu-label", DEVICE, node_path(HERE), label("metax-tech.com/gpu.family", "y"), "label metax-"),
    (
        "label-of-gpu-device",
        LABEL,
        node_path(HERE),
        label("mthreads.com/gpu.count"),
        "label mthreads.com/gpu",
    ),
    ("label-that-looks-alike", DEVICE, node_path(HERE), label("mthreads.com/gpux.memory"), "label mthreads"),
    ("label-removed", LABEL, node_path(HERE), label("kubernetes.io/hostname", None), "label kubernetes.io/"),
    ("label-through-status", DEVICE, node_path(HERE, "/status"), label("pool"), "label pool of Node n1"),
    ("annotation", DEVICE, node_path(HERE), note("x"), "annotation x of Node n1"),
    ("annotation-by-the-labeller", LABEL, node_path(HERE), note("tangram.dev/agent"), "annotation tangram"),
    ("finalizer", DEVICE, node_path(HERE), {"metadata": {"finalizers": ["a.b/c"]}}, "finalizers of Node n1"),
    ("owner", LABEL, node_path(HERE), {"metadata": {"ownerReferences": [OWNER]}}, "ownerReferences of Node"),
    ("amount", DEVICE, node_path(HERE, "/status"), status(capacity={"cpu": "999"}), "capacity cpu of Node"),
    (
        "amount-of-the-kubelet",
        DEVICE,
        node_path(HERE, "/status"),
        status(allocatable={"metax-tech.com/gpu": "99"}),
        "allocatable metax-tech.com/gpu of",
    ),
    (
        "condition",
        DEVICE,
        node_path(HERE, "/status"),
        status(conditions=[{"type": "Ready", "status": "False"}]),
        "condition Ready of Node n1",
    ),
    (
        "address",
        DEVICE,
        node_path(HERE, "/status"),
        status(addresses=[{"type": "InternalIP", "address": "10.9.9.9"}]),
        "addresses of Node n1",
    ),
    (
        "kubelets-port",
        DEVICE,
        node_path(HERE, "/status"),
        status(daemonEndpoints={"kubeletEndpoint": {"Port": 1}}),
        "daemonEndpoints of Node n1",
    ),
    (
        "image",
        DEVICE,
        path_of("Pod", "here"),
        {"spec": {"containers": [{"name": "main", "image": "x"}]}},
        "spec of Pod here",
    ),
    ("label-of-a-pod", DEVICE, path_of("Pod", "here"), label("app"), "label app of Pod here"),
    ("numbered-label", DEVICE, path_of("Pod", "here"), label("mthreads.com/gpu0.memory"), "label mthreads"),
    ("annotation-of-a-pod", DEVICE, path_of("Pod", "here"), note("x"), "annotation x of Pod here"),
]


@pytest.mark.parametrize(
    ("account", "path", "change", "what"), [pytest.param(*row[1:], id=row[0]) for row in FOREIGN]
)
async def test_on_its_own_node_an_agent_writes_what_it_knows_of_cards_and_nothing_else(
    fence: Fence, account: str, path: str, change: Object, what: str
) -> None:
    told = await fence.objection(account, path, change, STRATEGIC)
    assert told is not None
    assert told.startswith(f"system:serviceaccount:{HOME}:{account} writes {what}")
    assert told.endswith(f"; {OWN_WORDS}; leave it as it is.")


async def test_what_an_agent_leaves_as_it_is_stops_nobody(fence: Fence) -> None:
    """What others have written stands on the node and on pods, and is no reason to refuse an agent."""
    api = fence.cluster.api
    await api.patch(node_path(HERE), {"metadata": {"labels": {"pool": "a"}, "annotations": {"x": "y"}}})
    await api.patch(path_of("Pod", "here"), {"metadata": {"labels": {"app": "a"}, "annotations": {"x": "y"}}})
    for account, path, change in (
        (DEVICE, node_path(HERE), {"metadata": {"labels": {"pool": "a", "mthreads.com/gpu0.memory": "1"}}}),
        (DEVICE, path_of("Pod", "here"), note(PHASE)),
        (LABEL, node_path(HERE), label("metax-tech.com/gpu.product")),
    ):
        assert await fence.objection(account, path, change) is None

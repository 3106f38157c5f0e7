"""`tangram cleanup` on a real API server and a real node: after our services have been there, the node is as before.

It runs as an account with the rights of docs/uninstall.md, read from that page, and with no other.
"""

import json
import re
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from e2e.agent_kit import TANGRAM, AgentNode, agent_node, slices
from e2e.agent_view_kit import SGPU, metax, running, slice_of
from e2e.agent_watch_kit import until_counts
from e2e.scheduler_kit import apply
from tangram.wire.koordinator.definition import NAME, device_definition
from testbed.api import Object, path_of
from testbed.box import REPOSITORY
from testbed.cluster import Cluster
from testbed.manifests import is_running, pod

pytestmark = pytest.mark.xdist_group("cleaning up")

CARDS = "tangram: cards/v1\ncards:\n- {server: c500-8-two-groups, sliced: true}\n"
HOME = "kube-system"
ACCOUNT = "cleaner"
RBAC = "rbac.authorization.k8s.io"
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
SECRET = f"/api/v1/namespaces/{HOME}/secrets/tangram-scheduler-tls"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/tangram-scheduler"
_ROW = re.compile(r"^\| (`[^|]*`)? ?\| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)


def rights() -> list[tuple[Object, bool]]:
    """The rules of the page for chart tangram, each with whether it is for the whole cluster."""
    page = (
        (REPOSITORY / "docs" / "uninstall.md")
        .read_text("utf-8")
        .partition("## Rights")[2]
        .partition("\n## ")[0]
    )
    found: list[tuple[Object, bool]] = []
    for group, resources, verbs, where in _ROW.findall(page):
        if "chart `metax-operator` only" in where:
            continue
        kinds, _, named = resources.partition(", named ")
        rule: Object = {
            "apiGroups": [group.strip("`")],
            "resources": re.findall(r"`([^`]+)`", kinds),
            "verbs": verbs.split(", "),
        }
        if named:
            rule["resourceNames"] = re.findall(r"`([^`]+)`", named)
        if rule["resources"]:
            found.append((rule, where == "cluster"))
    assert len(found) == 7, found
    return found


def account(rules: Iterable[tuple[Object, bool]]) -> list[Object]:
    """The account that cleans up, with exactly these rights."""
    given = list(rules)
    subjects = [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": HOME}]
    made: list[Object] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": HOME}}
    ]
    for kind, everywhere, place in (("ClusterRole", True, {}), ("Role", False, {"namespace": HOME})):
        metadata = {"name": ACCOUNT, **place}
        reference = {"apiGroup": RBAC, "kind": kind, "name": ACCOUNT}
        chosen = [rule for rule, wide in given if wide is everywhere]
        made += [
            {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": chosen},
            {
                "apiVersion": f"{RBAC}/v1",
                "kind": f"{kind}Binding",
                "metadata": metadata,
                "roleRef": reference,
                "subjects": subjects,
            },
        ]
    return made


class Cleaner:
    """The command, as that account."""

    def __init__(self, cluster: Cluster, kubeconfig: Path) -> None:
        self.cluster = cluster
        self._kubeconfig = kubeconfig

    async def may(self, *rules: tuple[Object, bool]) -> None:
        await apply(self.cluster, *account(rules))

    async def run(self, *words: str, status: int = 0) -> Object:
        said = await self.text(*words, "-o", "json", status=status)
        return json.loads(said)

    async def text(self, *words: str, status: int = 0) -> str:
        done = await self.cluster.command(
            [TANGRAM, "cleanup", "--kubeconfig", self._kubeconfig, "--timeout", "20s", *words]
        )
        assert done.status == status, done.output + done.errors
        assert all(line.startswith("tangram: ") for line in done.errors.splitlines()), done.errors
        return done.output


@pytest_asyncio.fixture(scope="module")
async def cleaner(bed: Cluster) -> Cleaner:
    await apply(bed, device_definition(), *account(rights()))
    await bed.kubectl("wait", "--for=condition=established", f"crd/{NAME}")
    token = await bed.kubectl("-n", HOME, "create", "token", ACCOUNT)
    assert token.status == 0, token.errors
    admin: Any = json.loads(bed.box.folder.admin_kubeconfig.read_text())
    admin["users"] = [{"name": "user", "user": {"token": token.output.strip()}}]
    file = bed.box.folder.path / "cleaner.conf"
    file.write_text(json.dumps(admin))
    return Cleaner(bed, file)


@pytest_asyncio.fixture
async def with_rights(cleaner: Cleaner) -> AsyncIterator[Cleaner]:
    await cleaner.may(*rights())
    yield cleaner
    await cleaner.may(*rights())


def seen(node: Object) -> Object:
    """What people see of a node, but for what a kubelet counts of cards and for times."""
    status = node["status"]
    return {
        "labels": node["metadata"].get("labels"),
        "annotations": node["metadata"].get("annotations"),
        "taints": node["spec"].get("taints"),
        "conditions": sorted(each["type"] for each in status["conditions"]),
        **{
            side: {
                name: value for name, value in status[side].items() if not name.startswith("metax-tech.com/")
            }
            for side in ("capacity", "allocatable")
        },
    }


async def gone(cluster: Cluster, path: str) -> bool:
    return not await cluster.api.exists(path)


async def label_once(node: AgentNode) -> None:
    cards = node.cluster.box.folder.path / "labelled.yaml"
    cards.write_text(CARDS)
    words = ["gpu-label", "--node-name", str(node.name), "--driver", f"simulated:{cards}", "--once"]
    kubeconfig = ["--kubeconfig", node.cluster.box.folder.admin_kubeconfig, "--log-dir", ""]
    done = await node.cluster.command([TANGRAM, *words, *kubeconfig])
    assert done.status == 0, done.errors


async def scheduler_was_here(cluster: Cluster, node: str) -> None:
    """What our scheduler leaves, under the name it writes under."""
    query = {"fieldManager": "tangram-scheduler"}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "tangram-scheduler-tls", "namespace": HOME},
        "data": {"ca.crt": "Q0E="},
    }
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "tangram-scheduler", "namespace": HOME},
        "spec": {"holderIdentity": "one"},
    }
    await cluster.api.create(secret, **query)
    await cluster.api.call("POST", LEASE.rpartition("/")[0], lease)
    lock = {"hami.io/mutex.lock": "2026-11-15T21:00:00Z,default,train", "tangram.dev/lock-owner": "uid"}
    await cluster.api.patch(path_of("Node", node), {"metadata": {"annotations": lock}}, **query)


@pytest.mark.smoke
async def test_after_our_services_the_node_is_as_before_but_for_zeros_of_the_kubelet(
    bed: Cluster, with_rights: Cleaner
) -> None:
    name = bed.nodes[0].name
    before = seen(await bed.api.get(path_of("Node", name)))
    async with agent_node(bed, CARDS, mode="mode: sgpu\n") as node:
        await until_counts(node, SGPU, 128, 128, fresh=True)
        await bed.until_node(
            name,
            lambda it: "koordinator.sh/gpu-core" in it["status"]["capacity"],
            within=90.0,
            what="the amounts",
        )
        await label_once(node)
        given = slices([(metax(node)[0].uuid, 1024, 10)])
        made = await node.place(pod("keeps-its-card", slice_of()), given)
        await running(node, made["metadata"]["name"])
    await scheduler_was_here(bed, name)
    await bed.api.patch(path_of("Node", name), {"metadata": {"labels": {"people.example/rack": "7"}}})
    said = await with_rights.run()
    after = await bed.api.get(path_of("Node", name))
    assert said["problems"] == []
    expected = {**before, "labels": {**before["labels"], "people.example/rack": "7"}}
    assert seen(after) == expected
    assert not [each for each in after["metadata"]["managedFields"] if each["manager"].startswith("tangram")]
    assert {value for key, value in after["status"]["allocatable"].items() if key.startswith("metax")} == {
        "0"
    }
    assert await gone(bed, SECRET)
    assert await gone(bed, LEASE)
    assert await gone(bed, f"{DEVICES}/{name}")
    (cleaned,) = said["nodes"]
    assert "metax-tech.com/gpu.installed" in cleaned["labels"]
    assert "node.koordinator.sh/gpu-model" in cleaned["labels"]
    assert {"tangram.dev/agent", "tangram.dev/node-inventory", "hami.io/mutex.lock"} <= {
        *cleaned["annotations"]
    }
    assert len(cleaned["amounts"]) == 4
    left = {each["what"]: each for each in said["left"]}
    assert left["1 pod with cards"]["names"] == ["default/keeps-its-card"]
    assert SGPU in "".join(left)
    # The pod runs on with all it had, and asking again finds nothing.
    kept = await bed.api.get(path_of("Pod", "keeps-its-card"))
    assert is_running(kept)
    assert given.items() <= kept["metadata"]["annotations"].items()
    again = await with_rights.run()
    assert (again["nodes"], again["objects"], again["problems"]) == ([], [], [])
    text = await with_rights.text()
    assert text.startswith("Nothing of tangram was found on 1 node.\nLeft, and why:\n- 1 pod with cards")
    await bed.api.delete(path_of("Pod", "keeps-its-card"), grace=0)


@pytest_asyncio.fixture
async def marked(bed: Cluster) -> AsyncIterator[str]:
    """A node that exists only as an object, with marks of every kind, and with everything beside it."""
    name = "marked"
    # The server keeps no writers of an object that was made without any field of its own.
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    await bed.api.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    where = path_of("Node", name)
    labels = {"metax-tech.com/gpu.installed": "true", "metax-tech.com/driver.ready": "true"}
    await bed.api.patch(where, {"metadata": {"labels": labels}}, fieldManager="tangram-gpu-label")
    agent = {"fieldManager": "tangram-gpu-device"}
    await bed.api.patch(where, {"metadata": {"annotations": {"tangram.dev/agent": "stopping"}}}, **agent)
    condition = {"type": "GpuModeChangePending", "status": "False", "reason": "ModesInForce"}
    strategic = "application/strategic-merge-patch+json"
    await bed.api.patch(
        f"{where}/status", {"status": {"conditions": [condition]}}, content=strategic, **agent
    )
    device = {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": name},
        "spec": {"devices": [{"type": "gpu", "id": "GPU-1", "minor": 0, "health": True}]},
    }
    await bed.api.patch(
        f"{DEVICES}/{name}", device, content="application/apply-patch+yaml", force="true", **agent
    )
    await scheduler_was_here(bed, name)
    yield name
    for path in (where, f"{DEVICES}/{name}", SECRET, LEASE):
        if await bed.api.exists(path):
            await bed.api.delete(path)


async def test_a_trial_names_everything_and_the_server_keeps_nothing_of_it(
    bed: Cluster, with_rights: Cleaner, marked: str
) -> None:
    before = await bed.api.get(path_of("Node", marked))
    trial = await with_rights.run("--dry-run", "--node", marked)
    assert trial["problems"] == []
    whole = await with_rights.run("--dry-run")
    assert len(whole["objects"]) == 3
    after = await bed.api.get(path_of("Node", marked))
    for node in (before, after):
        node["metadata"].pop("managedFields")
    assert (before["metadata"]["labels"], before["metadata"]["annotations"]) == (
        after["metadata"]["labels"],
        after["metadata"]["annotations"],
    )
    assert not await gone(bed, SECRET)
    done = await with_rights.run()
    assert done["problems"] == []
    assert (done["nodes"], done["objects"]) == (whole["nodes"], whole["objects"])
    assert done["nodes"][0]["conditions"] == ["GpuModeChangePending"]


@pytest.mark.parametrize(
    ("resource", "sentence"),
    [
        pytest.param("pods", "whether pods of Tangram still run cannot be seen", id="pods"),
        pytest.param("nodes", "nodes cannot be read", id="nodes"),
        pytest.param("nodes/status", 'cannot patch resource "nodes/status"', id="the-status-of-nodes"),
        pytest.param("devices", 'cannot list resource "devices"', id="devices"),
        pytest.param("secrets", 'cannot get resource "secrets"', id="secrets"),
        pytest.param("leases", 'cannot delete resource "leases"', id="leases"),
    ],
)
async def test_each_right_is_needed_and_one_that_is_missing_is_said(
    with_rights: Cleaner, marked: str, resource: str, sentence: str
) -> None:
    await with_rights.may(*(each for each in rights() if resource not in each[0]["resources"]))
    said = await with_rights.run(status=1)
    assert len(said["problems"]) == 1, said["problems"]
    assert sentence in said["problems"][0]
    if resource not in {"pods", "nodes"}:
        # All the rest is done all the same.
        assert [each["name"] for each in said["nodes"]] == [marked]


async def test_what_the_server_has_forgotten_the_writer_of_goes_where_our_agent_was(
    bed: Cluster, with_rights: Cleaner, marked: str
) -> None:
    where = path_of("Node", marked)
    for number in range(14):
        change = {"metadata": {"annotations": {f"people.example/{number}": "x"}}}
        # Of writers within one second those go first whose names do.
        await bed.api.patch(where, change, fieldManager=f"zone-{number}")
    seen_now = (await bed.api.get(where))["metadata"]
    managers = {each["manager"] for each in seen_now["managedFields"]}
    assert "ancient-changes" in managers
    assert not [each for each in managers if each.startswith("tangram")]
    said = await with_rights.run("--node", marked)
    after = await bed.api.get(where)
    assert after["metadata"]["labels"] == {"kubernetes.io/hostname": marked}
    theirs = {key for key in seen_now["annotations"] if key.startswith("people.example/")}
    # One more is a lock that nobody can tell whose it is.
    assert {*after["metadata"]["annotations"]} == theirs | {"hami.io/mutex.lock"}
    assert said["nodes"][0]["conditions"] == ["GpuModeChangePending"]
    # The same labels on a node without our agent may be anybody's.
    labels = {"labels": {"metax-tech.com/gpu.installed": "true"}}
    await bed.api.patch(where, {"metadata": labels}, fieldManager="anybody")
    for number in range(14):
        change = {"metadata": {"annotations": {f"people.example/{number}": "y"}}}
        await bed.api.patch(where, change, fieldManager=f"zoo-{number}")
    said = await with_rights.run("--node", marked)
    (told,) = [each for each in said["left"] if "who wrote them" in each["why"]]
    assert told["names"] == [f"{marked} metax-tech.com/gpu.installed"]

"""`tangram preflight` and `tangram verify` on a real API server: what it decides, not what we think it would."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest_asyncio

from e2e.admission_kit import ADMISSION
from e2e.agent_kit import TANGRAM
from e2e.agent_view_kit import SGPU
from e2e.card_nodes_kit import agent_node
from e2e.doors_kit import until_let_in
from e2e.install_kit import OURS, Installed
from e2e.scheduler_kit import SCHEDULER, made
from testbed.api import Object, path_of
from testbed.cluster import SCHEDULER as KUBE_SCHEDULER
from testbed.cluster import Cluster
from testbed.manifests import container, pod
from testbed.options import Options

RBAC = "rbac.authorization.k8s.io/v1"
ENFORCE = "pod-security.kubernetes.io/enforce"

Findings = dict[str, list[Object]]


async def asked(cluster: Cluster, *words: str | Path, status: int) -> Object:
    """What a command says, with helm beside it and nothing on standard error but what it waits for."""
    helm = str(cluster.programs.path("helm").parent)
    done = await cluster.command([TANGRAM, *words, "-o", "json"], env={"PATH": f"{helm}:/usr/bin:/bin"})
    assert done.status == status, done.output + done.errors
    assert all(line.startswith("tangram: ") for line in done.errors.splitlines()), done.errors
    return json.loads(done.output)


def by_check(said: Object) -> Findings:
    found: Findings = {}
    for finding in said["findings"]:
        found.setdefault(finding["check"], []).append(finding)
    return found


def outcomes(said: Object) -> dict[str, list[str]]:
    return {check: [each["outcome"] for each in group] for check, group in by_check(said).items()}


async def kubeconfig_of(cluster: Cluster, account: str) -> Path:
    """A file for a service account of the default namespace."""
    token = await cluster.kubectl("create", "token", account)
    assert token.status == 0, token.errors
    admin: Any = json.loads(cluster.box.folder.admin_kubeconfig.read_text())
    admin["users"] = [{"name": "user", "user": {"token": token.output.strip()}}]
    file = cluster.box.folder.path / f"{account}.conf"
    file.write_text(json.dumps(admin))
    return file


def account(name: str, *rules: Object) -> list[Object]:
    """A service account with exactly these rights in the whole cluster."""
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}},
        {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": list(rules)},
        {
            "apiVersion": RBAC,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": role,
            "subjects": [subject],
        },
    ]


async def test_a_plain_cluster_is_ready_and_nothing_is_left_of_the_questions(cluster: Cluster) -> None:
    said = await asked(cluster, "preflight", status=0)
    assert said["kubernetes"].startswith("v1.36.3")
    (node,) = said["nodes"]
    assert (node["kubelet"], node["cdi"], node["ready"]) == ("v1.36.3", "on", True)
    assert node["runtime"].startswith("containerd://")
    found = outcomes(said)
    for check in (
        "kubernetes",
        "nodes",
        "kubelets",
        "runtimes",
        "cdi",
        "architectures",
        "privileged",
        "rights",
    ):
        assert found[check] == ["ok"], by_check(said)[check]
    assert found["names"] == found["installed"] == found["conflicts"] == found["helm"] == ["ok"]
    for kind, version in (("Pod", "v1"), ("ClusterRole", RBAC)):
        things = await cluster.api.list(path_of(kind, namespace="kube-system", version=version))
        assert [each for each in things if "tangram-preflight" in each["metadata"]["name"]] == []


async def test_a_namespace_that_enforces_a_level_lets_no_agent_in_until_it_is_labelled(
    cluster: Cluster, unique: Callable[[str], str]
) -> None:
    name = unique("closed")
    namespace: Object = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {ENFORCE: "restricted"}},
    }
    async with made(cluster, namespace):
        (finding,) = by_check(await asked(cluster, "preflight", "-n", name, status=1))["privileged"]
        assert (finding["outcome"], f"{name} enforces restricted" in finding["why"]) == ("fail", True)
        # What it says to do is done, word for word.
        mended = await cluster.kubectl(*finding["todo"].removeprefix("kubectl ").split())
        assert mended.status == 0, mended.errors
        (finding,) = by_check(await asked(cluster, "preflight", "-n", name, status=0))["privileged"]
        assert finding["outcome"] == "ok"


async def test_a_namespace_that_is_not_there_yet_is_judged_by_one_that_is(
    cluster: Cluster, unique: Callable[[str], str]
) -> None:
    said = by_check(await asked(cluster, "preflight", "-n", unique("new"), status=0))
    assert "(tried in default)" in said["privileged"][0]["why"]


async def test_a_caller_with_few_rights_hears_which_are_missing_and_all_the_rest(cluster: Cluster) -> None:
    reading = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}
    async with made(cluster, *account("preflight-reader", reading)):
        file = await kubeconfig_of(cluster, "preflight-reader")
        said = await asked(cluster, "preflight", "--kubeconfig", file, status=1)
    found = outcomes(said)
    assert found["kubernetes"] == found["kubelets"] == ["ok"]
    assert found["rights"] == ["fail"]
    assert found["privileged"] == found["conflicts"] == found["installed"] == ["skip"]
    assert "skip" in found["names"]
    assert "serviceaccounts" in by_check(said)["rights"][0]["why"]


async def test_rights_that_the_caller_lacks_cannot_be_handed_out(cluster: Cluster) -> None:
    kinds = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["create"]}
    async with made(cluster, *account("preflight-maker", kinds)):
        file = await kubeconfig_of(cluster, "preflight-maker")
        said = by_check(await asked(cluster, "preflight", "--kubeconfig", file, status=1))
    (finding,) = said["rights"]
    assert "not with the rights that the scheduler needs" in finding["why"]


async def test_an_api_server_that_takes_no_privileged_pods_is_told_apart() -> None:
    flags = ("--allow-privileged=false",)
    async with Cluster.open(Options(nodes=0, kwok_nodes=1, api_server_flags=flags)) as closed:
        said = by_check(await asked(closed, "preflight", status=1))
    (finding,) = said["privileged"]
    assert finding["todo"] == "start kube-apiserver with --allow-privileged=true"


async def test_the_clusters_usual_level_holds_for_a_namespace_that_is_not_there_yet(tmp_path: Path) -> None:
    usual: Object = {
        "apiVersion": "pod-security.admission.config.k8s.io/v1",
        "kind": "PodSecurityConfiguration",
        "defaults": {"enforce": "baseline"},
        "exemptions": {"namespaces": ["kube-system"]},
    }
    file = tmp_path / "admission.json"
    file.write_text(
        json.dumps(
            {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "AdmissionConfiguration",
                "plugins": [{"name": "PodSecurity", "configuration": usual}],
            }
        )
    )
    flags = (f"--admission-control-config-file={file}",)
    async with Cluster.open(Options(nodes=0, kwok_nodes=1, api_server_flags=flags)) as closed:
        (finding,) = by_check(await asked(closed, "preflight", "-n", "cards", status=1))["privileged"]
        assert "a namespace without labels stands under the cluster's usual level" in finding["why"]
        for command in finding["todo"].split(", then "):
            done = await closed.kubectl(*command.removeprefix("kubectl ").split())
            assert done.status == 0, done.errors
        for mended in ("cards", "kube-system"):
            (finding,) = by_check(await asked(closed, "preflight", "-n", mended, status=0))["privileged"]
            assert finding["outcome"] == "ok"


# ---- verify


@pytest_asyncio.fixture(scope="module")
async def installed() -> AsyncIterator[Installed]:
    """The installation page followed on a cluster whose API server finds Services by itself."""
    flags = ("--enable-aggregator-routing=true",)
    async with Cluster.open(Options(nodes=0, kwok_nodes=1, api_server_flags=flags)) as cluster:
        # Two kube-schedulers would want the same port.
        await cluster.box.stop(KUBE_SCHEDULER)
        node = agent_node("verified", 1)
        node["spec"].pop("taints")
        node["metadata"]["labels"] |= {
            "metax-tech.com/gpu.installed": "true",
            "metax-tech.com/driver.ready": "true",
        }
        await cluster.api.create(node)
        page = Installed(cluster, routed=True)
        await page.follow()
        await until_let_in(cluster, asking("first"))
        try:
            yield page
        finally:
            await page.stop()


def asking(name: str) -> Object:
    limits = {SGPU: 1, "metax-tech.com/vcore": 10, "metax-tech.com/vmemory": 1}
    return pod(name, container(limits=limits))


async def test_an_installation_is_found_whole_and_a_pod_is_placed_and_gone(installed: Installed) -> None:
    cluster = installed.cluster
    said = await asked(cluster, "verify", "--pod", "--timeout", "60s", status=0)
    assert [node["name"] for node in said["nodes"]] == ["verified"]
    assert said["nodes"][0]["resources"] == {SGPU: {"capacity": 16, "allocatable": 16}}
    found = outcomes(said)
    for check in (
        *(
            "node-resources",
            "node-labels",
            "agents",
            "scheduler",
            "explain",
            "metrics",
            "kube-scheduler-lease",
        ),
        *("webhook-completes", "webhook-refuses", "webhook", "kube-scheduler", "allocation-guard", "pod"),
    ):
        assert found[check] == ["ok"], by_check(said)[check]
    assert "Service kube-system/tangram-scheduler" in by_check(said)["scheduler"][0]["why"]
    assert said["pod"]["node"] == "verified"
    assert [each["card"] for each in said["pod"]["devices"]] == ["GPU-verified-0"]
    assert said["pod"]["deleted"] is True
    name = said["pod"]["name"].partition("/")[2]
    assert not await cluster.api.exists(path_of("Pod", name))


async def test_a_pod_is_tried_and_placed_where_only_restricted_pods_may_be(
    installed: Installed, unique: Callable[[str], str]
) -> None:
    cluster, name = installed.cluster, unique("restricted")
    namespace: Object = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {ENFORCE: "restricted"}},
    }
    async with made(cluster, namespace):
        said = await asked(cluster, "verify", "--pod", "-n", name, "--timeout", "60s", status=0)
    assert outcomes(said)["webhook-completes"] == outcomes(said)["pod"] == ["ok"]
    assert said["pod"]["name"].startswith(f"{name}/")


async def test_a_webhook_with_a_wrong_authority_is_told_apart(
    installed: Installed, unique: Callable[[str], str]
) -> None:
    cluster, name = installed.cluster, unique("untrusted")
    stranger = base64.b64encode(cluster.box.folder.path.joinpath("pki", "ca.crt").read_bytes()).decode()
    entry: Object = {
        "name": "untrusted.tangram.dev",
        "clientConfig": {
            "service": {"name": SCHEDULER, "namespace": "kube-system", "path": "/webhook", "port": 9443},
            "caBundle": stranger,
        },
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
        ],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    hook: Object = {
        "apiVersion": ADMISSION,
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [entry],
    }
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    async with made(cluster, namespace, hook):
        said = by_check(await asked(cluster, "verify", "-n", name, "--timeout", "1s", status=1))
    (finding,) = said["webhook-completes"]
    assert (finding["outcome"], finding["why"].partition(":")[0]) == (
        "fail",
        "the API server does not trust the webhook",
    )


async def test_a_caller_who_may_see_nothing_hears_only_that(installed: Installed) -> None:
    cluster = installed.cluster
    async with made(cluster, *account("verify-nobody")):
        file = await kubeconfig_of(cluster, "verify-nobody")
        said = await asked(cluster, "verify", "--kubeconfig", file, "--timeout", "5s", status=0)
    assert {each["outcome"] for each in said["findings"]} == {"skip"}


async def test_a_scheduler_that_went_away_is_waited_for_and_then_named(installed: Installed) -> None:
    cluster = installed.cluster
    await cluster.box.stop(OURS)
    said = by_check(await asked(cluster, "verify", "--timeout", "1s", status=1))
    assert [each["outcome"] for each in said["scheduler"]] == ["fail"]
    (finding,) = said["webhook-completes"]
    assert finding["why"].startswith("the API server does not reach the webhook")

"""What chart `tangram` asks the cluster before it is installed, and what helm leaves alone when it is upgraded."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import yaml

from e2e.helm_kit import Helm
from e2e.scheduler_kit import made
from tangram.wire.extender_config import ClientFiles, extender_entry, profiles
from testbed.api import Object, path_of
from testbed.box import REPOSITORY
from testbed.cluster import Cluster, Finished
from testbed.options import Options

CHART = REPOSITORY / "deploy" / "charts" / "tangram"
PEERS = "peers"
NAME = "tangram-scheduler"
POLICY = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/tangram-allocations"
WEBHOOK = f"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{NAME}"
HAMIS = "system:serviceaccount:peers:hami-scheduler"


@pytest_asyncio.fixture(scope="module")
async def helm() -> AsyncIterator[Helm]:
    async with Cluster.open(Options(nodes=0, controllers=False)) as cluster:
        for name in (PEERS, "tangram"):
            await cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield Helm(cluster)


async def rendered(helm: Helm, *more: str) -> list[Object]:
    """What an installation would make, with the cluster asked."""
    done = await helm.run(*install(), "--dry-run=server", "--output=json", *more)
    return [each for each in yaml.safe_load_all(json.loads(done.output)["manifest"]) if each]


def install(release: str = "tangram") -> list[str]:
    return ["install", release, str(CHART), "--namespace", "tangram"]


def names_in(objects: list[Object]) -> list[str]:
    (found,) = [each for each in objects if each["kind"] == "ConfigMap" and each["metadata"]["name"] == NAME]
    return [
        each["schedulerName"] for each in yaml.safe_load(found["data"]["kube-scheduler.yaml"])["profiles"]
    ]


def trusted_in(objects: list[Object]) -> str:
    policies = [each for each in objects if each["kind"] == "ValidatingAdmissionPolicy"]
    (found,) = [each for each in policies if each["metadata"]["name"] == "tangram-allocations"]
    return found["spec"]["variables"][1]["expression"]


def scheduler_of_others(container: Object, account: str, *, replicas: int = 1) -> Object:
    labels = {"app": account}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": account, "namespace": PEERS},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"serviceAccountName": account, "containers": [container]},
            },
        },
    }


def bound(account: str) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"peers-{account}"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "system:kube-scheduler",
        },
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": PEERS}],
    }


HAMI = scheduler_of_others(
    {
        "name": "vgpu-scheduler-extender",
        "image": "docker.io/projecthami/hami:v2.10.0",
        "command": ["scheduler"],
    },
    "hami-scheduler",
)
KOORDINATOR = scheduler_of_others(
    {"name": "main", "image": "koordinator-sh/koord-scheduler:v1.8.0", "command": ["/koord-scheduler"]},
    "koord-scheduler",
)


async def test_names_that_nobody_serves_are_taken(helm: Helm) -> None:
    objects = await rendered(helm, "--set", "scheduler.profiles.koordinator=auto")
    assert names_in(objects) == ["tangram-scheduler", "hami-scheduler", "koord-scheduler"]


async def test_names_of_schedulers_that_run_are_left_to_them_and_their_accounts_are_trusted(
    helm: Helm,
) -> None:
    async with made(helm.cluster, HAMI, bound("hami-scheduler"), KOORDINATOR, bound("koord-scheduler")):
        objects = await rendered(helm, "--set", "scheduler.profiles.koordinator=auto")
        refused = await helm.run(
            *install(), "--dry-run=server", "--set", "scheduler.profiles.hami=true", status=1
        )
        shown = await helm.run(*install(), "--dry-run=server")
    assert names_in(objects) == ["tangram-scheduler"]
    assert HAMIS in trusted_in(objects)
    assert "system:serviceaccount:peers:koord-scheduler" in trusted_in(objects)
    assert (
        "scheduler.profiles.hami is true, and peers/hami-scheduler serves that name already" in refused.errors
    )
    assert "WARNING: peers/hami-scheduler runs in this cluster." in shown.output


async def test_a_deployment_that_only_calls_itself_so_is_no_scheduler(helm: Helm) -> None:
    """Whoever may make Deployments must neither take a name away nor become trusted."""
    async with made(helm.cluster, HAMI):
        objects = await rendered(helm)
    assert names_in(objects) == ["tangram-scheduler", "hami-scheduler"]
    assert HAMIS not in trusted_in(objects)


async def test_one_whose_account_may_not_bind_pods_is_no_scheduler(helm: Helm) -> None:
    """Accounts of tenants are often bound to roles that only read."""
    reading = {**bound("hami-scheduler"), "roleRef": {**bound("")["roleRef"], "name": "view"}}
    async with made(helm.cluster, HAMI, reading):
        objects = await rendered(helm)
    assert names_in(objects) == ["tangram-scheduler", "hami-scheduler"]
    assert HAMIS not in trusted_in(objects)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        pytest.param("name=hami-scheduler", "scheduler.name is hami-scheduler", id="as its own name"),
        pytest.param(
            "config.schedulerNames={hami-scheduler}",
            "scheduler.config.schedulerNames has hami-scheduler",
            id="as a further name",
        ),
    ],
)
async def test_a_name_that_others_serve_is_refused_wherever_it_is_asked_for(
    helm: Helm, given: str, asked: str
) -> None:
    async with made(helm.cluster, HAMI, bound("hami-scheduler")):
        refused = await helm.run(*install(), "--dry-run=server", "--set", f"scheduler.{given}", status=1)
    assert (
        f"{asked}, and peers/hami-scheduler serves that name already: two schedulers would place the same pods; write "
        "another name, or stop the other one first."
    ) in refused.errors


async def test_a_scheduler_without_replicas_serves_nothing(helm: Helm) -> None:
    stopped = {**HAMI, "spec": {**HAMI["spec"], "replicas": 0}}
    async with made(helm.cluster, stopped, bound("hami-scheduler")):
        assert names_in(await rendered(helm)) == ["tangram-scheduler", "hami-scheduler"]


async def test_the_other_chart_is_found_too_where_no_release_owns_it(helm: Helm) -> None:
    """As after `helm template` and `kubectl apply`."""
    theirs: Object = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "metax-gpu-label",
            "labels": {
                "app.kubernetes.io/name": "metax-gpu-extensions",
                "app.kubernetes.io/component": "gpu-label",
            },
        },
    }
    async with made(helm.cluster, theirs):
        refused = await helm.run(*install(), "--dry-run=server", status=1)
    assert (
        "what was applied without helm (chart metax-gpu-extensions) runs gpu-label already: a node has one; remove it "
        "first, or write gpuLabel.enabled=false."
    ) in refused.errors


async def test_the_authority_of_a_certificate_of_ones_own_is_read_from_its_secret(helm: Helm) -> None:
    chosen = ("--set", "certificates.source=secret,certificates.secretName=company-tls")
    missing = await helm.run(*install(), "--dry-run=server", *chosen, status=1)
    assert "helm finds no ca.crt in a Secret of that name in namespace tangram" in missing.errors
    authority = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nnot a real one\n").decode()
    secret: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "company-tls", "namespace": "tangram"},
        "data": {"ca.crt": authority},
    }
    async with made(helm.cluster, secret):
        objects = await rendered(helm, *chosen)
    (hooks,) = [each for each in objects if each["kind"] == "MutatingWebhookConfiguration"]
    assert hooks["webhooks"][0]["clientConfig"]["caBundle"] == authority


@pytest.mark.parametrize(
    "way", [pytest.param("true", id="server-side"), pytest.param("false", id="by-the-client-as-helm-3")]
)
async def test_an_upgrade_finds_the_same_names_and_leaves_the_authority_alone(helm: Helm, way: str) -> None:
    api = helm.cluster.api
    server_side = f"--server-side={way}"
    await helm.run(*install(), server_side)
    try:
        before = await api.get(f"{path_of('ConfigMap', NAME, namespace='tangram')}")
        await as_the_scheduler_does(helm.cluster)
        done = await upgraded(helm, server_side, "--set", "scheduler.webhook.ignoreNamespaces={build}")
        assert "WARNING" not in done.output
        (hook,) = (await api.get(WEBHOOK))["webhooks"]
        assert hook["clientConfig"]["caBundle"] == AUTHORITY
        assert "build" in hook["namespaceSelector"]["matchExpressions"][0]["values"]
        assert (await api.get(path_of("ConfigMap", NAME, namespace="tangram")))["data"] == before["data"]
        await helm.run("rollback", "tangram", "1", "--namespace", "tangram")
        (hook,) = (await api.get(WEBHOOK))["webhooks"]
        assert hook["clientConfig"]["caBundle"] == AUTHORITY
        assert "build" not in hook["namespaceSelector"]["matchExpressions"][0]["values"]
    finally:
        await helm.run("uninstall", "tangram", "--namespace", "tangram", "--no-hooks")


@pytest.mark.parametrize(
    ("way", "forced"),
    [
        pytest.param("true", ["--force-conflicts"], id="server-side"),
        pytest.param("false", [], id="by-the-client-as-helm-3"),
    ],
)
async def test_an_upgrade_changes_to_a_kube_scheduler_elsewhere_with_a_certificate_of_ones_own_and_back(
    helm: Helm, way: str, forced: list[str]
) -> None:
    """The scheduler wrote the caBundle that the chart wants to write now; docs/upgrade.md says what helm 4 asks for."""
    api = helm.cluster.api
    server_side = f"--server-side={way}"
    await helm.run(*install(), server_side)
    try:
        await as_the_scheduler_does(helm.cluster)
        if forced:
            refused = await helm.run(*UPGRADE, server_side, "--set", ELSEWHERE, status=1)
            assert 'webhooks[name="pods.tangram.dev"].clientConfig.caBundle' in refused.errors
        await upgraded(helm, server_side, *forced, "--set", ELSEWHERE)
        (hook,) = (await api.get(WEBHOOK))["webhooks"]
        assert hook["clientConfig"]["caBundle"] != AUTHORITY
        home = f"/apis/apps/v1/namespaces/tangram/deployments/{NAME}"
        assert (await api.get(home))["spec"]["strategy"] == {"type": "Recreate"}
        await upgraded(helm, server_side, "--reset-values")
        (hook,) = (await api.get(WEBHOOK))["webhooks"]
        assert "caBundle" not in hook["clientConfig"]
        assert (await api.get(home))["spec"]["strategy"]["rollingUpdate"] == {
            "maxSurge": 1,
            "maxUnavailable": 0,
        }
    finally:
        await helm.run("uninstall", "tangram", "--namespace", "tangram", "--no-hooks")


async def test_a_clean_up_that_cannot_run_leaves_its_job_and_nothing_else(helm: Helm) -> None:
    kinds = "jobs,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings"
    ours = ("get", kinds, "-n", "tangram", "-l", "app.kubernetes.io/name=tangram", "-o", "name")
    for _ in range(2):
        await helm.run(*install())
        failed = await helm.run("uninstall", "tangram", "--namespace", "tangram", "--timeout", "3s", status=1)
        assert "uninstallation completed with 1 error(s)" in failed.errors
        assert json.loads((await helm.run("list", "-A", "-o", "json")).output) == []
        assert (await helm.cluster.kubectl(*ours)).output.split() == ["job.batch/tangram-cleanup"]
    await helm.cluster.kubectl("delete", "job", "tangram-cleanup", "-n", "tangram")


AUTHORITY = base64.b64encode(
    b"-----BEGIN CERTIFICATE-----\nd2hhdCB0aGUgc2NoZWR1bGVyIHdyb3Rl\n-----END CERTIFICATE-----\n"
).decode()


async def as_the_scheduler_does(cluster: Cluster) -> None:
    """All entries are written back, with the authority in ours: a list can only be merged whole."""
    found = await cluster.api.get(WEBHOOK)
    (hook,) = found["webhooks"]
    hook["clientConfig"]["caBundle"] = AUTHORITY
    change = {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, "webhooks": [hook]}
    await cluster.api.patch(WEBHOOK, change)


UPGRADE = ("upgrade", "tangram", str(CHART), "--namespace", "tangram")


async def upgraded(helm: Helm, *more: str) -> Finished:
    return await helm.run(*UPGRADE, *more)


async def test_the_schedulers_pods_may_run_where_only_restricted_ones_may(helm: Helm) -> None:
    await asyncio.gather(*(restricted(helm, *more) for more in ((), ("--set", ELSEWHERE))))


ELSEWHERE = (
    "scheduler.kubeScheduler.enabled=false,scheduler.clientCA=callers,scheduler.replicas=1,"
    "certificates.source=secret,certificates.secretName=tangram-pair,certificates.caBundle=-----BEGIN CERTIFICATE-----"
)


async def test_the_notes_print_the_entry_that_a_kube_scheduler_elsewhere_needs(helm: Helm) -> None:
    shown = await helm.run(*install(), "--dry-run=server", "--set", ELSEWHERE)
    said = shown.output.partition("three files come from):\n")[2]
    configuration: Object = yaml.safe_load(said.replace("CLUSTER_IP", "10.96.0.10"))
    (entry,) = configuration["extenders"]
    assert entry["tlsConfig"].pop("serverName") == f"{NAME}.tangram.svc"
    folder = "/etc/kubernetes/tangram"
    files = ClientFiles(f"{folder}/client.crt", f"{folder}/client.key", f"{folder}/ca.crt")
    assert entry == extender_entry("https://10.96.0.10:9443", files=files)
    assert configuration["profiles"] == profiles(["tangram-scheduler", "hami-scheduler"])


async def restricted(helm: Helm, *more: str) -> None:
    api = helm.cluster.api
    (deployment,) = [each for each in await rendered(helm, *more) if each["kind"] == "Deployment"]
    name = "strict-elsewhere" if more else "strict"
    strict: Object = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }
    await api.create(strict)
    account: Object = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": NAME, "namespace": name},
    }
    await api.create(account)
    template = deployment["spec"]["template"]
    tried: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "tried", "namespace": name, "labels": template["metadata"]["labels"]},
        "spec": template["spec"],
    }
    await api.create(tried)

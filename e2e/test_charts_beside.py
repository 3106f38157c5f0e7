"""What charts say of each other: a cluster has one agent on a node and one scheduler, whichever chart brings them.

A real API server is asked by a real helm; no node is needed for a refusal.
"""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import yaml

from builders.charts.cases import DEFAULT, EXTENSIONS, OPERATOR, TANGRAM, case_named
from builders.charts.goldens import CHARTS as FOLDER
from builders.charts.goldens import ROOT, Object, objects_of
from testbed.cluster import Cluster
from testbed.options import Options

CRD = ROOT / "deploy" / "crds" / "gpu.metax-tech.com_clusteroperators.yaml"

pytestmark = pytest.mark.smoke


@pytest_asyncio.fixture(scope="module")
async def plain() -> AsyncIterator[Cluster]:
    """A cluster without nodes of any kind: only its API server is asked."""
    async with Cluster.open(Options(nodes=0)) as running:
        defined = await running.kubectl("apply", "-f", str(CRD))
        assert defined.status == 0, defined.errors
        crd = "crd/clusteroperators.gpu.metax-tech.com"
        ready = await running.kubectl("wait", "--for=condition=Established", crd, "--timeout=30s")
        assert ready.status == 0, ready.errors
        yield running


FIRST = "uninstall that release first"


@pytest.mark.parametrize(
    ("there", "name", "asked", "way"),
    [
        pytest.param(EXTENSIONS, "metax-gpu-label", OPERATOR, FIRST, id="extensions, then the operator"),
        pytest.param(
            OPERATOR,
            "metax-gpu-label",
            EXTENSIONS,
            f"{FIRST}, which does all that this one would",
            id="the operator, then extensions",
        ),
        pytest.param(
            TANGRAM,
            "tangram-gpu-label",
            OPERATOR,
            f"{FIRST}, or upgrade it with gpuDevice.enabled=false and gpuLabel.enabled=false",
            id="tangram, then the operator",
        ),
        pytest.param(
            OPERATOR,
            "metax-gpu-label",
            TANGRAM,
            f"{FIRST}, or write gpuLabel.enabled=false",
            id="the operator, then tangram",
        ),
    ],
)
async def test_a_cluster_has_one_of_the_charts_and_says_which(
    plain: Cluster, there: str, name: str, asked: str, way: str
) -> None:
    role: Object = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": name,
            "labels": {"app.kubernetes.io/name": there, "app.kubernetes.io/component": "gpu-label"},
            "annotations": {
                "meta.helm.sh/release-name": "mine",
                "meta.helm.sh/release-namespace": "gpu",
            },
        },
        "rules": [],
    }
    made = await plain.kubectl("create", "-f", "-", stdin=json.dumps(role))
    assert made.status == 0, made.errors
    try:
        needed = ["--set", "driver.payload.version=v1"] if asked == OPERATOR else []
        chart = [str(FOLDER / asked), "--dry-run=server", *needed]
        refused = await plain.kubectl("install", "x", *chart, program="helm")
    finally:
        await plain.kubectl("delete", "clusterrole", name)
    sentence = f"release mine in namespace gpu (chart {there}) runs gpu-label already: a node has one; {way}."
    assert (refused.status, sentence in refused.errors) == (1, True), refused.errors


def scheduler_role(release: str, namespace: str) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "tangram-scheduler",
            "labels": {
                "app.kubernetes.io/name": TANGRAM,
                "app.kubernetes.io/component": "scheduler",
                "app.kubernetes.io/managed-by": "Helm",
            },
            "annotations": {
                "meta.helm.sh/release-name": release,
                "meta.helm.sh/release-namespace": namespace,
            },
        },
        "rules": [],
    }


@pytest.mark.parametrize(
    ("release", "home", "more", "sentence"),
    [
        pytest.param(
            "mine",
            "gpu",
            "",
            "release mine in namespace gpu runs tangram-scheduler already: a cluster has one; write "
            "gpuScheduler.namespace=gpu to have that one counted among what must be ready, or remove it first.",
            id="of another release",
        ),
        pytest.param("mine", "gpu", ",gpuScheduler.namespace=gpu", "", id="of another release that is named"),
        pytest.param("x", "default", "", "", id="of this release"),
    ],
)
async def test_a_cluster_has_one_scheduler(
    plain: Cluster, release: str, home: str, more: str, sentence: str
) -> None:
    made = await plain.kubectl("create", "-f", "-", stdin=json.dumps(scheduler_role(release, home)))
    assert made.status == 0, made.errors
    try:
        given = f"driver.payload.version=v1,gpuScheduler.deploy=true{more}"
        ended = await plain.kubectl(
            "install", "x", str(FOLDER / OPERATOR), "--dry-run=server", "--set", given, program="helm"
        )
    finally:
        await plain.kubectl("delete", "clusterrole", "tangram-scheduler")
    assert (ended.status, sentence in ended.errors) == (int(bool(sentence)), True), ended.errors


async def test_device_modes_may_be_kept_by_the_operator_where_agents_follow_them_and_nothing_else_there(
    plain: Cluster,
) -> None:
    named = "metax-operator-device-config"
    rights = [
        each
        for each in objects_of(case_named(OPERATOR, DEFAULT))
        if each["metadata"]["name"] == named and each["kind"] in ("Role", "RoleBinding")
    ]
    text = "\n---\n".join(json.dumps(each) for each in rights)
    made = await plain.kubectl("apply", "-f", "-", stdin=text)
    assert made.status == 0, made.errors
    account = f"--as=system:serviceaccount:{OPERATOR}:metax-operator-controller"
    place = ("-n", "kube-system", account)

    async def applied(name: str) -> bool:
        thing = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"version": "v1"},
        }
        ended = await plain.kubectl(
            "apply", "--server-side", "--field-manager=o", "-f", "-", *place, stdin=json.dumps(thing)
        )
        return ended.status == 0

    async def did(*words: str) -> bool:
        return (await plain.kubectl(*words, *place)).status == 0

    may = {
        words: await did("auth", "can-i", *words)
        for words in (
            ("create", "configmaps"),
            ("patch", "configmaps/metax-device-config"),
            ("delete", "configmaps/metax-device-config"),
            ("patch", "configmaps/kube-root-ca.crt"),
            ("delete", "configmaps/kube-root-ca.crt"),
            ("list", "configmaps"),
            ("create", "secrets"),
        )
    }
    assert [words for words, allowed in may.items() if allowed] == list(may)[:3]
    listed = ("get", "configmaps", "--field-selector")
    assert await did(*listed, "metadata.name=metax-device-config")
    assert not await did(*listed, "metadata.name=kube-root-ca.crt")
    assert await applied("metax-device-config")
    assert await applied("metax-device-config")
    assert not await applied("kube-root-ca.crt")
    assert await did("delete", "configmap", "metax-device-config", "--wait=false")


# ---- where MetaX's manual looks for gpu-aware

MANUALS = "metax-gpu"
"""`gpuAware.aliasNamespace`, if not given; the release is elsewhere."""


def owned(kind: str, name: str, release: str = "") -> Object:
    notes = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": "default"}
    managed = {"app.kubernetes.io/managed-by": "Helm"}
    metadata: Object = {"name": name} | ({"annotations": notes, "labels": managed} if release else {})
    if kind != "Namespace":
        metadata["namespace"] = MANUALS
    more: Object = {"spec": {"ports": [{"port": 8080}]}} if kind == "Service" else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}


@pytest.mark.parametrize(
    ("there", "made"),
    [
        pytest.param([], {"Namespace", "Service", "ConfigMap"}, id="nothing there"),
        pytest.param([owned("Namespace", MANUALS)], {"Service", "ConfigMap"}, id="somebody's namespace"),
        pytest.param(
            [owned("Namespace", MANUALS), owned("ConfigMap", "gpu-aware-plugin")],
            {"Service"},
            id="weights of a person's",
        ),
        pytest.param(
            [
                owned("Namespace", MANUALS, "x"),
                owned("ConfigMap", "gpu-aware-plugin", "x"),
                owned("Service", "gpu-aware-plugin", "x"),
            ],
            {"Namespace", "Service", "ConfigMap"},
            id="the release's own",
        ),
        pytest.param(
            [owned("Namespace", MANUALS), owned("Service", "gpu-aware-plugin")], set(), id="another's Service"
        ),
    ],
)
async def test_what_is_in_the_manuals_namespace_is_left_to_its_owner_and_a_service_is_not_taken(
    plain: Cluster, there: list[Object], made: set[str]
) -> None:
    for each in there:
        created = await plain.kubectl("create", "-f", "-", stdin=json.dumps(each))
        assert created.status == 0, created.errors
    try:
        chart = [str(FOLDER / EXTENSIONS), "--dry-run=server", "--set", "deployExtenderGPUAware=true"]
        answer = await plain.kubectl("install", "x", *chart, program="helm")
    finally:
        # A namespace that is being deleted would be there for the next case.
        await plain.kubectl("delete", "namespace", MANUALS, "--ignore-not-found", "--timeout=60s")
    if not made:
        assert answer.status == 1
        assert f"Service gpu-aware-plugin in namespace {MANUALS} is not this release's" in answer.errors
        return
    assert answer.status == 0, answer.errors
    manifest = answer.output.partition("\nMANIFEST:\n")[2].partition("\nNOTES:\n")[0]
    objects = [each for each in yaml.safe_load_all(manifest) if each]
    found = {
        each["kind"]
        for each in objects
        if each["metadata"].get("namespace") == MANUALS or each["metadata"]["name"] == MANUALS
    }
    assert found - {"Role", "RoleBinding"} == made

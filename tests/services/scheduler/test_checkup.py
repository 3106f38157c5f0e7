"""What the doctor says of a cluster: nothing of one that is well, and of every clash what it does and what to do."""

from collections.abc import Callable

import pytest
from syrupy.assertion import SnapshotAssertion

from builders.api_server import Object, small_api_server
from builders.clusters_seen import (
    ADMISSION,
    CONFIG,
    DEPLOYMENTS,
    DEVICE_KIND,
    WEBHOOKS,
    SeenCluster,
    configuration,
    hook,
    node,
    scheduler_config,
)
from tangram.drivers.doctor.findings import Finding, Outcome
from tangram.kube.api import Api
from tangram.model.cards import Vendor
from tangram.services.scheduler.checkup.diagnosis import ClusterDiagnosis, diagnose_cluster
from tangram.services.scheduler.checkup.seeing import look
from tangram.vendors.registry import names_of_others
from tangram.wire.extender_config import extender_entry

Spoil = Callable[[SeenCluster], None]


async def diagnosis(cluster: SeenCluster) -> ClusterDiagnosis:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = cluster.answer
        return diagnose_cluster(await look(api))


async def findings(spoil: Spoil) -> list[Finding]:
    cluster = SeenCluster()
    spoil(cluster)
    return (await diagnosis(cluster)).findings


def told(found: list[Finding]) -> list[str]:
    return [f"{each.outcome} {each.check}: {each.why} -> {each.todo}" for each in found]


async def test_a_cluster_that_is_well_has_nothing_to_do() -> None:
    cluster = SeenCluster()
    found = await diagnosis(cluster)
    assert [each for each in found.findings if each.outcome is not Outcome.OK] == []
    assert {each.check for each in found.findings} == {
        "kubernetes-version",
        "node-agents",
        "kube-scheduler",
        "webhook",
        "allocation-guard",
        "pod-groups",
        "device-classes",
        "peers",
        "placers",
        "node-locks",
        "device-kind",
    }
    assert not found.failed


async def test_nothing_is_ever_written() -> None:
    cluster = SeenCluster()
    await diagnosis(cluster)
    assert cluster.methods == {"GET"}


def old_kubernetes(cluster: SeenCluster) -> None:
    cluster.objects["/version"] = {"major": "1", "minor": "34+"}


def no_policies(cluster: SeenCluster) -> None:
    del cluster.lists[f"{ADMISSION}/validatingadmissionpolicies"]


def no_policy_of_ours(cluster: SeenCluster) -> None:
    cluster.lists[f"{ADMISSION}/validatingadmissionpolicies"] = [{"metadata": {"name": "other"}}]


def gang_scheduling(cluster: SeenCluster) -> None:
    command = [
        "kube-scheduler",
        "--feature-gates=GenericWorkload=true,GangScheduling=true,Other=false",
        "-v=2",
    ]
    template = {"spec": {"containers": [{"image": "scheduler", "command": command}]}}
    cluster.lists[DEPLOYMENTS] = [
        {"metadata": {"namespace": "tangram", "name": "scheduler"}, "spec": {"template": template}}
    ]


def topology_aware_static_pod(cluster: SeenCluster) -> None:
    container = {
        "image": "example/kube-scheduler:v1.36",
        "args": ["--feature-gates", "TopologyAwareWorkloadScheduling=true"],
    }
    cluster.lists["/api/v1/namespaces/kube-system/pods"] = [
        {
            "metadata": {"namespace": "kube-system", "name": "kube-scheduler-1"},
            "spec": {"containers": [container]},
        }
    ]


def pod_groups(cluster: SeenCluster) -> None:
    version = "scheduling.k8s.io/v1alpha2"
    cluster.objects["/apis/scheduling.k8s.io"]["versions"].append({"groupVersion": version})
    cluster.objects[f"/apis/{version}"] = {"resources": [{"name": "podgroups"}, {"name": "podgroups/status"}]}
    cluster.lists[f"/apis/{version}/podgroups"] = [
        {"metadata": {"namespace": "ai", "name": f"train-{number}"}} for number in range(5)
    ]


def device_class(cluster: SeenCluster) -> None:
    cluster.lists["/apis/resource.k8s.io/v1/deviceclasses"] = [
        {"metadata": {"name": "c500"}, "spec": {"extendedResourceName": "metax-tech.com/gpu"}},
        {"metadata": {"name": "nics"}, "spec": {"extendedResourceName": "example.com/nic"}},
        {"metadata": {"name": "plain"}, "spec": {}},
    ]


def no_webhook(cluster: SeenCluster) -> None:
    cluster.lists[WEBHOOKS] = []


def half_a_webhook(cluster: SeenCluster) -> None:
    half = hook(
        "pods.tangram.dev", failurePolicy="Ignore", clientConfig={"service": {"namespace": "tangram"}}
    )
    cluster.lists[WEBHOOKS] = [configuration("tangram-scheduler", half)]


def peers_webhooks(cluster: SeenCluster) -> None:
    cluster.lists[WEBHOOKS] += [
        configuration("hami-webhook", hook("vgpu.hami.io")),
        configuration("koordinator-mutating-webhook-configuration", hook("mpod.koordinator.sh")),
        configuration("istio", hook("inject.istio.io")),
    ]


def closed_plugins(cluster: SeenCluster) -> None:
    cluster.lists["/api/v1/nodes"] = [
        node("gpu-1", sgpu="16"),
        *(node(f"old-{number}", agent=False, gpu="8") for number in range(5)),
        node("empty", agent=False, gpu="0"),
    ]


def no_cards(cluster: SeenCluster) -> None:
    cluster.lists["/api/v1/nodes"] = [node("cpu-1", agent=False)]


def careless_configuration(cluster: SeenCluster) -> None:
    ours = extender_entry("http://127.0.0.1:8080")
    resources = [
        {
            "name": each["name"],
            "ignoredByScheduler": each["name"] in ("metax-tech.com/sgpu", "metax-tech.com/gpu"),
        }
        for each in ours["managedResources"]
        if each["name"] != "mthreads.com/gpu"
    ]
    changes: Object = {"ignorable": True, "nodeCacheCapable": False, "managedResources": resources}
    made = scheduler_config(changes=changes)
    made["data"]["config.yaml"] = made["data"]["config.yaml"].replace(
        '"percentageOfNodesToScore":100', '"percentageOfNodesToScore":50'
    )
    cluster.lists[CONFIG] = [made]


async def test_an_extender_without_a_vendor_that_is_off_lacks_nothing() -> None:
    off = names_of_others({Vendor.METAX})
    kept = [each for each in extender_entry("x")["managedResources"] if each["name"] not in off]
    made = scheduler_config(changes={"managedResources": kept})

    def without_a_word(cluster: SeenCluster) -> None:
        cluster.lists[CONFIG] = [made]

    def switched_off(cluster: SeenCluster) -> None:
        own = {"scheduler.yaml": "tangram: scheduler/v1\nvendors: [metax]\n"}
        cluster.lists[CONFIG] = [{**made, "data": {**made["data"], **own}}]

    warned = [each for each in await findings(without_a_word) if "is not asked about pods" in each.why]
    assert [each.outcome for each in warned] == [Outcome.WARN]
    assert [each for each in await findings(switched_off) if each.outcome is not Outcome.OK] == []


def gpu_aware_after_us(cluster: SeenCluster) -> None:
    later = {"urlPrefix": "http://127.0.0.1:9000", "filterVerb": "filter"}
    cluster.lists[CONFIG] = [scheduler_config(later=later)]


def two_schedulers(cluster: SeenCluster) -> None:
    cluster.lists["/api/v1/namespaces/kube-system/configmaps"] = [
        scheduler_config("kube-system/hami-scheduler-newversion")
    ]


def configuration_elsewhere(cluster: SeenCluster) -> None:
    cluster.lists[CONFIG] = [
        {"metadata": {"namespace": "tangram", "name": "x"}, "data": {"a": "KubeSchedulerConfiguration: ["}},
        {
            "metadata": {"namespace": "tangram", "name": "y"},
            "data": {"a": "kind: KubeSchedulerConfiguration"},
        },
        {"metadata": {"namespace": "tangram", "name": "z"}},
    ]


def few_rights(cluster: SeenCluster) -> None:
    cluster.forbidden = {
        path for path in cluster.lists if path != f"{ADMISSION}/validatingwebhookconfigurations"
    } | {"/apis/scheduling.k8s.io", DEVICE_KIND}


@pytest.mark.parametrize(
    "spoil",
    [
        old_kubernetes,
        no_policies,
        no_policy_of_ours,
        gang_scheduling,
        topology_aware_static_pod,
        pod_groups,
        device_class,
        no_webhook,
        half_a_webhook,
        peers_webhooks,
        closed_plugins,
        no_cards,
        careless_configuration,
        gpu_aware_after_us,
        two_schedulers,
        configuration_elsewhere,
        few_rights,
    ],
    ids=lambda spoil: spoil.__name__.replace("_", "-"),
)
async def test_what_is_wrong_is_said_with_what_to_do(spoil: Spoil, snapshot: SnapshotAssertion) -> None:
    found = [each for each in await findings(spoil) if each.outcome is not Outcome.OK]
    assert found
    assert all(each.todo for each in found)
    assert told(found) == snapshot


async def test_an_api_server_that_refuses_is_the_only_finding() -> None:
    def refusing(cluster: SeenCluster) -> None:
        cluster.forbidden = {"/version"}

    (finding,) = await findings(refusing)
    assert finding.check == "api-server"
    assert finding.outcome is Outcome.FAIL
    assert "403 Forbidden" in finding.why


@pytest.mark.parametrize(
    "junk",
    [
        pytest.param({}, id="empty"),
        pytest.param(
            {"spec": 7, "metadata": [], "webhooks": {}, "data": [], "status": "x"}, id="wrong-shapes"
        ),
        pytest.param(
            {"webhooks": [None, 3, {"clientConfig": {"service": 1}}], "spec": {"containers": [1]}},
            id="inside",
        ),
    ],
)
async def test_objects_of_no_shape_end_in_findings_all_the_same(junk: Object) -> None:
    def spoil(cluster: SeenCluster) -> None:
        for path in cluster.lists:
            cluster.lists[path] = [junk]
        cluster.objects["/apis/scheduling.k8s.io"] = junk
        cluster.objects["/apis/resource.k8s.io"] = junk
        cluster.objects[DEVICE_KIND] = junk

    assert await findings(spoil)

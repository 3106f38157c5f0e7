"""What the doctor says of several who place, report and announce cards in one cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from builders.api_server import Object, small_api_server
from builders.clusters_seen import (
    CONFIG_MAPS,
    DEVICE_KIND,
    DEVICES,
    MADE,
    NOW,
    PODS,
    WEBHOOKS,
    SeenCluster,
    card_pod,
    configuration,
    described,
    hook,
    modes_map,
    node,
    part_pod,
    scheduler_config,
    written_by,
)
from builders.scheduling import metax_cards
from tangram.drivers.doctor.findings import Finding, Outcome
from tangram.kube.api import Api
from tangram.model.cards import CardMode
from tangram.services.scheduler.checkup.diagnosis import diagnose_cluster
from tangram.services.scheduler.checkup.parts import Part, feature_gates, parts_in
from tangram.services.scheduler.checkup.seeing import look
from tangram.wire.inventory import INVENTORY, Inventory, encode_inventory

CAPTURED = Path(__file__).parents[2] / "data" / "captures" / "koordinator-1.8.0.json"
Spoil = Callable[[SeenCluster], None]
LOCK = "hami.io/mutex.lock"
ADAPTION, SHARED = "DevicePluginAdaption=true", "EnableSyncGPUSharedResource=true"
WELL = {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu.shared": "100"}


async def findings(spoil: Spoil) -> list[Finding]:
    cluster = SeenCluster()
    spoil(cluster)
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = cluster.answer
        return diagnose_cluster(await look(api, now=lambda: NOW)).findings


def told(found: list[Finding]) -> list[str]:
    return [f"{each.outcome} {each.check}: {each.why} -> {each.todo}" for each in found]


def annotated(name: str, *, agent: bool = True, stating: Object | None = None, lock: str = "") -> Object:
    made = node(name, agent=agent, sgpu="16")
    made["metadata"]["annotations"] |= {LOCK: lock} if lock else {}
    made["status"]["allocatable"] |= stating or {}
    return made


def koordinator(
    cluster: SeenCluster,
    *,
    scheduler: str = ADAPTION,
    manager: str = SHARED,
    koordlet: str = "Accelerators=true",
) -> None:
    """Koordinator as its chart installs it, below which our agent runs on both nodes with cards."""
    cluster.lists["/api/v1/nodes"] = [annotated(name, stating=WELL) for name in ("gpu-1", "gpu-2")]
    cluster.lists[PODS] += [
        part_pod("koord-scheduler-x", "koord-scheduler", f"--feature-gates={scheduler}", on="cpu-1"),
        part_pod("koord-manager-x", "koord-manager", f"--feature-gates={manager}", on="cpu-1"),
        *(part_pod(f"koordlet-{n}", "koordlet", f"-feature-gates={koordlet}", on=f"gpu-{n}") for n in (1, 2)),
    ]
    cluster.lists[DEVICES] = [described("gpu-1"), described("gpu-2")]
    cluster.objects[DEVICE_KIND]["metadata"] = {
        "name": "devices.scheduling.koordinator.sh",
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {
            "meta.helm.sh/release-name": "koordinator",
            "meta.helm.sh/release-namespace": "default",
        },
    }


async def test_koordinator_above_our_agent_is_no_fault() -> None:
    def spoil(cluster: SeenCluster) -> None:
        koordinator(cluster)
        cluster.lists[PODS] += [
            card_pod("a", "koord-scheduler", on="gpu-1"),
            card_pod("b", "tangram-scheduler", conditions=LOOKED_AT),
        ]

    found = await findings(spoil)
    assert [each for each in found if each.outcome is not Outcome.OK] == []
    said = {each.check: each.why for each in found}
    assert said["peers"] == (
        "beside Tangram run koord-scheduler (cpu-1); koord-manager (cpu-1); koordlet (gpu-1, gpu-2)"
    )
    assert [each.why for each in found if each.check == "placers"] == [
        "Koordinator (koord-scheduler) has placed 1 pod on gpu-1",
        "Tangram (tangram-scheduler) has placed 0 pods, and 1 pod waits",
    ]
    assert "belongs to Helm release default/koordinator" in said["device-kind"]
    assert said["devices"] == "2 Devices: 2 by koordlet"


# --- who places ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheduler", "placer"),
    [
        pytest.param("", "kube-scheduler alone (default-scheduler)", id="none-named"),
        pytest.param("tangram-scheduler", "Tangram (tangram-scheduler)", id="ours"),
        pytest.param("hami-scheduler", "Tangram (hami-scheduler)", id="hamis-name-served-by-us"),
        pytest.param("koord-scheduler", "Koordinator (koord-scheduler)", id="koordinator"),
        pytest.param("mt-gpu-scheduler", "Moore Threads' scheduler (mt-gpu-scheduler)", id="mthreads"),
        pytest.param("gpu-scheduler", "MetaX's scheduler (gpu-scheduler)", id="metax"),
        pytest.param("volcano", "another scheduler (volcano)", id="other"),
    ],
)
async def test_who_places_is_told_by_the_name_in_the_pod(scheduler: str, placer: str) -> None:
    def spoil(cluster: SeenCluster) -> None:
        cluster.lists[PODS] = [card_pod(name, scheduler, on="gpu-1") for name in ("a", "b")]

    (said,) = [each for each in await findings(spoil) if each.check == "placers"]
    assert said.why == f"{placer} has placed 2 pods on gpu-1"


@pytest.mark.parametrize(
    ("place", "placer"),
    [
        pytest.param("kube-system/scheduler", "Tangram (our-own)", id="with-our-extender"),
        pytest.param("kube-system/hami-scheduler-newversion", "HAMi (our-own)", id="with-hamis"),
        pytest.param("kube-system/koord-scheduler-config", "Koordinator (our-own)", id="koordinators"),
    ],
)
async def test_a_name_is_whose_configuration_serves_it(place: str, placer: str) -> None:
    def spoil(cluster: SeenCluster) -> None:
        made = scheduler_config(place)
        text: str = made["data"]["config.yaml"].replace("tangram-scheduler", "our-own")
        if "koord" in place:
            text = text.replace('"bindVerb":"bind",', "")
        made["data"]["config.yaml"] = text
        cluster.lists["/api/v1/namespaces/kube-system/configmaps"] = [made]
        cluster.lists[PODS] = [card_pod("a", "our-own", on="gpu-1")]

    (said,) = [each for each in await findings(spoil) if each.check == "placers"]
    assert said.why.startswith(placer)


async def test_hamis_name_is_hamis_where_hami_runs() -> None:
    def spoil(cluster: SeenCluster) -> None:
        cluster.lists[PODS] = [
            card_pod("a", "hami-scheduler", on="gpu-1"),
            part_pod("hami-scheduler-x", "vgpu-scheduler-extender", on="cpu-1"),
        ]

    found = {each.check: each.why for each in await findings(spoil)}
    assert found["placers"].startswith("HAMi (hami-scheduler)")
    assert found["peers"] == "beside Tangram run HAMi's scheduler (cpu-1)"


LOOKED_AT = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]


@pytest.mark.parametrize(
    ("pod", "unserved"),
    [
        pytest.param(card_pod("a", "koord-scheduler"), True, id="nobody-looked"),
        pytest.param(card_pod("a", "koord-scheduler", conditions=LOOKED_AT), False, id="somebody-did"),
        pytest.param(card_pod("a", "koord-scheduler", on="gpu-1"), False, id="placed"),
        pytest.param(card_pod("a", "koord-scheduler", made="2026-11-15T21:09:50Z"), False, id="young"),
        pytest.param(card_pod("a", "koord-scheduler", made="yesterday"), False, id="of-no-age"),
    ],
)
async def test_a_pod_whose_scheduler_is_not_there_is_named(pod: Object, *, unserved: bool) -> None:
    def spoil(cluster: SeenCluster) -> None:
        cluster.lists[PODS] = [pod]

    failed = [
        each for each in await findings(spoil) if each.check == "placers" and each.outcome is Outcome.FAIL
    ]
    assert bool(failed) is unserved
    for each in failed:
        assert "1 pod with schedulerName koord-scheduler (ai/a) waited up to 10 min" in each.why


async def test_whose_an_amount_of_nothing_is_is_told_by_the_name_that_koord_manager_signs_with() -> None:
    (signed,) = json.loads(CAPTURED.read_text("utf-8"))["managers"]["koord-manager"]

    def spoil(cluster: SeenCluster) -> None:
        koordinator(cluster)
        bad = cluster.lists["/api/v1/nodes"][1]
        bad["status"]["allocatable"] |= {"koordinator.sh/gpu-core": "0"}
        fields: Object = {f"f:{name}": {} for name in signed["allocatable"]}
        bad["metadata"]["managedFields"] = [
            {
                "manager": signed["manager"],
                "operation": signed["operation"],
                "subresource": signed["subresource"],
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:status": {"f:allocatable": fields}},
            }
        ]

    (failed,) = [each for each in await findings(spoil) if each.outcome is Outcome.FAIL]
    assert failed.why.startswith("koordinator.sh/gpu-core is 0 on gpu-2 (written by koord-manager), so ")


# --- what does not go together ------------------------------------------------------------------------------------


def two_on_a_node(cluster: SeenCluster, *, agent: bool = True) -> None:
    koordinator(cluster)
    cluster.lists["/api/v1/nodes"] = [annotated("gpu-1", agent=agent, stating=WELL), node("gpu-2", sgpu="16")]
    cluster.lists[DEVICES] = [described("gpu-1")]
    cluster.lists[PODS] += [
        card_pod("a", "koord-scheduler", on="gpu-1"),
        card_pod("b", "tangram-scheduler", on="gpu-1"),
    ]
    cluster.lists[DEVICES] += [described("gpu-2")]
    cluster.lists["/api/v1/nodes"][1]["status"]["allocatable"] |= WELL


def two_on_a_described_node(cluster: SeenCluster) -> None:
    two_on_a_node(cluster)


def two_on_a_closed_node(cluster: SeenCluster) -> None:
    two_on_a_node(cluster, agent=False)


def two_on_a_node_that_nobody_describes(cluster: SeenCluster) -> None:
    two_on_a_node(cluster)
    cluster.lists[DEVICES] = [described("gpu-2")]


def hami_and_ours_on_a_node(cluster: SeenCluster) -> None:
    cluster.lists[PODS] = [
        part_pod("hami-scheduler-x", "hami-scheduler", on="cpu-1"),
        card_pod("a", "hami-scheduler", on="gpu-1"),
        card_pod("b", "tangram-scheduler", on="gpu-1"),
    ]


def a_name_that_two_serve(cluster: SeenCluster) -> None:
    koordinator(cluster)
    ours = scheduler_config("tangram/scheduler")
    text: str = ours["data"]["config.yaml"]
    more = '"profiles":[{"schedulerName":"koord-scheduler","percentageOfNodesToScore":100},'
    ours["data"]["config.yaml"] = text.replace('"profiles":[', more)
    cluster.lists["/api/v1/namespaces/tangram/configmaps"] = [ours]


def nobody_special_and_ours_on_a_node(cluster: SeenCluster) -> None:
    cluster.lists[PODS] = [card_pod("a", on="gpu-1"), card_pod("b", "tangram-scheduler", on="gpu-1")]


def two_plugins_on_a_node(cluster: SeenCluster) -> None:
    cluster.lists[PODS] = [part_pod("metax-gpu-device-x", "gpu-device", on="gpu-1")]


def no_adaption(cluster: SeenCluster) -> None:
    koordinator(cluster, scheduler="")


def no_adaption_and_a_closed_plugin(cluster: SeenCluster) -> None:
    koordinator(cluster, scheduler="Other=true,DevicePluginAdaption=false,AllAlpha=true")
    cluster.lists["/api/v1/nodes"][1] = annotated("gpu-2", agent=False, stating=WELL)


def no_shared_amount(cluster: SeenCluster) -> None:
    koordinator(cluster, manager="")
    cluster.lists["/api/v1/nodes"][0]["status"]["allocatable"].pop("koordinator.sh/gpu.shared")


def koordlet_that_does_not_report(cluster: SeenCluster) -> None:
    koordinator(cluster, koordlet="BECPUEvict=true")
    cluster.lists[DEVICES] = []


def amounts_of_nothing(cluster: SeenCluster) -> None:
    koordinator(cluster)
    bad = cluster.lists["/api/v1/nodes"][1]
    bad["status"]["allocatable"] |= {"koordinator.sh/gpu.shared": "0"}
    bad["metadata"]["managedFields"] = written_by(
        "kubelet", "status", "allocatable", "koordinator.sh/gpu.shared"
    )


def described_and_without_amounts(cluster: SeenCluster) -> None:
    koordinator(cluster)
    cluster.lists["/api/v1/nodes"][1] = annotated("gpu-2")


def koordlet_that_left_a_device(cluster: SeenCluster) -> None:
    cluster.lists[DEVICES] = [described("gpu-1"), described("gpu-2", writer="tangram-gpu-device")]
    for each in cluster.lists["/api/v1/nodes"][:2]:
        each["status"]["allocatable"] |= WELL


def a_device_with_two_writers(cluster: SeenCluster) -> None:
    koordinator(cluster)
    cluster.lists[DEVICES][0]["metadata"]["managedFields"] += written_by(
        "tangram-gpu-device", "spec", "devices"
    )


def a_card_counted_twice(cluster: SeenCluster) -> None:
    koordinator(cluster)
    cluster.lists[DEVICES][0] = described("gpu-1", "a", "b", "a")


def a_device_of_no_node(cluster: SeenCluster) -> None:
    koordinator(cluster)
    cluster.lists[DEVICES] += [described("gone")]
    cluster.lists[PODS] += [part_pod("koordlet-3", "koordlet", "-feature-gates=AllAlpha=true", on="gone")]


def no_kind(cluster: SeenCluster) -> None:
    koordinator(cluster)
    del cluster.objects[DEVICE_KIND], cluster.lists[DEVICES]


def a_kind_without_the_version(cluster: SeenCluster) -> None:
    cluster.objects[DEVICE_KIND]["spec"]["versions"][0]["name"] = "v1beta1"
    del cluster.lists[DEVICES]


def an_older_kind(cluster: SeenCluster) -> None:
    kind: dict[str, Any] = cluster.objects[DEVICE_KIND]
    kind["metadata"]["labels"] = {}
    kind["metadata"]["managedFields"] = written_by("kubectl-client-side-apply", "spec")
    schema = kind["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["devices"]["items"]["properties"]["conditions"]


def our_kind_under_koordinator(cluster: SeenCluster) -> None:
    ours = cluster.objects[DEVICE_KIND]["metadata"]
    koordinator(cluster)
    cluster.objects[DEVICE_KIND]["metadata"] = ours


def locks_that_stand(cluster: SeenCluster) -> None:
    cluster.lists["/api/v1/nodes"] = [
        annotated("gone", lock="2026-11-15T21:08:00Z,ai,not-there"),
        annotated("held", lock="2026-11-15T21:09:55Z,ai,a"),
        annotated("late", lock=f"{MADE},ai,a"),
        annotated("nameless", lock=MADE),
        annotated("reservation", lock="2026-11-15T21:08:00Z,,r"),
        annotated("broken", lock="now"),
    ]
    cluster.lists[PODS] = [card_pod("a", "hami-scheduler", on="held")]


def an_agent_that_holds_its_node(cluster: SeenCluster) -> None:
    """For as long as peers respect the lock; after that it is an abandoned one."""
    held = annotated("held", lock="2026-11-15T21:08:00Z,kube-system,proxy")
    late = annotated("late", lock=f"{MADE},kube-system,proxy")
    for each in (held, late):
        each["metadata"]["annotations"]["tangram.dev/agent"] = "stopping"
    cluster.lists["/api/v1/nodes"] = [held, late]


def pods_without_their_cards(cluster: SeenCluster) -> None:
    """Two on a node that offers its card whole, of which one only waits; one that its agent was never asked about."""
    cards = [*metax_cards("gpu-1", 1, mode=CardMode.WHOLE), *metax_cards("other", 1)]
    node = annotated("gpu-1")
    node["metadata"]["annotations"][INVENTORY] = encode_inventory(Inventory((*cards,)))
    cluster.lists["/api/v1/nodes"] = [node, annotated("gpu-2")]
    given = {
        at: json.dumps([[{"uuid": card.uuid, "compute": 10, "vRam": 4096}]]) for at, card in enumerate(cards)
    }
    cluster.lists[PODS] = [
        holding("astray", given[0], "Running"),
        holding("waits", given[0], "Pending"),
        holding("served", given[1], "Running"),
        holding("forgotten", given[1], "Running", phase="failed"),
        holding("elsewhere", given[0], "Running", on="cpu-1"),
    ]


def holding(name: str, given: str, status: str, *, on: str = "gpu-1", phase: str = "allocating") -> Object:
    pod = card_pod(name, "hami-scheduler", on=on)
    pod["metadata"]["uid"] = f"uid-{name}"
    pod["metadata"]["annotations"] = {
        "metax-tech.com/gpu-devices-allocated": given,
        "hami.io/bind-phase": phase,
    }
    pod["status"]["phase"] = status
    return pod


def modes_in_two_places(cluster: SeenCluster) -> None:
    cluster.lists[CONFIG_MAPS] = [
        modes_map("metax-operator/metax-device-config", version="v1", cluster_config="mode: sgpu"),
        modes_map("kube-system/device-config", version="v1", cluster_config="mode: native"),
        {"metadata": {"namespace": "hami", "name": "device-config"}, "data": {"device-config.yaml": "{}"}},
    ]


def agents_that_look_in(*places: str) -> list[Object]:
    """Pods of our agent as a chart makes them, and one that follows no ConfigMap."""
    agents = [
        part_pod(f"agent-{place}", "tangram", "gpu-device", "--config-namespace", place, on="gpu-1")
        for place in places
    ]
    return [*agents, part_pod("agent-x", "tangram", "gpu-device", "--config", "/config", on="gpu-2")]


def modes_without_a_namespace(cluster: SeenCluster) -> None:
    cluster.lists[PODS] += agents_that_look_in("kube-system")
    cluster.lists[CONFIG_MAPS] = [
        modes_map("default/metax-device-config", version="v1", cluster_config="mode: sgpu")
    ]


def modes_in_two_places_of_which_one_counts(cluster: SeenCluster) -> None:
    modes_in_two_places(cluster)
    cluster.lists[PODS] += agents_that_look_in("kube-system")


def modes_in_two_places_that_both_count(cluster: SeenCluster) -> None:
    modes_in_two_places(cluster)
    cluster.lists[PODS] += agents_that_look_in("kube-system", "metax-operator")


def modes_without_a_namespace_and_no_agents(cluster: SeenCluster) -> None:
    cluster.lists[CONFIG_MAPS] = [
        modes_map("default/metax-device-config", version="v1", cluster_config="mode: sgpu")
    ]


def modes_that_mean_nothing(cluster: SeenCluster) -> None:
    rows = "- nodeName: gpu-1\n  mode: gpus\n- nodeName: gpu-2\n- nodeName: gpu-2\n- mode: sgpu\n- nodeName: typo\n"
    cluster.lists[CONFIG_MAPS] = [modes_map("kube-system/device-config", version="v1", nodes_config=rows)]


def modes_that_are_no_yaml(cluster: SeenCluster) -> None:
    text = "mode: sgpu\nmode: [\n"
    cluster.lists[CONFIG_MAPS] = [modes_map("kube-system/device-config", version="v1", cluster_config=text)]


def modes_of_another_version(cluster: SeenCluster) -> None:
    cluster.lists[CONFIG_MAPS] = [modes_map("kube-system/device-config", version="v2")]


def webhooks_of_the_vendor(cluster: SeenCluster) -> None:
    cluster.lists[WEBHOOKS] += [
        configuration("mt-gpu-webhook", hook("pods.mthreads.com")),
        configuration(
            "koordinator-mutating-webhook-configuration",
            hook("melasticquota.koordinator.sh", rules=[{"resources": ["elasticquotas"]}]),
        ),
    ]


FAIL, WARN = Outcome.FAIL, Outcome.WARN


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (a_name_that_two_serve, [(FAIL, "placers")]),
        (two_on_a_described_node, [(WARN, "shared-nodes")]),
        (two_on_a_closed_node, [(WARN, "node-agents"), (FAIL, "shared-nodes")]),
        (two_on_a_node_that_nobody_describes, [(FAIL, "shared-nodes"), (FAIL, "devices")]),
        (hami_and_ours_on_a_node, [(WARN, "shared-nodes")]),
        (nobody_special_and_ours_on_a_node, [(WARN, "shared-nodes")]),
        (two_plugins_on_a_node, [(FAIL, "node-peers")]),
        (no_adaption, [(WARN, "koordinator-switches")]),
        (no_adaption_and_a_closed_plugin, [(WARN, "node-agents"), (FAIL, "koordinator-switches")]),
        (no_shared_amount, [(FAIL, "koordinator-switches")]),
        (koordlet_that_does_not_report, [(FAIL, "devices"), (FAIL, "koordinator-switches")]),
        (amounts_of_nothing, [(FAIL, "koordinator-amounts")]),
        (described_and_without_amounts, [(WARN, "koordinator-amounts")]),
        (koordlet_that_left_a_device, [(WARN, "devices")]),
        (a_device_with_two_writers, [(FAIL, "devices")]),
        (a_card_counted_twice, [(FAIL, "devices")]),
        (a_device_of_no_node, [(WARN, "devices")]),
        (no_kind, [(FAIL, "device-kind")]),
        (a_kind_without_the_version, [(FAIL, "device-kind")]),
        (an_older_kind, [(WARN, "device-kind")]),
        (our_kind_under_koordinator, [(WARN, "device-kind")]),
        (locks_that_stand, [(FAIL, "node-locks"), (WARN, "node-locks")]),
        (an_agent_that_holds_its_node, [(WARN, "node-locks")]),
        (pods_without_their_cards, [(FAIL, "unserved-pods")]),
        (modes_in_two_places, [(WARN, "device-config")]),
        (modes_without_a_namespace, [(WARN, "device-config")]),
        (modes_in_two_places_of_which_one_counts, [(WARN, "device-config")]),
        (modes_in_two_places_that_both_count, [(WARN, "device-config")]),
        (modes_without_a_namespace_and_no_agents, [(WARN, "device-config")]),
        (
            modes_that_mean_nothing,
            [*([(FAIL, "device-config")] * 3), (WARN, "device-config")],
        ),
        (modes_that_are_no_yaml, [(FAIL, "device-config")]),
        (modes_of_another_version, [(FAIL, "device-config")]),
        (webhooks_of_the_vendor, [(WARN, "peer-webhooks")]),
    ],
    ids=lambda value: value.__name__.replace("_", "-") if callable(value) else "then",
)
async def test_what_does_not_go_together_is_said_with_what_to_do(
    spoil: Spoil, expected: list[tuple[Outcome, str]], snapshot: SnapshotAssertion
) -> None:
    found = [each for each in await findings(spoil) if each.outcome is not Outcome.OK]
    assert [(each.outcome, each.check) for each in found] == expected
    assert all(each.todo for each in found)
    assert told(found) == snapshot


async def test_our_agent_keeps_silent_beside_koord_device_daemon_and_that_is_well() -> None:
    def spoil(cluster: SeenCluster) -> None:
        koordinator(cluster)
        daemon = part_pod("kdd-x", "koord-device-daemon", on="gpu-1")
        # Its own manifest labels it so.
        daemon["metadata"]["labels"] = {"koord-app": "koordlet"}
        cluster.lists[PODS] += [daemon]

    found = await findings(spoil)
    assert [each for each in found if each.outcome is not Outcome.OK] == []
    (said,) = [each.why for each in found if each.check == "node-peers"]
    assert (
        said == "koord-device-daemon tells koordlet of the cards of gpu-1, and Tangram's agent keeps silent"
    )


async def test_pods_that_nobody_may_list_leave_the_rest_as_it_is() -> None:
    def spoil(cluster: SeenCluster) -> None:
        koordlet_that_left_a_device(cluster)
        cluster.forbidden = {PODS}

    found = [each for each in await findings(spoil) if each.outcome is not Outcome.OK]
    (finding,) = found
    assert (finding.outcome, finding.check) == (Outcome.SKIP, "placers")
    assert finding.why == "the pods are not known (you may not list pods)"


async def test_pods_that_do_not_come_in_time_cost_no_other_finding() -> None:
    cluster = SeenCluster()
    modes_of_another_version(cluster)
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = cluster.answer
        found = diagnose_cluster(await look(api, patience=0.0, now=lambda: NOW)).findings
    (skipped,) = [each for each in found if each.outcome is Outcome.SKIP]
    assert skipped.why == "the pods are not known (only 0 could be read within 0 s)"
    assert skipped.todo == "ask with more rights, or with a longer --timeout"
    assert [each.check for each in found if each.outcome is Outcome.FAIL] == ["device-config"]


# --- parts and their switches -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("container", "part"),
    [
        pytest.param({"name": "x", "command": ["/koordlet"]}, Part.KOORDLET, id="command"),
        pytest.param(
            {"name": "x", "image": "r.example:5000/koordinator-sh/koordlet:v1.8.0@sha256:ab"},
            Part.KOORDLET,
            id="image",
        ),
        pytest.param({"name": "koord-device-daemon"}, Part.DEVICE_DAEMON, id="name"),
        pytest.param({"name": "x", "image": "cloud/gpu-device:0.15"}, Part.METAX_PLUGIN, id="vendors-plugin"),
        pytest.param({"name": "gpu-device", "image": "tangram:1"}, None, id="ours"),
        pytest.param({"name": "gpu-aware", "command": ["tangram", "gpu-aware"]}, None, id="ours-by-command"),
        pytest.param({"name": "main", "image": "busybox"}, None, id="a-stranger"),
        pytest.param({"command": [7], "image": [], "name": None}, None, id="no-shape"),
    ],
)
def test_a_part_is_known_by_its_program(container: Object, part: Part | None) -> None:
    found = [each.part for each in parts_in("p", "n", {"containers": [container]}, {})]
    assert found == ([] if part is None else [part])


@pytest.mark.parametrize(
    ("container", "part"),
    [
        pytest.param({"name": "main"}, Part.KOORDLET, id="label-alone"),
        pytest.param({"name": "koord-device-daemon"}, Part.DEVICE_DAEMON, id="the-daemon-carries-it-too"),
    ],
)
def test_koordinators_label_counts_where_nothing_else_is_known(container: Object, part: Part) -> None:
    (found,) = parts_in("p", "n", {"containers": [container]}, {"koord-app": "koordlet"})
    assert found.part is part


@pytest.mark.parametrize(
    ("words", "gates"),
    [
        pytest.param(["/x", "--feature-gates=A=true,B=false"], {"A": True, "B": False}, id="two-dashes"),
        pytest.param(["/x", "-feature-gates=A=True"], {"A": True}, id="one-dash"),
        pytest.param(["/x", "--feature-gates", " A=t , B=0"], {"A": True, "B": False}, id="two-words"),
        pytest.param(["/x", "--feature-gates="], {}, id="empty"),
        pytest.param(["/x", "--feature-gates"], {}, id="at-the-end"),
        pytest.param(["feature-gates=A=true"], {}, id="no-option"),
    ],
)
def test_gates_are_read_from_a_command_line(words: list[str], gates: dict[str, bool]) -> None:
    assert feature_gates(words) == gates

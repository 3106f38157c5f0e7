import json

import pytest

from tangram.model.allocations import Share, Tenant
from tangram.model.cards import AppClass, CardMode, QosPolicy
from tangram.model.nodes import Node
from tangram.model.pods import Pod
from tangram.model.requests import AskKind
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib, from_mib
from tangram.wire.koordinator.device import read_device
from tangram.wire.nodes import read_node
from tangram.wire.pods import read_pod
from tangram.wire.tenants import Unnamed, read_tenant
from wire import manifests
from wire.manifests import Json

SLICE = {"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "10", "metax-tech.com/vmemory": "4"}
KOORDINATED = {
    "metax-tech.com/sgpu": "1",
    "koordinator.sh/gpu.shared": "1",
    "koordinator.sh/gpu-core": "10",
    "koordinator.sh/gpu-memory": "4Gi",
}
HAMI_SLICE = "hami.io/metax-sgpu-devices-allocated"
HAMI_WHOLE = "hami.io/metax-gpu-devices-allocated"
HAMI_MTHREADS = "hami.io/mthreads-vgpu-devices-allocated"
METAX = "metax-tech.com/gpu-devices-allocated"
DEVICES = "scheduling.koordinator.sh/device-allocated"


def bound_pod(
    *limits: dict[str, str],
    annotations: dict[str, str] | None = None,
    node: str | None = "n1",
    phase: str = "Running",
    metadata: Json | None = None,
    **spec: object,
) -> Pod:
    containers = [manifests.container(f"c{at}", each) for at, each in enumerate(limits)]
    manifest = manifests.pod(*containers, annotations=annotations, metadata=metadata, nodeName=node, **spec)
    return read_pod({**manifest, "status": {"phase": phase}})


def metax_node(cards: int = 2) -> Node:
    listing = manifests.listing(*[manifests.listed_card(index) for index in range(cards)])
    return read_node(manifests.node("n1", annotations={"metax-tech.com/node-gpu-devices": listing})).node


def counted_node(resource: str = "metax-tech.com/gpu", count: int = 4) -> Node:
    return read_node(manifests.node("n1", capacity={resource: str(count)})).node


def mthreads_node() -> Node:
    return read_node(
        manifests.node("n1", capacity={"mthreads.com/sgpu-core": "32", "mthreads.com/sgpu-memory": "192"})
    ).node


def shares_of(pod: Pod, node: Node | None) -> list[list[Share]]:
    tenant = read_tenant(pod, node)
    assert isinstance(tenant, Tenant), tenant
    return [list(container.shares) for container in tenant.allocation.containers]


def held(index: int, gib: int = 4, cores: int = 10, kind: AskKind = AskKind.SLICE) -> Share:
    return Share(CardUuid(f"GPU-{index}"), index, from_gib(gib), cores, kind)


NAMED = {HAMI_SLICE: "GPU-1,Metax-SGPU,4096,10:;"}


def test_a_slice_is_read_with_policy_priority_and_host() -> None:
    pod = bound_pod(
        {**SLICE, "cpu": "2", "memory": "1Gi"},
        annotations={**NAMED, "metax-tech.com/sgpu-qos-policy": "fixed-share"},
        priority=5,
    )
    tenant = read_tenant(pod, metax_node())
    assert isinstance(tenant, Tenant)
    assert [list(each.shares) for each in tenant.allocation.containers] == [[held(1)]]
    assert (tenant.pod, tenant.qos, tenant.priority) == (pod.ref, QosPolicy.FIXED_SHARE, 5)
    assert (tenant.host.cpu_milli, tenant.host.memory) == (2000, from_gib(1))
    assert not tenant.guessed


def test_an_online_slice_holds_memory_and_no_compute() -> None:
    annotations = {HAMI_SLICE: "GPU-0,Metax-SGPU,4096,0:;", "metax-tech.com/sgpu-app-class": "online"}
    tenant = read_tenant(bound_pod(SLICE, annotations=annotations), metax_node())
    assert isinstance(tenant, Tenant)
    assert tenant.app_class is AppClass.ONLINE
    assert tenant.allocation.containers[0].shares == (held(0, cores=0),)


# --- who counts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ended_holds_nothing(phase: str) -> None:
    assert read_tenant(bound_pod(SLICE, annotations=NAMED, phase=phase), metax_node()) is None


def test_an_allocation_on_a_pod_without_a_node_holds_nothing() -> None:
    annotations = {**NAMED, "hami.io/vgpu-node": "n1", "hami.io/bind-phase": "allocating"}
    assert read_tenant(bound_pod(SLICE, annotations=annotations, node=None), metax_node()) is None


def test_a_terminating_pod_still_holds_its_cards() -> None:
    pod = bound_pod(SLICE, annotations=NAMED, metadata={"deletionTimestamp": "2026-11-15T21:15:10Z"})
    assert isinstance(read_tenant(pod, metax_node()), Tenant)


def test_a_pod_without_cards_holds_none_whatever_its_node_made_the_writer_write() -> None:
    assert read_tenant(bound_pod({"cpu": "1"}), metax_node()) is None
    assert (
        read_tenant(bound_pod({"cpu": "1"}, annotations={HAMI_SLICE: ";", METAX: "[[]]"}), metax_node())
        is None
    )


# --- what cannot be believed --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "annotations",
    [
        {},
        {HAMI_SLICE: ""},
        {HAMI_SLICE: ";"},
        {HAMI_SLICE: "GPU-1,Metax-SGPU,4096;"},
        {HAMI_SLICE: "GPU-1,Metax-SGPU,x,10:;"},
        {HAMI_SLICE: ";GPU-1,Metax-SGPU,4096,10:;"},
        {**NAMED, "hami.io/vgpu-node": "n2"},
        {METAX: "[[{}]]"},
        {DEVICES: "{"},
        {DEVICES: '{"gpu":[{"minor":0}]}'},
    ],
)
def test_a_bound_pod_that_asks_for_cards_is_never_silently_nothing(annotations: dict[str, str]) -> None:
    pod = bound_pod(SLICE, annotations=annotations)
    unnamed = read_tenant(pod, metax_node())
    assert isinstance(unnamed, Unnamed)
    assert (unnamed.pod, unnamed.node) == (pod, "n1")
    assert unnamed.request is not None
    assert unnamed.request.containers[0].asks[0].memory == from_gib(4)
    assert unnamed.reason


def test_a_pod_that_admission_would_refuse_counts_too() -> None:
    refused = {"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "101"}
    unnamed = read_tenant(bound_pod(refused), metax_node())
    assert isinstance(unnamed, Unnamed)
    (ask,) = unnamed.request.containers[0].asks
    assert (ask.count, ask.memory, ask.cores) == (1, None, 100), "amounts without meaning are all of a card"
    assert shares_of(bound_pod(refused, annotations=NAMED), metax_node()) == [[held(1)]]


def test_fewer_cards_named_than_asked_for_is_unnamed() -> None:
    two = {**SLICE, "metax-tech.com/sgpu": "2"}
    assert isinstance(read_tenant(bound_pod(two, annotations=NAMED), metax_node()), Unnamed)
    assert isinstance(read_tenant(bound_pod(SLICE, SLICE, annotations=NAMED), metax_node()), Unnamed)


def test_a_broken_string_gives_way_to_a_readable_key_of_the_plugin() -> None:
    given = '[[{"uuid":"GPU-1","compute":10,"vRam":4096}]]'
    pod = bound_pod(SLICE, annotations={HAMI_SLICE: "broken", METAX: given})
    assert shares_of(pod, metax_node()) == [[held(1)]]


# --- who wrote it -------------------------------------------------------------------------------------------------


def test_containers_are_matched_by_position_init_first() -> None:
    text = "GPU-0,Metax-SGPU,4096,10:;GPU-1,Metax-SGPU,4096,10:;"
    pod = bound_pod(
        SLICE, annotations={HAMI_SLICE: text}, initContainers=[manifests.container("first", SLICE)]
    )
    assert shares_of(pod, metax_node()) == [[held(0)], [held(1)]]


def test_a_whole_card_takes_all_of_a_card_whose_size_hami_only_assumed() -> None:
    manifest = manifests.node(
        "n1", capacity={"metax-tech.com/gpu": "2"}, labels={"metax-tech.com/gpu.memory": "80GB"}
    )
    pod = bound_pod({"metax-tech.com/gpu": "1"}, annotations={HAMI_WHOLE: "n1-metax-1,Metax-GPU,65536,100:;"})
    assert shares_of(pod, read_node(manifest).node) == [
        [Share(CardUuid("n1-metax-1"), 1, from_gib(80), 100, AskKind.WHOLE)]
    ]


def test_a_moore_threads_slice_is_read() -> None:
    limits = {"mthreads.com/vgpu": "1", "mthreads.com/sgpu-memory": "32", "mthreads.com/sgpu-core": "8"}
    pod = bound_pod(limits, annotations={HAMI_MTHREADS: "n1-mthreads-1,Mthreads,16384,8:;"})
    assert shares_of(pod, mthreads_node()) == [[Share(CardUuid("n1-mthreads-1"), 1, from_gib(16), 8)]]


def test_a_whole_moore_threads_card_is_whole() -> None:
    node = counted_node("mthreads.com/gpu", 2)
    pod = bound_pod(
        {"mthreads.com/gpu": "1"}, annotations={HAMI_MTHREADS: "n1-mthreads-0,Mthreads,49152,16:;"}
    )
    assert shares_of(pod, node)[0][0].kind is AskKind.WHOLE


def allocated(minor: int) -> str:
    resources = {"koordinator.sh/gpu-core": "10", "koordinator.sh/gpu-memory": "4Gi"}
    return json.dumps({"gpu": [{"minor": minor, "id": f"GPU-{minor}", "resources": resources}]})


def test_koordinators_single_list_goes_to_the_container_that_asked_and_stays() -> None:
    init = manifests.container("first", KOORDINATED)
    pod = bound_pod({"cpu": "1"}, KOORDINATED, annotations={DEVICES: allocated(1)}, initContainers=[init])
    assert shares_of(pod, metax_node()) == [[], [], [held(1)]]


def test_what_koordinator_placed_is_held_whatever_hints_it_honoured_that_nobody_else_does() -> None:
    rdma = "scheduling.koordinator.sh/device-joint-allocate"
    joint = {DEVICES: allocated(1), rdma: '{"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"}'}
    pod = bound_pod({**KOORDINATED, "koordinator.sh/rdma": "100", "cpu": "2"}, annotations=joint)
    tenant = read_tenant(pod, metax_node())
    assert isinstance(tenant, Tenant)
    assert [list(each.shares) for each in tenant.allocation.containers] == [[held(1)]]
    assert (tenant.qos, tenant.host.cpu_milli) == (QosPolicy.BEST_EFFORT, 2000)


def test_the_plugins_key_in_koordinators_form_is_read_when_nothing_else_is_there() -> None:
    annotations = {METAX: '[[{"uuid":"GPU-1","compute":10,"vRam":4096}]]'}
    assert shares_of(bound_pod({"cpu": "1"}, KOORDINATED, annotations=annotations), metax_node()) == [
        [],
        [held(1)],
    ]


def test_the_pods_own_words_decide_between_two_writers() -> None:
    both = {**NAMED, DEVICES: allocated(0)}
    assert shares_of(bound_pod(SLICE, annotations=both), metax_node()) == [[held(1)]]
    assert shares_of(bound_pod(KOORDINATED, annotations=both), metax_node()) == [[held(0)]]


def test_percent_of_compute_becomes_sixteenths_on_moore_threads() -> None:
    limits = {
        "mthreads.com/vgpu": "1",
        "koordinator.sh/gpu.shared": "1",
        "koordinator.sh/gpu-core": "12",
        "koordinator.sh/gpu-memory": "16Gi",
    }
    devices = '{"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"12","koordinator.sh/gpu-memory":"16Gi"}}]}'
    pod = bound_pod(limits, annotations={DEVICES: devices})
    assert shares_of(pod, mthreads_node()) == [[Share(CardUuid("n1-mthreads-1"), 1, from_gib(16), 2)]]


# --- ids ----------------------------------------------------------------------------------------------------------


def whole_cards() -> Node:
    device, _ = read_device(manifests.device(manifests.device_entry(0), manifests.device_entry(1)))
    return read_node(manifests.node("n1", capacity={"metax-tech.com/gpu": "2"}), device).node


def test_a_stand_in_means_the_card_of_that_number_once_real_ids_are_known() -> None:
    node = whole_cards()
    assert [card.mode for card in node.cards] == [CardMode.WHOLE, CardMode.WHOLE]
    pod = bound_pod({"metax-tech.com/gpu": "1"}, annotations={HAMI_WHOLE: "n1-metax-1,Metax-GPU,65536,100:;"})
    assert shares_of(pod, node) == [[held(1, 64, 100, AskKind.WHOLE)]]


def test_a_counted_whole_card_is_one_of_the_whole_cards_whatever_its_number() -> None:
    cards = [manifests.listed_card(0), manifests.listed_card(1), manifests.listed_card(2, model="native")]
    annotations = {"metax-tech.com/node-gpu-devices": manifests.listing(*cards)}
    node = read_node(manifests.node("n1", capacity={"metax-tech.com/gpu": "1"}, annotations=annotations)).node
    limits = {"metax-tech.com/gpu": "1"}
    pod = bound_pod(limits, annotations={HAMI_WHOLE: "n1-metax-0,Metax-GPU,65536,100:;"})
    assert shares_of(pod, node) == [[held(2, 64, 100, AskKind.WHOLE)]]
    pod = bound_pod(limits, annotations={HAMI_WHOLE: "n1-metax-1,Metax-GPU,65536,100:;"})
    assert isinstance(read_tenant(pod, node), Unnamed)


def named(counted: str, real: str) -> Pod:
    written = {HAMI_WHOLE: counted, "hami.io/metax-gpu-devices-to-allocate": real}
    return bound_pod({"metax-tech.com/gpu": "1"}, annotations=written)


def test_the_real_id_beside_a_stand_in_says_which_card_it_is() -> None:
    pod = named("n1-metax-1,Metax-GPU,65536,100:;", "GPU-0,Metax-GPU,65536,100:;")
    assert shares_of(pod, whole_cards()) == [[held(0, 64, 100, AskKind.WHOLE)]]


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param("n1-metax-0,Metax-GPU,65536,100:;", id="another-stand-in"),
        pytest.param("GPU-0,Metax-GPU,65536,100:GPU-1,Metax-GPU,65536,100:;", id="more"),
        pytest.param("GPU-0,Metax-GPU:;", id="spoilt"),
        pytest.param(";", id="nothing"),
    ],
)
def test_what_does_not_fit_the_stand_in_beside_it_is_not_its_real_id(beside: str) -> None:
    pod = named("n1-metax-1,Metax-GPU,65536,100:;", beside)
    assert shares_of(pod, whole_cards()) == [[held(1, 64, 100, AskKind.WHOLE)]]


def test_a_real_id_that_the_kubelet_gave_stays_whatever_was_promised_beside_it() -> None:
    pod = named("GPU-1,Metax-GPU,65536,100:;", "GPU-0,Metax-GPU,65536,100:;")
    assert shares_of(pod, whole_cards()) == [[held(1, 64, 100, AskKind.WHOLE)]]


def test_on_a_node_of_stand_ins_the_stand_in_counts_and_not_the_real_id_beside_it() -> None:
    pod = named("n1-metax-1,Metax-GPU,65536,100:;", "GPU-0,Metax-GPU,65536,100:;")
    (shares,) = shares_of(pod, counted_node())
    assert [share.card for share in shares] == ["n1-metax-1"]


def test_a_real_id_on_a_node_of_stand_ins_is_unnamed_because_the_card_is_there_under_another_name() -> None:
    pod = bound_pod({"metax-tech.com/gpu": "1"}, annotations={HAMI_WHOLE: "GPU-7,Metax-GPU,65536,100:;"})
    assert isinstance(read_tenant(pod, counted_node()), Unnamed)


def test_a_pod_on_a_card_that_its_node_does_not_have_is_unnamed_and_what_is_written_is_kept() -> None:
    unnamed = read_tenant(
        bound_pod(SLICE, annotations={HAMI_SLICE: "GPU-9,Metax-SGPU,4096,10:;"}), metax_node()
    )
    assert isinstance(unnamed, Unnamed)
    assert unnamed.written is not None
    (written,) = unnamed.written.allocation.containers
    assert written.shares == (Share(CardUuid("GPU-9"), -1, from_mib(4096), 10),)


def test_without_its_node_ids_are_taken_as_written() -> None:
    pod = bound_pod({"metax-tech.com/gpu": "1"}, annotations={HAMI_WHOLE: "n1-metax-3,Metax-GPU,65536,100:;"})
    assert shares_of(pod, None) == [[Share(CardUuid("n1-metax-3"), 3, from_gib(64), 100, AskKind.WHOLE)]]


def test_init_that_is_over_is_passed_on() -> None:
    init = [manifests.container("first", SLICE)]
    pod = bound_pod(annotations={HAMI_SLICE: "GPU-0,Metax-SGPU,4096,10:;"}, initContainers=init)
    tenant = read_tenant(pod, metax_node())
    # A pod of init containers alone is refused at admission; its cards count all the same.
    assert isinstance(tenant, Tenant)
    assert not tenant.init_done

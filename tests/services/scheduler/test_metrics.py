"""What Prometheus is told: HAMi's names and labels to the letter, and our own with closed sets of labels."""

import gzip
import re
from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from builders.clusters import card, metax_node, mthreads_node
from builders.requests import pod, request, run, slice_ask, whole_ask
from tangram.engine.allocate import tenant_for
from tangram.engine.demand import Demand, Shape
from tangram.engine.filter import filter_nodes
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.engine.room import Room, room_of
from tangram.model.cards import CardMode, Vendor
from tangram.model.nodes import Node
from tangram.services.scheduler.exposition import Exposition
from tangram.services.scheduler.metrics_of_hami import PIECE, QuotaFigure, hami_lines
from tangram.services.scheduler.telemetry import Figures, Outcome, Telemetry
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import MIB, from_512mib_units, from_gib

Samples = dict[str, list[tuple[dict[str, str], float]]]

CARD = {"zone", "node", "device_uuid", "device_index", "device_type"}
HAMI = {
    "hami_gpu_memory_limit_bytes": CARD,
    "hami_gpu_memory_allocated_bytes": CARD | {"device_cores"},
    "hami_gpu_core_limit_ratio": CARD,
    "hami_gpu_core_allocated_ratio": CARD,
    "hami_gpu_shared_count": CARD,
    "hami_node_gpu_overview": CARD | {"device_cores", "device_memory_limit"},
    "hami_node_gpu_memory_allocated_ratio": CARD,
    "hami_vgpu_memory_allocated_bytes": {
        "zone",
        "namespace",
        "node",
        "pod",
        "container_index",
        "device_uuid",
    },
    "hami_vgpu_core_allocated_ratio": {"zone", "namespace", "node", "pod", "container_index", "device_uuid"},
    "hami_resource_quota_used": {"zone", "namespace", "quota_name", "limit"},
    "hami_resource_quota_limit": {"zone", "namespace", "quota_name"},
}
OLD_CARD = {"zone", "nodeid", "deviceuuid", "deviceidx", "devicetype"}
OLD_POD = {"zone", "podnamespace", "nodename", "podname", "containeridx", "deviceuuid"}
LEGACY = {
    "GPUDeviceMemoryLimit": OLD_CARD,
    "GPUDeviceCoreLimit": OLD_CARD,
    "GPUDeviceMemoryAllocated": OLD_CARD | {"devicecores"},
    "GPUDeviceSharedNum": OLD_CARD,
    "GPUDeviceCoreAllocated": OLD_CARD,
    "nodeGPUOverview": OLD_CARD | {"devicecores", "devicememorylimit"},
    "nodeGPUMemoryPercentage": OLD_CARD - {"devicetype"},
    "vGPUMemoryAllocated": OLD_POD,
    "vGPUCoreAllocated": OLD_POD,
    "QuotaUsed": {"zone", "quotanamespace", "quotaName", "limit"},
}
QUOTAS = (QuotaFigure("team", "limits.metax-tech.com/vmemory", 16, 64),)


def parsed(pieces: Iterable[bytes]) -> Samples:
    text = b"".join(pieces).decode()
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families), "a family stands in two places"
    return {
        family.name: [(dict(sample.labels), sample.value) for sample in family.samples] for family in families
    }


def small_cluster() -> Ledger:
    ledger = Ledger()
    ledger.put_node(metax_node("m", 2))
    ledger.put_node(metax_node("w", 1, mode=CardMode.WHOLE))
    ledger.put_node(mthreads_node("t", 1))
    run(ledger, request("slice", slice_ask(memory=from_gib(16), cores=60)))
    run(ledger, request("card", whole_ask()))
    run(
        ledger,
        request("moore", slice_ask(memory=from_512mib_units(32), cores=8, vendor=Vendor.MTHREADS), qos=None),
    )
    return ledger


def test_every_metric_of_hami_is_there_with_exactly_its_labels() -> None:
    found = parsed(hami_lines(small_cluster(), QUOTAS))
    assert {name: set(rows[0][0]) for name, rows in found.items()} == HAMI
    assert {labels["zone"] for rows in found.values() for labels, _ in rows} == {"vGPU"}


def test_the_old_names_come_only_when_asked_for() -> None:
    found = parsed(hami_lines(small_cluster(), QUOTAS, legacy=True))
    assert {name: set(rows[0][0]) for name, rows in found.items()} == HAMI | LEGACY


def test_the_figures_are_those_of_the_ledger() -> None:
    found = parsed(hami_lines(small_cluster(), QUOTAS))
    used = {
        labels["device_uuid"]: value for labels, value in found["hami_gpu_memory_allocated_bytes"] if value
    }
    assert used == {
        "GPU-m-1": from_gib(16),
        "GPU-w-0": from_gib(64),
        "GPU-t-0": from_512mib_units(32),
    }
    assert {
        labels["device_uuid"]: value for labels, value in found["hami_gpu_core_allocated_ratio"] if value
    } == {
        "GPU-m-1": 60,
        "GPU-w-0": 100,
        "GPU-t-0": 50,
    }
    assert dict.fromkeys(labels["device_type"] for labels, _ in found["hami_gpu_shared_count"]) == {
        "Metax-SGPU": None,
        "Metax-GPU": None,
        "Mthreads": None,
    }
    overview = {labels["device_uuid"]: labels for labels, _ in found["hami_node_gpu_overview"]}
    assert overview["GPU-t-0"]["device_cores"] == "16"
    assert overview["GPU-t-0"]["device_memory_limit"] == str(from_gib(48) // MIB)
    (ratio,) = [
        value
        for labels, value in found["hami_node_gpu_memory_allocated_ratio"]
        if labels["device_uuid"] == "GPU-m-1"
    ]
    assert ratio == 0.25
    assert found["hami_resource_quota_used"] == [
        (
            {
                "zone": "vGPU",
                "namespace": "team",
                "quota_name": "limits.metax-tech.com/vmemory",
                "limit": "64",
            },
            16.0,
        )
    ]


def test_a_pods_containers_are_one_line_for_each_card_as_hami_counts_them() -> None:
    ledger = Ledger()
    ledger.put_node(metax_node("m", 1))
    part = slice_ask(memory=from_gib(4), cores=10)
    run(ledger, request("two", part, part))
    ((labels, value),) = parsed(hami_lines(ledger))["hami_vgpu_memory_allocated_bytes"]
    assert labels["container_index"] == "0"
    assert value == from_gib(8)


def test_reserved_pods_count_like_bound_ones() -> None:
    ledger = Ledger()
    ledger.put_node(metax_node("m", 1))
    asked = request("soon", slice_ask(memory=from_gib(4), cores=10))
    allocation = filter_nodes(ledger, asked, Defaults()).allocation
    assert allocation is not None
    ledger.reserve(tenant_for(asked, allocation), expires_at=60.0, attempt=ledger.begin_attempt())
    ((labels, _),) = parsed(hami_lines(ledger))["hami_vgpu_memory_allocated_bytes"]
    assert labels["pod"] == str(pod("soon").name)


def unescaped(written: str) -> str:
    """A label's value, as the text format has it read."""
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], written)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_no_id_of_a_card_can_break_the_page(uuid: str) -> None:
    ledger = Ledger()
    odd = msgspec.structs.replace(card("n", 0), uuid=CardUuid(uuid))
    ledger.put_node(Node(name=NodeName("n"), cards=(odd,)))
    lines = b"".join(hami_lines(ledger)).decode().split("\n")
    (line,) = [line for line in lines if line.startswith("hami_gpu_memory_limit_bytes{")]
    (written,) = re.findall(r'device_uuid="((?:[^"\\]|\\.)*)",device_type="Metax-SGPU"', line)
    assert unescaped(written) == uuid


def test_the_page_is_made_in_pieces_that_stay_small() -> None:
    ledger = Ledger()
    for number in range(PIECE // 2):
        ledger.put_node(metax_node(f"n{number}"))
    pieces = list(hami_lines(ledger))
    assert max(piece.count(b"\n") for piece in pieces) <= PIECE
    assert sum(piece.count(b"hami_gpu_shared_count{") for piece in pieces) == PIECE // 2 * 8


def test_nodes_and_pods_that_go_while_the_page_is_made_are_left_out() -> None:
    ledger = small_cluster()
    lines = hami_lines(ledger)
    first = next(lines)
    ledger.remove_node(NodeName("m"))
    ledger.remove(pod("card").uid)
    found = parsed([first, *lines])
    assert "m" not in {labels["node"] for labels, _ in found["hami_gpu_shared_count"]}
    assert [labels["pod"] for labels, _ in found["hami_vgpu_core_allocated_ratio"]] == ["moore"]


def test_outcomes_and_times_of_every_verb_are_counted() -> None:
    telemetry = Telemetry(CollectorRegistry())
    telemetry.filtered(0.0004, Outcome.DONE)
    telemetry.bound(0.003, Outcome.FAILED)
    telemetry.preempted(0.1, Outcome.REFUSED)
    telemetry.reviewed(0.0001, Outcome.PASSED)
    telemetry.wrote("binding", 2)
    telemetry.evicted("budget")
    telemetry.promise_ended("expired")
    telemetry.reloaded("refused")
    value = telemetry.registry.get_sample_value
    assert value("tangram_scheduler_filter_seconds_bucket", {"le": "0.0005"}) == 1
    assert value("tangram_scheduler_filter_seconds_bucket", {"le": "0.0002"}) == 0
    assert value("tangram_scheduler_bind_seconds_count") == 1
    assert value("tangram_scheduler_preempts_total", {"outcome": "refused"}) == 1
    assert value("tangram_scheduler_reviews_total", {"outcome": "passed"}) == 1
    assert value("tangram_scheduler_reviews_total", {"outcome": "failed"}) == 0
    assert value("tangram_scheduler_api_writes_total", {"object": "binding"}) == 2
    assert value("tangram_scheduler_evictions_total", {"outcome": "budget"}) == 1
    assert value("tangram_scheduler_promises_total", {"end": "expired"}) == 1
    assert value("tangram_scheduler_config_reloads_total", {"outcome": "refused"}) == 1


def test_what_is_the_case_is_asked_for_at_every_scrape() -> None:
    telemetry = Telemetry(CollectorRegistry())
    now = [Figures(waiting=3, leader=True, stale_seconds=1.5, pending={"CardInsufficientMemory": 2})]
    telemetry.observe(lambda: now[0])
    value = telemetry.registry.get_sample_value
    assert value("tangram_scheduler_waiting_pods") == 3
    assert value("tangram_scheduler_leader") == 1
    assert value("tangram_scheduler_cache_stale_seconds") == 1.5
    assert value("tangram_scheduler_pending_pods", {"reason": "CardInsufficientMemory"}) == 2
    now[0] = Figures(reservations=7)
    assert value("tangram_scheduler_waiting_pods") == 0
    assert value("tangram_scheduler_reservations") == 7
    assert value("tangram_scheduler_pending_pods", {"reason": "CardInsufficientMemory"}) is None


def last_room(ledger: Ledger, demand: Demand) -> Room:
    *_, room = room_of(ledger, demand)
    return room


HALVES = Demand(((Shape(count=1, vendor=Vendor.METAX, memory=from_gib(32), cores=50), 1.0),))


def test_room_is_counted_in_cards_worth_and_remainders_apart() -> None:
    ledger = Ledger()
    ledger.put_node(metax_node("m", 2))
    run(ledger, request("most", slice_ask(memory=from_gib(48), cores=75)))
    room = last_room(ledger, HALVES)
    assert room.by_vendor[Vendor.METAX].cards == 2
    assert room.by_vendor[Vendor.METAX].idle == pytest.approx(1.25)
    assert room.by_vendor[Vendor.METAX].remainders == pytest.approx(0.25)
    assert room.fragmented == pytest.approx(0.25)


def test_cards_that_take_no_pods_and_nodes_that_are_gone_are_no_room() -> None:
    ledger = Ledger()
    ledger.put_node(
        Node(name=NodeName("n"), cards=(card("n", 0, healthy=False), card("n", 1, cordoned=True)))
    )
    ledger.put_node(metax_node("gone", 1))
    ledger.remove_node(NodeName("gone"))
    room = last_room(ledger, HALVES)
    assert room.by_vendor[Vendor.METAX].cards == 0
    assert room.by_vendor[Vendor.METAX].idle == 0
    assert room.fragmented == 0


def test_an_empty_cluster_has_no_room() -> None:
    assert last_room(Ledger(), Demand()).fragmented == 0


async def test_the_whole_page_is_the_same_compressed_and_not() -> None:
    ledger = small_cluster()
    telemetry = Telemetry(CollectorRegistry())
    page = Exposition(telemetry.registry, ledger, demand=lambda: HALVES, quotas=lambda: QUOTAS, legacy=True)
    telemetry.observe(lambda: Figures(room=page.room))
    plain = await page.page(gzipped=False)
    assert gzip.decompress(await page.page(gzipped=True)) == plain
    found = parsed([plain])
    assert found["tangram_scheduler_cards"] == [({"vendor": "metax"}, 3.0), ({"vendor": "mthreads"}, 1.0)]
    fragmented = {labels["vendor"]: value for labels, value in found["tangram_scheduler_fragmented_cards"]}
    assert fragmented["metax"] > 0
    # Pods of MetaX cards are all that is expected here.
    assert fragmented["mthreads"] == 0
    assert plain.startswith(generate_latest(telemetry.registry)[:100])
    assert HAMI.keys() | LEGACY.keys() < found.keys()

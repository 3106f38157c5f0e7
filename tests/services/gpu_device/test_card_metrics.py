"""What Prometheus hears of cards and slices: known names, known units, and nothing where nothing is known."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from builders.agent_api import pod
from builders.agent_runs import GPU, SGPU, AgentRun, agent_on, allocated, slice_limits
from builders.fake_driver import FakeDriver, metax_card, mthreads_card
from builders.starts import NODE, inventory, metax, uuid
from builders.waiting import until
from tangram.drivers.errors import DriverError, Kind
from tangram.engine.usage import Hold
from tangram.model.devices import Figures, LinkReport, Slice
from tangram.model.grants import Grant, GrantedSlice
from tangram.model.pods import PodRef
from tangram.services.gpu_device.card_metrics import CardMetrics
from tangram.services.gpu_device.card_readings import CardReadings, Reading
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.metric_scene import Scene
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.stock import take_stock
from tangram.units.ids import CardUuid, Namespace, PodName, PodUid
from tangram.units.memory import GIB, from_gib, from_mib

Series = dict[str, list[tuple[dict[str, str], float]]]


def told(registry: CollectorRegistry) -> Series:
    found: Series = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def scene_of(on: Inventory, **parts: object) -> Scene:
    empty: dict[str, object] = {"usage": {}, "holdings": (), "pods": (), "grants": (), "readings": {}}
    return Scene(inventory=on, **{**empty, **parts})  # pyright: ignore[reportArgumentType] - a test names what it cares for


def series(on: Inventory, **parts: object) -> Series:
    registry = CollectorRegistry()
    registry.register(CardMetrics(lambda: scene_of(on, **parts), age=lambda reading: 10.0 - reading.at))
    return told(registry)


BUSY = Figures(
    utilisation_percent=37.5,
    memory_used=from_gib(16),
    memory_total=from_gib(64),
    temperature_celsius=51.0,
    power_watts=120.5,
    clocks_mhz={"XCORE": 1600, "MC": 1500},
    ecc_uncorrected=0,
)


def test_what_is_given_goes_by_hamis_names_and_units() -> None:
    found = series(inventory(metax(0), metax(1)), usage={CardUuid(uuid(0)): Hold(8 * GIB, 25, 2)})
    card = {"zone": "vGPU", "node": "n", "device_uuid": uuid(0), "device_index": "0", "device_type": "MXC500"}
    assert found["hami_gpu_memory_limit_bytes"][0] == (card, 64 * GIB)
    assert found["hami_gpu_memory_allocated_bytes"][0] == (card | {"device_cores": "25"}, 8 * GIB)
    assert found["hami_gpu_core_limit_ratio"] == [
        (card, 100),
        (card | {"device_uuid": uuid(1), "device_index": "1"}, 100),
    ]
    assert found["hami_gpu_core_allocated_ratio"][0] == (card, 25)
    assert found["hami_gpu_shared_count"][0] == (card, 2)


def test_a_card_goes_by_the_names_and_units_of_metaxs_exporter() -> None:
    found = series(inventory(metax(0)), readings={CardUuid(uuid(0)): Reading(figures=BUSY, at=7.0)})
    card = {
        "deviceId": "0",
        "uuid": uuid(0),
        "modelName": "MXC500",
        "driver_version": "",
        "Hostname": "n",
        "exported_namespace": "",
        "exported_pod": "",
        "exported_container": "",
    }
    vram = card | {"type": "vram"}
    assert found["mx_gpu_usage"] == [(card, 37.5)]
    assert found["mx_memory_total"] == [(vram, 64 * 1024 * 1024)]
    assert found["mx_memory_used"] == [(vram, 16 * 1024 * 1024)]
    assert found["mx_memory_usage"] == [(vram, 25)]
    assert found["mx_board_power"] == [(card, 120_500)]
    assert found["mx_chip_hotspot_temp"] == [(card, 51)]
    assert found["mx_gpu_clock"] == [(card, 1600)]
    assert found["mx_gpu_state"] == [(card | {"unavailable_reason": ""}, 1)]
    assert found["tangram_card_figures_age_seconds"][0][1] == 3


def test_a_broken_card_says_why_and_is_told_even_if_it_never_answered() -> None:
    found = series(inventory(metax(0, healthy=False)))
    (state,) = found["mx_gpu_state"]
    assert (state[0]["unavailable_reason"], state[1]) == ("it fell off the bus", 0)
    assert found["tangram_card_healthy"][0][1] == 0
    assert "mx_gpu_usage" not in found


def test_a_slice_says_whose_it_is() -> None:
    part = Slice(
        card=CardUuid(uuid(0)), id=3, memory=from_gib(4), cores=25, name="tangram-a", minor=7,
        memory_used=from_gib(1), utilisation_percent=12.0,
    )  # fmt: skip
    nobodys = Slice(card=CardUuid(uuid(0)), id=4, memory=from_gib(1), cores=5, name="by hand")
    grant = Grant(
        claim="c1",
        pod=PodRef(Namespace("team"), PodName("train-0"), PodUid("u")),
        container="main",
        resource=SGPU,
        ids=("metax-sgpu-0",),
        cards=(CardUuid(uuid(0)),),
        slices=(GrantedSlice(card=part.card, id=3, name=str(part.name), memory=part.memory, cores=25),),
    )
    reading = Reading(figures=BUSY, slices=(part, nobodys), at=0.0)
    found = series(inventory(metax(0)), grants=(grant,), readings={CardUuid(uuid(0)): reading})
    (mine, quota), (other, _) = found["mx_sgpu_compute_quota"]
    assert quota == 25
    assert (mine["sgpuId"], mine["minor"]) == ("3", "7")
    assert (mine["exported_namespace"], mine["exported_pod"], mine["exported_container"]) == (
        "team",
        "train-0",
        "main",
    )
    assert other["exported_pod"] == ""
    assert [value for _, value in found["mx_sgpu_total_memory"]] == [4 * 1024 * 1024, 1024 * 1024]
    assert [value for _, value in found["mx_sgpu_used_memory"]] == [1024 * 1024]
    assert [value for _, value in found["mx_sgpu_free_memory"]] == [3 * 1024 * 1024]
    assert [value for _, value in found["mx_sgpu_usage"]] == [12]
    assert found["tangram_slice_memory_bytes"][0][0]["pod"] == "train-0"


def test_figures_that_a_card_does_not_offer_are_absent() -> None:
    found = series(inventory(metax(0)), readings={CardUuid(uuid(0)): Reading(figures=Figures(), at=0.0)})
    assert not {
        name for name in found if name.startswith(("mx_gpu_usage", "mx_memory", "mx_board", "mx_chip"))
    }
    assert {name for name in found if name.startswith("tangram_card_")} == {
        "tangram_card_healthy",
        "tangram_card_cordoned",
        "tangram_card_figures_age_seconds",
    }


# ---- reading


def stocked(driver: FakeDriver) -> Inventory:
    return take_stock(NODE, driver.found, {}, LinkReport(), wanted={}, share_count=4, held_as={}, cordoned=())


async def test_a_card_that_does_not_answer_keeps_its_figures_and_they_grow_old() -> None:
    driver = FakeDriver(metax_card(0, sliced=True), mthreads_card(1))
    on, clock = stocked(driver), [100.0]
    readings = CardReadings(lambda: on, Hardware(lambda: driver), lambda: clock[0])
    driver.figures_of[CardUuid("GPU-0")] = BUSY
    await readings.refresh()
    driver.errors["slices"] = DriverError(Kind.FAILED, "no")
    driver.figures_of[CardUuid("GPU-0")] = Figures()
    clock[0] = 130.0
    await readings.refresh()
    assert readings.by_card[CardUuid("GPU-0")].figures == BUSY
    assert {uuid: readings.age(each) for uuid, each in readings.by_card.items()} == {"GPU-0": 30, "mt-1": 0}


async def test_a_hanging_driver_costs_the_figures_and_nothing_else() -> None:
    driver = FakeDriver(metax_card(0))
    on = stocked(driver)
    readings = CardReadings(lambda: on, Hardware(lambda: driver, limit=0.01))
    let_go = driver.hang("figures")
    await readings.refresh()
    assert readings.by_card == {}
    let_go()
    await until(lambda: not driver.inside.is_set())
    del driver.hanging["figures"]
    readings = CardReadings(lambda: on, Hardware(lambda: driver))
    await readings.refresh()
    assert CardUuid("GPU-0") in readings.by_card


async def test_a_card_that_is_gone_takes_its_figures_along() -> None:
    driver = FakeDriver(metax_card(0), metax_card(1))
    stock = [stocked(driver)]
    readings = CardReadings(lambda: stock[0], Hardware(lambda: driver))
    await readings.refresh()
    del driver.found[0]
    stock[0] = stocked(driver)
    await readings.refresh()
    assert set(readings.by_card) == {"GPU-1"}


# ---- the whole agent


async def seen_by_prometheus(run: AgentRun) -> Series:
    assert run.agent is not None
    await run.agent.readings.refresh()
    return told(run.agent.telemetry.registry)


async def test_the_figures_of_a_running_agent_name_the_pods_of_slices_and_of_whole_cards() -> None:
    async with agent_on({"product": "C500", "count": 2}, mode="mode: mixed\nslicedCards: [0]") as run:
        await run.offered(SGPU, 16)
        await run.offered(GPU, 1, 1)
        held = allocated([(run.uuids[0], 4096, 25)])
        await run.pods.run(run.api.bind(pod("sliced", slice_limits(4, 25)), held))
        await run.pods.run(run.api.bind(pod("whole", {GPU: 1})))
        found: Series = {}
        while not any(labels["exported_pod"] == "whole" for labels, _ in found.get("mx_gpu_usage", ())):
            found = await seen_by_prometheus(run)
            await asyncio.sleep(0.005)
        (part,) = found["mx_sgpu_total_memory"]
        assert (part[0]["exported_pod"], part[1]) == ("sliced", 4 * 1024 * 1024)
        (labels, memory) = next(
            row for row in found["hami_vgpu_memory_allocated_bytes"] if row[0]["pod"] == "sliced"
        )
        assert memory == from_mib(4096)
        assert (labels["container_index"], labels["device_uuid"]) == ("0", run.uuids[0])
        assert [value for _, value in found["hami_gpu_shared_count"]] == [1, 1]


async def test_cards_of_moore_threads_are_told_without_metaxs_names() -> None:
    async with agent_on({"product": "S4000"}) as run:
        await run.offered("mthreads.com/sgpu-core", 16)
        run.order("run abcdef123456 MTHREADS_VISIBLE_DEVICES=0 MTHREADS_QOS_MEMORY_LIMIT=1073741824")
        found = await seen_by_prometheus(run)
        assert not [name for name in found if name.startswith("mx_")]
        assert found["tangram_slice_memory_bytes"][0][1] == from_gib(1)
        assert found["tangram_card_usage_percent"]
        assert found["hami_gpu_core_limit_ratio"][0][1] == 100


@pytest.mark.parametrize("call", ["took", "refused"])
async def test_the_agents_own_counts_are_beside_them(call: str) -> None:
    async with agent_on({"product": "C500", "sliced": True}, mode="mode: sgpu") as run:
        await run.offered(SGPU, 16)
        made = run.api.bind(pod("p", slice_limits(4, 25)))
        await run.pods.admit(made)
        await run.refused(made)
        found = await seen_by_prometheus(run)
        if call == "took":
            calls = {labels["call"] for labels, _ in found["tangram_agent_call_seconds_count"]}
            assert {"allocate", "pre-start"} <= calls
        else:
            ((labels, count),) = found["tangram_agent_refusals_total"]
            assert (labels["code"], count) == ("allocation-missing", 1)

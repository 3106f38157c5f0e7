"""The node's labels follow the machine: one patch per change, none without one, and nobody else's labels touched."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from builders.api_server import refusal
from builders.fake_driver import metax_card, mthreads_card
from builders.node_server import NodeServer, node_server
from builders.waiting import until
from tangram.kube import informer as informers
from tangram.kube.api import Api
from tangram.kube.informer import Informer, whole
from tangram.model.cards import Vendor
from tangram.services.gpu_label import labeller as labellers
from tangram.services.gpu_label.labeller import Labeller
from tangram.services.gpu_label.looking import Sight
from tangram.services.gpu_label.metrics import Metrics
from tangram.services.gpu_label.wanting import wanted_labels
from tangram.units.ids import NodeName

NODE = NodeName("gpu-1")
METAX = Sight(devices=(metax_card(0, driver_version="3.8.30", family="MXC"),))
NONE = Sight()
UNDRIVEN = Sight(on_bus=frozenset({Vendor.METAX}))
BOTH = Sight(devices=(*METAX.devices, mthreads_card(0)))
OTHERS = {
    "kubernetes.io/hostname": "gpu-1",
    "metax-tech.com/maca.ready": "true",
    "mthreads.com/sgpu.cores": "0",
}


class Running:
    def __init__(self, server: NodeServer, labeller: Labeller, metrics: Metrics) -> None:
        self.server = server
        self.labeller = labeller
        self.metrics = metrics

    def counted(self, name: str) -> float:
        return self.metrics.registry.get_sample_value(f"tangram_gpu_label_{name}") or 0.0

    async def until_labelled(self, labels: dict[str, str]) -> None:
        await until(lambda: self.server.labels(NODE) == labels)


@asynccontextmanager
async def running(server: NodeServer) -> AsyncGenerator[Running]:
    async with Api(server.connection) as api:
        metrics = Metrics()
        labeller = Labeller(api, NODE, metrics)
        query = {"fieldSelector": f"metadata.name={NODE}"}
        informer = Informer(api, "/api/v1/nodes", labeller.told, keep=whole, query=query)
        tasks = [asyncio.create_task(informer.run()), asyncio.create_task(labeller.run())]
        try:
            yield Running(server, labeller, metrics)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (informers, labellers):
        monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.001)
        monkeypatch.setattr(module, "LONGEST_PAUSE_S", 0.01)
    monkeypatch.setattr(labellers, "PACE_S", 0.001)
    monkeypatch.setattr(labellers, "LONGEST_PACE_S", 0.01)


async def test_a_new_node_gets_all_labels_in_one_patch_and_keeps_those_of_others() -> None:
    async with node_server() as server:
        server.put(NODE, metadata={"labels": OTHERS})
        server.put("other", metadata={"labels": {}})
        async with running(server) as one:
            one.labeller.saw(BOTH)
            await one.until_labelled({**OTHERS, **wanted_labels(BOTH)})
            await until(lambda: one.labeller.unready() == [])
        assert server.patches == [{"metadata": {"labels": wanted_labels(BOTH)}}]
        assert server.labels("other") == {}


async def test_nothing_is_written_after_a_restart_and_only_the_difference_after_a_change() -> None:
    async with node_server() as server:
        server.put(NODE, metadata={"labels": {**OTHERS, **wanted_labels(METAX)}})
        async with running(server) as one:
            one.labeller.saw(METAX)
            await until(lambda: one.labeller.unready() == [] and one.counted("labels") > 0)
            one.labeller.saw(METAX)
            newer = Sight(devices=(metax_card(0, driver_version="3.9.30", family="MXC"),))
            one.labeller.saw(newer)
            await one.until_labelled({**OTHERS, **wanted_labels(newer)})
        assert server.patches == [{"metadata": {"labels": {"metax-tech.com/gpu.driver.minor": "9"}}}]


async def test_stale_labels_are_removed_when_driver_and_cards_go() -> None:
    async with node_server() as server:
        server.put(NODE, metadata={"labels": OTHERS})
        async with running(server) as one:
            for sight in (BOTH, UNDRIVEN, NONE, BOTH):
                one.labeller.saw(sight)
                await one.until_labelled({**OTHERS, **wanted_labels(sight)})
        assert len(server.patches) == 4
        assert {**wanted_labels(UNDRIVEN), **wanted_labels(NONE)} == {
            "metax-tech.com/gpu.installed": "false",
            "metax-tech.com/driver.ready": "false",
        }


async def test_a_label_that_somebody_removed_or_changed_comes_back() -> None:
    async with node_server() as server:
        server.put(NODE, metadata={"labels": OTHERS})
        async with running(server) as one:
            one.labeller.saw(METAX)
            await one.until_labelled({**OTHERS, **wanted_labels(METAX)})
            change = {"metax-tech.com/gpu.product": None, "metax-tech.com/gpu.memory": "1GB"}
            server.change(NODE, {"metadata": {"labels": change}})
            await one.until_labelled({**OTHERS, **wanted_labels(METAX)})
            await until(lambda: one.counted("patches_total") == 2)
        assert server.patches[1:] == [
            {
                "metadata": {
                    "labels": {"metax-tech.com/gpu.memory": "64GB", "metax-tech.com/gpu.product": "MXC500"}
                }
            }
        ]


async def test_a_cordoned_node_leaves_gpu_service_and_an_uncordoned_one_returns() -> None:
    async with node_server() as server:
        server.put(NODE, metadata={"labels": {**OTHERS, **wanted_labels(BOTH)}}, spec={"unschedulable": True})
        async with running(server) as one:
            one.labeller.saw(BOTH)
            await one.until_labelled(OTHERS)
            server.change(NODE, {"spec": {"unschedulable": None}})
            await one.until_labelled({**OTHERS, **wanted_labels(BOTH)})
            server.change(NODE, {"spec": {"unschedulable": True}})
            await one.until_labelled(OTHERS)
            assert one.counted("labels") == 0
        assert len(server.patches) == 3


async def test_a_cordoned_node_without_gpus_loses_its_one_label_too() -> None:
    async with node_server() as server:
        server.put(NODE, metadata={"labels": wanted_labels(NONE)}, spec={"unschedulable": True})
        async with running(server) as one:
            one.labeller.saw(NONE)
            await one.until_labelled({})


async def test_an_api_server_that_is_away_is_waited_for() -> None:
    async with node_server() as server:
        server.put(NODE, metadata={"labels": OTHERS})
        async with running(server) as one:
            await until(lambda: server.small.watching == 1)
            server.down = True
            server.small.cut_watches()
            one.labeller.saw(METAX)
            await until(lambda: one.counted("patches_failed_total") >= 2)
            assert "could not be written" in one.labeller.unready()[0]
            server.down = False
            await one.until_labelled({**OTHERS, **wanted_labels(METAX)})
            await until(lambda: one.labeller.unready() == [])
        assert len(server.patches) == 1


async def test_a_refusal_is_said_and_tried_again() -> None:
    async with node_server() as server:
        server.put(NODE, metadata={"labels": {}})
        server.before_patch = lambda: refusal(403, "Forbidden", "may not patch nodes")
        async with running(server) as one:
            one.labeller.saw(METAX)
            await until(lambda: one.counted("patches_failed_total") >= 2)
            assert "may not patch nodes" in one.labeller.unready()[0]
            server.before_patch = lambda: None
            await one.until_labelled(wanted_labels(METAX))


async def test_a_node_that_is_not_there_is_a_reason_and_one_that_is_made_again_is_labelled() -> None:
    async with node_server() as server, running(server) as one:
        one.labeller.saw(METAX)
        assert one.labeller.unready() == [
            "the API server has not told about node gpu-1 yet, or it has no such node"
        ]
        server.put(NODE, metadata={"uid": "first"})
        await one.until_labelled(wanted_labels(METAX))
        server.small.remove("/api/v1/nodes/gpu-1")
        await until(lambda: one.labeller.unready() != [])
        server.put(NODE, metadata={"uid": "second"})
        await one.until_labelled(wanted_labels(METAX))


async def test_two_labellers_that_undo_each_other_slow_down(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(labellers, "LONGEST_PACE_S", 0.016)
    monkeypatch.setattr(labellers, "CALM_S", 3600.0)
    async with node_server() as server:
        server.put(NODE, metadata={"labels": {}})
        async with running(server) as one:
            one.labeller.saw(METAX)
            for written in range(1, 8):
                await until(lambda written=written: one.counted("patches_total") >= written)
                server.change(NODE, {"metadata": {"labels": {"metax-tech.com/gpu.product": "C500"}}})
            await until(lambda: "look for another labeller on node gpu-1" in caplog.text)

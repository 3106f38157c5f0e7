"""The labeller as a whole, over simulated cards and a small API server."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from builders.api_server import refusal
from builders.fake_driver import FakeDriver
from builders.node_server import NodeServer, node_server
from builders.simulated import make_driver
from builders.waiting import until
from tangram.daemon.endpoints import Address
from tangram.daemon.running import DONE, FAILED, Supervisor
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.protocol import Driver
from tangram.drivers.simulated.control import carry_out
from tangram.kube.api import Api
from tangram.kube.errors import ApiError
from tangram.services.gpu_label import labeller as labellers
from tangram.services.gpu_label.looking import Looker
from tangram.services.gpu_label.service import Settings, label_once, serve
from tangram.units.ids import NodeName

NODE = NodeName("gpu-1")
LONG = 60.0
INSTALLED = "metax-tech.com/gpu.installed"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labellers, "PACE_S", 0.001)
    monkeypatch.setattr(labellers, "LONGEST_PACE_S", 0.01)


def looker_over(driver: Driver) -> Looker:
    empty = FakeDriver()
    empty.errors["devices"] = DriverError(Kind.NO_DRIVER, "nothing on the bus")
    return Looker(lambda _: driver, empty, limit=LONG)


@asynccontextmanager
async def serving(
    server: NodeServer, driver: Driver, address: Address | None = None
) -> AsyncGenerator[Supervisor]:
    supervisor = Supervisor()
    settings = Settings(node=NODE, interval=0.01, address=address)
    task = asyncio.create_task(serve(supervisor, settings, server.connection, looker_over(driver)))
    try:
        yield supervisor
        supervisor.stop()
        assert await task == DONE
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_labels_follow_the_cards_and_stay_when_the_labeller_ends() -> None:
    driver = make_driver({"product": "S4000", "count": 2})
    async with node_server() as server:
        server.put(NODE)
        async with serving(server, driver):
            await until(lambda: server.labels(NODE).get("tangram.dev/mthreads.count") == "2")
            carry_out(driver.world, "vanish GPU-1")
            await until(lambda: server.labels(NODE).get("tangram.dev/mthreads.count") == "1")
            carry_out(driver.world, "recover GPU-1")
            await until(lambda: server.labels(NODE).get("tangram.dev/mthreads.count") == "2")
        left = server.labels(NODE)
    assert left[INSTALLED] == "false"
    assert left["tangram.dev/mthreads.memory"] == "48GB"
    assert len(server.patches) == 3


async def test_a_card_that_is_broken_changes_no_label() -> None:
    driver = make_driver({"product": "C500", "count": 2})
    async with node_server() as server:
        server.put(NODE)
        async with serving(server, driver):
            await until(lambda: INSTALLED in server.labels(NODE))
            before = server.labels(NODE)
            carry_out(driver.world, "fail GPU-1")
            server.change(NODE, {"metadata": {"labels": {INSTALLED: None}}})
            await until(lambda: server.labels(NODE) == before)
    assert len(server.patches) == 2


async def test_probes_and_metrics_tell_what_is_the_matter(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with node_server() as server, aiohttp.ClientSession() as session:

        async def fetch(path: str) -> tuple[int, str]:
            address = next(
                record.__dict__["address"] for record in caplog.records if "address" in record.__dict__
            )
            async with session.get(f"http://{address}{path}") as answer:
                return answer.status, await answer.text()

        server.put("somebody-else")
        async with serving(server, make_driver({"product": "C500"}), Address("127.0.0.1", 0)):
            await until(lambda: server.small.watching == 1)
            status, reasons = await fetch("/readyz")
            assert status == 503
            assert "node gpu-1" in reasons
            assert (await fetch("/healthz"))[0] == 200
            server.put(NODE)
            await until(lambda: INSTALLED in server.labels(NODE))
            assert (await fetch("/readyz")) == (200, "ok\n")
            async with asyncio.timeout(LONG):
                while "tangram_gpu_label_patches_total 1.0\n" not in (
                    metrics := (await fetch("/metrics"))[1]
                ):
                    pass
    assert "tangram_gpu_label_reads_failed_total 0.0\n" in metrics
    assert "tangram_gpu_label_last_read_seconds " in metrics
    assert "tangram_gpu_label_labels 11.0\n" in metrics


async def test_a_driver_nobody_can_mean_ends_it_before_anything_is_written() -> None:
    driver = FakeDriver()
    driver.errors["devices"] = DriverError(Kind.INVALID, "the driver is 'x'")
    async with node_server() as server:
        server.put(NODE)
        with pytest.raises(DriverError, match="the driver is"):
            await serve(Supervisor(), Settings(node=NODE), server.connection, looker_over(driver))
    assert server.small.requests == []
    assert driver.closed


async def test_a_driver_that_only_a_new_process_can_ask_ends_it_and_leaves_the_labels() -> None:
    driver = make_driver({"product": "C500", "count": 2})
    fake = FakeDriver(*driver.devices())
    async with node_server() as server:
        server.put(NODE)
        settings = Settings(node=NODE, interval=0.01)
        task = asyncio.create_task(serve(Supervisor(), settings, server.connection, looker_over(fake)))
        await until(lambda: INSTALLED in server.labels(NODE))
        before = server.labels(NODE)
        fake.errors["devices"] = DriverError(Kind.OUTDATED, "start this program again")
        async with asyncio.timeout(LONG):
            assert await task == FAILED
        assert server.labels(NODE) == before


async def test_once_writes_once_and_says_what_changed() -> None:
    async with node_server() as server, Api(server.connection) as api:
        server.put(NODE, metadata={"labels": {"metax-tech.com/gpu.vfnum": "8"}})
        driver = FakeDriver()
        driver.errors["devices"] = DriverError(Kind.NO_DRIVER, "no cards")
        wish = await label_once(api, NODE, looker_over(driver))
        assert wish.changes == {INSTALLED: "false", "metax-tech.com/gpu.vfnum": None}
        assert server.labels(NODE) == {INSTALLED: "false"}
        assert (await label_once(api, NODE, looker_over(driver))).changes == {}
        assert len(server.patches) == 1


async def test_once_tells_what_the_api_server_refused() -> None:
    async with node_server() as server, Api(server.connection) as api:
        server.put(NODE)
        server.before_patch = lambda: refusal(403, "Forbidden", "may not patch nodes")
        with pytest.raises(ApiError, match="may not patch nodes"):
            await label_once(api, NODE, looker_over(make_driver({"product": "C500"})))


async def test_once_waits_out_a_driver_that_fails_and_calls_it_not_ready() -> None:
    driver = FakeDriver()
    driver.errors["devices"] = DriverError(Kind.FAILED, "error 5")
    async with node_server() as server, Api(server.connection) as api:
        server.put(NODE)
        wish = await label_once(api, NODE, looker_over(driver))
    assert wish.labels == {INSTALLED: "false"}

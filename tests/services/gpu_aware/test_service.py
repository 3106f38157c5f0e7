"""gpu-aware as a whole, over HTTP: live weights, probes, metrics, bounds, certificates."""

import asyncio
import datetime as dt
import json
import logging
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import aiohttp
import pytest

from builders.api_server import SmallApiServer, small_api_server
from builders.clusters import metax_node
from builders.gpu_aware import Object, announced_node, asking_pod, names_call, offering_node, whole_call
from builders.waiting import until
from tangram.daemon import serving_identity
from tangram.daemon.certificates import Issued, issue
from tangram.daemon.endpoints import Address
from tangram.daemon.errors import SettingError
from tangram.daemon.running import DONE, Supervisor
from tangram.kube.connection import Connection
from tangram.model.cards import CardMode
from tangram.services.gpu_aware import service as services
from tangram.services.gpu_aware.following import MapName
from tangram.services.gpu_aware.service import Settings, serve
from tangram.wire.gpu_aware_weights import WRITTEN_BY_CHART
from tangram.wire.metax_listing import NODE_DEVICES
from tangram.wire.metax_topology import LOSSES, SCORES

T = TypeVar("T")
ANYWHERE = Address("127.0.0.1", 0)
PLACE = MapName("metax-gpu", "gpu-aware-weight")
MAP_PATH = f"/api/v1/namespaces/{PLACE.namespace}/configmaps/{PLACE.name}"
TWO = [
    offering_node("good", scores={2: 200}, losses={2: 100}),
    offering_node("mild", scores={2: 110}, losses={2: 0}),
]
QUESTION = whole_call(asking_pod(2), TWO)


class Asking:
    """A running gpu-aware, as kube-scheduler and others see it."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session = session
        self.base = base

    async def post(self, verb: str, body: bytes) -> tuple[int, Object | list[Object]]:
        async with self._session.post(f"{self.base}/{verb}", data=body) as answer:
            return answer.status, await answer.json()

    async def get(self, path: str) -> tuple[int, str]:
        async with self._session.get(f"{self.base}{path}") as answer:
            return answer.status, await answer.text()

    async def best(self) -> str:
        _, scored = await self.post("prioritize", QUESTION)
        assert isinstance(scored, list)
        return max(scored, key=lambda each: each["Score"])["Host"]

    async def names(self, body: bytes) -> list[str]:
        _, filtered = await self.post("filter", body)
        assert isinstance(filtered, dict)
        return filtered["NodeNames"]

    async def until_best(self, name: str) -> None:
        await until_answered(self.best, lambda found: found == name)

    async def until_metric(self, line: str) -> None:
        await until_answered(lambda: self.get("/metrics"), lambda found: f"{line}\n" in found[1])

    async def until_ready(self) -> None:
        await until_answered(lambda: self.get("/readyz"), lambda found: found[0] == 200)


async def until_answered(ask: Callable[[], Awaitable[T]], right: Callable[[T], bool]) -> None:
    """Ask a server until its answer is right; nothing announces that."""
    async with asyncio.timeout(60):
        while not right(await ask()):  # noqa: ASYNC110 - the reason stands above
            await asyncio.sleep(0.005)


@asynccontextmanager
async def running(
    caplog: pytest.LogCaptureFixture,
    settings: Settings,
    connection: Connection | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncGenerator[Asking]:
    caplog.set_level(logging.INFO)
    supervisor = Supervisor()
    task = asyncio.create_task(serve(supervisor, settings, connection))
    try:
        await until(lambda: task.done() or any("address" in each.__dict__ for each in caplog.records))
        if task.done():
            task.result()
        found = next(each.__dict__["address"] for each in caplog.records if "address" in each.__dict__)
        connector = aiohttp.TCPConnector(ssl=tls or False, force_close=True)
        async with aiohttp.ClientSession(connector=connector) as session:
            yield Asking(session, f"{'http' if tls is None else 'https'}://{found}")
        supervisor.stop()
        assert await task == DONE
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def put_weights(server: SmallApiServer, **data: str) -> None:
    server.put(MAP_PATH, {"data": data})


async def test_an_edit_of_the_manuals_config_map_counts_too_and_one_in_both_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    alias = "/api/v1/namespaces/manual/configmaps/gpu-aware-plugin"
    note = {"annotations": {WRITTEN_BY_CHART: '{"score":"1.0","loss":"0.5"}'}}
    async with small_api_server() as (server, connection):
        put_weights(server, score="1.0", loss="0.5")
        server.put(alias, {"metadata": note, "data": {"score": "1.0", "loss": "0.5"}})
        settings = Settings(address=ANYWHERE, weights_map=PLACE, alias_namespace="manual")
        async with running(caplog, settings, connection) as aware:
            await aware.until_ready()
            await aware.until_best("good")
            server.put(alias, {"metadata": note, "data": {"score": "1.0", "loss": "5"}})
            await aware.until_best("mild")
            put_weights(server, score="1.0", loss="0.1")
            await until(lambda: "loss edited in both ConfigMaps" in caplog.text)
            assert await aware.best() == "mild"
            server.remove(alias)
            await aware.until_metric('tangram_gpu_aware_weight{weight="loss"} 0.1')
            assert await aware.best() == "good"


async def test_an_edit_of_the_config_map_turns_two_nodes_round_without_a_restart(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with small_api_server() as (server, connection):
        put_weights(server, score="1.0", loss="0.5")
        settings = Settings(address=ANYWHERE, weights_map=PLACE)
        async with running(caplog, settings, connection) as asking:
            await asking.until_best("good")
            put_weights(server, score="1.0", loss="5")
            await asking.until_best("mild")
            put_weights(server, score="1.0", loss="a lot")
            await asking.until_metric("tangram_gpu_aware_weights_refused 1.0")
            assert await asking.best() == "mild"
            assert (await asking.get("/readyz")) == (200, "ok\n")
            assert 'tangram_gpu_aware_weight{weight="loss"} 5.0\n' in (await asking.get("/metrics"))[1]
            server.remove(MAP_PATH)
            await asking.until_best("good")
    assert "the weights stay score 1.0, loss 5: loss of gpu-aware-weight is 'a lot'" in caplog.text


async def test_files_of_a_mounted_config_map_are_followed_too(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "FOLDER_PAUSE_S", 0.005)
    # As the kubelet mounts it: names that point into a folder which is replaced as a whole.
    for number, loss in enumerate(("0.5", "5", "-5")):
        edition = tmp_path / f"..{number}"
        edition.mkdir()
        (edition / "loss").write_text(loss)
    (tmp_path / "..data").symlink_to("..0")
    (tmp_path / "loss").symlink_to("..data/loss")

    def swap(number: int) -> None:
        (tmp_path / "..new").symlink_to(f"..{number}")
        (tmp_path / "..new").rename(tmp_path / "..data")

    settings = Settings(address=ANYWHERE, weights_folder=tmp_path)
    async with running(caplog, settings) as asking:
        assert await asking.best() == "good"
        swap(1)
        await asking.until_best("mild")
        swap(2)
        await asking.until_metric("tangram_gpu_aware_weights_refused 1.0")
        assert await asking.best() == "mild"


async def test_a_folder_that_is_not_there_leaves_the_usual_weights_and_says_so(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    async with running(caplog, Settings(address=ANYWHERE, weights_folder=tmp_path / "none")) as asking:
        assert await asking.best() == "good"
        assert (await asking.get("/readyz"))[0] == 200
    assert "is no folder: mount the ConfigMap there" in caplog.text


async def test_an_api_server_that_does_not_answer_keeps_nobody_from_being_scheduled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    away = Connection("http://127.0.0.1:9", None)
    async with running(caplog, Settings(address=ANYWHERE, weights_map=PLACE), away) as asking:
        await asking.until_ready()
        assert await asking.best() == "good"
    assert f"the ConfigMap {PLACE} cannot be followed" in caplog.text


async def test_names_are_answered_from_nodes_and_pods_that_are_followed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nodes = {name: metax_node(name, mode=CardMode.WHOLE) for name in ("busy", "idle")}
    async with small_api_server() as (server, connection):
        for name, node in nodes.items():
            server.put(f"/api/v1/nodes/{name}", announced_node(node, without=(SCORES, LOSSES, NODE_DEVICES)))
        pod = asking_pod(4, "runs")
        pod["spec"]["nodeName"] = "busy"
        server.put("/api/v1/pods/runs", pod)
        settings = Settings(address=ANYWHERE, follow_cluster=True)
        async with running(caplog, settings, connection) as asking:
            await asking.until_ready()
            body = names_call(asking_pod(5), ["busy", "idle"])
            assert await asking.names(body) == ["idle"]
            # Both have four cards of one group free; taking them costs the idle node more.
            _, scored = await asking.post("prioritize", names_call(asking_pod(3), ["busy", "idle"]))
            assert scored == [{"Host": "busy", "Score": 10}, {"Host": "idle", "Score": 9}]
            server.remove("/api/v1/pods/runs")
            await until_answered(lambda: asking.names(body), lambda found: found == ["busy", "idle"])


async def test_every_answer_is_counted_and_timed(caplog: pytest.LogCaptureFixture) -> None:
    async with running(caplog, Settings(address=ANYWHERE)) as asking:
        assert (await asking.get("/healthz")) == (200, "ok\n")
        await asking.post("filter", QUESTION)
        await asking.post("prioritize", whole_call(asking_pod(), TWO))
        metrics = (await asking.get("/metrics"))[1]
    assert 'tangram_gpu_aware_calls_total{outcome="judged",verb="filter"} 1.0\n' in metrics
    assert 'tangram_gpu_aware_calls_total{outcome="passed",verb="prioritize"} 1.0\n' in metrics
    assert "tangram_gpu_aware_filter_seconds_count 1.0\n" in metrics
    assert "tangram_gpu_aware_prioritize_seconds_count 1.0\n" in metrics


async def test_whatever_is_asked_wrongly_is_answered_with_a_sentence(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "LARGEST_BODY", 64 * 1024)
    async with running(caplog, Settings(address=ANYWHERE)) as asking:
        for verb, body, status in (
            ("filter", b"{", 200),
            ("prioritize", b"{", 400),
            ("filter", b" " * (65 * 1024), 413),
            ("bind", b"{}", 404),
        ):
            found, answer = await asking.post(verb, body)
            assert isinstance(answer, dict)
            assert (found, bool(answer["Error"])) == (status, True)
        assert (await asking.get("/filter"))[0] == 405


def written(folder: Path, made: Issued) -> tuple[Path, Path]:
    files = folder / "tls.crt", folder / "tls.key"
    files[0].write_bytes(made.pair.certificate)
    files[1].write_bytes(made.pair.key)
    return files


def issued() -> Issued:
    return issue(["127.0.0.1"], "gpu-aware", now=dt.datetime.now(dt.UTC), life=dt.timedelta(days=1))


async def test_with_a_certificate_it_speaks_https_and_shows_a_new_one_without_a_restart(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_identity, "LOOK_EVERY_S", 0.005)
    first, second = issued(), issued()
    trusting_first, trusting_second = (
        ssl.create_default_context(cadata=each.authority.decode()) for each in (first, second)
    )
    settings = Settings(address=ANYWHERE, certificate=written(tmp_path, first))
    async with running(caplog, settings, tls=trusting_first) as asking:
        assert await asking.best() == "good"
        connector = aiohttp.TCPConnector(ssl=trusting_second, force_close=True)
        async with aiohttp.ClientSession(connector=connector) as session:
            later = Asking(session, asking.base)
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await later.best()
            written(tmp_path, second)
            await until(lambda: caplog.text.count("is shown from now on") == 2)
            assert await later.best() == "good"


async def test_an_address_or_a_certificate_that_cannot_be_used_ends_it_with_a_sentence(
    tmp_path: Path,
) -> None:
    async with small_api_server() as (_, connection):
        port = int(connection.server.rpartition(":")[2])
        with pytest.raises(SettingError, match=r"--address is .* where nothing can be served"):
            await serve(Supervisor(), Settings(address=Address("127.0.0.1", port)), None)
    nothing = tmp_path / "a", tmp_path / "b"
    with pytest.raises(SettingError, match="cannot be served with"):
        await serve(Supervisor(), Settings(address=ANYWHERE, certificate=nothing), None)


def test_the_question_of_these_tests_is_one_of_kube_schedulers() -> None:
    assert set(json.loads(QUESTION)) == {"Pod", "Nodes", "NodeNames"}

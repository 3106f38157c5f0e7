"""The agent as a whole: what a node says of its container runtime, over a small API server."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from builders.api_server import refusal
from builders.node_server import NodeServer, node_server
from builders.runtime_hosts import COMMENTED, RuntimeHost
from builders.waiting import until
from tangram.daemon.running import DONE, Supervisor
from tangram.kube import informer as informers
from tangram.kube import recorder as recorders
from tangram.kube.api import Api
from tangram.services.container_runtime import service as services
from tangram.services.container_runtime import telling
from tangram.services.container_runtime.service import Service
from tangram.services.container_runtime.telling import changes
from tangram.wire.operator import names
from tangram.wire.operator.node_states import Phase, RuntimeState, state_of

NODE = "gpu-1"
INFO = {"nodeInfo": {"kubeletVersion": "v1.34.1", "containerRuntimeVersion": "containerd://2.3.7"}}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (informers, telling):
        monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.001)
        monkeypatch.setattr(module, "LONGEST_PAUSE_S", 0.01)
    monkeypatch.setattr(telling, "PACE_S", 0.001)
    monkeypatch.setattr(recorders, "PACE_S", 0.001)
    monkeypatch.setattr(services, "AGAIN_S", 0.02)


@asynccontextmanager
async def serving(server: NodeServer, one: RuntimeHost) -> AsyncGenerator[Service]:
    supervisor = Supervisor()
    async with Api(server.connection) as api:
        service = Service(one.settings, api, programs=one.programs, restarter=one.restarter)
        task = asyncio.create_task(service.serve(supervisor, None))
        try:
            yield service
            supervisor.stop()
            assert await task == DONE
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def said(server: NodeServer) -> RuntimeState | None:
    return state_of(RuntimeState, server.annotations(NODE), names.RUNTIME_STATE)


def label(server: NodeServer) -> str | None:
    return server.labels(NODE).get(names.RUNTIME_READY)


def events(server: NodeServer) -> list[tuple[str, str]]:
    return [
        (body["reason"], body["message"])
        for method, path, _, body in server.small.requests
        if method == "POST" and path.endswith("/events")
    ]


async def test_a_node_is_ready_when_its_runtime_is_and_loses_the_label_when_it_goes(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, interval=0.005)
    async with node_server() as server:
        server.put(NODE, status=INFO)
        async with serving(server, one):
            await until(lambda: label(server) == "true")
            state = said(server)
            assert state is not None
            assert (state.phase, state.engine, state.way) == (Phase.READY, "containerd", "cdi")
            written = len(server.patches)
            server.change(NODE, {"metadata": {"annotations": {names.REMOVE: "true"}}})
            await until(lambda: names.RUNTIME_READY not in server.labels(NODE))
            await until(lambda: (it := said(server)) is not None and it.phase is Phase.REMOVED)
            assert one.files() == one.before
            server.change(NODE, {"metadata": {"annotations": {names.REMOVE: None}}})
            await until(lambda: label(server) == "true")
            await until(lambda: len(events(server)) == 2)
        assert written <= 2
    assert [reason for reason, _ in events(server)] == ["MetaxRuntimeRegistered", "MetaxRuntimeRemoved"]


async def test_a_restart_of_the_agent_writes_nothing(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, interval=0.005)
    async with node_server() as server:
        server.put(NODE, status=INFO)
        async with serving(server, one):
            await until(lambda: label(server) == "true")
        patches, restarts = len(server.patches), one.restarter.restarts
        async with serving(server, one) as again:
            await until(
                lambda: again.metrics.registry.get_sample_value("tangram_container_runtime_ready") == 1
            )
        assert (len(server.patches), one.restarter.restarts) == (patches, restarts)


async def test_lines_that_somebody_takes_out_come_back_with_an_event(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, interval=0.005)
    async with node_server() as server:
        server.put(NODE, status=INFO)
        async with serving(server, one):
            await until(lambda: label(server) == "true")
            one.write(COMMENTED)
            await until(lambda: "metax" in one.text())
            await until(lambda: any(reason == "MetaxRuntimeRestored" for reason, _ in events(server)))
        # It worked all the while, so gpu-device was not sent away.
        assert label(server) == "true"
        assert all(
            patch["metadata"].get("labels") != {names.RUNTIME_READY: "false"} for patch in server.patches[2:]
        )


async def test_a_failure_is_on_the_node_once_and_goes_when_it_is_over(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, interval=0.005)
    one.programs.refuses = lambda _words, text: "no" if "metax" in text else ""
    async with node_server() as server:
        server.put(NODE, status=INFO)
        async with serving(server, one) as service:
            await until(lambda: label(server) == "false")
            failed = "tangram_container_runtime_failures_total"
            await until(lambda: (service.metrics.registry.get_sample_value(failed) or 0) >= 3)
            assert [reason for reason, _ in events(server)] == ["MetaxRuntimeFailed"]
            assert events(server)[0][1].endswith("[validator-refused]")
            one.programs.refuses = lambda _words, _text: ""
            await until(lambda: label(server) == "true")
        assert one.restarter.restarts == 1


async def test_an_api_server_that_refuses_is_asked_again(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, interval=0.005)
    async with node_server() as server:
        server.put(NODE, status=INFO)
        server.before_patch = lambda: refusal(403, "Forbidden", "may not")
        async with serving(server, one) as service:
            failed = "tangram_container_runtime_patches_failed_total"
            await until(lambda: (service.metrics.registry.get_sample_value(failed) or 0) >= 2)
            server.before_patch = lambda: None
            await until(lambda: label(server) == "true")


def test_since_when_a_phase_lasts_stays_while_it_does() -> None:
    ready = RuntimeState(phase=Phase.READY, engine="containerd")
    first = changes({}, ready, "2026-01-01T00:00:00Z")
    assert changes(first, ready, "2026-01-02T00:00:00Z") == {}
    failed = changes(first, RuntimeState(phase=Phase.FAILED), "2026-01-02T00:00:00Z")
    assert failed["metadata"]["labels"] == {names.RUNTIME_READY: "false"}
    assert "2026-01-02" in failed["metadata"]["annotations"][names.RUNTIME_STATE]

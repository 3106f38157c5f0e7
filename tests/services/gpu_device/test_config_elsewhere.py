"""A device ConfigMap in a namespace in which no agent looks."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from builders.agent_api import agent_api
from builders.agent_runs import agent_on
from builders.api_server import refusal
from builders.waiting import until
from tangram.kube.api import Api
from tangram.kube.recorder import About
from tangram.services.gpu_device.config_elsewhere import MisplacedConfig

DEFAULT = "/api/v1/namespaces/default/configmaps"
NAME = "metax-device-config"
DATA = {"version": "v1", "cluster-config": "mode: sgpu"}


class Reports:
    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def in_another_namespace(self, about: About, followed: str) -> None:
        self.heard.append((f"{about.namespace}/{about.name}", followed))


@asynccontextmanager
async def looking(api: Api) -> AsyncGenerator[Reports]:
    reports = Reports()
    task = asyncio.create_task(MisplacedConfig(api, "kube-system", reports, refused_pause=0.05).run())
    try:
        yield reports
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_one_in_default_is_reported_once_and_again_when_it_is_made_again() -> None:
    async with agent_api() as server, Api(server.connection) as api, looking(api) as reports:
        server.put(f"{DEFAULT}/{NAME}", {"metadata": {"uid": "1"}, "data": DATA})
        await until(lambda: reports.heard == [(f"default/{NAME}", "kube-system")])
        server.put(
            f"{DEFAULT}/{NAME}", {"metadata": {"uid": "1"}, "data": {**DATA, "cluster-config": "mode: x"}}
        )
        server.remove(f"{DEFAULT}/{NAME}")
        server.put(f"{DEFAULT}/{NAME}", {"metadata": {"uid": "2"}, "data": DATA})
        await until(lambda: len(reports.heard) == 2)


async def test_one_that_says_nothing_about_modes_is_not_reported() -> None:
    async with agent_api() as server, Api(server.connection) as api, looking(api) as reports:
        server.put(f"{DEFAULT}/{NAME}", {"metadata": {"uid": "1"}, "data": {"device-config.yaml": "{}"}})
        server.put(f"{DEFAULT}/{NAME}", {"metadata": {"uid": "1"}, "data": DATA})
        await until(lambda: bool(reports.heard))
        assert len(reports.heard) == 1


async def test_an_agent_without_the_right_asks_again_and_looks_when_it_has_it() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        server.put(f"{DEFAULT}/{NAME}", {"metadata": {"uid": "1"}, "data": DATA})
        answers = server.answer_first
        server.answer_first = lambda _request: refusal(403, "Forbidden", "configmaps is forbidden")
        async with looking(api) as reports:
            await until(lambda: len(server.requests) >= 2)
            assert reports.heard == []
            server.answer_first = answers
            await until(lambda: bool(reports.heard))


async def test_the_agent_says_it_on_the_config_map_with_the_namespace_to_write() -> None:
    async with agent_on({"product": "C500", "count": 1}, begin=False) as run:
        run.adjust(config_namespace="gpu-settings", config_folder=None)
        run.api.put(f"{DEFAULT}/{NAME}", {"metadata": {"uid": "1"}, "data": DATA})
        run.start()
        await run.offered("metax-tech.com/gpu", 1)
        await until(lambda: bool(run.api.events(NAME)))
        (event,) = run.api.events(NAME)
        assert (event["reason"], event["involvedObject"]["namespace"]) == ("GpuConfigNotRead", "default")
        assert "write metadata.namespace: gpu-settings" in event["message"]

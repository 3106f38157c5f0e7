"""The life of a pod in hours that take no time: retries, pauses and ends, by the clock alone."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Mapping
from pathlib import Path

from builders.virtual_time import virtually
from tangram.kube.api import JSON, Api
from tangram.kube.connection import Connection
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.objects import Object
from tangram.sandbox.nodes.containers import Containers
from tangram.sandbox.nodes.device_manager import DeviceManager
from tangram.sandbox.nodes.log_book import LogBook
from tangram.sandbox.nodes.plugin_client import PluginError
from tangram.sandbox.nodes.pod_run import PodRun
from tangram.sandbox.nodes.pod_specs import Container
from tangram.sandbox.nodes.ward import Ward
from tangram.wire import loose
from tangram.wire.kubelet.deviceplugin import ContainerAllocateResponse

BEGAN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def now() -> dt.datetime:
    return BEGAN + dt.timedelta(seconds=asyncio.get_running_loop().time() - 1000)


class Listening(Api):
    """Takes every write, and remembers when; may be away for a while."""

    def __init__(self) -> None:
        super().__init__(Connection("http://nobody", None))
        self.statuses: list[Object] = []
        self.deleted_at: list[float] = []
        self.away_until = 0.0

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: str = JSON,
        query: Mapping[str, str] | None = None,
        limit: float | None = None,
    ) -> Object:
        del path, content, query, limit
        if asyncio.get_running_loop().time() < self.away_until:
            raise ApiUnreachable("away")
        if method == "PATCH":
            self.statuses.append(dict(loose.members(loose.members(body)["status"])))
        elif method == "DELETE":
            self.deleted_at.append(asyncio.get_running_loop().time())
        else:
            raise ApiError(404, "NotFound", "not there")
        return {}

    @property
    def last(self) -> Object:
        return self.statuses[-1]

    @property
    def container(self) -> Object:
        (status,) = self.last["containerStatuses"]
        return status


class Refusing(DeviceManager):
    """Refuses so many starts before it lets one through."""

    def __init__(self, times: int) -> None:
        super().__init__(Path("/nowhere"), living=list)
        self.left = times
        self.asked_at: list[float] = []

    async def prepare(self, pod: Object, container: Container) -> list[ContainerAllocateResponse]:
        del pod, container
        self.asked_at.append(asyncio.get_running_loop().time())
        self.left -= 1
        if self.left >= 0:
            raise PluginError("not yet")
        return []


class Life:
    """A pod on its way, with everything that hears of it."""

    def __init__(self, *command: str, refused: int = 0, **spec: object) -> None:
        self.api = Listening()
        self.devices = Refusing(refused)
        self.events: list[str] = []
        logs = LogBook(now)
        self.containers = Containers(logs, now, lambda: None)
        container = {"name": "c", "image": "i", "command": list(command)}
        self.pod: Object = {
            "metadata": {"name": "p", "namespace": "default", "uid": "u", "annotations": {}},
            "spec": {"nodeName": "n", "restartPolicy": "Never", "containers": [container], **spec},
        }
        ward = Ward(
            api=self.api,
            containers=self.containers,
            logs=logs,
            devices=self.devices,
            cdi=Path("/nowhere"),
            record=self._record,
            now=now,
            next_ip=lambda: "10.0.0.1",
            writing=asyncio.Semaphore(1),
        )
        self.run = PodRun(self.pod, ward)
        self.task = asyncio.create_task(self.run.run())

    def _record(self, pod: Object, reason: str, message: str, *, warning: bool = False) -> None:
        del pod, message, warning
        self.events.append(reason)

    def delete(self) -> None:
        metadata = {**self.pod["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        self.run.update({**self.pod, "metadata": metadata})

    async def end(self) -> None:
        self.delete()
        await self.task


@virtually
async def test_a_refused_start_is_tried_again_every_ten_to_fifteen_seconds() -> None:
    life = Life("sleep", "5", refused=4)
    await asyncio.sleep(9)
    assert life.api.container["state"] == {
        "waiting": {"reason": "CreateContainerConfigError", "message": "not yet"}
    }
    await asyncio.sleep(60)
    gaps = [
        later - sooner
        for sooner, later in zip(life.devices.asked_at, life.devices.asked_at[1:], strict=False)
    ]
    assert len(gaps) == 4
    assert all(10 <= gap <= 15.5 for gap in gaps)
    await asyncio.sleep(60)
    assert life.api.last["phase"] == "Succeeded"
    await life.end()


@virtually
async def test_any_change_of_the_pod_makes_a_refused_start_be_tried_at_once() -> None:
    life = Life("sleep", "60", refused=1)
    await asyncio.sleep(1)
    life.run.update({**life.pod})
    await asyncio.sleep(1)
    assert len(life.devices.asked_at) == 2
    assert life.api.last["phase"] == "Running"
    await life.end()


@virtually
async def test_a_container_that_keeps_failing_is_started_ever_more_seldom() -> None:
    life = Life("sh", "-c", "exit 1", restartPolicy="Always")
    await asyncio.sleep(1500)
    gaps = [
        later - sooner
        for sooner, later in zip(life.devices.asked_at, life.devices.asked_at[1:], strict=False)
    ]
    assert [round(gap) for gap in gaps] == [0, 10, 20, 40, 80, 160, 300, 300, 300]
    status = life.api.container
    assert status["restartCount"] == 9
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert "back-off 5m0s restarting failed container=c" in status["state"]["waiting"]["message"]
    assert status["lastState"]["terminated"]["exitCode"] == 1
    assert life.api.last["phase"] == "Running"
    await life.end()


@virtually
async def test_a_command_that_cannot_be_run_takes_three_seconds_or_goes_on_for_ever() -> None:
    once, always = Life("python", "train.py"), Life("python", "serve.py", restartPolicy="Always")
    await asyncio.sleep(2)
    assert (once.api.last["phase"], always.api.last["phase"]) == ("Running", "Running")
    await asyncio.sleep(2)
    assert (once.api.last["phase"], always.api.last["phase"]) == ("Succeeded", "Running")
    await asyncio.sleep(100_000)
    assert always.api.container["restartCount"] == 0
    await once.end()
    await always.end()


@virtually
async def test_an_outage_of_the_api_server_delays_the_last_word_and_loses_nothing() -> None:
    life = Life("sleep", "10")
    await asyncio.sleep(5)
    life.api.away_until = asyncio.get_running_loop().time() + 100
    await asyncio.sleep(50)
    assert life.api.last["phase"] == "Running"
    life.delete()
    await life.task
    assert life.api.last["phase"] == "Succeeded"
    assert life.api.deleted_at
    assert life.api.deleted_at[0] >= life.api.away_until


@virtually
async def test_a_pod_that_is_deleted_ends_and_only_then_goes() -> None:
    life = Life("sleep", "infinity", restartPolicy="Always")
    await asyncio.sleep(5)
    await life.end()
    assert life.events == ["Pulled", "Created", "Started", "Killing"]
    assert life.api.last["phase"] == "Failed"
    assert life.api.container["state"]["terminated"]["exitCode"] == 143
    assert len(life.api.deleted_at) == 1


@virtually
async def test_a_pod_that_outlives_its_deadline_is_ended_and_stays_to_be_seen() -> None:
    life = Life("sleep", "infinity", activeDeadlineSeconds=30)
    await asyncio.sleep(29)
    assert life.api.last["phase"] == "Running"
    await asyncio.sleep(2)
    assert (life.api.last["phase"], life.api.last["reason"]) == ("Failed", "DeadlineExceeded")
    assert not life.api.deleted_at
    await life.end()
    assert life.api.deleted_at


@virtually
async def test_a_kubelet_that_ends_leaves_containers_running_and_the_next_one_takes_them_over() -> None:
    life = Life("sleep", "100")
    await asyncio.sleep(5)
    life.task.cancel()
    await asyncio.gather(life.task, return_exceptions=True)
    assert life.containers.running(life.run.pod["metadata"]["uid"]) == ["c"]
    await asyncio.sleep(200)
    assert life.containers.running(life.run.pod["metadata"]["uid"]) == []
    assert len(life.devices.asked_at) == 1


@virtually
async def test_nothing_is_written_when_nothing_changes() -> None:
    life = Life("sleep", "infinity")
    await asyncio.sleep(5)
    written = len(life.api.statuses)
    for _ in range(10):
        life.run.update({**life.pod})
        life.run.look_again()
        await asyncio.sleep(100)
    assert len(life.api.statuses) == written
    await life.end()

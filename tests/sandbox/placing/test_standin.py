"""The stand-in as a whole, over the embedded API server: alone, and with our own scheduler behind HTTPS."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from builders import scheduling
from builders.placing import SCHEDULER, configuration, node_object, pod_object
from tangram.daemon.certificate_files import CertificateFiles
from tangram.daemon.endpoints import Address
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.sandbox.apiserver.server import serving_api
from tangram.sandbox.placing.configuration import BadConfiguration
from tangram.sandbox.placing.standin import StandIn
from tangram.services.scheduler.outside_door import open_outside
from tangram.services.scheduler.service import Scheduler
from tangram.services.scheduler.settings import LeaseName, SchedulerSettings
from tangram.wire.extender_config import ClientFiles, extender_entry, scheduler_configuration
from testbed.certificates import Authority

Object = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
LEASE = LeaseName("kube-system", "tangram-scheduler")


class Cluster:
    """An API server with a client, and what tests do there."""

    def __init__(self, api: Api, connection: Connection) -> None:
        self.api = api
        self.connection = connection

    async def has(self, *nodes: Object) -> None:
        for each in nodes:
            path = "/api/v1/nodes"
            await self.api.create(path, each)
            # A new node is not taken to be ready; here nobody would tell that it is.
            await self.api.merge(
                f"{path}/{each['metadata']['name']}", {"spec": {"taints": each["spec"].get("taints")}}
            )

    async def create(self, *pods: Object) -> None:
        for each in pods:
            metadata = {key: value for key, value in each["metadata"].items() if key != "uid"}
            await self.api.create(PODS, {**each, "metadata": metadata})

    async def until(self, name: str, true: Callable[[Object], object]) -> Object:
        async with asyncio.timeout(10):
            while True:
                found = await self.api.get(f"{PODS}/{name}")
                if true(found):
                    return found
                await asyncio.sleep(0.02)

    async def events(self, reason: str) -> list[Object]:
        """Those for this reason, as soon as there are any."""
        async with asyncio.timeout(10):
            while True:
                listed = await self.api.list_all("/api/v1/namespaces/default/events")
                found = [each for each in listed if each["reason"] == reason]
                if found:
                    return found
                await asyncio.sleep(0.02)


@asynccontextmanager
async def cluster() -> AsyncGenerator[Cluster]:
    async with serving_api() as running, Api(running.connection()) as api:
        yield Cluster(api, running.connection())


@asynccontextmanager
async def scheduled(
    there: Cluster, wanted: Object | None = None, identity: str = "here"
) -> AsyncGenerator[StandIn]:
    stand_in = StandIn(wanted or configuration(), there.api, identity=identity)
    task = asyncio.create_task(stand_in.run())
    try:
        yield stand_in
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and task.exception() is not None:
            raise AssertionError from task.exception()


def bound(found: Object) -> bool:
    return bool(found["spec"].get("nodeName"))


def condition(found: Object) -> Object:
    return next(
        (each for each in found["status"].get("conditions", []) if each["type"] == "PodScheduled"), Object()
    )


async def test_a_burst_of_40_is_placed_and_no_node_is_given_more_than_it_has() -> None:
    async with cluster() as there, scheduled(there):
        await there.has(*(node_object(f"n{number}") for number in range(6)))
        await there.create(*(pod_object(f"p{number}") for number in range(40)))
        placed = [(await there.until(f"p{number}", bound))["spec"]["nodeName"] for number in range(40)]
        assert max(placed.count(f"n{number}") for number in range(6)) <= 8


async def test_a_pod_says_why_it_waits_and_is_placed_when_it_can_be() -> None:
    async with cluster() as there, scheduled(there):
        await there.has(node_object("small", cpu="1"))
        await there.create(pod_object("p", {"cpu": "2"}), pod_object("other", schedulerName="somebody"))
        found = await there.until("p", condition)
        assert (condition(found)["status"], condition(found)["reason"]) == ("False", "Unschedulable")
        assert condition(found)["message"].startswith(
            "0/1 nodes are available: 1 Insufficient cpu. no new claims"
        )
        await there.has(node_object("large"))
        assert (await there.until("p", bound))["spec"]["nodeName"] == "large"
        assert not condition(await there.api.get(f"{PODS}/other")), "another scheduler's"
        (told, *_) = await there.events("Scheduled")
        assert told["message"] == "Successfully assigned default/p to large"
        assert (await there.events("FailedScheduling"))[0]["type"] == "Warning"


async def test_victims_are_marked_and_deleted_and_the_pod_they_made_room_for_is_placed() -> None:
    async with cluster() as there, scheduled(there):
        await there.has(node_object("n"))
        for name, value in (("urgent", 100), ("meek", 1)):
            await there.api.create(
                "/apis/scheduling.k8s.io/v1/priorityclasses",
                {
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": name},
                    "value": value,
                },
            )
        ending: Object = {"terminationGracePeriodSeconds": 0}
        await there.create(
            pod_object("large", {"cpu": "6"}, priorityClassName="meek", **ending),
            pod_object("small", {"cpu": "2"}, priorityClassName="meek", **ending),
        )
        for name in ("large", "small"):
            await there.until(name, bound)
        await there.create(pod_object("urgent", {"cpu": "6"}, priorityClassName="urgent"))
        await there.until("urgent", bound)
        left = {each["metadata"]["name"] for each in await there.api.list_all(PODS)}
        assert left == {"small", "urgent"}


async def test_a_lease_is_held_meanwhile_and_handed_back() -> None:
    wanted = configuration(leaderElection={"resourceName": "ours"})
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/ours"
    async with cluster() as there:
        async with scheduled(there, wanted) as stand_in:
            await there.has(node_object("n"))
            await there.create(pod_object("p"))
            await there.until("p", bound)
            assert (await there.api.get(path))["spec"]["holderIdentity"] == stand_in.holder
            assert stand_in.holder.startswith("here_")
        assert (await there.api.get(path))["spec"].get("holderIdentity", "") == ""


async def test_of_two_with_one_lease_the_holder_decides() -> None:
    wanted = configuration(leaderElection={"resourceName": "ours"})
    async with (
        cluster() as there,
        scheduled(there, wanted, "first") as first,
        scheduled(there, wanted, "second") as second,
    ):
        await there.has(node_object("n"))
        await there.create(pod_object("p"))
        await there.until("p", bound)
        (lease,) = await there.api.list_all("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases")
        assert lease["spec"]["holderIdentity"] in (first.holder, second.holder)
        assert first.holder != second.holder
        (told,) = await there.events("Scheduled")
        assert told["reportingInstance"].endswith(lease["spec"]["holderIdentity"].partition("_")[0])


def files_of(folder: Path) -> tuple[CertificateFiles, ClientFiles]:
    authority = Authority(folder, "authority")
    server = authority.issue("server", "server", addresses=["127.0.0.1"])
    client = authority.issue("client", "client")
    return CertificateFiles(server.certificate, server.key), ClientFiles(
        str(client.certificate), str(client.key), str(authority.certificate)
    )


@asynccontextmanager
async def our_scheduler(there: Cluster, folder: Path, port: int) -> AsyncGenerator[ClientFiles]:
    """The real service behind its HTTPS door, which lets in whoever shows the certificate in these files."""
    server, client = files_of(folder)
    wanted = SchedulerSettings(
        lease=LEASE,
        identity="here",
        extender=None,
        outside=Address("127.0.0.1", port),
        certificate=server,
        client_authority=Path(client.authority),
    )
    supervisor = Supervisor()
    async with AsyncExitStack() as stack, Api(there.connection) as api:
        scheduler = Scheduler(wanted, api)
        keeping = await open_outside(stack, scheduler, wanted, api)
        await scheduler.start(supervisor)
        if keeping is not None:
            supervisor.lasting("certificates", keeping)
        try:
            yield client
        finally:
            supervisor.stop()
            supervisor.stop()
            await supervisor.until_stopped()


async def test_our_own_scheduler_is_asked_over_https_and_its_allocation_travels_with_the_bind(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    async with cluster() as there, our_scheduler(there, tmp_path, unused_tcp_port) as client:
        made = scheduling.node("cards")
        amounts = made["status"]["allocatable"] | {"metax-tech.com/sgpu": "32"}
        made |= {"apiVersion": "v1", "kind": "Node", "status": {"allocatable": amounts, "capacity": amounts}}
        await there.has(made, node_object("without"))
        entry = extender_entry(f"https://127.0.0.1:{unused_tcp_port}", files=client)
        wanted = scheduler_configuration(entry, ["tangram-scheduler"], lease=(LEASE.namespace, LEASE.name))
        async with scheduled(there, wanted):
            limits = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 16}
            slices = [
                pod_object(
                    f"slice-{number}",
                    {key: str(value) for key, value in limits.items()},
                    schedulerName="tangram-scheduler",
                )
                for number in range(5)
            ]
            await there.create(*slices[:4])
            for number in range(4):
                found = await there.until(f"slice-{number}", bound)
                assert found["spec"]["nodeName"] == "cards"
                assert "GPU-cards-" in json.dumps(found["metadata"]["annotations"])
            await there.create(slices[4])
            refused = await there.until("slice-4", condition)
            assert condition(refused)["reason"] == "Unschedulable"
            assert "1 Insufficient metax-tech.com/sgpu" in condition(refused)["message"]


def test_a_configuration_it_cannot_follow_is_refused_before_anything_is_begun() -> None:
    with pytest.raises(BadConfiguration, match="plugins"):
        StandIn(
            configuration(profiles=[{"schedulerName": SCHEDULER, "plugins": Object()}]),
            None,  # pyright: ignore[reportArgumentType] - never asked
            identity="here",
        )

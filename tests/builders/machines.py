"""Simulated machines over the embedded API server, in the test's own loop: everything between them is real."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from builders.plugins import short_directory
from builders.waiting import LIMIT_S
from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Object
from tangram.sandbox import accounts
from tangram.sandbox.apiserver.server import Running, serving_api
from tangram.sandbox.kinds import install_kinds
from tangram.sandbox.nodes.described import read_machines
from tangram.sandbox.nodes.machine import Machine
from tangram.sandbox.nodes.machines import Machines

GPU = "metax-tech.com/gpu"
SGPU = "metax-tech.com/sgpu"
ALLOCATED = "metax-tech.com/gpu-devices-allocated"
TWO_WHOLE: Mapping[str, object] = {"name": "gpu", "product": "C500", "cards": 2}
TWO_SLICED: Mapping[str, object] = {"name": "gpu", "product": "C500", "cards": 2, "mode": "sgpu"}
NO_CARDS: Mapping[str, object] = {"name": "cpu", "cpu": 4, "host_memory": "8 GiB"}
PODS = "/api/v1/namespaces/default/pods"


class Fleet:
    """Machines, and the API server they belong to."""

    def __init__(self, api: Api, machines: Machines, running: Running, folder: Path) -> None:
        self.api = api
        self.machines = machines
        self.running = running
        self.folder = folder

    def machine(self, name: str) -> Machine:
        return self.machines.machine(name)

    async def submit(self, pod: Object) -> Object:
        return await self.api.create(PODS, pod)

    async def pod(self, name: str) -> Object | None:
        try:
            return await self.api.get(f"{PODS}/{name}")
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return None

    async def until(self, name: str, holds: Callable[[Object], bool]) -> Object:
        """The pod once it is so."""
        seen: Object | None = None
        try:
            async with asyncio.timeout(LIMIT_S):
                while True:
                    seen = await self.pod(name)
                    if seen is not None and holds(seen):
                        return seen
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"pod {name} did not become so: {json.dumps(seen)}") from None

    async def until_phase(self, name: str, *phases: str) -> Object:
        return await self.until(name, lambda seen: seen["status"].get("phase") in phases)

    async def until_gone(self, name: str) -> None:
        async with asyncio.timeout(LIMIT_S):
            while await self.pod(name) is not None:  # noqa: ASYNC110 - it is asked, it does not tell
                await asyncio.sleep(0.01)

    async def delete(self, name: str, *, grace: int | None = None) -> None:
        await self.api.delete(f"{PODS}/{name}", None if grace is None else {"gracePeriodSeconds": grace})

    async def until_events(self, name: str, *reasons: str) -> dict[str, str]:
        """By reason, the messages of the pod's events, once there are these."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                found = await self.api.list_all("/api/v1/namespaces/default/events")
                told = {
                    each["reason"]: each["message"]
                    for each in found
                    if each["involvedObject"]["name"] == name
                }
                if set(reasons) <= set(told):
                    return told
                await asyncio.sleep(0.01)

    async def nodes(self) -> list[Object]:
        return await self.api.list_all("/api/v1/nodes")

    async def until_allocatable(self, node: str, resource: str, count: int) -> None:
        async with asyncio.timeout(LIMIT_S):
            while True:
                seen = await self.api.get(f"/api/v1/nodes/{node}")
                if seen["status"]["allocatable"].get(resource) == str(count):
                    return
                await asyncio.sleep(0.01)


def container(
    *command: str, name: str = "c", limits: Mapping[str, object] | None = None, **more: object
) -> Object:
    """A container of one command; a sleeping one if none is given."""
    made: Object = {
        "name": name,
        "image": "busybox:1",
        "command": list(command or ("sleep", "infinity")),
        **more,
    }
    if limits:
        made["resources"] = {"limits": dict(limits)}
    return made


def pod_on(
    node: str,
    *containers: Object,
    name: str = "pod",
    annotations: Mapping[str, str] | None = None,
    inits: Sequence[Object] = (),
    **spec: object,
) -> Object:
    """A pod that is bound from the start."""
    described: Object = {
        "nodeName": node,
        "restartPolicy": "Never",
        "containers": list(containers or (container(),)),
        **spec,
    }
    if inits:
        described["initContainers"] = list(inits)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": dict(annotations or {})},
        "spec": described,
    }


def state_of(seen: Object, name: str = "c") -> Object:
    """The state of one container of the pod; empty before there is one."""
    statuses: list[Object] = [
        *seen["status"].get("initContainerStatuses", []),
        *seen["status"].get("containerStatuses", []),
    ]
    return next((each["state"] for each in statuses if each["name"] == name), Object())


def waits_with(reason: str, name: str = "c") -> Callable[[Object], bool]:
    return lambda seen: state_of(seen, name).get("waiting", {}).get("reason") == reason


@asynccontextmanager
async def machines_of(
    *nodes: Mapping[str, object], most_awake: int = 24, folder: Path | None = None
) -> AsyncGenerator[Fleet]:
    """The machines of these nodes of a cluster file, ready, until the block ends."""
    document = {"tangram": "cluster/v1", "nodes": [dict(node) for node in nodes]}
    with short_directory() as made:
        async with serving_api() as running, Api(running.connection()) as api:
            await accounts.make_accounts(api)
            await install_kinds(api)
            machines = Machines(
                read_machines(document),
                api=api,
                connection_for=lambda node, account: accounts.connection_as(api, account, str(node)),
                folder=folder or made,
                certificate=running.issued.pair,
                most_awake=most_awake,
            )
            try:
                await machines.start()
                yield Fleet(api, machines, running, folder or made)
            finally:
                await machines.stop()

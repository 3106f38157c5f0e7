"""The embedded API server with the sandbox's controllers, and a hand that plays the kubelets."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from builders.waiting import LIMIT_S
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Object
from tangram.sandbox.apiserver.server import make_certificate, serving_api
from tangram.sandbox.controllers.service import Controllers

T = TypeVar("T")

ISSUED: Final = make_certificate()
"""Made once: keys take longer to make than most tests to run."""
_ROOTS: Final = {
    "pods": "/api/v1",
    "nodes": "/api/v1",
    "namespaces": "/api/v1",
    "configmaps": "/api/v1",
    "serviceaccounts": "/api/v1",
    "resourcequotas": "/api/v1",
    "events": "/api/v1",
    "deployments": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
    "daemonsets": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "jobs": "/apis/batch/v1",
    "cronjobs": "/apis/batch/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "leases": "/apis/coordination.k8s.io/v1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
}
_WITHOUT_NAMESPACE: Final = frozenset({"nodes", "namespaces", "customresourcedefinitions"})


class Clock:
    """The time as controllers read it; a test moves it."""

    def __init__(self) -> None:
        self.ahead = dt.timedelta()

    def __call__(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC) + self.ahead


class Controlled:
    """A cluster of objects whose controllers run."""

    def __init__(self, api: Api, clock: Clock, namespace: str = "default") -> None:
        self.api: Final = api
        self.clock: Final = clock
        self.namespace: Final = namespace

    async def elsewhere(self, name: str) -> Controlled:
        """The same cluster, seen from a namespace of its own."""
        await self.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        there = Controlled(self.api, self.clock, name)
        await there.until("serviceaccounts", "default", bool)
        return there

    def path(self, plural: str, name: str = "") -> str:
        middle = "" if plural in _WITHOUT_NAMESPACE else f"/namespaces/{self.namespace}"
        return f"{_ROOTS[plural]}{middle}/{plural}" + (f"/{name}" if name else "")

    async def create(self, plural: str, body: Object) -> Object:
        return await self.api.create(self.path(plural), body)

    async def get(self, plural: str, name: str) -> Object:
        """The object; {} for one that is not there."""
        try:
            return await self.api.get(self.path(plural, name))
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return {}

    async def change(self, plural: str, name: str, change: Object, part: str = "") -> Object:
        return await self.api.merge(self.path(plural, name) + part, change)

    async def delete(self, plural: str, name: str, how: str = "Background") -> None:
        options: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": how}
        await self.api.delete(self.path(plural, name), options)

    async def all(self, plural: str) -> list[Object]:
        return await self.api.list_all(self.path(plural))

    async def until(self, plural: str, name: str, true: Callable[[Object], bool]) -> Object:
        async def look() -> Object | None:
            seen = await self.get(plural, name)
            return {"seen": seen} if true(seen) else None

        return (await eventually(look))["seen"]

    async def pods(self, count: int, true: Callable[[Object], bool] = lambda _pod: True) -> list[Object]:
        """The pods that stay, once there are so many."""

        async def look() -> list[Object] | None:
            every = await self.all("pods")
            found = [pod for pod in every if "deletionTimestamp" not in pod["metadata"] and true(pod)]
            return found if len(found) == count else None

        return await eventually(look)

    async def is_now(self, pods: Sequence[Object], phase: str, *, ready: bool = False) -> None:
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for pod in pods:
            status = {"phase": phase, "conditions": [condition]}
            await self.change("pods", pod["metadata"]["name"], {"status": status}, "/status")

    async def run(self, pods: Sequence[Object]) -> None:
        await self.is_now(pods, "Running", ready=True)

    async def events(self, name: str) -> list[tuple[str, str]]:
        every = await self.all("events")
        return [(each["reason"], each["message"]) for each in every if each["involvedObject"]["name"] == name]


async def eventually(look: Callable[[], Awaitable[T | None]]) -> T:
    """What is looked for, as soon as it is there."""
    async with asyncio.timeout(LIMIT_S):
        while (found := await look()) is None:  # noqa: ASYNC110 - a server announces nothing to a test
            await asyncio.sleep(0.02)
        return found


@asynccontextmanager
async def controllers_on(api: Api, clock: Clock) -> AsyncGenerator[None]:
    """The controllers, for as long as the block."""
    supervisor = Supervisor()
    await Controllers(api, clock=clock, authority_pem=ISSUED.authority.decode()).run(supervisor)
    try:
        yield
    finally:
        supervisor.stop()
        await supervisor.until_stopped()


@asynccontextmanager
async def uncontrolled() -> AsyncGenerator[Controlled]:
    """The server alone."""
    async with serving_api(issued=ISSUED) as running, Api(running.connection()) as api:
        yield Controlled(api, Clock())


@asynccontextmanager
async def controlled() -> AsyncGenerator[Controlled]:
    """Both. Everything that runs ends with the block."""
    async with uncontrolled() as cluster, controllers_on(cluster.api, cluster.clock):
        yield cluster


def template(image: str = "i:1", **spec: object) -> Object:
    """A pod of one container, by a label."""
    return {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": image}], **spec},
    }


def workload(kind: str, **spec: object) -> Object:
    """A Deployment or one of its kin, named x."""
    base: Object = {"selector": {"matchLabels": {"app": "x"}}, "template": template()}
    if kind == "StatefulSet":
        base["serviceName"] = "svc"
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}, "spec": base | spec}


def job(**spec: object) -> Object:
    """A Job named x."""
    body = {"template": template(restartPolicy="Never")} | spec
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": body}


def node(name: str, **spec: object) -> Object:
    """A node that is well."""
    status = {
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "well"}]
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec, "status": status}

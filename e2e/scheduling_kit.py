"""What the tests of the API server and kube-scheduler share: one kube-scheduler with many extenders, and short words.

kube-scheduler reads its extenders once, at its start. So all of them are configured together, each for a resource of
its own that no node has (and that the scheduler is told not to count): a pod meets exactly the extender whose
resource it asks for. At most one extender may bind.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from testbed.api import Api, ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.extender import Answer, ExtenderCall, ScriptedExtender
from testbed.manifests import binding, container, is_gone, pod, tolerates_kwok

# Far longer than a noisy machine needs: only the tests of slowness may see a time-out.
PATIENT = "60s"
HASTY = "1s"
ALL_NODES = "all-nodes"
"""The scheduler profile that looks at every node."""
NOBODY = "nobody"
"""A scheduler name that no scheduler answers to: the pod waits for whoever binds it."""


@dataclass(frozen=True, slots=True)
class Scheduling:
    """The fleet, and the extenders its kube-scheduler calls."""

    cluster: Cluster
    extender: ScriptedExtender

    @property
    def api(self) -> Api:
        return self.cluster.api


def resource(extender: str) -> str:
    """The resource that brings a pod to the extender of that name."""
    return f"{extender}.example.com/slot"


def configuration(extender: ScriptedExtender, nobody_there: str) -> dict[str, Any]:
    """Every extender the tests need, at once; `nobody_there` is an address nothing listens on."""

    def described(name: str, *, counted: bool = False, url: str = "", **more: object) -> dict[str, Any]:
        return {
            "urlPrefix": url or extender.url(name),
            "filterVerb": "filter",
            "nodeCacheCapable": True,
            "httpTimeout": PATIENT,
            "managedResources": [{"name": resource(name), "ignoredByScheduler": not counted}],
            **more,
        }

    return {
        "profiles": [
            {"schedulerName": "default-scheduler"},
            {"schedulerName": ALL_NODES, "percentageOfNodesToScore": 100},
        ],
        "extenders": [
            described("plain"),
            described("scoring", prioritizeVerb="prioritize", weight=100),
            described("objects", nodeCacheCapable=False),
            described("counted", counted=True),
            described("hasty", httpTimeout=HASTY),
            described("optional", ignorable=True),
            described("away", url=nobody_there),
            described("away-optional", url=nobody_there, ignorable=True),
            described("preempting", preemptVerb="preempt"),
            # Without a time-out of its own: the default of five seconds is part of what is tested.
            {
                key: value
                for key, value in described("binder", bindVerb="bind").items()
                if key != "httpTimeout"
            },
        ],
    }


@asynccontextmanager
async def extended(fleet: Cluster) -> AsyncGenerator[Scheduling]:
    """Give the fleet's kube-scheduler the extenders, and take them away again."""
    # Bound and never listening: nobody else gets the port, and every connection is refused.
    closed = fleet.box.make_socket()
    try:
        closed.bind(("127.0.0.1", 0))
        nobody_there = f"http://127.0.0.1:{closed.getsockname()[1]}"
        async with ScriptedExtender.serve(fleet.box) as extender:
            await fleet.restart_scheduler(configuration(extender, nobody_there))
            yield Scheduling(fleet, extender)
            await fleet.restart_scheduler()
    finally:
        closed.close()


def fleet_pod(
    name: str,
    *,
    extender: str = "",
    on: str = "",
    cpu: str = "",
    scheduler: str = "",
    more: Mapping[str, object] | None = None,
) -> Object:
    """A pod for nodes that are only objects: meets one extender, or must go to one node, as asked.

    `more` are further fields of its spec.
    """
    limits: dict[str, str | int] = {}
    if extender:
        limits[resource(extender)] = 1
    if cpu:
        limits["cpu"] = cpu
    made = pod(name, container(limits=limits), scheduler=scheduler, tolerations=tolerates_kwok())
    if on:
        made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": on}
    made["spec"] |= more or {}
    return made


@dataclass(frozen=True, slots=True)
class Load:
    """What a binding carries beside the node, and under which conditions."""

    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    uid: str = ""
    resource_version: str = ""


BARE = Load()


async def bind(api: Api, name: str, node: str, load: Load = BARE, *, namespace: str = "default") -> Object:
    """POST the binding, as a scheduler does."""
    body = binding(name, node, annotations=load.annotations, labels=load.labels, uid=load.uid)
    if load.resource_version:
        body["metadata"]["resourceVersion"] = load.resource_version
    return await api.call("POST", path_of("Pod", name, namespace=namespace) + "/binding", body)


def bind_for(api: Api, **annotations: str) -> Answer:
    """The bind verb done well: the extender binds with its annotations and says so; a refusal is an error."""

    async def answer(call: ExtenderCall) -> Object:
        load = Load(annotations=annotations, uid=call.body["PodUID"])
        try:
            await bind(api, call.pod, call.body["Node"], load)
        except ApiRefused as refused:
            return {"Error": str(refused)}
        return {}

    return answer


def scheduled(seen: Object) -> Object:
    """The condition PodScheduled, {} while there is none."""
    conditions: list[Object] = seen.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == "PodScheduled"), Object())


def is_refused(seen: Object) -> bool:
    """kube-scheduler has tried and found no node."""
    return scheduled(seen).get("reason") == "Unschedulable"


def has_failed(seen: Object) -> bool:
    """kube-scheduler has tried and something went wrong."""
    return scheduled(seen).get("reason") == "SchedulerError"


def tampered(seen: Object) -> bool:
    """Whether a pod carries any annotation or label at all: those of the tests come only with a binding."""
    return bool(seen["metadata"].get("annotations") or seen["metadata"].get("labels"))


@asynccontextmanager
async def cleaned(cluster: Cluster, *names: str, namespace: str = "default") -> AsyncGenerator[None]:
    """Whatever happens, the pods of these names are gone afterwards."""
    try:
        yield
    finally:
        await remove(cluster, names, namespace=namespace)


async def remove(cluster: Cluster, names: Sequence[str], *, namespace: str = "default") -> None:
    """Delete pods at once, also those that no status update can reach, and wait until they are gone."""

    async def one(name: str) -> None:
        try:
            await cluster.api.delete(path_of("Pod", name, namespace=namespace), grace=0)
        except ApiRefused as refused:
            if refused.status != 404:
                raise
        await cluster.until_pod(name, is_gone, namespace=namespace)

    await asyncio.gather(*(one(name) for name in names))


async def refusal(attempt: Awaitable[Any]) -> ApiRefused:
    """The refusal that the attempt must meet."""
    try:
        await attempt
    except ApiRefused as refused:
        return refused
    raise AssertionError("the API server accepted what it was expected to refuse")


async def poll_until(true: Callable[[], Awaitable[bool]], *, within: float = 60.0, what: str) -> None:
    """For what cannot be watched, such as a webhook's rules becoming effective."""
    last = time.monotonic() + within
    while not await true():
        if time.monotonic() > last:
            raise AssertionError(f"{what} did not happen within {within:g} s")
        await asyncio.sleep(0.05)

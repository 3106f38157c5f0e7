"""One cluster, two schedulers: a real kube-scheduler and the sandbox's stand-in, with the same extenders.

A case makes nodes and pods and lets one of the two act; what people and extenders saw of it is written down without
what differs by nature (uids, times, the scheduler's name). Then the nodes and pods go, and the other one has its turn.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from e2e.scheduling_kit import remove, scheduled
from testbed.api import ApiRefused, Object, path_of
from testbed.box import REPOSITORY
from testbed.cluster import Cluster
from testbed.errors import BedError
from testbed.extender import ORDINARY, Answer, ScriptedExtender, Verb
from testbed.manifests import container, pod

REAL = "real-scheduler"
STAND_IN = "stand-in-scheduler"
LEASE = "stand-in"
PROGRAM = "stand-in"
SCHEDULING = "scheduling.k8s.io/v1"
QUIET_S = 0.6
"""Nothing has changed for so long: what was to happen has happened."""
PATIENCE_S = 40.0
HEARD_S = 0.15

CARDS = "cards.example.com/gpu"
"""Counted by the scheduler and minded by an extender."""
SHARES = "shares.example.com/slice"
"""Minded by an extender alone."""
BOUND = "bound.example.com/slot"
"""Minded by the extender that binds."""
OPTIONAL = "optional.example.com/slot"
OBJECTS = "objects.example.com/slot"
HASTY = "hasty.example.com/slot"
AWAY = "away.example.com/slot"
AWAY_OPTIONAL = "away-optional.example.com/slot"
URGENT = "urgent"
MEEK = "meek"
PATIENT = "patient"


def configuration(extender: ScriptedExtender, nobody_there: str) -> dict[str, Any]:
    """The extenders of both."""

    def described(name: str, resource: str, *, counted: bool = False, **more: object) -> dict[str, Any]:
        return {
            "urlPrefix": extender.url(name),
            "filterVerb": "filter",
            "nodeCacheCapable": True,
            "httpTimeout": "30s",
            "managedResources": [{"name": resource, "ignoredByScheduler": not counted}],
            **more,
        }

    return {
        "extenders": [
            described(
                "cards", CARDS, counted=True, prioritizeVerb="prioritize", weight=50, preemptVerb="preempt"
            ),
            described("shares", SHARES),
            described("binder", BOUND, bindVerb="bind"),
            described("optional", OPTIONAL, ignorable=True),
            described("objects", OBJECTS, nodeCacheCapable=False),
            described("hasty", HASTY, httpTimeout="1s"),
            described("away", AWAY, urlPrefix=nobody_there),
            described("away-optional", AWAY_OPTIONAL, urlPrefix=nobody_there, ignorable=True),
        ]
    }


def node(
    name: str, *, taints: Sequence[Object] = (), labels: Mapping[str, str] | None = None, **amounts: str
) -> Object:
    """A node that is only an object, with four cards unless said otherwise."""
    has = {"cpu": "8", "memory": "16Gi", "pods": "10", "ephemeral-storage": "100Gi", CARDS: "4"}
    has |= {key.replace("_", "-"): value for key, value in amounts.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": list(taints)} if taints else {},
        "status": {"allocatable": has, "capacity": has},
    }


@dataclass(frozen=True, slots=True)
class Seen:
    """What can be told from outside about one pod."""

    node: str
    condition: tuple[str, ...]
    nominated: str
    events: tuple[tuple[str, str, str], ...]
    calls: tuple[tuple[str, ...], ...]


@dataclass
class Turn:
    """One scheduler's turn at a case."""

    cluster: Cluster
    extender: ScriptedExtender
    scheduler: str
    pods: list[str] = field(default_factory=list[str])
    uids: dict[str, str] = field(default_factory=dict[str, str])
    nodes: list[str] = field(default_factory=list[str])
    first_call: int = 0
    known: bool = False
    scripted: list[tuple[str, Verb]] = field(default_factory=list[tuple[str, Verb]])

    async def has(self, *nodes: Object) -> None:
        self.known = False
        for each in nodes:
            self.nodes.append(each["metadata"]["name"])
            await self.cluster.api.create(each)
            # A new node is given a taint that only controllers would take away.
            await self.cluster.api.patch(
                path_of("Node", self.nodes[-1]), {"spec": {"taints": each["spec"].get("taints", [])}}
            )

    def pod(self, name: str, limits: Mapping[str, str | int] | None = None, **spec: object) -> Object:
        """A pod for this scheduler that asks for a cpu unless told otherwise, and ends at once when it is deleted."""
        made = pod(name, container(limits={"cpu": "1", **(limits or {})}), scheduler=self.scheduler)
        made["spec"] |= {"terminationGracePeriodSeconds": 0, **spec}
        return made

    async def create(self, *pods: Object) -> None:
        if not self.known:
            # Both hear of nodes and of pods on them in their own time; a decision before that is another case.
            self.known = True
            await asyncio.sleep(HEARD_S)
        for each in pods:
            await self._make(each)

    async def _make(self, wanted: Object) -> str:
        made = await self.cluster.api.create(wanted)
        name, uid = made["metadata"]["name"], made["metadata"]["uid"]
        self.pods.append(name)
        self.uids[uid] = f"uid of {name}"
        return uid

    async def running(
        self, name: str, on: str, limits: Mapping[str, str | int] | None = None, **more: object
    ) -> str:
        """A pod that is on the node already; its uid."""
        made = self.pod(name, limits, **more)
        made["spec"]["nodeName"] = on
        made["metadata"]["labels"] = made["spec"].pop("labels", {})
        self.known = False
        return await self._make(made)

    def script(self, name: str, verb: Verb, *answers: Answer) -> None:
        """Answer so about the pod, until the turn ends."""
        self.scripted.append((name, verb))
        self.extender.script(name, verb, *answers)

    def first_filters(self, name: str) -> int:
        """Filter calls about a pod of this name in earlier turns."""
        return sum(call.order < self.first_call for call in self.extender.calls(name, "filter"))

    async def settled(self) -> None:
        """Wait until every pod was decided about, and nothing changes any more."""
        last, since, until = "", time.monotonic(), time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            state = await self._state()
            if state != last:
                last, since = state, time.monotonic()
            elif time.monotonic() - since > QUIET_S and "undecided" not in state:
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{self.scheduler} did not come to rest: {last}")

    async def seen(self) -> dict[str, Seen]:
        """What there is to see of each pod that still exists."""
        return {name: await self._seen(name, found) for name, found in (await self._found()).items()}

    async def _state(self) -> str:
        """Everything that may still change, with the word `undecided` while something must."""
        found = await self._found()
        versions: list[str] = []
        undecided = events = 0
        for name, each in found.items():
            told = len(await self._events(name))
            gated = each["spec"].get("schedulingGates")
            # Pods that the case itself has put on a node were decided by nobody, and nobody tells of them.
            by_case = each["spec"].get("nodeName") and not scheduled(each)
            undecided += not gated and not by_case and not (scheduled(each) and told)
            events += told
            versions.append(f"{name} {each['metadata']['resourceVersion']}")
        return f"{'undecided' if undecided else ''} {versions} {len(self.extender.calls())} calls, {events} events"

    async def _found(self) -> dict[str, Object]:
        pods = await self.cluster.api.list(path_of("Pod"))
        return {each["metadata"]["name"]: each for each in pods if each["metadata"]["name"] in self.pods}

    async def _events(self, name: str) -> list[Object]:
        listed = await self.cluster.api.list(path_of("Event"), fieldSelector=f"involvedObject.name={name}")
        return [each for each in listed if each["involvedObject"].get("uid") in self.uids]

    async def _seen(self, name: str, found: Object) -> Seen:
        status = found.get("status", {})
        conditions = [
            (
                one["type"],
                one["status"],
                one.get("reason", ""),
                self._plain(one.get("message", "")),
                str(one.get("observedGeneration", "")),
            )
            for one in status.get("conditions", [])
            if one["type"] in ("PodScheduled", "DisruptionTarget")
        ]
        events = {
            (one["type"], one["reason"], self._plain(one["message"])) for one in await self._events(name)
        }
        return Seen(
            node=found["spec"].get("nodeName", ""),
            condition=tuple(part for one in sorted(conditions) for part in one),
            nominated=status.get("nominatedNodeName", ""),
            events=tuple(sorted(events)),
            calls=self._calls(name),
        )

    def _calls(self, name: str) -> tuple[tuple[str, ...], ...]:
        """Each kind of call once, in the order of the first: how often one is repeated is told by other tests."""
        told: dict[tuple[str, ...], None] = {}
        for call in self.extender.calls(name)[:]:
            # A pod of an earlier case had the same name, and its last call may come late.
            if call.order < self.first_call or _asked_about(call.body) not in self.uids:
                continue
            offered: tuple[str, ...] = ()
            if call.verb in ("filter", "prioritize"):
                offered = tuple(sorted(call.offered))
            elif call.verb == "bind":
                offered = (call.body["Node"],)
            else:
                offered = (self._plain(json.dumps(call.body["NodeNameToMetaVictims"], sort_keys=True)),)
            pod = (
                self._plain(json.dumps(_lasting(call.body["Pod"]), sort_keys=True))
                if "Pod" in call.body
                else ""
            )
            told[call.extender, call.verb, " ".join(sorted(call.body)), pod, *offered] = None
        return tuple(told)

    def _plain(self, text: str) -> str:
        for uid, word in self.uids.items():
            text = text.replace(uid, word)
        return re.sub(r":\d{4,5}\b", ":PORT", text.replace(self.scheduler, "SCHEDULER"))


def _asked_about(body: Object) -> str:
    """The uid of the pod that an extender is asked about; a call to bind has it beside the pod's name."""
    return str(body["Pod"]["metadata"]["uid"] if "Pod" in body else body["PodUID"])


def _lasting(sent: Object) -> Object:
    """A pod as it was sent, without what another time and another name make of it."""
    volatile = ("resourceVersion", "creationTimestamp", "uid")
    metadata = {key: value for key, value in sent["metadata"].items() if key not in volatile}
    spec = {key: value for key, value in sent["spec"].items() if key not in ("volumes", "containers")}
    status = {key: value for key, value in sent.get("status", {}).items() if key != "conditions"}
    resources = [each.get("resources") for each in sent["spec"]["containers"]]
    return {
        "metadata": metadata,
        "spec": spec,
        "status": status,
        "resources": resources,
        "keys": sorted(sent),
    }


@dataclass
class Pair:
    """Both schedulers, ready."""

    cluster: Cluster
    extender: ScriptedExtender

    async def both(self, case: Callable[[Turn], Awaitable[object]]) -> tuple[object, object]:
        """What the case returns with the real one and with the stand-in."""
        return await self.turn(case, REAL), await self.turn(case, STAND_IN)

    async def turn(self, case: Callable[[Turn], Awaitable[object]], scheduler: str) -> object:
        made = Turn(self.cluster, self.extender, scheduler, first_call=len(self.extender.calls()) + 1)
        try:
            return await case(made)
        finally:
            for name, verb in made.scripted:
                self.extender.script(name, verb, ORDINARY[verb])
            await remove(self.cluster, made.pods)
            for name in made.nodes:
                try:
                    await self.cluster.api.delete(path_of("Node", name))
                except ApiRefused as refused:
                    if refused.status != 404:
                        raise


@asynccontextmanager
async def paired(cluster: Cluster) -> AsyncGenerator[Pair]:
    """Start both in a cluster that has no nodes and no controllers."""
    for name, value in ((URGENT, 1000), (MEEK, 10), (PATIENT, 1000)):
        made = {"apiVersion": SCHEDULING, "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        made["preemptionPolicy"] = "Never" if name == PATIENT else "PreemptLowerPriority"
        await cluster.api.create(made)
    closed = cluster.box.make_socket()
    try:
        closed.bind(("127.0.0.1", 0))
        nobody_there = f"http://127.0.0.1:{closed.getsockname()[1]}"
        async with ScriptedExtender.serve(cluster.box) as extender:
            wanted = configuration(extender, nobody_there)
            profile = {"percentageOfNodesToScore": 100}
            await cluster.restart_scheduler({**wanted, "profiles": [{"schedulerName": REAL, **profile}]})
            await start(cluster, {**wanted, "profiles": [{"schedulerName": STAND_IN, **profile}]})
            yield Pair(cluster, extender)
    finally:
        closed.close()


async def start(cluster: Cluster, fields: Mapping[str, Any]) -> None:
    """The stand-in, as a program in the box that holds a Lease of its own."""
    file = cluster.box.folder.path / "stand-in.json"
    election = {"leaderElect": True, "resourceNamespace": "kube-system", "resourceName": LEASE}
    file.write_text(
        json.dumps(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "leaderElection": election,
                **fields,
            }
        ),
        encoding="utf-8",
    )
    command = [sys.executable, REPOSITORY / "e2e" / "stand_in.py", cluster.box.folder.admin_kubeconfig, file]
    await cluster.box.start(PROGRAM, command)
    async with asyncio.timeout(PATIENCE_S):
        while not await lease(cluster):
            (known,) = [each for each in await cluster.box.programs() if each["name"] == PROGRAM]
            if known["status"] is not None:
                raise BedError(f"the stand-in ended: {cluster.box.log(PROGRAM)[-2000:]}")
            await asyncio.sleep(0.05)


async def lease(cluster: Cluster) -> Object:
    """What the stand-in's Lease says; nothing while there is none."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{LEASE}"
    try:
        return (await cluster.api.get(path))["spec"]
    except ApiRefused:
        return {}

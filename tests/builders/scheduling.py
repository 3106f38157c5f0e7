"""A cluster in memory for the scheduler's verbs: what an API server does with pods, and no HTTP.

Events reach the scheduler's state only when a test delivers them, so that every order of "the API server did" and "the
scheduler heard" can be played.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

import msgspec

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.informer import Change, Key
from tangram.model.cards import Card, CardMode, Vendor
from tangram.services.scheduler.binding import Binding, BindResult
from tangram.services.scheduler.failing import failing
from tangram.services.scheduler.filtering import Filtering
from tangram.services.scheduler.leadership import Leadership
from tangram.services.scheduler.locks import NodeLocks
from tangram.services.scheduler.outcomes import Verdict
from tangram.services.scheduler.reservations import Times
from tangram.services.scheduler.state import State
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.wire.extender import BindCall, read_filter
from tangram.wire.inventory import INVENTORY, Inventory, encode_inventory

Object = dict[str, Any]
GIB = 1 << 30


def metax_cards(
    node: str, count: int = 2, *, mode: CardMode = CardMode.SLICED, memory: int = 64
) -> list[Card]:
    return [
        Card(
            uuid=CardUuid(f"GPU-{node}-{index}"),
            index=index,
            vendor=Vendor.METAX,
            memory=Bytes(memory * GIB),
            product="MXC500",
            mode=mode,
            slots=16 if mode is CardMode.SLICED else 1,
        )
        for index in range(count)
    ]


def mthreads_cards(node: str, count: int = 2, *, memory: int = 48) -> list[Card]:
    return [
        Card(
            uuid=CardUuid(f"MT-{node}-{index}"),
            index=index,
            vendor=Vendor.MTHREADS,
            memory=Bytes(memory * GIB),
            product="MTT S4000",
            cores=16,
            slots=16,
        )
        for index in range(count)
    ]


def node(name: str, cards: Sequence[Card] | None = None, **annotations: str) -> Object:
    """A node whose agent is ours."""
    inventory = encode_inventory(Inventory(tuple(metax_cards(name) if cards is None else cards)))
    return {
        "metadata": {"name": name, "annotations": {INVENTORY: inventory, **annotations}, "labels": {}},
        "spec": {},
        "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}},
    }


def pod(
    name: str,
    limits: Mapping[str, str | int] | None = None,
    *,
    namespace: str = "default",
    uid: str = "",
    **more: Any,  # noqa: ANN401 - any field of a pod
) -> Object:
    """A pod with one container that asks for a slice, unless it is told otherwise."""
    asked = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 16}
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-{name}",
            "annotations": dict(more.get("annotations", {})),
            "labels": dict(more.get("labels", {})),
        },
        "spec": {
            "schedulerName": more.get("scheduler", "tangram-scheduler"),
            "priority": more.get("priority", 0),
            "containers": [
                {"name": "main", "resources": {"limits": dict(asked if limits is None else limits)}}
            ],
            **more.get("spec", {}),
        },
        "status": {"phase": "Pending"},
    }


class World:
    """The objects of an API server and a scheduler's view of them."""

    def __init__(self, *nodes: Object, times: Times | None = None) -> None:
        self.now = 1000.0
        self.state = State(
            lambda: self.now,
            served=frozenset({"tangram-scheduler", "hami-scheduler"}),
            times=times or Times(),
        )
        self.nodes = {each["metadata"]["name"]: each for each in nodes}
        self.pods: dict[tuple[str, str], Object] = {}
        self.calls: list[tuple[str, str, Any]] = []
        self.failures: list[Exception] = []
        """Raised by the next calls, after they were carried out where `lost` says so."""
        self.lost = False
        self.unlisted: Exception | None = None
        """Raised by every list."""
        self.protected: set[str] = set()
        """Pods that no eviction may touch."""
        self.evicted: list[str] = []
        self._versions = itertools.count(1)
        self._heard: dict[Key, Any] = {}
        for each in nodes:
            self.hear_node(each["metadata"]["name"])
        self.leadership = Leadership(None, lambda: self.now)
        self.leadership.synced = True
        api = cast("Api", _FakeApi(self))
        self.api = api
        self.locks = NodeLocks(api, self.waits, patience=0.3, now=lambda: self.now, sleep=self.sleep)
        self.filtering = Filtering(self.state, failing)
        self.binding = Binding(self.state, api, self.leadership, self.locks)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def waits(self, namespace: str, name: str, uid: str, node_name: str) -> bool:
        found = self.pods.get((namespace, name))
        return (
            found is not None
            and uid in ("", found["metadata"]["uid"])
            and found["spec"].get("nodeName", "") in ("", node_name)
        )

    # --- what people and the API server do -----------------------------------------------------------------------

    def create(self, manifest: Object, *, heard: bool = True) -> Object:
        made = deepcopy(manifest)
        key = made["metadata"]["namespace"], made["metadata"]["name"]
        self.pods[key] = made
        if heard:
            self.hear(*key)
        return made

    def delete(self, name: str, namespace: str = "default", *, heard: bool = True) -> None:
        del self.pods[namespace, name]
        if heard:
            self.hear(namespace, name)

    def end(self, name: str, phase: str = "Succeeded", namespace: str = "default") -> None:
        self.pods[namespace, name]["status"]["phase"] = phase
        self.hear(namespace, name)

    def put_node(self, manifest: Object) -> None:
        self.nodes[manifest["metadata"]["name"]] = manifest
        self.hear_node(manifest["metadata"]["name"])

    def remove_node(self, name: str) -> None:
        del self.nodes[name]
        self.hear_node(name)

    # --- what the scheduler hears --------------------------------------------------------------------------------

    def hear(self, namespace: str, name: str) -> None:
        """Deliver the pod's present state."""
        key = Key(namespace, name)
        manifest = self.pods.get((namespace, name))
        old = self._heard.pop(key, None)
        if manifest is None:
            if old is not None:
                self.state.pod_changed(Change(key, old, None))
            return
        new = self.state.read_pod(deepcopy(manifest))
        if old is not None and old.ref.uid != new.ref.uid:
            self.state.pod_changed(Change(key, old, None))
            old = None
        self._heard[key] = new
        self.state.pod_changed(Change(key, old, new))

    def hear_all(self) -> None:
        for namespace, name in {*self.pods, *((key.namespace, key.name) for key in self._heard)}:
            self.hear(namespace, name)

    def hear_node(self, name: str) -> None:
        manifest = self.nodes.get(name)
        key = Key("", name)
        reading = None if manifest is None else self.state.read_node(manifest)
        self.state.node_changed(Change(key, None, reading))

    # --- what kube-scheduler asks --------------------------------------------------------------------------------

    def filter(self, name: str, nodes: Sequence[str] | None = None, namespace: str = "default") -> Object:
        return self.filter_with_verdict(name, nodes, namespace)[0]

    def filter_with_verdict(
        self, name: str, nodes: Sequence[str] | None = None, namespace: str = "default"
    ) -> tuple[Object, Verdict | None]:
        body = {
            "Pod": self.pods[namespace, name],
            "Nodes": None,
            "NodeNames": list(self.nodes if nodes is None else nodes),
        }
        return self.filtering.answer(read_filter(msgspec.json.encode(body)))

    async def bind(self, name: str, node_name: str, namespace: str = "default") -> BindResult:
        uid = self.pods[namespace, name]["metadata"]["uid"]
        return await self.binding.bind(BindCall(name, namespace, uid, node_name))

    async def schedule(self, name: str, namespace: str = "default") -> str:
        """Filter and bind, as kube-scheduler does; the node, or nothing."""
        chosen = self.filter(name, namespace=namespace)["NodeNames"]
        if not chosen:
            return ""
        result = await self.bind(name, chosen[0], namespace)
        if result.done:
            self.hear(namespace, name)
        return chosen[0] if result.done else ""

    def node_of(self, name: str, namespace: str = "default") -> str:
        return self.pods[namespace, name]["spec"].get("nodeName", "")


class _FakeApi:
    """As much of `Api` as the verbs use."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def get(self, path: str, **_query: str) -> Object:
        return await self.call("GET", path)

    async def merge(self, path: str, change: Object, **_query: str) -> Object:
        return await self.call("PATCH", path, change)

    async def create(self, path: str, body: Object, **query: str) -> Object:
        return await self.call("POST", path, body, query=query)

    async def pages(self, path: str, query: Mapping[str, str], _size: int) -> AsyncIterator[Object]:
        self._world.calls.append(("LIST", path, dict(query)))
        if self._world.unlisted is not None:
            raise self._world.unlisted
        wanted = query.get("fieldSelector", "").removeprefix("spec.nodeName=")
        pods = self._world.pods.values()
        yield {"items": [deepcopy(each) for each in pods if each["spec"].get("nodeName") == wanted]}

    async def call(self, method: str, path: str, body: Any = None, **_more: Any) -> Object:  # noqa: ANN401
        world = self._world
        world.calls.append((method, path, body))
        if world.failures and not world.lost:
            raise world.failures.pop(0)
        answer = self._do(method, path.split("/")[3:], body)
        if world.failures:
            raise world.failures.pop(0)
        return deepcopy(answer)

    def _do(self, method: str, words: list[str], body: Any) -> Object:  # noqa: ANN401
        if words[0] == "nodes":
            return self._node(method, words[1], body)
        found = self._world.pods.get((words[1], words[3]))
        if found is None:
            raise ApiError(404, "NotFound", f'pods "{words[3]}" not found')
        if words[4:] == ["binding"]:
            return _bind(found, body)
        if words[4:] == ["eviction"]:
            return self._evict(words[1], words[3], body)
        if method == "PATCH":
            uid = body.get("metadata", {}).get("uid")
            if uid not in (None, found["metadata"]["uid"]):
                raise ApiError(409, "Conflict", "the uid differs")
            found.setdefault("status", {}).update(body.get("status", {}))
        return found

    def _evict(self, namespace: str, name: str, body: Object) -> Object:
        world = self._world
        if name in world.protected:
            raise ApiError(
                429, "TooManyRequests", "Cannot evict pod as it would violate the disruption budget."
            )
        if not body["deleteOptions"].get("dryRun"):
            world.pods[namespace, name]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            world.evicted.append(name)
        return {}

    def _node(self, method: str, name: str, body: Any) -> Object:  # noqa: ANN401
        found = self._world.nodes.get(name)
        if found is None:
            raise ApiError(404, "NotFound", f'nodes "{name}" not found')
        metadata = found["metadata"]
        if method == "PATCH":
            version = body["metadata"].get("resourceVersion")
            if version not in (None, "", metadata.get("resourceVersion", "")):
                raise ApiError(409, "Conflict", "the object has been modified")
            for key, value in body["metadata"].get("annotations", {}).items():
                if value is None:
                    metadata["annotations"].pop(key, None)
                else:
                    metadata["annotations"][key] = value
            metadata["resourceVersion"] = str(int(metadata.get("resourceVersion", "0")) + 1)
        return found


def _bind(found: Object, body: Object) -> Object:
    metadata = body["metadata"]
    if metadata.get("uid") not in (None, "", found["metadata"]["uid"]):
        raise ApiError(409, "Conflict", "the uid in the precondition differs")
    if found["spec"].get("nodeName"):
        raise ApiError(409, "Conflict", f"pod {found['metadata']['name']} is already assigned to a node")
    found["spec"]["nodeName"] = body["target"]["name"]
    found["metadata"]["annotations"].update(metadata.get("annotations") or {})
    found["metadata"]["labels"].update(metadata.get("labels") or {})
    return {}


def silence() -> Exception:
    return ApiUnreachable("POST: the API server did not answer within 4 s")

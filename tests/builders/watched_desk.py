"""A scheduler with a small busy cluster, whose every answer is held against what must never happen."""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from builders.scheduling import Object, metax_cards, mthreads_cards, node, pod
from builders.whole_scheduler import WholeScheduler, said

BIG = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 60}


class WatchedDesk:
    """`ask` a verb: the answer has its documented shape, and nobody but the pod it is about gains or loses."""

    def __init__(self) -> None:
        self.whole = WholeScheduler(
            node("a", metax_cards("a", 1)), node("b", metax_cards("b", 2)), node("c", mthreads_cards("c"))
        )
        world = self.whole.world
        for name in ("bound", "promised", "waits"):
            world.create(pod(name))
        world.create(pod("theirs", BIG, namespace="other"))
        world.create(pod("plain", {}))
        world.create(pod("wrong", {"metax-tech.com/sgpu": "many"}))

    async def begin(self) -> WatchedDesk:
        assert (await self.whole.filter("bound", ["a"]))["NodeNames"] == ["a"]
        assert await self.whole.bind("bound", "a") == ""
        assert (await self.whole.filter("promised", ["b"]))["NodeNames"] == ["b"]
        return self

    async def ask(self, verb: str, body: bytes) -> Any:  # noqa: ANN401 - JSON
        before, placed = self.whole.holdings(), self._placed()
        answer = said(await getattr(self.whole.desk, verb)(body))
        self.check(verb, answer)
        after = self.whole.holdings()
        moved = {uid for uid in {*before, *after} if before.get(uid) != after.get(uid)}
        assert all(uid.encode() in body for uid in moved), "somebody moved who was not asked about"
        newly = self._placed().items() - placed.items()
        if verb == "preempt":
            assert not moved
        if verb == "filter":
            assert len(moved) <= 1
            assert not newly
            assert not any(uid in before and before[uid][1] for uid in moved), "a bound pod lost its cards"
            for uid in moved & after.keys():
                assert {after[uid][0].allocation.node} == set(_chosen(answer))
        if verb == "bind":
            assert len(newly) == (not answer["Error"] and bool(newly))
            assert all(not after[uid][1] or uid.encode() in body for uid in moved & after.keys())
        return answer

    def check(self, verb: str, answer: Any) -> None:  # noqa: ANN401 - JSON
        """Hold an answer against the Go structs that kube-scheduler reads it into."""
        if verb == "bind":
            assert list(answer) == ["Error"]
            assert isinstance(answer["Error"], str)
            return
        if verb == "preempt":
            assert list(answer) == ["NodeNameToMetaVictims"]
            msgspec.convert(answer["NodeNameToMetaVictims"], type=dict[str, _Victims])
            return
        read = msgspec.convert(answer, type=_FilterAnswer)
        if not read.Error:
            assert (read.Nodes is None) != (read.NodeNames is None), "exactly one of the two is answered"

    async def undisturbed(self, verb: str, body: bytes) -> Any:  # noqa: ANN401 - JSON
        """Ask what cannot mean anything: nothing at all moves."""
        before, placed = self.whole.holdings(), self._placed()
        answer = await self.ask(verb, body)
        assert self.whole.holdings() == before
        assert self._placed() == placed
        return answer

    def _placed(self) -> dict[str, str]:
        """Where the API server has each pod, by UID."""
        pods = self.whole.world.pods.values()
        return {each["metadata"]["uid"]: each["spec"].get("nodeName", "") for each in pods}

    def documents(self) -> list[tuple[str, Object]]:
        """Questions as kube-scheduler asks them, about every pod there is and some there are not."""
        world = self.whole.world
        pods = [*copy.deepcopy(list(world.pods.values())), pod("new"), pod("stolen", uid="uid-bound")]
        names = ["a", "b", "c", "nowhere", "b"]
        many = [f"node-{number}" for number in range(10_000)]
        asked: list[tuple[str, Object]] = []
        for each in pods:
            asked += [
                ("filter", {"Pod": each, "Nodes": None, "NodeNames": names}),
                ("filter", {"Pod": each, "Nodes": {"items": list(world.nodes.values())}, "NodeNames": None}),
                ("filter", {"Pod": each, "Nodes": {"items": [node("dream")]}}),
                ("preempt", {"Pod": each, "NodeNameToMetaVictims": _meta_victims("uid-bound", "uid-none")}),
                (
                    "preempt",
                    {"Pod": each, "NodeNameToVictims": {"a": {"Pods": pods[:2], "NumPDBViolations": 0}}},
                ),
            ]
            metadata = each["metadata"]
            order = {
                "PodName": metadata["name"],
                "PodNamespace": metadata["namespace"],
                "PodUID": metadata["uid"],
            }
            asked += [("bind", {**order, "Node": where}) for where in ("a", "b", "nowhere")]
        return [*asked, ("filter", {"Pod": pods[2], "NodeNames": many})]


class _MetaPod(msgspec.Struct, forbid_unknown_fields=True):
    UID: str


class _Victims(msgspec.Struct, forbid_unknown_fields=True):
    Pods: list[_MetaPod]
    NumPDBViolations: int


class _Items(msgspec.Struct, forbid_unknown_fields=True):
    items: list[dict[str, Any]]


class _FilterAnswer(msgspec.Struct, forbid_unknown_fields=True):
    Nodes: _Items | None
    NodeNames: list[str] | None
    FailedNodes: dict[str, str]
    Error: str
    FailedAndUnresolvableNodes: dict[str, str] = {}


def _meta_victims(*uids: str) -> Object:
    pods = [{"UID": uid} for uid in uids]
    return {where: {"Pods": pods, "NumPDBViolations": 1} for where in ("a", "c", "nowhere")}


def _chosen(answer: Object) -> list[str]:
    nodes = answer["Nodes"]
    return answer["NodeNames"] if nodes is None else [each["metadata"]["name"] for each in nodes["items"]]

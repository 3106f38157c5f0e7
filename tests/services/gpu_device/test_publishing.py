"""Writing to the API server: only what differs, again when it failed, and never on a pod made again."""

import asyncio
from collections.abc import Mapping

import pytest

from builders.agent_api import NODE, NODE_PATH, AgentApi, agent_api, pod
from builders.waiting import until
from tangram.kube.api import Api
from tangram.kube.informer import Change, Informer, Key, whole
from tangram.model.pods import PodRef
from tangram.services.gpu_device import pod_writes, publishing
from tangram.services.gpu_device.pod_writes import PodWrites
from tangram.services.gpu_device.publishing import OwnNode, Publisher
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.wire.errors import WireError
from tangram.wire.publication import Publication
from testbed.changes import cut_off

KEY = "metax-tech.com/test"


class Wanting:
    """What the node should say, and how often somebody asked."""

    def __init__(self) -> None:
        self.value: str | None = "one"
        self.refusal: WireError | None = None
        self.unknown = False

    def __call__(self, annotations: Mapping[str, str], labels: Mapping[str, str]) -> Publication | None:
        del annotations, labels
        if self.refusal is not None:
            raise self.refusal
        return None if self.unknown else Publication({KEY: self.value}, {"label": self.value})


def node_patches(server: AgentApi) -> int:
    return sum(1 for method, path, _ in server.writes if (method, path) == ("PATCH", NODE_PATH))


async def publishing_to(server: AgentApi, api: Api, wanting: Wanting) -> tuple[Publisher, OwnNode]:
    own = OwnNode(lambda: None)
    own.told(Change(Key("", NODE), None, server.node))
    return Publisher(api, NodeName(NODE), own, wanting), own


async def test_only_what_differs_is_written_and_nothing_twice() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        publisher, own = await publishing_to(server, api, Wanting())
        assert await publisher.write()
        assert server.node_annotations[KEY] == "one"
        own.told(Change(Key("", NODE), None, server.node))
        assert await publisher.write()
        assert publisher.settled
        assert node_patches(server) == 1


async def test_what_somebody_else_changed_is_put_right_and_what_goes_is_removed() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        wanting = Wanting()
        publisher, own = await publishing_to(server, api, wanting)
        await publisher.write()
        server.set_node({"metadata": {"annotations": {KEY: "forged", "theirs": "stays"}}})
        own.told(Change(Key("", NODE), None, server.node))
        await publisher.write()
        assert server.node_annotations == {KEY: "one", "theirs": "stays"}
        wanting.value = None
        own.told(Change(Key("", NODE), None, server.node))
        await publisher.write()
        assert server.node_annotations == {"theirs": "stays"}


async def test_nothing_is_said_before_the_node_or_its_cards_are_known() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        wanting = Wanting()
        wanting.unknown = True
        publisher, _ = await publishing_to(server, api, wanting)
        assert await publisher.write()
        unborn = Publisher(api, NodeName(NODE), OwnNode(lambda: None), Wanting())
        assert await unborn.write()
        assert node_patches(server) == 0


async def test_a_server_that_is_away_is_written_to_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "RETRY_S", 0.01)
    async with agent_api() as server, Api(server.connection) as api:
        server.down = True
        publisher, _ = await publishing_to(server, api, Wanting())
        running = asyncio.create_task(publisher.run())
        publisher.due()
        await until(lambda: bool(publisher.trouble))
        server.down = False
        await until(lambda: server.node_annotations.get(KEY) == "one")
        await until(lambda: not publisher.trouble)
        await cut_off(running)


async def test_what_cannot_be_published_is_trouble_and_no_write() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        wanting = Wanting()
        wanting.refusal = WireError("annotations-too-large", "it is too much")
        publisher, _ = await publishing_to(server, api, wanting)
        assert await publisher.write()
        assert "it is too much" in publisher.trouble
        assert node_patches(server) == 0


async def test_the_own_node_tells_only_of_what_matters() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        told: list[None] = []
        own = OwnNode(lambda: told.append(None))
        running = asyncio.create_task(Informer(api, "/api/v1/nodes", own.told, keep=whole).run())
        await until(lambda: own.known)
        server.set_node({"status": {"heartbeat": "1"}})
        await until(lambda: own.version == server.node["metadata"]["resourceVersion"])
        assert len(told) == 1
        server.set_node({"spec": {"unschedulable": True}})
        await until(lambda: own.unschedulable)
        assert len(told) == 2
        server.remove(NODE_PATH)
        await until(lambda: not own.known)
        await cut_off(running)


# ---- pods


def ref(server: AgentApi, name: str) -> PodRef:
    return PodRef(Namespace("default"), PodName(name), PodUid(server.pod(name)["metadata"]["uid"]))


async def test_what_is_owed_to_a_pod_is_written_once_in_one_go() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        server.bind(pod("p", {}))
        counted: list[str] = []
        writes = PodWrites(api, counted.append)
        writes.owe(ref(server, "p"), {"a": "1", "b": "1"})
        writes.owe(ref(server, "p"), {"b": "2"})
        running = asyncio.create_task(writes.run())
        await writes.flush(30)
        assert server.pod("p")["metadata"]["annotations"] == {"a": "1", "b": "2"}
        assert len(server.writes) == 1
        assert counted == ["pod"]
        await cut_off(running)


async def test_a_pod_made_again_under_its_name_is_never_written_to() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        server.bind(pod("p", {}))
        old = ref(server, "p")
        server.delete_pod("p")
        server.bind(pod("p", {}))
        writes = PodWrites(api)
        writes.owe(old, {"a": "1"})
        writes.owe(PodRef(Namespace("default"), PodName("gone"), PodUid("u")), {"a": "1"})
        running = asyncio.create_task(writes.run())
        await writes.flush(30)
        assert server.pod("p")["metadata"]["annotations"] == {}
        await cut_off(running)


async def test_what_is_owed_waits_while_the_server_is_away_and_the_latest_word_wins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pod_writes, "RETRY_S", 0.01)
    async with agent_api() as server, Api(server.connection) as api:
        server.bind(pod("p", {}))
        server.down = True
        writes = PodWrites(api)
        writes.owe(ref(server, "p"), {"a": "1", "b": "1"})
        running = asyncio.create_task(writes.run())
        await server.asked(2)
        writes.owe(ref(server, "p"), {"b": "2"})
        server.down = False
        await until(lambda: server.pod("p")["metadata"]["annotations"] == {"a": "1", "b": "2"})
        await cut_off(running)


async def test_flushing_waits_for_the_write_that_is_under_way() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        server.bind(pod("p", {}))
        writes = PodWrites(api)
        running = asyncio.create_task(writes.run())
        writes.owe(ref(server, "p"), {"a": "1"})
        await asyncio.sleep(0)
        await writes.flush(30)
        assert server.pod("p")["metadata"]["annotations"] == {"a": "1"}
        await cut_off(running)


async def test_of_too_many_the_oldest_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_writes, "MOST", 2)
    async with agent_api() as server, Api(server.connection) as api:
        writes = PodWrites(api)
        for number in range(4):
            server.bind(pod(f"p{number}", {}))
            writes.owe(ref(server, f"p{number}"), {"a": "1"})
        running = asyncio.create_task(writes.run())
        await writes.flush(30)
        written = [path.rsplit("/", 1)[1] for _, path, _ in server.writes]
        assert written == ["p2", "p3"]
        await cut_off(running)

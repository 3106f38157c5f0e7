"""A peer's lock that could not be taken away at once is taken away a moment later, whatever else happens or not."""

import asyncio
from typing import Any, cast

from builders.starts import NODE, sliced
from builders.virtual_time import virtually
from tangram.kube.api import Api
from tangram.kube.errors import CONFLICT, ApiError, ApiUnreachable
from tangram.kube.informer import Change
from tangram.kube.objects import Key
from tangram.kubelet.news import News
from tangram.services.gpu_device.lock_release import LockRelease
from tangram.services.gpu_device.publishing import OwnNode
from tangram.wire.nodelock import NODE_LOCK

LOOK_AT_LEAST_S = 30.0
SOON_S = 3.0


def node(version: int, heard_at: str = "") -> dict[str, Any]:
    """Locked for a pod that is served; its kubelet reports in from time to time."""
    return {
        "metadata": {
            "name": str(NODE),
            "resourceVersion": str(version),
            "annotations": {NODE_LOCK: "2026-06-14T15:05:03Z,default,one"},
        },
        "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": heard_at}]},
    }


class Server:
    """The kubelet writes the node right before each of our first writes."""

    def __init__(self, *failures: Exception) -> None:
        self.news = News()
        self.own = OwnNode(self.news.announce)
        self.version = 1
        self.tell()
        self._failures = list(failures)
        self.released_at: float | None = None

    def tell(self) -> None:
        self.own.told(Change(Key("", str(NODE)), None, node(self.version, heard_at=f"at {self.version}")))

    async def merge(self, _path: str, change: dict[str, Any]) -> None:
        if self._failures:
            self.version += 1
            asyncio.get_running_loop().call_later(0.1, self.tell)
            raise self._failures.pop(0)
        if change["metadata"]["resourceVersion"] != str(self.version):
            raise ApiError(CONFLICT, "Conflict", "the object has been modified")
        self.released_at = self.released_at or asyncio.get_running_loop().time()


async def released_after(server: Server) -> float:
    """Seconds until the lock is gone."""
    begun = asyncio.get_running_loop().time()
    release = LockRelease(cast("Api", server), NODE, server.own, lambda: [sliced("one", (0, 4, 10))])
    task = asyncio.create_task(release.run(server.news, LOOK_AT_LEAST_S))
    await asyncio.sleep(LOOK_AT_LEAST_S * 3)
    task.cancel()
    assert server.released_at is not None
    return server.released_at - begun


@virtually
async def test_a_node_that_its_kubelet_wrote_meanwhile_does_not_stay_locked() -> None:
    conflict = ApiError(CONFLICT, "Conflict", "the object has been modified")
    assert await released_after(Server(conflict)) < SOON_S


@virtually
async def test_a_lock_that_the_agent_holds_itself_is_not_taken_for_that_of_a_served_pod() -> None:
    server = Server()
    lock = server.own.annotations[NODE_LOCK]
    release = LockRelease(
        cast("Api", server), NODE, server.own, lambda: [sliced("one", (0, 4, 10))], ours=lambda: lock
    )
    assert await release.release()
    assert server.released_at is None


@virtually
async def test_an_api_server_that_did_not_answer_is_asked_again_soon() -> None:
    assert await released_after(Server(ApiUnreachable("no answer"), ApiUnreachable("no answer"))) < SOON_S

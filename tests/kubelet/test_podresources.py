"""Asking the kubelet who holds what: many questions, few lists, none of them old."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from builders.plugins import GPU, PATIENCE, eventually
from tangram.kubelet.podresources import KubeletSilent, PodResourcesClient
from tangram.kubelet.sockets import Refusal, SocketServer, SocketUnusable, answering, serve
from tangram.wire.kubelet import podresources
from testbed.changes import Changes

Answer = podresources.ListPodResourcesResponse


class Lister:
    """The kubelet's side: its n-th list says that pod `n` holds something."""

    def __init__(self) -> None:
        self.lists = 0
        self.changes = Changes()
        self.on_list: Callable[[int], Awaitable[None]] | None = None

    async def __call__(self, _asked: podresources.ListPodResourcesRequest) -> Answer:
        self.lists += 1
        number = self.lists
        self.changes.announce()
        if self.on_list is not None:
            await self.on_list(number)
        devices = [podresources.ContainerDevices(resource_name=GPU, device_ids=["a"])]
        container = podresources.ContainerResources(name="main", devices=devices)
        pod = podresources.PodResources(name=f"{number}", namespace="team-a", containers=[container])
        return Answer(pod_resources=[pod])

    async def serve(self, path: Path) -> SocketServer:
        return await serve(path, [answering(podresources.LIST, self)])

    async def until(self, lists: int) -> None:
        assert await self.changes.until(lambda: self.lists >= lists, within=PATIENCE)


@asynccontextmanager
async def kubelet_and_client(directory: Path) -> AsyncGenerator[tuple[Lister, PodResourcesClient]]:
    lister = Lister()
    server = await lister.serve(directory / "kubelet.sock")
    client = PodResourcesClient(directory / "kubelet.sock")
    try:
        yield lister, client
    finally:
        await client.close()
        await server.stop()


async def number(client: PodResourcesClient, within: float = PATIENCE) -> int:
    """Which list the answer was."""
    (one,) = await client.held(within)
    assert (one.namespace, one.container, one.resource, one.ids) == ("team-a", "main", GPU, ("a",))
    return int(one.pod)


async def complaint_of(client: PodResourcesClient) -> str:
    """What is said about a kubelet that gives no list, as soon as it has said anything: a busy machine is slow."""
    while True:
        with pytest.raises(KubeletSilent) as caught:
            await client.held(0.2)
        if not str(caught.value).endswith("no answer"):
            return str(caught.value)


async def test_each_question_gets_a_list_of_its_own_when_they_come_one_by_one(directory: Path) -> None:
    async with kubelet_and_client(directory) as (_, client):
        assert [await number(client) for _ in range(3)] == [1, 2, 3]


async def test_questions_that_come_together_share_a_list(directory: Path) -> None:
    async with kubelet_and_client(directory) as (lister, client):
        assert await asyncio.gather(*(number(client) for _ in range(40))) == [1] * 40
        assert lister.lists == 1


async def test_questions_that_come_while_a_list_is_made_share_the_next_and_never_get_that_one(
    directory: Path,
) -> None:
    release = asyncio.Event()

    async def hold(which: int) -> None:
        if which == 1:
            await release.wait()

    async with kubelet_and_client(directory) as (lister, client), asyncio.TaskGroup() as together:
        lister.on_list = hold
        first = together.create_task(number(client))
        await lister.until(1)
        later = [together.create_task(number(client)) for _ in range(39)]
        await asyncio.sleep(0)
        release.set()
        assert await first == 1
        assert await asyncio.gather(*later) == [2] * 39
        assert lister.lists == 2


async def test_a_kubelet_that_was_asked_too_often_is_asked_again(directory: Path) -> None:
    async def exhausted(which: int) -> None:
        if which <= 3:
            raise Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")

    async with kubelet_and_client(directory) as (lister, client):
        lister.on_list = exhausted
        assert await asyncio.gather(*(number(client) for _ in range(10))) == [4] * 10


async def test_a_kubelet_that_never_answers_is_silent_and_the_next_question_is_not_held_up(
    directory: Path,
) -> None:
    async def never_at_first(which: int) -> None:
        if which == 1:
            await asyncio.Event().wait()

    async with kubelet_and_client(directory) as (lister, client):
        lister.on_list = never_at_first
        with pytest.raises(KubeletSilent, match=r"did not say within 0\.1 s who holds .*kubelet\.sock'"):
            await client.held(0.1)
        assert await number(client) == 2


async def test_a_kubelet_that_refuses_for_good_is_quoted(directory: Path) -> None:
    async def refused(_which: int) -> None:
        raise Refusal(grpc.StatusCode.PERMISSION_DENIED, "not you")

    async with kubelet_and_client(directory) as (lister, client):
        lister.on_list = refused
        assert (await complaint_of(client)).endswith("PERMISSION_DENIED, not you")


async def test_without_a_kubelet_it_is_silent_and_finds_the_kubelet_that_comes_later(directory: Path) -> None:
    socket = directory / "kubelet.sock"
    client = PodResourcesClient(socket)
    with pytest.raises(KubeletSilent, match="who holds which units"):
        await client.held(0.05)
    waiting = asyncio.create_task(number(client))
    await asyncio.sleep(0)
    first = Lister()
    server = await first.serve(socket)
    assert await waiting >= 1
    await server.stop(leave_file=True)
    second = Lister()
    server = await second.serve(socket)
    assert await number(client) == 1
    await client.close()
    await server.stop()


async def test_a_new_kubelet_is_asked_although_the_old_one_would_still_answer(directory: Path) -> None:
    socket = directory / "kubelet.sock"
    old, new = Lister(), Lister()
    client = PodResourcesClient(socket)
    old_server = await old.serve(socket)
    assert await number(client) == 1
    new_server = await new.serve(socket)
    assert await number(client) == 1
    assert (old.lists, new.lists) == (1, 1)
    await client.close()
    await old_server.stop()
    await new_server.stop()


async def test_who_gives_up_disturbs_nobody_else(directory: Path) -> None:
    release = asyncio.Event()

    async def hold(_which: int) -> None:
        await release.wait()

    async with kubelet_and_client(directory) as (lister, client):
        lister.on_list = hold
        impatient, patient = asyncio.create_task(client.held()), asyncio.create_task(number(client))
        await lister.until(1)
        impatient.cancel()
        await asyncio.wait({impatient})
        release.set()
        assert await patient == 1


async def test_whoever_waits_when_it_is_closed_is_told(directory: Path) -> None:
    client = PodResourcesClient(directory / "kubelet.sock")
    waiting = asyncio.create_task(client.held(PATIENCE))
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(KubeletSilent, match="the agent is ending"):
        await waiting
    await client.close()


async def test_an_answer_larger_than_grpc_likes_is_taken(directory: Path) -> None:
    async def many(_asked: podresources.ListPodResourcesRequest) -> Answer:
        devices = [
            podresources.ContainerDevices(
                resource_name=GPU, device_ids=[f"{one:063d}" for one in range(1000)]
            )
        ]
        container = podresources.ContainerResources(name="main", devices=devices)
        return Answer(
            pod_resources=[
                podresources.PodResources(name=f"{one}", namespace="x", containers=[container])
                for one in range(100)
            ]
        )

    server = await serve(directory / "kubelet.sock", [answering(podresources.LIST, many)])
    client = PodResourcesClient(directory / "kubelet.sock")
    held = await client.held(PATIENCE)
    assert sum(len(one.ids) for one in held) == 100_000
    await client.close()
    await server.stop()


def test_a_path_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SocketUnusable, match="a unix socket's path may have 107"):
        PodResourcesClient(tmp_path / ("x" * 108))


async def test_nothing_is_left_running_after_the_last_answer(directory: Path) -> None:
    async with kubelet_and_client(directory) as (_, client):
        await number(client)
        await eventually(lambda: not any(_asks(task) for task in asyncio.all_tasks()))


def _asks(task: asyncio.Task[object]) -> bool:
    return task.get_name() == "ask for pod resources"

"""gRPC over unix sockets: where they are made, whose they are, and who answers."""

import asyncio
import socket
from pathlib import Path

import grpc
import grpc.aio
import pytest

from builders.plugins import names_in
from tangram.kubelet.sockets import (
    Answering,
    Refusal,
    SocketUnusable,
    answering,
    ask,
    listened_at,
    open_channel,
    serve,
    socket_address,
    socket_file_at,
)
from tangram.wire.kubelet import deviceplugin


def options_of(*, prefers: bool = False) -> Answering:
    async def on_options(_asked: deviceplugin.Empty) -> deviceplugin.DevicePluginOptions:
        return deviceplugin.DevicePluginOptions(get_preferred_allocation_available=prefers)

    return answering(deviceplugin.GET_DEVICE_PLUGIN_OPTIONS, on_options)


async def prefers_at(path: Path) -> bool:
    async with open_channel(path) as channel:
        answer = await ask(channel, deviceplugin.GET_DEVICE_PLUGIN_OPTIONS, deviceplugin.Empty(), within=30)
    return answer.get_preferred_allocation_available


async def test_a_path_too_long_for_a_socket_is_refused_with_its_length(directory: Path) -> None:
    with pytest.raises(SocketUnusable, match=r"has \d{3} bytes, and a unix socket's path may have 107: keep"):
        socket_address(directory / ("x" * 107))
    with pytest.raises(SocketUnusable):
        await serve(directory / ("x" * 107), [])


async def test_a_folder_that_is_not_there_is_named(directory: Path) -> None:
    with pytest.raises(SocketUnusable, match="none' is not a folder, so no socket can be made in it"):
        await serve(directory / "none" / "x.sock", [options_of()])


async def test_a_place_taken_by_a_folder_is_explained_and_nothing_is_left(directory: Path) -> None:
    (directory / "x.sock").mkdir()
    with pytest.raises(SocketUnusable, match=r"no socket could be made at '.*x\.sock'"):
        await serve(directory / "x.sock", [options_of()])
    assert names_in(directory) == {"x.sock"}


async def test_a_server_takes_the_place_of_another_and_does_not_lose_it_when_that_one_stops(
    directory: Path,
) -> None:
    path = directory / "x.sock"
    older = await serve(path, [options_of(prefers=False)])
    assert older.reachable
    newer = await serve(path, [options_of(prefers=True)])
    assert not older.reachable
    assert not older.removed
    await older.stop()
    assert newer.reachable
    assert await prefers_at(path)
    path.unlink()
    assert newer.removed
    await newer.stop()
    assert names_in(directory) == set()


async def test_a_refusal_is_answered_with_its_code_and_sentence(directory: Path) -> None:
    async def refused(_asked: deviceplugin.Empty) -> deviceplugin.DevicePluginOptions:
        raise Refusal(grpc.StatusCode.NOT_FOUND, "no such card")

    server = await serve(directory / "x.sock", [answering(deviceplugin.GET_DEVICE_PLUGIN_OPTIONS, refused)])
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await prefers_at(directory / "x.sock")
    assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.NOT_FOUND, "no such card")
    await server.stop()


async def test_only_a_socket_that_somebody_listens_at_counts_as_listened_at(directory: Path) -> None:
    path = directory / "x.sock"
    assert not listened_at(path)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        assert not listened_at(path)
        bound.listen()
        assert listened_at(path)
    assert not listened_at(path), "the file of a process that has ended"
    assert path.is_socket()


async def test_another_socket_at_the_same_path_is_another_one(directory: Path) -> None:
    path = directory / "x.sock"
    assert socket_file_at(path) is None
    path.touch()
    assert socket_file_at(path) is None
    seen = set[object]()
    for _ in range(5):
        server = await serve(path, [options_of()])
        seen.add(socket_file_at(path))
        await server.stop(leave_file=True)
    assert len(seen) == 5


async def test_a_server_that_is_cancelled_while_it_starts_leaves_nothing(directory: Path) -> None:
    for turns in range(6):
        starting = asyncio.ensure_future(serve(directory / "x.sock", [options_of()]))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait({starting})
        if not starting.cancelled():
            await starting.result().stop()
        assert names_in(directory) == set()

"""When to ask a kubelet again, in a time that passes only when the test says so."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

import grpc
import grpc.aio
import pytest

from builders.plugins import GPU
from tangram.kubelet import registration
from tangram.kubelet.listing import Listing
from tangram.kubelet.registration import Registration
from tangram.model.offers import Unit
from tangram.wire.kubelet import deviceplugin


class Clock:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


class Stage:
    """A registration whose kubelet is the test: it listens or not, and answers as it is told."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = Clock()
        self.listens = True
        self.answer: grpc.StatusCode | None = None
        self.on_ask: Callable[[], None] = lambda: None
        self.socket = directory / "kubelet.sock"
        monkeypatch.setattr(registration, "time", self.clock)
        monkeypatch.setattr(registration, "listened_at", self._listened_at)
        monkeypatch.setattr(registration, "ask", self._ask)
        self.listing = Listing(self._on_reader)
        self.listing.offer([Unit(id="a")])
        introduction = deviceplugin.RegisterRequest(resource_name=GPU)
        self.registration = Registration(self.socket, introduction, self.listing, lambda: None)
        self.registration.look()

    def _listened_at(self, _path: Path) -> bool:
        return self.listens

    async def _ask(self, *_: object, within: float) -> deviceplugin.Empty:
        assert within > 0
        self.on_ask()
        if self.answer is not None:
            nothing = grpc.aio.Metadata()
            raise grpc.aio.AioRpcError(self.answer, nothing, nothing, details="said so")
        return deviceplugin.Empty()

    def _on_reader(self) -> None:
        self.registration.list_changed()

    async def read_for(self, seconds: float) -> None:
        """The kubelet reads the list for so long."""

        async def send(_message: deviceplugin.ListAndWatchResponse) -> None:
            return

        reading = asyncio.ensure_future(self.listing.stream(send))
        await asyncio.sleep(0)
        assert self.registration.holds
        self.clock.now += seconds
        reading.cancel()
        await asyncio.wait({reading})
        assert not self.registration.holds

    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds


@pytest.fixture
def stage(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(directory, monkeypatch)


async def test_a_kubelet_that_refuses_is_asked_again_after_1_second_and_then_twice_as_late_up_to_30(
    stage: Stage,
) -> None:
    stage.answer = grpc.StatusCode.UNKNOWN
    pauses: list[float] = []
    for _ in range(8):
        assert stage.registration.wait() == 0
        pauses.append(await stage.registration.ask())
        assert stage.registration.wait() == pytest.approx(pauses[-1])
        stage.pass_time(pauses[-1])
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30]


async def test_another_kubelet_is_asked_at_once_whatever_the_last_one_said(stage: Stage) -> None:
    stage.answer = grpc.StatusCode.UNKNOWN
    await stage.registration.ask()
    assert stage.registration.wait() > 0
    stage.socket.touch()
    assert not stage.registration.look(), "a file that is no socket is no kubelet"
    assert stage.registration.wait() > 0
    stage.socket.unlink()
    make_socket(stage.socket)
    assert stage.registration.look()
    assert stage.registration.wait() == 0


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


async def test_a_socket_without_a_listener_is_tried_every_20_ms_and_every_second_after_a_while(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.listens = False
    assert stage.registration.wait() == 0.02
    stage.pass_time(4.9)
    assert stage.registration.wait() == 0.02
    assert not caplog.records
    stage.pass_time(0.2)
    assert stage.registration.wait() == 1
    assert stage.registration.wait() == 1
    (told,) = caplog.records
    assert told.getMessage() == f"nobody listens at '{stage.socket}'"


@pytest.mark.parametrize("status", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED])
async def test_a_kubelet_that_goes_while_it_is_asked_has_refused_nothing(
    stage: Stage, status: grpc.StatusCode
) -> None:
    stage.answer = status
    assert await stage.registration.ask() == 0.02
    assert stage.registration.wait() == 0


async def test_a_kubelet_that_accepts_and_never_reads_is_asked_again_after_10_seconds(stage: Stage) -> None:
    await stage.registration.ask()
    assert stage.registration.wait() == 10
    stage.pass_time(10)
    assert stage.registration.wait() == 0
    assert not stage.registration.holds


async def test_a_list_that_was_read_for_long_is_registered_again_at_once(stage: Stage) -> None:
    for _ in range(5):
        assert await stage.registration.ask() == 0
        await stage.read_for(3600)
        assert stage.registration.wait() == 0
    assert stage.registration.count == 5
    assert stage.registration.seconds == 0


async def test_a_kubelet_that_drops_the_list_at_once_is_asked_less_and_less_often(stage: Stage) -> None:
    pauses: list[float] = []
    for _ in range(10):
        await stage.registration.ask()
        await stage.read_for(0.5)
        pauses.append(round(stage.registration.wait(), 2))
        stage.pass_time(pauses[-1] + 0.001)
    assert pauses == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5, 5]
    assert stage.registration.seconds == pytest.approx(5.001)
    await stage.registration.ask()
    await stage.read_for(3600)
    assert stage.registration.wait() == 0


async def test_a_list_that_ends_before_the_answer_to_the_registration_comes_counts_as_dropped(
    stage: Stage,
) -> None:
    def read_and_drop() -> None:
        async def send(_message: deviceplugin.ListAndWatchResponse) -> None:
            return

        reading = stage.listing.stream(send)
        reading.send(None)
        reading.close()

    stage.on_ask = read_and_drop
    await stage.registration.ask()
    assert not stage.registration.holds
    assert stage.registration.wait() == pytest.approx(0.02)


async def test_the_time_it_took_is_counted_from_the_sockets_appearance(stage: Stage) -> None:
    make_socket(stage.socket)
    made = stage.socket.lstat().st_mtime
    stage.clock.now = made + 0.25
    assert stage.registration.look()
    stage.pass_time(0.5)
    await stage.registration.ask()
    assert stage.registration.seconds == pytest.approx(0.75, abs=0.01)

"""Events reach people: once each, counted, through outages, and never as a flood."""

import asyncio
import datetime as dt
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from builders.api_server import SmallApiServer, refusal, small_api_server
from builders.waiting import until
from tangram.kube import recorder as recorders
from tangram.kube.api import Api
from tangram.kube.recorder import About, Event, Recorder

POD = About("Pod", "train", "research", "uid-1")
NOON = dt.datetime(2026, 1, 2, 12, 0, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorders, "PACE_S", 0.0)
    monkeypatch.setattr(recorders, "RETRY_S", 0.001)


@asynccontextmanager
async def recording() -> AsyncGenerator[tuple[SmallApiServer, Recorder]]:
    async with small_api_server() as (server, connection), Api(connection) as api:
        one = Recorder(api, "gpu-device", "node-1", lambda: NOON)
        running = asyncio.create_task(one.run())
        try:
            yield server, one
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def flushed(recorder: Recorder) -> None:
    async with asyncio.timeout(20):
        await recorder.flush()


async def test_an_event_carries_what_kubectl_describe_looks_for() -> None:
    async with recording() as (server, recorder):
        recorder.record(Event(POD, "SliceRefused", "the card is gone"))
        await flushed(recorder)
        (event,) = server.objects.values()
        assert event["involvedObject"] == {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "train",
            "namespace": "research",
            "uid": "uid-1",
        }
        assert (event["type"], event["reason"], event["message"]) == (
            "Warning",
            "SliceRefused",
            "the card is gone",
        )
        assert (event["count"], event["firstTimestamp"]) == (1, "2026-01-02T12:00:00Z")
        assert event["source"] == {"component": "gpu-device", "host": "node-1"}


async def test_an_event_about_a_node_lives_where_kubectl_looks_for_it() -> None:
    async with recording() as (server, recorder):
        recorder.record(Event(About("Node", "node-1"), "CardUnhealthy", "card 3", warning=False))
        await flushed(recorder)
        ((path, event),) = server.objects.items()
        assert path.startswith("/api/v1/namespaces/default/events/")
        assert event["involvedObject"]["uid"] == "node-1"
        assert event["type"] == "Normal"


async def test_the_same_event_again_is_counted_and_not_written_again() -> None:
    async with recording() as (server, recorder):
        event = Event(POD, "SliceRefused", "the card is gone")
        recorder.record(event)
        await flushed(recorder)
        recorder.record(event)
        recorder.record(event)
        await flushed(recorder)
        (seen,) = server.objects.values()
        assert seen["count"] == 3


async def test_an_outage_delays_events_and_loses_none() -> None:
    async with recording() as (server, recorder):
        server.answer_first = lambda _request: refusal(503, "", "starting")
        for number in range(5):
            recorder.record(Event(POD, "SliceRefused", f"reason {number}"))
        await server.asked(3)
        server.answer_first = lambda _request: None
        await flushed(recorder)
        assert sorted(event["message"] for event in server.objects.values()) == [
            f"reason {number}" for number in range(5)
        ]
        assert recorder.dropped == 0


async def test_an_event_that_may_not_be_written_does_not_hold_up_the_others() -> None:
    async with recording() as (server, recorder):
        server.answer_first = lambda request: (
            refusal(403, "Forbidden", "no") if "/gone/" in request.path else None
        )
        recorder.record(Event(About("Pod", "p", "gone"), "SliceRefused", "x"))
        recorder.record(Event(POD, "SliceRefused", "y"))
        await flushed(recorder)
        assert [event["message"] for event in server.objects.values()] == ["y"]
        assert recorder.dropped == 1


async def test_a_flood_is_cut_at_the_old_end_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorders, "MOST_WAITING", 10)
    async with recording() as (server, recorder):
        for number in range(25):
            recorder.record(Event(POD, "SliceRefused", f"{number:02}"))
        await flushed(recorder)
        assert recorder.dropped == 15
        assert sorted(event["message"] for event in server.objects.values()) == [
            f"{n:02}" for n in range(15, 25)
        ]


async def test_a_message_too_long_for_the_api_server_is_cut_between_characters() -> None:
    async with recording() as (server, recorder):
        recorder.record(Event(POD, "SliceRefused", "卡" * 1000))
        await flushed(recorder)
        (event,) = server.objects.values()
        assert len(event["message"].encode()) <= 1024
        assert event["message"].endswith("卡...")


async def test_an_event_about_anything_else_names_its_kind_and_group() -> None:
    async with recording() as (server, recorder):
        recorder.record(Event(About("Job", "train", "research", "u", "batch/v1"), "Refused", "no"))
        await flushed(recorder)
        (event,) = server.objects.values()
        assert event["involvedObject"]["kind"] == "Job"
        assert event["involvedObject"]["apiVersion"] == "batch/v1"


async def test_a_burst_about_thousands_of_pods_keeps_the_newest_and_counts_the_rest() -> None:
    async with recording() as (server, recorder):
        for number in range(2000):
            recorder.record(Event(About("Pod", f"p{number:04}", "research"), "NoRoom", "no card is free"))
        await flushed(recorder)
        written = sorted(event["involvedObject"]["name"] for event in server.objects.values())
        assert written == [f"p{number:04}" for number in range(2000 - recorders.MOST_WAITING, 2000)]
        assert recorder.dropped == 2000 - recorders.MOST_WAITING


async def test_what_is_on_its_way_during_a_flood_is_written_or_dropped_but_never_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorders, "MOST_WAITING", 10)
    async with recording() as (server, recorder):
        for number in range(200):
            recorder.record(Event(POD, "SliceRefused", f"{number:03}"))
            if number % 3 == 0:
                await asyncio.sleep(0.001)
        await flushed(recorder)
        assert len(server.objects) + recorder.dropped == 200


async def test_an_event_the_server_cannot_take_now_does_not_hold_up_the_others() -> None:
    async with recording() as (server, recorder):
        server.answer_first = lambda request: (
            refusal(500, "InternalError", "failed calling webhook") if "/broken/" in request.path else None
        )
        recorder.record(Event(About("Pod", "p", "broken"), "SliceRefused", "x"))
        recorder.record(Event(POD, "SliceRefused", "y"))
        await until(lambda: len(server.objects) == 1)
        server.answer_first = lambda _request: None
        await flushed(recorder)
        assert sorted(event["message"] for event in server.objects.values()) == ["x", "y"]
        assert recorder.dropped == 0


@pytest.mark.parametrize("asked", ["86400", "inf", "nan", "-1"])
async def test_no_server_can_send_it_away_for_long(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorders, "LONGEST_RETRY_S", 0.001)
    async with recording() as (server, recorder):
        server.answer_first = lambda _request: refusal(429, "TooManyRequests", "later", Retry_After=asked)
        recorder.record(Event(POD, "SliceRefused", "x"))
        await server.asked(2)
        server.answer_first = lambda _request: None
        await flushed(recorder)
        assert len(server.objects) == 1


async def test_an_answer_without_a_name_is_written_once_and_does_no_harm() -> None:
    async with recording() as (server, recorder):
        server.answer_first = lambda _request: web.json_response({"metadata": None}, status=201)
        recorder.record(Event(POD, "SliceRefused", "x"))
        await flushed(recorder)
        assert len(server.requests) == 1

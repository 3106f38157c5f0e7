"""kube-scheduler gets an answer it can read, whatever happens."""

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.desks import ScriptedDesk, ask, say
from tangram.daemon import web_asking
from tangram.daemon.endpoints import Address
from tangram.daemon.web_serving import serving_app
from tangram.services.scheduler import doors
from tangram.services.scheduler.doors import extender_app


@asynccontextmanager
async def extender() -> AsyncGenerator[tuple[ScriptedDesk, Address]]:
    desk = ScriptedDesk()
    async with serving_app(
        extender_app(desk), Address("127.0.0.1", 0), option="--extender-address"
    ) as address:
        yield desk, address


@pytest.mark.parametrize("verb", ["filter", "bind", "preempt"])
async def test_a_verb_is_answered_with_what_the_desk_says(verb: str) -> None:
    async with extender() as (desk, address):
        assert await ask(address, f"/{verb}", b'{"Pod":{}}') == (200, f'{{"said":"{verb}"}}'.encode())
        assert desk.asked == [(verb, b'{"Pod":{}}')]


@pytest.mark.parametrize("verb", ["filter", "bind", "preempt"])
async def test_a_failure_inside_is_logged_and_answered_as_an_error_kube_scheduler_reads(
    verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with extender() as (desk, address):
        desk.failure = KeyError("secret detail")
        status, body = await ask(address, f"/{verb}", b"{}")
    assert status == 200
    assert json.loads(body) == {
        "Error": f"{verb} failed inside the scheduler; its log says why, and it is tried again"
    }
    (record,) = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert "secret detail" in (record.exc_text or "")


async def test_a_time_out_inside_the_desk_is_its_failure_and_not_the_clients() -> None:
    async with extender() as (desk, address):
        desk.failure = TimeoutError()
        assert b"failed inside" in (await ask(address, "/bind", b"{}"))[1]


@pytest.mark.parametrize(
    ("verb", "size", "accepted"),
    [
        pytest.param("filter", 16 << 20, True, id="whole nodes"),
        pytest.param("filter", (16 << 20) + 1, False, id="too many nodes"),
        pytest.param("bind", 1 << 20, True, id="a large bind"),
        pytest.param("bind", (1 << 20) + 1, False, id="too large a bind"),
    ],
)
@pytest.mark.parametrize("chunked", [False, True], ids=["with length", "in chunks"])
async def test_a_body_has_a_limit_however_it_is_sent(
    verb: str,
    size: int,
    accepted: bool,  # noqa: FBT001 - a case of the table
    chunked: bool,  # noqa: FBT001 - the same
) -> None:
    body = b"x" * size
    async with extender() as (desk, address):
        if chunked:
            start = (
                f"POST /{verb} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                f"{size:x}\r\n"
            )
            answer = await say(address, start.encode() + body + b"\r\n0\r\n\r\n")
            told = answer.partition(b"\r\n\r\n")[2]
        else:
            status, told = await ask(address, f"/{verb}", body)
            assert status == 200
        assert [len(sent) for _, sent in desk.asked] == ([size] if accepted else [])
        if not accepted:
            limit = "16 MiB" if verb == "filter" else "1 MiB"
            assert json.loads(told) == {
                "Error": f"the body of /{verb} is larger than {limit}; send less at a time"
            }


async def test_a_small_body_that_unpacks_to_a_huge_one_is_refused() -> None:
    packed = gzip.compress(b"\0" * (64 << 20))
    async with extender() as (desk, address):
        _status, told = await ask(address, "/bind", packed, headers="Content-Encoding: gzip\r\n")
        assert not desk.asked
    assert "Error" in json.loads(told)


async def test_a_body_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_asking, "READ_LIMIT_S", 0.05)
    monkeypatch.setattr(doors, "OTHER_BODY", 100)
    async with extender() as (desk, address):
        answer = await say(address, b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        assert b"200 OK" in answer
        assert b"did not come within 0.05 s; send it at once" in answer
        assert not desk.asked


async def test_large_bodies_wait_for_each_other_and_small_ones_for_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(web_asking, "SMALL_BODY", 10)
    async with extender() as (desk, address):
        slow = [await asyncio.open_connection(address.host, address.port) for _ in range(5)]
        for _reader, writer in slow:
            writer.write(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        assert (await ask(address, "/bind", b"small"))[0] == 200
        for _reader, writer in slow[:-1]:
            writer.write(b"x" * 96)
        for reader, _writer in slow[:-1]:
            await reader.readuntil(b"}")
        slow[-1][1].write(b"x" * 96)
        await slow[-1][0].readuntil(b"}")
        assert [len(body) for _, body in desk.asked] == [5, 100, 100, 100, 100, 100]
        for _reader, writer in slow:
            writer.close()


async def test_a_client_that_goes_away_hurts_nobody() -> None:
    async with extender() as (desk, address):
        _reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        await writer.drain()
        writer.transport.abort()
        assert (await ask(address, "/bind", b"{}"))[0] == 200
        assert desk.asked == [("bind", b"{}")]


async def test_what_is_not_there_and_what_is_asked_otherwise_is_said() -> None:
    async with extender() as (_desk, address):
        assert await ask(address, "/elsewhere") == (
            404,
            b'{"Error":"there is no such path; there are /bind, /filter, /healthz, /preempt, /readyz"}',
        )
        assert await ask(address, "/filter") == (
            405,
            b'{"Error":"/filter is asked by POST, not by GET"}',
        )
        assert (await ask(address, "/webhook", b"{}"))[0] == 404


async def test_probes_say_ok_or_what_is_the_matter() -> None:
    async with extender() as (desk, address):
        assert await ask(address, "/healthz") == (200, b"ok\n")
        assert await ask(address, "/readyz", method="HEAD") == (200, b"")
        desk.reasons_unready = ["the nodes have not been listed yet", "the pods have not been listed yet"]
        assert await ask(address, "/readyz") == (
            503,
            b"the nodes have not been listed yet\nthe pods have not been listed yet\n",
        )
        assert (await ask(address, "/healthz"))[0] == 200


PIECES = st.sampled_from(
    [b"POST ", b"GET ", b"/filter", b"/bind?x=%zz", b" HTTP/1.1", b" HTTP/9", b"\r\n", b"\r\n\r\n", b"Host: x",
     b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"hello",
     b"Transfer-Encoding: chunked", b"Content-Encoding: gzip", b"Content-Encoding: br", b"5\r\nhello\r\n0\r\n\r\n",
     b"zz\r\n", b"Upgrade: h2c", b"Connection: upgrade", b"Expect: 100-continue", b": ", b"\0", b"\xff\xfe"]
)  # fmt: skip


@given(messages=st.lists(st.one_of(PIECES, st.binary(max_size=30)), max_size=12))
async def test_no_bytes_at_all_bring_the_door_down_or_get_a_500(messages: list[bytes]) -> None:
    async with extender() as (_desk, address):
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"".join(messages))
        writer.write_eof()
        async with asyncio.timeout(20):
            answer = await reader.read()
        writer.close()
        assert not answer or answer.startswith(b"HTTP/1.")
        assert b"HTTP/1.1 5" not in answer
        assert (await ask(address, "/bind", b"{}"))[0] == 200

"""A web server of ours: where it may listen, and that nobody can use it up."""

import asyncio
import datetime as dt
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from builders.desks import ask, say
from tangram.daemon import web_connections, web_serving
from tangram.daemon.certificates import issue, server_context
from tangram.daemon.endpoints import Address
from tangram.daemon.errors import SettingError
from tangram.daemon.web_asking import Reading, application
from tangram.daemon.web_serving import serving_app

HERE = Address("127.0.0.1", 0)
EVERYWHERE = "0.0.0.0"  # noqa: S104 - what must be refused


def greeting(answer: bytes = b"hello", *, wait: asyncio.Event | None = None) -> web.Application:
    async def greet(_request: web.Request) -> web.Response:
        if wait is not None:
            await wait.wait()
        return web.Response(body=answer)

    return application({"/": {"GET": greet}, "/now": {"GET": greeting_now}})


async def greeting_now(_request: web.Request) -> web.Response:
    return web.Response(body=b"now")


def serving(app: web.Application, address: Address = HERE, **more: object):  # noqa: ANN201 - as serving_app's
    return serving_app(app, address, option="--address", **more)  # pyright: ignore[reportArgumentType] - as written


async def refusal(address: Address, **more: object) -> str:
    with pytest.raises(SettingError) as refused:
        async with serving(greeting(), address, **more):
            pass
    return str(refused.value)


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "192.0.2.1"])
async def test_plain_text_is_refused_wherever_others_could_read_it(host: str) -> None:
    address = Address(host, 9443)
    assert await refusal(address) == (
        f"--address is '{address}', which others can reach, and there is no certificate: plain text is served on this "
        "machine alone; name 127.0.0.1, or give a certificate."
    )


async def test_plain_text_for_others_must_be_asked_for() -> None:
    async with serving(greeting(), Address(EVERYWHERE, 0), plain_for_others=True) as address:
        assert await ask(Address("127.0.0.1", address.port), "/") == (200, b"hello")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
async def test_loopback_is_served_in_plain_text_by_number_and_by_name(host: str) -> None:
    async with serving(greeting(), Address(host, 0)) as address:
        assert await ask(address, "/") == (200, b"hello")
        if host == "localhost":
            assert await ask(Address("127.0.0.1", address.port), "/") == (200, b"hello")


async def test_an_address_in_use_or_elsewhere_or_unknown_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = Address("127.0.0.1", taken.getsockname()[1])
        assert await refusal(address) == (
            f"--address is '{address}', where nothing can be served (Address already in use): "
            "name a free address of this machine."
        )
    assert "Cannot assign requested address" in await refusal(Address("192.0.2.1", 0), plain_for_others=True)
    for host in ("no such host", "x" * 300, "a..b"):
        assert "where nothing can be served" in await refusal(Address(host, 80))


async def test_the_longest_quiet_leave_when_it_is_full_and_those_being_answered_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(web_connections, "GRACE_S", 0.05)
    wait = asyncio.Event()
    async with serving(greeting(wait=wait), connections=3) as address:
        busy = asyncio.create_task(ask(address, "/"))
        await asyncio.sleep(0.01)
        quiet = [await asyncio.open_connection(address.host, address.port) for _ in range(20)]
        for _ in range(5):
            assert await ask(address, "/now") == (200, b"now")
        async with asyncio.timeout(5):
            assert await quiet[0][0].read() == b"", "shown out"
        wait.set()
        assert await busy == (200, b"hello")
        for _reader, writer in quiet:
            writer.close()


async def test_bodies_that_never_come_make_room_for_others_and_those_that_came_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(web_connections, "GRACE_S", 0.05)
    wait, reading = asyncio.Event(), Reading()

    async def taken(request: web.Request) -> web.Response:
        body = await reading.body(request, 100)
        await wait.wait()
        return web.Response(body=body)

    app = application({"/": {"POST": taken}, "/now": {"GET": greeting_now}})
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
    async with serving(app, connections=3) as address:
        whole, slow = [await asyncio.open_connection(address.host, address.port) for _ in range(2)]
        whole[1].write(head + b"bo")
        await asyncio.sleep(0.02)
        whole[1].write(b"dy")
        slow[1].write(head + b"b")
        await asyncio.sleep(0.02)
        many = [await asyncio.open_connection(address.host, address.port) for _ in range(20)]
        for _reader, writer in many:
            writer.write(head + b"b")
        for _ in range(5):
            async with asyncio.timeout(5):
                assert await ask(address, "/now") == (200, b"now")
        async with asyncio.timeout(5):
            assert await slow[0].read() == b"", "shown out"
        wait.set()
        async with asyncio.timeout(5):
            assert (await whole[0].readuntil(b"body")).startswith(b"HTTP/1.1 200")
        for _reader, writer in (whole, slow, *many):
            writer.close()


async def test_when_all_are_busy_the_next_one_waits_for_its_turn() -> None:
    wait = asyncio.Event()
    async with serving(greeting(wait=wait), connections=2) as address:
        asked = [asyncio.create_task(ask(address, "/")) for _ in range(5)]
        await asyncio.sleep(0.2)
        assert [task.done() for task in asked] == [False] * 5
        wait.set()
        async with asyncio.timeout(10):
            assert await asyncio.gather(*asked) == [(200, b"hello")] * 5


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", id="half a header"),
    ],
)
async def test_a_connection_that_asks_nothing_is_closed(
    start: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_connections, "FIRST_QUESTION_S", 0.05)
    async with serving(greeting()) as address:
        assert await say(address, start) == b""


async def test_half_a_header_after_a_question_does_not_stay_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_serving, "QUIET_LIMIT_S", 0.05)
    async with serving(greeting()) as address:
        answer = await say(address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HT")
        assert answer.count(b"hello") == 1


async def test_an_answer_nobody_reads_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_serving, "WRITE_LIMIT_S", 0.05)
    async with serving(greeting(b"x" * (64 << 20)), connections=1) as address:
        _reader, writer = await asyncio.open_connection(address.host, address.port, limit=1)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await writer.drain()
        assert await ask(address, "/now") == (200, b"now"), "there was one place, and it became free"
        writer.close()


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", id="a long header"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 10_000 + b"\r\n", id="many headers"),
        pytest.param(b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", id="a long path"),
    ],
)
async def test_what_is_too_long_is_refused_without_a_word_in_the_log(
    head: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(greeting()) as address:
        assert (await say(address, head)).startswith(b"HTTP/1.0 400")
        assert await ask(address, "/") == (200, b"hello")
    assert not [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}]


async def test_many_questions_in_one_breath_are_answered_one_after_the_other() -> None:
    async with serving(greeting()) as address:
        question = b"GET /now HTTP/1.1\r\nHost: x\r\n\r\n"
        answer = await say(
            address, question * 500 + question.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        )
        assert answer.count(b"now") == 501


async def test_a_question_under_way_is_answered_before_the_end() -> None:
    wait = asyncio.Event()
    async with serving(greeting(wait=wait)) as address:
        busy = asyncio.create_task(ask(address, "/"))
        await asyncio.sleep(0.05)
        asyncio.get_running_loop().call_later(0.05, wait.set)
    assert await busy == (200, b"hello")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(address.host, address.port)


# --- TLS ---------------------------------------------------------------------------------------------------------


def made(name: str = "127.0.0.1") -> tuple[bytes, ssl.SSLContext]:
    """An authority, and the context of a server it vouches for."""
    new = issue((name,), "test", now=dt.datetime.now(dt.UTC), life=dt.timedelta(days=1))
    return new.authority, server_context(new.pair)


@asynccontextmanager
async def connected(
    address: Address, authority: bytes
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    trusting = ssl.create_default_context(cadata=authority.decode())
    reader, writer = await asyncio.open_connection(address.host, address.port, ssl=trusting)
    try:
        yield reader, writer
    finally:
        writer.close()


async def test_with_a_certificate_it_serves_everywhere_and_each_connection_may_get_another_one() -> None:
    first, second = made(), made()
    current = [first]
    async with serving(greeting(), Address(EVERYWHERE, 0), tls=lambda: current[-1][1]) as served:
        address = Address("127.0.0.1", served.port)
        async with connected(address, first[0]) as (reader, writer):
            current.append(second)
            async with connected(address, second[0]):
                pass
            with pytest.raises(ssl.SSLCertVerificationError):
                async with connected(address, first[0]):
                    pass
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"hello" in await reader.readuntil(b"hello"), "the first connection lives on"


async def test_handshakes_that_never_end_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_connections, "GRACE_S", 0.05)
    authority, context = made()
    async with serving(greeting(), tls=lambda: context, connections=4) as address:
        silent = [await asyncio.open_connection(address.host, address.port) for _ in range(50)]
        for _ in range(5):
            async with asyncio.timeout(10), connected(address, authority) as (reader, writer):
                writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                await reader.readuntil(b"hello")
        for _reader, writer in silent:
            writer.close()


async def test_a_handshake_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_connections, "HANDSHAKE_LIMIT_S", 0.05)
    _authority, context = made()
    async with serving(greeting(), tls=lambda: context) as address:
        assert await say(address) == b""


async def test_plain_text_and_old_tls_find_no_one_to_talk_to() -> None:
    authority, context = made()
    async with serving(greeting(), tls=lambda: context) as address:
        assert b"hello" not in await say(address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        old = ssl.create_default_context(cadata=authority.decode())
        old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection(address.host, address.port, ssl=old)

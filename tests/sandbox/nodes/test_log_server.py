"""Logs of simulated containers, as an API server asks a kubelet for them."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tangram.sandbox.nodes.log_book import MOST_LINES, LogBook
from tangram.sandbox.nodes.log_server import LogServer

BEGAN = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


class Hearing:
    """A log book with a clock that moves when told, and its server."""

    def __init__(self) -> None:
        self.now = BEGAN
        self.book = LogBook(lambda: self.now)
        self.server = LogServer(self.book, None, lambda: self.now)

    async def ask(self, path: str, **query: str) -> tuple[int, str]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self.server.port}/{path}", params=query) as answer,
        ):
            return answer.status, await answer.text()

    async def logs(self, **query: str) -> tuple[int, str]:
        return await self.ask("containerLogs/default/pod/c", **query)


@asynccontextmanager
async def hearing() -> AsyncGenerator[Hearing]:
    made = Hearing()
    await made.server.start()
    try:
        yield made
    finally:
        await made.server.stop()


async def test_lines_are_shown_as_they_were_said_and_as_asked() -> None:
    async with hearing() as here:
        run = here.book.begin("default", "pod", "c")
        run.say("one\ntwo")
        here.now += dt.timedelta(seconds=60)
        run.say("three")
        assert await here.logs() == (200, "one\ntwo\nthree\n")
        assert await here.logs(tailLines="1") == (200, "three\n")
        assert await here.logs(tailLines="0") == (200, "")
        assert await here.logs(sinceSeconds="30") == (200, "three\n")
        assert await here.logs(sinceTime="2026-01-02T03:04:30Z") == (200, "three\n")
        assert await here.logs(limitBytes="5") == (200, "one\nt")
        assert await here.logs(timestamps="true", tailLines="1") == (
            200,
            "2026-01-02T03:05:05.000000000Z three\n",
        )


async def test_the_run_before_is_shown_on_request_and_one_that_never_was_is_not() -> None:
    async with hearing() as here:
        waiting = 'container "c" in pod "pod" is waiting to start: ContainerCreating\n'
        assert await here.logs() == (400, waiting)
        here.book.begin("default", "pod", "c").say("first")
        assert await here.logs(previous="true") == (
            400,
            'previous terminated container "c" in pod "pod" not found\n',
        )
        here.book.begin("default", "pod", "c").say("second")
        assert await here.logs(previous="true") == (200, "first\n")
        assert await here.logs() == (200, "second\n")
        here.book.forget("default", "pod")
        assert (await here.logs())[0] == 400


async def test_whoever_follows_hears_every_line_until_the_end() -> None:
    async with hearing() as here:
        run = here.book.begin("default", "pod", "c")
        run.say("before")
        following = asyncio.create_task(here.logs(follow="true"))
        short = asyncio.create_task(here.logs(follow="true", limitBytes="12"))
        await asyncio.sleep(0.05)
        for number in range(20):
            run.say(f"line {number}")
        assert await short == (200, "before\nline ")
        run.end()
        assert await following == (200, "before\n" + "".join(f"line {number}\n" for number in range(20)))


async def test_a_container_that_never_stops_talking_is_remembered_in_part() -> None:
    async with hearing() as here:
        run = here.book.begin("default", "pod", "c")
        for number in range(MOST_LINES + 10):
            run.say(str(number))
        _, text = await here.logs()
        assert text.splitlines()[0] == "10"
        assert len(text.splitlines()) == MOST_LINES


@pytest.mark.parametrize("value", ["-1", "many", "1e3", ""])
async def test_a_number_that_is_none_is_refused_with_a_sentence(value: str) -> None:
    async with hearing() as here:
        status, text = await here.logs(tailLines=value)
        assert status == 422
        assert text == f"tailLines is {value!r}: it is a whole number from 0\n"


async def test_entering_a_container_is_refused_with_a_sentence() -> None:
    async with hearing() as here:
        status, text = await here.ask("exec/default/pod/c", command="ls")
        assert status == 501
        assert "no process to run anything in" in text
        assert await here.ask("healthz") == (200, "ok")

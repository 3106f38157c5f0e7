"""Of all processes that want a Lease one writes at a time, whatever their clocks, the network and the server do."""

import asyncio
import datetime as dt
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.virtual_time import in_virtual_time, virtually
from tangram.kube.api import JSON, Api, Object
from tangram.kube.connection import Connection
from tangram.kube.election import (
    DURATION_S,
    EVERY_S,
    LAST_REQUEST_S,
    Election,
    LeaseLost,
    LeaseName,
)
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable

NAME = LeaseName("metax-operator", "metax-operator")


class Server:
    """One Lease, with the API server's rules for versions."""

    def __init__(self) -> None:
        self.lease: Object | None = None
        self.version = 0

    def answer(self, method: str, body: Any) -> Object:  # noqa: ANN401 - any JSON
        if method == "GET" and self.lease is None:
            raise ApiError(NOT_FOUND, "NotFound", "no such lease")
        if method == "POST":
            if self.lease is not None:
                raise ApiError(CONFLICT, "AlreadyExists", "there is one")
            return self.store(body)
        if method == "PUT":
            if self.lease is None:
                raise ApiError(NOT_FOUND, "NotFound", "no such lease")
            if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
                raise ApiError(CONFLICT, "Conflict", "the object has been modified")
            return self.store(body)
        assert self.lease is not None
        return self.lease

    def store(self, body: Object) -> Object:
        self.version += 1
        self.lease = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
        return self.lease


class Wire(Api):
    """To that server, with a delay each way, and cut on demand."""

    def __init__(self, server: Server, delay: Callable[[], float] = lambda: 0.01) -> None:
        super().__init__(Connection("http://nowhere.invalid", None))
        self.server = server
        self.delay = delay
        self.cut = False

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: str = JSON,  # noqa: ARG002 - the real one's
        query: Mapping[str, str] | None = None,  # noqa: ARG002 - the real one's
        limit: float | None = None,
    ) -> Object:
        try:
            async with asyncio.timeout(limit):
                await asyncio.sleep(self.delay())
                if self.cut:
                    raise ApiUnreachable(f"{method} {path}: no route to host")
                answer = self.server.answer(method, body)
                await asyncio.sleep(self.delay())
                return answer
        except TimeoutError as error:
            raise ApiUnreachable(f"{method} {path}: no answer within {limit} s") from error


def election(wire: Api, identity: str, clock_off_by: float = 0.0) -> Election:
    loop = asyncio.get_running_loop()
    epoch = dt.datetime(2026, 11, 17, tzinfo=dt.UTC)
    return Election(
        wire,
        NAME,
        identity,
        clock=loop.time,
        now=lambda: epoch + dt.timedelta(seconds=loop.time() + clock_off_by),
    )


@virtually
async def test_the_first_makes_the_lease_and_keeps_it() -> None:
    server = Server()
    one = election(Wire(server), "a_1")
    await one.acquire()
    keeping = asyncio.create_task(one.keep())
    await asyncio.sleep(3600)
    assert one.held
    assert not keeping.done()
    assert server.lease is not None
    assert server.lease["spec"]["holderIdentity"] == "a_1"
    keeping.cancel()


@virtually
async def test_who_gives_it_back_is_followed_within_seconds() -> None:
    server = Server()
    one, other = election(Wire(server), "a_1"), election(Wire(server), "b_1")
    await one.acquire()
    keeping = asyncio.create_task(one.keep())
    waiting = asyncio.create_task(other.acquire())
    await asyncio.sleep(61)
    assert not waiting.done()
    keeping.cancel()
    await one.release()
    assert not one.held
    async with asyncio.timeout(EVERY_S + 1):
        await waiting


@virtually
async def test_who_dies_is_followed_after_the_duration_and_not_before() -> None:
    server = Server()
    loop = asyncio.get_running_loop()
    one, other = election(Wire(server), "a_1"), election(Wire(server), "b_1", clock_off_by=86_400)
    await one.acquire()
    died = loop.time()
    await other.acquire()
    assert DURATION_S < loop.time() - died < DURATION_S + 2 * EVERY_S + 1
    assert not one.held
    assert server.lease is not None
    assert server.lease["spec"]["leaseTransitions"] == 1


@virtually
async def test_who_is_cut_off_ends_before_somebody_else_can_begin() -> None:
    server = Server()
    loop = asyncio.get_running_loop()
    mine = Wire(server)
    one, other = election(mine, "a_1"), election(Wire(server), "b_1")
    await one.acquire()
    waiting = asyncio.create_task(other.acquire())
    keeping = asyncio.create_task(one.keep())
    await asyncio.sleep(100)
    mine.cut = True
    with pytest.raises(LeaseLost, match=r"could not be renewed in time .*no route to host"):
        await keeping
    ended = loop.time()
    await waiting
    assert loop.time() - ended > LAST_REQUEST_S - EVERY_S


@virtually
async def test_a_server_that_hangs_is_no_reason_to_go_on() -> None:
    mine = Wire(Server())
    one = election(mine, "a_1")
    await one.acquire()
    mine.delay = lambda: 10_000.0
    async with asyncio.timeout(DURATION_S):
        with pytest.raises(LeaseLost):
            await one.keep()


@virtually
async def test_a_lease_that_somebody_touched_or_deleted_is_still_ours() -> None:
    server = Server()
    one = election(Wire(server), "a_1")
    await one.acquire()
    keeping = asyncio.create_task(one.keep())
    assert server.lease is not None
    server.store({**server.lease, "metadata": {**server.lease["metadata"], "labels": {"x": "y"}}})
    await asyncio.sleep(30)
    server.lease = None
    await asyncio.sleep(30)
    assert one.held
    assert not keeping.done()
    assert server.lease is not None, "made again"
    keeping.cancel()


@virtually
async def test_a_lease_that_somebody_took_ends_the_process_at_once() -> None:
    server = Server()
    one = election(Wire(server), "a_1")
    await one.acquire()
    assert server.lease is not None
    server.store({**server.lease, "spec": {**server.lease["spec"], "holderIdentity": "intruder"}})
    with pytest.raises(LeaseLost, match="was taken by intruder"):
        await one.keep()
    assert not one.held


@virtually
async def test_the_same_name_in_a_new_process_does_not_matter_as_names_are_new() -> None:
    server = Server()
    first = election(Wire(server), "a_1")
    await first.acquire()
    second = election(Wire(server), "a_2")
    waiting = asyncio.create_task(second.acquire())
    await asyncio.sleep(DURATION_S / 2)
    assert not waiting.done(), "the first may be writing"
    waiting.cancel()


@given(st.integers(0, 2**32))
def test_two_never_lead_at_once_and_somebody_leads_again(seed: int) -> None:
    """Three processes that are started, cut off, paused and killed at random; every instant is looked at."""
    dice = random.Random(seed)  # noqa: S311 - a test

    async def story() -> None:
        server = Server()
        leading: dict[str, Election] = {}
        began: list[str] = []

        async def life(number: int) -> None:
            while True:
                identity = f"p{number}_{len(began)}"
                began.append(identity)
                wire = Wire(server, lambda: dice.choice([0.01, 0.5, 3.0]))
                one = leading[identity] = election(wire, identity, dice.uniform(-1e5, 1e5))

                async def run(one: Election = one) -> None:
                    await one.acquire()
                    await one.keep()

                process = asyncio.create_task(run())
                await asyncio.sleep(dice.uniform(1, 120))
                fate = dice.choice(["cut", "kill", "release"])
                if fate == "cut":
                    wire.cut = True
                    await asyncio.sleep(dice.uniform(1, 60))
                process.cancel()
                await asyncio.gather(process, return_exceptions=True)
                if fate == "release":
                    await one.release()
                # A killed process writes nothing, whatever it believed.
                del leading[identity]
                await asyncio.sleep(dice.uniform(0, 10))

        lives = [asyncio.create_task(life(number)) for number in range(3)]
        led = 0
        for _ in range(1200):
            await asyncio.sleep(0.5)
            holders = [name for name, one in leading.items() if one.held]
            assert len(holders) <= 1
            led += bool(holders)
        assert led > 200
        for each in lives:
            each.cancel()
        await asyncio.gather(*lives, return_exceptions=True)

    in_virtual_time(story())

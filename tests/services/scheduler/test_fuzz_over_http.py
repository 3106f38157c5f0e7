"""The same through the doors: whatever arrives over HTTP is answered, never with our own failure, never in the log."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.desks import ask
from builders.odd_json import any_json, bent
from builders.reviews import asking_pod, review_of
from builders.watched_desk import BIG, WatchedDesk
from tangram.daemon.endpoints import Address
from tangram.daemon.web_serving import serving_app
from tangram.kube.rights import User
from tangram.services.scheduler.doors import extender_app
from tangram.services.scheduler.outside import outside_app

HERE = Address("127.0.0.1", 0)
_DOCUMENTS = [each for each in WatchedDesk().documents() if len(each[1].get("NodeNames") or ()) < 100]
VERBS = st.sampled_from(("/filter", "/bind", "/preempt"))
BODIES = st.one_of(
    bent(st.sampled_from([document for _, document in _DOCUMENTS])),
    any_json(),
    st.binary(min_size=1, max_size=200),
)
REVIEW = json.loads(review_of(asking_pod(BIG)))


class EverybodyMay:
    """Rights of somebody who may do everything, so that what is asked reaches the desk."""

    async def who(self, token: str) -> User | None:
        return User(token)

    async def may(self, user: User, verb: str, resource: str, namespace: str = "") -> bool:  # noqa: ARG002
        return True

    async def may_reach(self, user: User, path: str, verb: str = "get") -> bool:  # noqa: ARG002
        return True


class Failures(logging.Handler):
    """What was logged as a failure. `caplog` is one for all examples of a property."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(self.format(record))


@asynccontextmanager
async def nothing_fails() -> AsyncGenerator[None]:
    failures = Failures()
    logging.getLogger().addHandler(failures)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(failures)
    assert failures.told == []


@given(st.lists(st.tuples(VERBS, BODIES), min_size=1, max_size=4))
async def test_the_extenders_door_answers_a_200_whatever_it_is_sent(calls: list[tuple[str, bytes]]) -> None:
    desk = await WatchedDesk().begin()
    async with nothing_fails(), serving_app(extender_app(desk.whole.desk), HERE, option="--a") as address:
        for path, body in calls:
            if body:
                status, answer = await ask(address, path, body)
                assert status == 200
                desk.check(path[1:], json.loads(answer))


OUTSIDE = st.one_of(
    st.tuples(st.sampled_from(("/webhook", "/guard")), st.one_of(bent(st.just(REVIEW)), BODIES)),
    st.tuples(st.sampled_from(("/explain", "/explain?namespace=default&namespace=other")), BODIES),
    st.tuples(VERBS, BODIES),
)


@given(st.lists(OUTSIDE, min_size=1, max_size=4))
async def test_the_outer_door_answers_in_json_and_without_a_failure_of_its_own(
    calls: list[tuple[str, bytes]],
) -> None:
    desk = await WatchedDesk().begin()
    app = outside_app(desk.whole.desk, EverybodyMay(), verbs_by_certificate=True)
    before = desk.whole.holdings()
    async with nothing_fails(), serving_app(app, HERE, option="--a") as address:
        for path, body in calls:
            if body:
                status, answer = await ask(address, path, body, headers="Authorization: Bearer ann\r\n")
                assert status in (200, 400, 403)
                assert json.loads(answer)
    assert desk.whole.holdings() == before, "no question from outside moves a card"


@pytest.mark.parametrize("verb", ["filter", "bind", "preempt"])
@pytest.mark.parametrize("certificates", [False, True], ids=["no authority named", "one is named"])
async def test_a_verb_from_a_pod_is_refused_and_binds_nothing(verb: str, certificates: bool) -> None:  # noqa: FBT001
    """A pod reaches the outer door, and has a token of its own, but no certificate."""
    desk = await WatchedDesk().begin()
    app = outside_app(desk.whole.desk, EverybodyMay(), verbs_by_certificate=certificates)
    order = next(document for its, document in desk.documents() if its == verb)
    before, placed = desk.whole.holdings(), str(desk.whole.world.pods)
    async with serving_app(app, HERE, option="--a") as address:
        status, answer = await ask(
            address, f"/{verb}", json.dumps(order).encode(), headers="Authorization: Bearer a-pods-token\r\n"
        )
    told = json.loads(answer)["Error"]
    if certificates:
        assert (status, told.partition(" of ")[0]) == (403, f"/{verb} needs a client certificate")
    else:
        assert (status, told.partition(";")[0]) == (404, "there is no such path")
    assert desk.whole.holdings() == before
    assert str(desk.whole.world.pods) == placed

"""Who calls and what they may: as the cluster says, for moments only, and nothing when it does not say."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from aiohttp import web

from builders.api_server import refusal
from builders.reviewing import Reviewing, reviewing
from tangram.kube import rights as all_rights
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.rights import MOST_AT_ONCE, Rights, RightsUnknown, User

ANNA = User("anna", "u-1", ("dev", "system:authenticated"), (("scopes", ("read",)),))


class Scene:
    def __init__(self, server: Reviewing, rights: Rights, clock: list[float]) -> None:
        self.server = server
        self.rights = rights
        self._clock = clock
        server.users["t-anna"] = {
            "username": "anna",
            "uid": "u-1",
            "groups": ["dev", "system:authenticated"],
            "extra": {"scopes": ["read"]},
        }

    def pass_time(self, seconds: float) -> None:
        self._clock[0] += seconds


@pytest.fixture
async def scene() -> AsyncGenerator[Scene]:
    clock = [100.0]
    async with reviewing() as server, Api(server.connection) as api:
        yield Scene(server, Rights(api, lambda: clock[0]), clock)


async def test_a_token_is_somebodys_with_everything_an_authorizer_looks_at(scene: Scene) -> None:
    assert await scene.rights.who("t-anna") == ANNA
    assert scene.server.asked[0]["spec"] == {"token": "t-anna"}


async def test_an_answer_holds_for_a_minute_and_no_longer(scene: Scene) -> None:
    await scene.rights.who("t-anna")
    scene.pass_time(59)
    del scene.server.users["t-anna"]
    assert await scene.rights.who("t-anna") == ANNA
    assert len(scene.server.asked) == 1
    scene.pass_time(2)
    assert await scene.rights.who("t-anna") is None


async def test_a_stranger_stays_one_for_moments_only(scene: Scene) -> None:
    assert await scene.rights.who("t-new") is None
    scene.server.users["t-new"] = {"username": "new"}
    assert await scene.rights.who("t-new") is None
    scene.pass_time(6)
    assert await scene.rights.who("t-new") == User("new")


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("", id="empty"),
        pytest.param("a" * 20_000, id="endless"),
        pytest.param("a\nb", id="two-lines"),
        pytest.param("\x00", id="zero"),
        pytest.param("卡", id="not-ascii"),
    ],
)
async def test_what_can_be_no_token_is_nobodys_and_troubles_no_server(scene: Scene, token: str) -> None:
    assert await scene.rights.who(token) is None
    assert scene.server.asked == []


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({}, id="says-nothing"),
        pytest.param({"authenticated": "true", "user": {"username": "anna"}}, id="a-word-for-yes"),
        pytest.param({"authenticated": True}, id="no-user"),
        pytest.param({"authenticated": True, "user": {"username": ""}}, id="no-name"),
        pytest.param({"authenticated": True, "user": ["anna"]}, id="a-list"),
        pytest.param({"authenticated": False, "user": {"username": "anna"}}, id="not-authenticated"),
    ],
)
async def test_only_a_clear_yes_with_a_name_is_somebody(scene: Scene, status: dict[str, Any]) -> None:
    scene.server.instead = status
    assert await scene.rights.who("t-anna") is None


async def test_a_right_is_asked_for_with_all_its_parts(scene: Scene) -> None:
    wanted = {
        "verb": "get",
        "resource": "pods",
        "namespace": "research",
        "subresource": "log",
        "group": "g",
        "name": "p",
    }
    scene.server.allowed.append(("anna", wanted))
    assert await scene.rights.may(ANNA, "get", "pods", "research", subresource="log", group="g", name="p")
    assert not await scene.rights.may(ANNA, "get", "pods", "other", subresource="log", group="g", name="p")
    assert scene.server.asked[0]["spec"] == {
        "user": "anna",
        "uid": "u-1",
        "groups": ["dev", "system:authenticated"],
        "extra": {"scopes": ["read"]},
        "resourceAttributes": wanted,
    }


async def test_a_path_is_asked_for_as_one(scene: Scene) -> None:
    scene.server.allowed.append(("anna", {"path": "/metrics", "verb": "get"}))
    assert await scene.rights.may_reach(ANNA, "/metrics")
    assert not await scene.rights.may_reach(ANNA, "/explain")
    assert not await scene.rights.may_reach(User("otto"), "/metrics")


async def test_a_right_is_remembered_for_ten_seconds_per_user_and_thing(scene: Scene) -> None:
    scene.server.allowed.append(("anna", {"verb": "list", "resource": "pods"}))
    assert await scene.rights.may(ANNA, "list", "pods")
    scene.server.allowed.clear()
    scene.pass_time(9)
    assert await scene.rights.may(ANNA, "list", "pods")
    assert not await scene.rights.may(User("anna"), "list", "pods"), (
        "the same name in other groups is another"
    )
    scene.pass_time(2)
    assert not await scene.rights.may(ANNA, "list", "pods")
    assert scene.server.count("SubjectAccessReview") == 3


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"allowed": True}, True, id="yes"),
        pytest.param({"allowed": True, "denied": True}, False, id="yes-and-no"),
        pytest.param({"allowed": "true"}, False, id="a-word-for-yes"),
        pytest.param({"allowed": 1}, False, id="a-number-for-yes"),
        pytest.param({}, False, id="nothing"),
    ],
)
async def test_only_a_clear_yes_is_a_right(
    scene: Scene,
    status: dict[str, Any],
    expected: bool,  # noqa: FBT001 - a case of the table
) -> None:
    scene.server.instead = status
    assert await scene.rights.may(ANNA, "list", "pods") is expected


@pytest.mark.parametrize(
    "instead",
    [
        pytest.param(lambda: refusal(403, "Forbidden", "may not review"), id="forbidden-to-us"),
        pytest.param(lambda: refusal(429, "TooManyRequests", "later"), id="overloaded"),
        pytest.param(lambda: refusal(500, "InternalError", "webhook"), id="broken"),
        pytest.param(lambda: web.Response(text="<html>"), id="no-json"),
        pytest.param(lambda: web.json_response({"status": "yes"}), id="no-status"),
    ],
)
async def test_no_clear_answer_is_no_right_and_is_not_remembered(scene: Scene, instead: Any) -> None:  # noqa: ANN401 - makes an answer
    scene.server.instead = instead()
    with pytest.raises(RightsUnknown, match="did not say who is calling") as caught:
        await scene.rights.who("t-anna")
    assert "t-anna" not in str(caught.value)
    scene.server.instead = instead()
    with pytest.raises(RightsUnknown, match="did not say whether anna may list pods"):
        await scene.rights.may(ANNA, "list", "pods")
    scene.server.instead = None
    assert await scene.rights.who("t-anna") == ANNA
    assert not await scene.rights.may(ANNA, "list", "pods")


async def test_a_server_that_is_away_is_said_to_be() -> None:
    async with Api(Connection("http://127.0.0.1:1", None)) as api:
        with pytest.raises(RightsUnknown, match="did not say"):
            await Rights(api).who("t")
        with pytest.raises(RightsUnknown, match="did not say"):
            await Rights(api).may_reach(ANNA, "/metrics")


async def test_a_crowd_of_strangers_takes_few_connections_and_little_memory(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_rights, "MOST_REMEMBERED", 50)
    busy = most = 0
    call = Api.call

    async def counted(self: Api, *args: Any, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - passes on
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        try:
            return await call(self, *args, **more)
        finally:
            busy -= 1

    monkeypatch.setattr(Api, "call", counted)
    assert await scene.rights.who("t-anna") == ANNA
    answers = await asyncio.gather(*(scene.rights.who(f"bogus-{number}") for number in range(300)))
    assert set(answers) == {None}
    assert most <= MOST_AT_ONCE
    scene.server.asked.clear()
    assert await scene.rights.who("t-anna") == ANNA
    assert len(scene.server.asked) == 1, "she was forgotten to make room"


async def test_a_crowd_that_waits_too_long_is_told_so(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_rights, "LIMIT_S", 0.05)
    stuck = asyncio.Event()

    async def hanging(self: Api, *_args: Any, **_more: Any) -> dict[str, Any]:  # noqa: ANN401, ARG001 - never asks
        await stuck.wait()
        return {}

    monkeypatch.setattr(Api, "call", hanging)
    outcomes = await asyncio.gather(
        *(scene.rights.who(f"t-{number}") for number in range(3 * MOST_AT_ONCE)), return_exceptions=True
    )
    assert all(isinstance(outcome, RightsUnknown) for outcome in outcomes)
    assert "within 0.05 s" in str(outcomes[-1])


async def test_about_itself_an_account_asks_without_the_right_to_review_others(scene: Scene) -> None:
    scene.server.caller = {"username": "owner", "groups": ["ops"]}
    me = await scene.rights.myself()
    assert me == User("owner", groups=("ops",))
    scene.server.allowed.append(("owner", {"verb": "list", "resource": "pods"}))
    assert await scene.rights.may(me, "list", "pods")
    assert await scene.rights.myself() == me
    assert [review["kind"] for review in scene.server.asked] == [
        "SelfSubjectReview",
        "SelfSubjectAccessReview",
    ]
    assert not await scene.rights.may(ANNA, "list", "pods")
    assert scene.server.asked[-1]["kind"] == "SubjectAccessReview"


async def test_where_the_api_server_knows_no_such_question_its_own_rights_are_asked_all_the_same(
    scene: Scene,
) -> None:
    scene.server.caller = None
    me = await scene.rights.myself()
    assert me == User("the account of this kubeconfig")
    scene.server.allowed.append(("owner", {"verb": "list", "resource": "pods"}))
    assert await scene.rights.may(me, "list", "pods")


async def test_silence_about_itself_is_no_name(scene: Scene) -> None:
    scene.server.instead = refusal(503, "ServiceUnavailable", "down")
    with pytest.raises(RightsUnknown, match="who this is"):
        await scene.rights.myself()
    scene.server.instead = {}
    with pytest.raises(RightsUnknown, match="names nobody"):
        await scene.rights.myself()
    scene.server.instead = None
    assert (await scene.rights.myself()).name == "owner"

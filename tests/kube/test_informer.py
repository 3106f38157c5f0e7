"""A copy that stays true: through changes, cuts, forgotten history, refusals and long lists."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from builders.api_server import SmallApiServer, refusal, small_api_server
from tangram.kube import informer as informers
from tangram.kube.api import Api, Object
from tangram.kube.informer import Change, Informer, Key, whole

PODS = "/api/v1/pods"


class Following:
    """An informer that runs, and what it told."""

    def __init__(self, server: SmallApiServer, api: Api) -> None:
        self.server = server
        self.steps: list[tuple[str, str]] = []
        self.troubles: list[str] = []
        self._moved = asyncio.Event()
        self.informer = Informer(api, PODS, self._told, keep=whole, troubled=self._trouble)

    def _told(self, change: Change[Object]) -> None:
        verb = "gone" if change.new is None else "new" if change.old is None else "changed"
        self.steps.append((verb, change.key.name))
        self._moved.set()

    def _trouble(self, sentence: str) -> None:
        self.troubles.append(sentence)
        self._moved.set()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not true():
                self._moved.clear()
                # The server's own state changes without telling us, hence the short look.
                try:
                    async with asyncio.timeout(0.01):
                        await self._moved.wait()
                except TimeoutError:
                    continue


@asynccontextmanager
async def following() -> AsyncGenerator[Following]:
    async with small_api_server() as (server, connection), Api(connection) as api:
        one = Following(server, api)
        running = asyncio.create_task(one.informer.run())
        try:
            yield one
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informers, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(informers, "LONGEST_PAUSE_S", 0.01)


async def test_changes_arrive_in_order_and_the_copy_follows() -> None:
    async with following() as one:
        await one.informer.synced.wait()
        await one.until(lambda: one.server.watching == 1)
        one.server.put(f"{PODS}/a", {"n": 1})
        one.server.put(f"{PODS}/a", {"n": 2})
        one.server.put(f"{PODS}/b", {"n": 1})
        one.server.remove(f"{PODS}/a")
        await one.until(lambda: len(one.steps) == 4)
        assert one.steps == [("new", "a"), ("changed", "a"), ("new", "b"), ("gone", "a")]
        assert list(one.informer.objects) == [Key("", "b")]


async def test_a_cut_watch_goes_on_where_it_stopped() -> None:
    async with following() as one:
        one.server.put(f"{PODS}/a", {})
        await one.until(lambda: one.server.watching == 1)
        lists = _lists(one.server)
        one.server.cut_watches()
        one.server.put(f"{PODS}/b", {})
        await one.until(lambda: ("new", "b") in one.steps)
        assert _lists(one.server) == lists, "the version reached was still good"


async def test_what_was_deleted_while_the_server_forgot_its_history_is_noticed() -> None:
    async with following() as one:
        for name in "abc":
            one.server.put(f"{PODS}/{name}", {})
        await one.until(lambda: one.server.watching == 1 and len(one.informer.objects) == 3)
        one.server.answer_first = lambda _request: refusal(503, "", "down")
        one.server.cut_watches()
        await one.until(lambda: bool(one.troubles))
        assert not one.informer.fresh
        one.server.remove(f"{PODS}/b")
        one.server.put(f"{PODS}/c", {"changed": True})
        one.server.forget_history()
        one.server.answer_first = lambda _request: None
        await one.until(lambda: one.informer.fresh and one.server.watching == 1)
        assert one.steps[3:] == [("gone", "b"), ("changed", "c")]


async def test_an_object_made_again_under_its_old_name_is_another_object() -> None:
    async with following() as one:
        one.server.put(f"{PODS}/a", {"metadata": {"uid": "first"}})
        await one.until(lambda: one.server.watching == 1)
        one.server.cut_watches()
        one.server.remove(f"{PODS}/a")
        one.server.put(f"{PODS}/a", {"metadata": {"uid": "second"}})
        one.server.forget_history()
        await one.until(lambda: len(one.steps) == 3)
        assert one.steps == [("new", "a"), ("gone", "a"), ("new", "a")]


async def test_long_lists_come_in_pages_and_an_unchanged_object_is_not_told_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(informers, "PAGE", 7)
    async with following() as one:
        one.server.answer_first = lambda _request: refusal(503, "", "wait")
        for number in range(30):
            one.server.put(f"{PODS}/p{number:02}", {})
        one.server.answer_first = lambda _request: None
        await one.until(one.informer.synced.is_set)
        assert len(one.informer.objects) == 30
        one.server.forget_history()
        one.server.cut_watches()
        one.server.put(f"{PODS}/last", {})
        await one.until(lambda: ("new", "last") in one.steps)
        assert len(one.steps) == 31


async def test_refusals_are_told_and_never_end_it() -> None:
    def forbidden(_request: web.Request) -> web.Response:
        return refusal(403, "Forbidden", "pods is forbidden")

    async with following() as one:
        one.server.answer_first = forbidden
        await one.until(lambda: len(one.troubles) > 2)
        assert "pods is forbidden" in one.troubles[-1]
        one.server.answer_first = lambda _request: None
        one.server.put(f"{PODS}/a", {})
        await one.until(lambda: one.steps == [("new", "a")])


def _lists(server: SmallApiServer) -> int:
    return sum(
        1
        for method, path, query, _ in server.requests
        if method == "GET" and path == PODS and "watch" not in query
    )

"""Browsers are told that their page is another one now: soon, once, and only what they may see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import ClientResponse, ClientSession, web

from builders.dashboards import EVERYTHING, FakeKnown, FakeReception, card, held, node, parts_of, view, viewer
from builders.waiting import until
from tangram.daemon.endpoints import Address
from tangram.daemon.web_serving import serving_app
from tangram.web import app as application
from tangram.web import events
from tangram.web.app import dashboard_app
from tangram.web.events import Hub
from tangram.web.known import Known, NotKnown
from tangram.web.page import Asked, Shown, Viewer
from tangram.web.pages import all as pages
from tangram.web.receiving import NotSignedIn
from tangram.web.sight import Sight

SOON_S = 5.0


class Watched:
    """A page that counts how often it was looked at."""

    def __init__(self) -> None:
        self.looked: list[Sight] = []
        self.told: list[tuple[Sight, int]] = []

    async def page(self, _asked: Asked, _known: Known) -> Shown:
        return Shown(body=b"")

    def moment(self, asked: Asked, known: Known) -> Hashable:
        self.looked.append(asked.viewer.sight)
        return tuple(sorted(known.picture.nodes))

    def tiles(self, sight: Sight, known: Known, since: int) -> bytes:
        self.told.append((sight, since))
        return msgspec.json.encode(sorted(known.picture.changed_since(since)))


class Served:
    def __init__(self, known: FakeKnown, reception: FakeReception, hub: Hub, session: ClientSession) -> None:
        self.known = known
        self.reception = reception
        self.hub = hub
        self.session = session

    def change(self, *names: str) -> None:
        told = self.known.picture.told
        self.known.picture.take(view(*(node(name, card(0)) for name in names), version=told + 1))

    @asynccontextmanager
    async def stream(self, query: str = "", **headers: str) -> AsyncGenerator[Listening]:
        before = len(self.hub)
        async with self.session.get(f"/events?page=/watched{query}", headers=headers) as answer:
            assert answer.status == 200
            assert answer.headers["Content-Type"] == "text/event-stream"
            await until(lambda: len(self.hub) > before)
            yield Listening(answer)


class Listening:
    def __init__(self, answer: ClientResponse) -> None:
        self.answer = answer

    async def event(self) -> tuple[str, str]:
        """The next event and its data."""
        name = data = ""
        async with asyncio.timeout(SOON_S):
            while True:
                line = (await self.answer.content.readline()).decode()
                if not line:
                    return "end", ""
                field, _, value = line.strip().partition(": ")
                name = value if field == "event" else name
                data = value if field == "data" else data
                if not line.strip() and name:
                    return name, data

    async def comment(self) -> str:
        async with asyncio.timeout(SOON_S):
            while True:
                line = (await self.answer.content.readline()).decode().strip()
                if line.startswith(":"):
                    return line


@asynccontextmanager
async def _served(
    monkeypatch: pytest.MonkeyPatch, watched: Watched, *, tiles: bool = False
) -> AsyncGenerator[Served]:
    """Behind the same listener as in real life."""
    found = pages.Found(
        pages.Page("/watched", watched.page, watched.moment, tiles=watched.tiles if tiles else None), {}
    )

    def page_at(path: str) -> pages.Found | None:
        return found if path == "/watched" else None

    monkeypatch.setattr(application, "page_at", page_at)
    monkeypatch.setattr(events, "TOGETHER_S", 0.05)
    known, reception = FakeKnown(node("a", card(0))), FakeReception(viewer())
    parts = parts_of(known, reception)
    looking = asyncio.create_task(parts.hub.run())
    try:
        async with (
            serving_app(dashboard_app(parts), Address("127.0.0.1", 0), option="--address") as at,
            ClientSession(f"http://{at}") as session,
        ):
            yield Served(known, reception, parts.hub, session)
    finally:
        looking.cancel()


async def test_a_change_is_told_and_the_same_again_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async with _served(monkeypatch, Watched()) as served, served.stream() as listening:
        served.change("b")
        assert await listening.event() == ("changed", "{}")
        served.change("b")
        served.change("c")
        assert await listening.event() == ("changed", "{}")
        assert len(served.hub) == 1
    await until(lambda: not len(served.hub))


async def test_what_came_before_the_stream_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with _served(monkeypatch, Watched()) as served:
        stamp = served.hub.stamp()
        served.change("b")
        async with served.stream(f"&since={stamp}") as listening:
            assert await listening.event() == ("changed", "{}")
        async with served.stream("&since=another.7") as listening:
            assert (await listening.event())[0] == "again"
        async with served.stream(**{"Last-Event-ID": stamp}) as listening:
            assert await listening.event() == ("changed", "{}")


@pytest.mark.parametrize("tiles", [False, True])
async def test_what_changes_between_the_beginning_of_a_stream_and_the_first_look_is_told(
    monkeypatch: pytest.MonkeyPatch, *, tiles: bool
) -> None:
    async with _served(monkeypatch, Watched(), tiles=tiles) as served:
        async with served.stream() as other:
            # The hub has just looked, and rests.
            monkeypatch.setattr(events, "TOGETHER_S", 0.5)
            served.change("b")
            assert (await other.event())[0] in ("changed", "tiles")
            async with served.stream(f"&since={served.hub.stamp()}") as listening:
                served.change("c")
                told = {(await listening.event())[0] for _ in range(2 if tiles else 1)}
        assert "changed" in told


async def test_tiles_that_changed_are_told_from_where_the_page_was(monkeypatch: pytest.MonkeyPatch) -> None:
    async with _served(monkeypatch, Watched(), tiles=True) as served:
        stamp = served.hub.stamp()
        served.change("b")
        async with served.stream(f"&since={stamp}") as listening:
            # Who waits is no tile: the rest of the page is as old as its tiles were.
            assert await listening.event() == ("tiles", '["b"]')
            assert await listening.event() == ("changed", "{}")
            served.change("c")
            # Whoever says later that it heard of this version has the tiles of it.
            assert await listening.event() == ("tiles", '["c"]')
            assert await listening.event() == ("changed", "{}")


async def test_viewers_with_the_same_sight_share_what_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched()
    async with _served(monkeypatch, watched, tiles=True) as served:
        stamp = served.hub.stamp()
        query = f"&since={stamp}"
        async with served.stream(query) as one, served.stream(query) as two, served.stream(query) as three:
            await asyncio.sleep(0.2)
            watched.looked.clear()
            watched.told.clear()
            served.change("b")
            for listening in (one, two, three):
                assert "end" not in {(await listening.event())[0], (await listening.event())[0]}
    assert watched.told == [(EVERYTHING, 1)]
    assert watched.looked.count(EVERYTHING) <= 3


async def test_nothing_is_looked_at_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched()
    async with _served(monkeypatch, watched) as served:
        await asyncio.sleep(0.3)
        assert watched.looked == [], "nobody shows it"
        served.change("b")
        await asyncio.sleep(0.2)
        assert watched.looked == []


async def test_trouble_changes_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    async with _served(monkeypatch, Watched()) as served, served.stream() as listening:
        await asyncio.sleep(0.1)
        served.known.picture.trouble = "The scheduler is away."
        assert await listening.event() == ("changed", "{}")


async def test_a_heartbeat_says_that_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.1)
    async with _served(monkeypatch, Watched()) as served, served.stream() as listening:
        assert await listening.comment() == ": still here"


@pytest.mark.parametrize(
    "refusal", [NotSignedIn("revoked"), NotKnown("x", "No.", 403)], ids=["signed out", "refused"]
)
async def test_whose_rights_end_is_told_nothing_more(
    monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    async with _served(monkeypatch, Watched(), tiles=True) as served, served.stream() as listening:
        await asyncio.sleep(0.1)
        served.reception.refusal = refusal
        served.change("b")
        assert await listening.event() == ("ended", "{}")
        assert await listening.event() == ("end", "")


async def test_another_sight_makes_the_page_anew_and_tells_nothing_of_the_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with _served(monkeypatch, Watched(), tiles=True) as served, served.stream() as listening:
        await asyncio.sleep(0.1)
        served.reception.known = viewer(sight=Sight())
        served.change("b")
        assert await listening.event() == ("again", "{}")


async def test_what_is_made_for_the_old_sight_while_rights_are_asked_for_is_not_told_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Narrowed(Watched):
        def tiles(self, sight: Sight, known: Known, since: int) -> bytes:
            return super().tiles(sight, known, since) if sight.everything else b"[]"

    async with _served(monkeypatch, Narrowed(), tiles=True) as served, served.stream() as listening:
        await asyncio.sleep(0.1)
        answered = served.reception.viewer

        async def slowly(request: web.Request) -> Viewer:
            # Another change is looked at meanwhile, with the sight that is about to end.
            served.change("c")
            served.hub.look()
            return await answered(request)

        served.reception.known = viewer(sight=Sight())
        monkeypatch.setattr(served.reception, "viewer", slowly)
        served.change("b")
        assert await listening.event() == ("again", "{}")
        monkeypatch.setattr(served.reception, "viewer", answered)
        served.change("d")
        told = [await listening.event(), await listening.event()]
        assert ("tiles", "[]") in told
        assert all(data in ("[]", "{}") for _, data in told)


async def test_while_nobody_knows_the_rights_nothing_is_told_and_then_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with _served(monkeypatch, Watched(), tiles=True) as served, served.stream() as listening:
        await asyncio.sleep(0.1)
        served.reception.refusal = NotKnown("rights-unknown", "Nobody says.", 503)
        served.change("b")
        assert await listening.comment() == ": still here"
        served.reception.refusal = None
        served.change("c")
        assert await listening.event() == ("again", "{}")


async def test_there_is_a_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_STREAMS", 2)
    async with (
        _served(monkeypatch, Watched()) as served,
        served.stream(),
        served.stream(),
        served.session.get("/events?page=/watched") as answer,
    ):
        assert answer.status == 503
        assert "which is the most" in await answer.text()


async def test_one_person_cannot_keep_the_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_OF_ONE", 1)
    async with (
        _served(monkeypatch, Watched()) as served,
        served.stream(),
        served.session.get("/events?page=/watched") as answer,
    ):
        assert answer.status == 429
        assert "you follow 1 pages already" in await answer.text()
        served.reception.known = viewer("bob")
        async with served.stream():
            assert len(served.hub) == 2


async def test_a_browser_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "WRITE_LIMIT_S", 0.2)

    class Wordy(Watched):
        def tiles(self, sight: Sight, known: Known, since: int) -> bytes:
            super().tiles(sight, known, since)
            return b'"%b"' % (b"x" * 2_000_000)

    async with _served(monkeypatch, Wordy(), tiles=True) as served, served.stream():
        async with asyncio.timeout(20):
            number = 0
            while len(served.hub):
                number += 1
                served.change(f"n{number}")
                await asyncio.sleep(0.05)


async def test_a_page_that_fails_when_looked_at_ends_its_own_stream_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Watched):
        def moment(self, asked: Asked, known: Known) -> Hashable:
            if "b" in known.picture.nodes and "bad" in asked.query:
                raise RuntimeError("broken")
            return super().moment(asked, known)

    async with (
        _served(monkeypatch, Broken()) as served,
        served.stream("%3Fbad=1") as broken,
        served.stream() as well,
    ):
        await asyncio.sleep(0.1)
        served.change("b")
        assert await well.event() == ("changed", "{}")
        assert await broken.event() == ("end", "")
    assert "could not be looked at" in caplog.text


async def test_the_end_of_the_dashboard_ends_streams_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    async with _served(monkeypatch, Watched()) as served:
        async with served.stream() as listening:
            ending = asyncio.create_task(served.hub.close())
            assert await listening.event() == ("end", "")
            await ending
        began = loop.time()
    assert loop.time() - began < 2.5, "nobody was waited for"


@pytest.mark.parametrize("page", ["/nope", "//x", "", "/static/a", "/watched/x"])
async def test_only_pages_can_be_followed(monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    async with (
        _served(monkeypatch, Watched()) as served,
        served.session.get("/events", params={"page": page}) as answer,
    ):
        assert answer.status == 404


async def test_a_holder_is_never_in_what_is_told_by_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events carry what pages put there, and nothing of the picture by themselves."""
    async with _served(monkeypatch, Watched()) as served, served.stream() as listening:
        await asyncio.sleep(0.1)
        busy = node("b", card(0, held("secret/pod", whole=True)))
        served.known.picture.take(view(busy, version=served.known.picture.told + 1))
        assert await listening.event() == ("changed", "{}")

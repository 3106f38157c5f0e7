"""A whole dashboard between an API server and a scheduler, from its first answer to its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession

from builders.certificates import self_signed
from builders.dashboards import card, node, view
from builders.scripted_schedulers import ScriptedScheduler
from builders.waiting import until
from tangram.daemon.certificate_files import CertificateFiles
from tangram.daemon.endpoints import Address
from tangram.daemon.errors import SettingError
from tangram.daemon.running import Supervisor
from tangram.kube.connection import Connection
from tangram.sandbox.apiserver.server import serving_api
from tangram.web.launch import serving_dashboard
from tangram.web.reception import Way, WaysIn
from tangram.web.settings import DashboardSettings

ANY = Address("127.0.0.1", 0)
EVERYBODY = WaysIn(way=Way.NONE)


def _now(*names: str, version: int = 1) -> ScriptedScheduler:
    return ScriptedScheduler(
        view(*(node(name, card(0, node=name)) for name in names), version=version, at=time.time())
    )


@asynccontextmanager
async def _dashboard(
    folder: Path, scheduler: ScriptedScheduler, ways: WaysIn = EVERYBODY, **more: object
) -> AsyncGenerator[ClientSession]:
    supervisor = Supervisor()
    async with serving_api() as running, scheduler.serve(folder) as (url, authority):
        connection: Connection = running.connection()
        settings = DashboardSettings(
            address=ANY, server=url, server_authority=authority, ways=ways, **more  # pyright: ignore[reportArgumentType] - of the test
        )  # fmt: skip
        async with serving_dashboard(settings, connection, supervisor) as at:
            scheme = "https" if settings.certificate else "http"
            try:
                async with ClientSession(f"{scheme}://{at}") as session:
                    yield session
            finally:
                supervisor.stop()
                await supervisor.until_stopped()


async def _ready(session: ClientSession) -> bool:
    async with session.get("/readyz", ssl=False) as answer:
        return answer.status == 200


async def _until_ready(session: ClientSession) -> None:
    async with asyncio.timeout(20):
        while not await _ready(session):  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.02)


async def _text(session: ClientSession, path: str) -> str:
    async with session.get(path) as answer:
        assert answer.status == 200, await answer.text()
        return await answer.text()


async def test_pages_show_what_the_scheduler_told_with_the_accounts_own_token(tmp_path: Path) -> None:
    scheduler = _now("gpu-7")
    async with _dashboard(tmp_path, scheduler) as session:
        await _until_ready(session)
        assert "gpu-7" in await _text(session, "/")
        assert scheduler.asked[0] == "/view?epoch=&since=0&wait=0"
        assert {token.startswith("Bearer ") for token in scheduler.tokens} == {True}
        scheduler.tell(view(node("gpu-8", card(0)), version=2, at=time.time()))
        await until(lambda: any("since=2" in path for path in scheduler.asked))
        assert "gpu-8" in await _text(session, "/")


async def test_before_the_first_answer_it_says_why_and_is_not_ready(tmp_path: Path) -> None:
    scheduler = _now("gpu-7")
    scheduler.failing = True
    async with _dashboard(tmp_path, scheduler) as session:
        await until(lambda: bool(scheduler.asked))
        async with session.get("/readyz") as answer:
            assert answer.status == 503
        assert "it is unwell" in await _text(session, "/")
        scheduler.failing = False
        await _until_ready(session)
        assert "it is unwell" not in await _text(session, "/")


async def test_a_scheduler_that_goes_away_leaves_the_picture_with_a_word_about_it(tmp_path: Path) -> None:
    scheduler = _now("gpu-7")
    async with _dashboard(tmp_path, scheduler) as session:
        await _until_ready(session)
        scheduler.failing = True
        begun = len(scheduler.asked)
        await until(lambda: len(scheduler.asked) > begun + 1)
        page = await _text(session, "/")
        assert "gpu-7" in page
        assert "it is unwell" in page
        assert await _ready(session), "an old picture is better than none"


async def test_it_counts_what_it_does(tmp_path: Path) -> None:
    async with _dashboard(tmp_path, _now("gpu-7")) as session:
        await _until_ready(session)
        await _text(session, "/")
        metrics = await _text(session, "/metrics")
        assert await _text(session, "/healthz") == "ok\n"
    assert 'tangram_dashboard_requests_total{outcome="ok"}' in metrics
    assert "tangram_dashboard_scheduler_heard 1.0" in metrics
    assert "tangram_dashboard_viewers 0.0" in metrics
    assert "tangram_dashboard_picture_age_seconds" in metrics


async def test_with_a_certificate_it_serves_https_and_asks_who_it_is(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    pair = self_signed(tmp_path / "own")
    files = CertificateFiles(pair, pair)
    async with _dashboard(tmp_path, _now("gpu-7"), WaysIn(), certificate=files) as session:
        await _until_ready(session)
        async with session.get("/", ssl=False, allow_redirects=False) as answer:
            assert answer.status == 303
            assert answer.headers["Location"] == "/sign-in"


async def test_what_cannot_be_used_is_told_at_the_start(tmp_path: Path) -> None:
    nowhere = tmp_path / "none" / "history.json"
    with pytest.raises(SettingError, match="history file"):
        async with _dashboard(tmp_path, _now("a"), history=nowhere):
            pass
    with pytest.raises(SettingError, match="cannot be served with"):
        async with _dashboard(tmp_path, _now("a"), certificate=CertificateFiles(nowhere, nowhere)):
            pass


async def test_the_history_is_kept_and_gone_on_with(tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    for _ in range(2):
        async with _dashboard(tmp_path, _now("gpu-7"), history=file) as session:
            await _until_ready(session)
    assert file.exists()


async def test_a_stream_does_not_hold_up_the_end(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    async with _dashboard(tmp_path, _now("gpu-7")) as session:
        await _until_ready(session)
        answer = await session.get("/events?page=/pods")
        assert answer.status == 200
        began = loop.time()
    answer.close()
    assert loop.time() - began < 2.5, "nobody was waited for"

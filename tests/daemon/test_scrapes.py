"""What figures are made of is looked at when somebody asks for them: not too often, and nobody waits for long."""

import asyncio

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Gauge

from tangram.daemon import endpoints
from tangram.daemon.endpoints import Address, Refresh, serving

ANY = Address("127.0.0.1", 0)


async def scraped(
    refresh: Refresh, registry: CollectorRegistry, times: int = 1, together: int = 1
) -> list[str]:
    async with (
        serving(ANY, registry, unhealthy=list, unready=list, refresh=refresh) as address,
        aiohttp.ClientSession() as session,
    ):

        async def once() -> str:
            async with session.get(f"http://{address}/metrics") as answer:
                return await answer.text()

        return [
            text for _ in range(times) for text in await asyncio.gather(*(once() for _ in range(together)))
        ]


async def test_figures_are_as_new_as_the_question() -> None:
    registry = CollectorRegistry()
    heat = Gauge("heat", "Heat.", registry=registry)

    async def refresh() -> None:
        heat.set(51)

    assert "heat 51.0" in (await scraped(refresh, registry))[0]


async def test_many_questions_within_a_second_are_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "REFRESH_AT_MOST_S", 1000.0)
    looks: list[None] = []

    async def refresh() -> None:
        looks.append(None)

    await scraped(refresh, CollectorRegistry(), times=3, together=3)
    assert len(looks) == 1


async def test_a_look_that_hangs_is_not_waited_for_and_not_begun_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpoints, "REFRESH_LIMIT_S", 0.01)
    monkeypatch.setattr(endpoints, "REFRESH_AT_MOST_S", 0.0)
    begun: list[None] = []
    ended: list[str] = []

    async def refresh() -> None:
        begun.append(None)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    registry = CollectorRegistry()
    Gauge("old", "Old.", registry=registry).set(1)
    assert all("old 1.0" in text for text in await scraped(refresh, registry, times=3))
    assert len(begun) == 1
    await asyncio.sleep(0)
    assert ended == ["cancelled"]


async def test_a_look_that_fails_leaves_the_figures_as_they_were(caplog: pytest.LogCaptureFixture) -> None:
    async def refresh() -> None:
        raise ValueError("no")

    registry = CollectorRegistry()
    Gauge("old", "Old.", registry=registry).set(1)
    assert "old 1.0" in (await scraped(refresh, registry))[0]
    assert "could not be refreshed" in caplog.text

"""The list of units: what counts as a change, and who is sent what."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.kubelet.listing import Listing
from tangram.kubelet.news import News
from tangram.kubelet.sockets import Refusal
from tangram.model.offers import Unit
from tangram.wire.kubelet import deviceplugin

UNITS = st.lists(
    st.builds(Unit, id=st.sampled_from("abcd"), healthy=st.booleans(), numa=st.integers(-1, 1)),
    unique_by=lambda unit: unit.id,
)


def told(units: Sequence[Unit]) -> dict[str, tuple[str, list[int]]]:
    return {
        unit.id: ("Healthy" if unit.healthy else "Unhealthy", [] if unit.numa < 0 else [unit.numa])
        for unit in units
    }


def read_in(message: deviceplugin.ListAndWatchResponse) -> dict[str, tuple[str, list[int]]]:
    return {
        device.ID: (device.health, [node.ID for node in device.topology.nodes]) for device in message.devices
    }


class Reader:
    """Reads the list in a task of its own."""

    def __init__(self, listing: Listing) -> None:
        self.lists: list[dict[str, tuple[str, list[int]]]] = []
        self.task = asyncio.ensure_future(listing.stream(self._take))

    async def _take(self, message: deviceplugin.ListAndWatchResponse) -> None:
        self.lists.append(read_in(message))

    async def go(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})


async def settle() -> None:
    """Let every task run until it waits again."""
    for _ in range(5):
        await asyncio.sleep(0)


@given(offers=st.lists(UNITS, min_size=1, max_size=6))
def test_every_reader_is_sent_every_list_that_is_new_and_nothing_else(offers: list[list[Unit]]) -> None:
    async def scenario() -> None:
        listing = Listing(lambda: None)
        reader = Reader(listing)
        await settle()
        assert reader.lists == []
        expected: list[dict[str, tuple[str, list[int]]]] = []
        for units in offers:
            new = not expected or told(units) != expected[-1]
            assert listing.offer(units) == new
            if new:
                expected.append(told(units))
            assert not listing.offer(units[::-1])
            await settle()
        assert reader.lists == expected
        late = Reader(listing)
        await settle()
        assert late.lists == expected[-1:]
        listing.end()
        await asyncio.wait({reader.task, late.task})
        assert not reader.task.cancelled()
        assert reader.task.exception() is None

    asyncio.run(scenario())


async def test_only_readers_that_began_after_the_last_registration_count_for_it() -> None:
    listing = Listing(lambda: None)
    listing.offer([])
    listing.registering()
    assert listing.expected
    assert not listing.read
    first = Reader(listing)
    await settle()
    assert listing.read
    assert not listing.expected
    listing.registering()
    assert listing.expected
    assert not listing.read, "the kubelet before this one"
    second, third = Reader(listing), Reader(listing)
    await settle()
    await first.go()
    await second.go()
    assert listing.read
    await third.go()
    assert not listing.read
    assert not listing.expected


async def test_a_list_that_is_shut_is_read_to_its_end_and_begun_by_nobody() -> None:
    changes: list[bool] = []
    listing = Listing(lambda: changes.append(listing.read))
    listing.offer([Unit(id="a")])
    reader = Reader(listing)
    await settle()
    listing.shut()
    late = Reader(listing)
    await asyncio.wait({late.task})
    with pytest.raises(Refusal, match="is ending"):
        late.task.result()
    listing.offer([])
    await settle()
    assert reader.lists == [{"a": ("Healthy", [])}, {}]
    listing.end()
    await asyncio.wait({reader.task})
    assert changes == [True, False]


async def test_news_that_come_before_the_wait_end_it_at_once() -> None:
    news = News()
    edition = news.edition
    news.announce()
    await news.after(edition)
    waiting = [asyncio.ensure_future(news.after(news.edition)) for _ in range(3)]
    await settle()
    assert not any(task.done() for task in waiting)
    news.announce()
    await asyncio.gather(*waiting)
    await news.after(news.edition, within=0.001)

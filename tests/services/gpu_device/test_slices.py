"""Slices on simulated cards: whatever has been done before, the next step leads to what is wished."""

import asyncio
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.mxsml_twin import RULES, SYSFS, Twin, c500
from builders.simulated import make_driver
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.simulated.description import Fault
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.model.cards import QosPolicy
from tangram.model.devices import Slice
from tangram.model.grants import GrantedSlice, SliceWish
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.slices import Slices
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes, from_gib


class Cards:
    def __init__(self, count: int = 1, **keys: object) -> None:
        self.driver: SimulatedDriver = make_driver(
            {"product": "C500", "count": count, "sliced": True, **keys}
        )
        self.done: list[str] = []
        self.slices = Slices(Hardware(lambda: self.driver), self.done.append)
        self.uuids = [device.uuid for device in self.driver.world.devices()]
        self.removable: set[str] = set()

    def wish(
        self, name: str, gib: int = 4, cores: int = 10, *, at: int = 0, online: bool = False
    ) -> SliceWish:
        return SliceWish(
            card=self.uuids[at], name=f"tangram-{name}", memory=from_gib(gib), cores=cores, online=online
        )

    async def ensure(self, *wishes: SliceWish, policy: QosPolicy | None = None) -> tuple[GrantedSlice, ...]:
        return await self.slices.ensure(wishes, policy, self._make_room)

    async def _make_room(self, _card: CardUuid) -> Collection[str]:
        return self.removable

    def on(self, at: int = 0) -> list[Slice]:
        return list(self.driver.world.slices(self.uuids[at]))


async def test_a_slice_is_made_once_and_found_again() -> None:
    cards = Cards()
    (first,) = await cards.ensure(cards.wish("a"))
    (second,) = await cards.ensure(cards.wish("a"))
    assert first == second
    assert [(part.name, part.memory, part.cores) for part in cards.on()] == [("tangram-a", from_gib(4), 10)]
    assert cards.done == ["slice-made"]


async def test_a_slice_of_another_size_is_resized_and_keeps_its_number() -> None:
    cards = Cards()
    (small,) = await cards.ensure(cards.wish("a", 4, 10))
    (large,) = await cards.ensure(cards.wish("a", 8, 20))
    assert (large.id, large.memory, large.cores) == (small.id, from_gib(8), 20)
    assert cards.done == ["slice-made", "slice-resized"]


class OlderKernel(SimulatedDriver):
    """Refuses a slice without compute as the library does when the kernel refuses the write."""

    def create_slice(
        self, uuid: CardUuid, *, memory: Bytes, cores: int, name: str = "", online: bool = False
    ) -> Slice:
        self._refuse_none(cores)
        return super().create_slice(uuid, memory=memory, cores=cores, name=name, online=online)

    def resize_slice(
        self, uuid: CardUuid, slice_id: int, *, memory: Bytes | None = None, cores: int | None = None
    ) -> Slice:
        self._refuse_none(cores)
        return super().resize_slice(uuid, slice_id, memory=memory, cores=cores)

    @staticmethod
    def _refuse_none(cores: int | None) -> None:
        if cores == 0:
            raise DriverError(Kind.FAILED, "a sysfs file could not be written", vendor_code=5)


async def test_an_online_slice_starts_on_a_card_whose_compute_is_all_sold() -> None:
    cards = Cards()
    await cards.ensure(cards.wish("all", 4, 100))
    (made,) = await cards.ensure(cards.wish("web", 4, 0, online=True))
    assert made.cores == 0
    assert [(part.cores, part.online) for part in cards.on()] == [(100, False), (0, True)]


async def test_an_online_slice_starts_over_the_vendors_library_where_all_compute_is_sold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RULES, "")
    monkeypatch.setenv(SYSFS, "")
    driver = Twin(tmp_path, c500(1)).driver()
    (card,) = (device.uuid for device in driver.devices())
    try:
        driver.create_slice(card, memory=from_gib(4), cores=100)
        wish = SliceWish(card=card, name="tangram-web", memory=from_gib(4), cores=0, online=True)
        slices = Slices(Hardware(lambda: driver))
        (made,) = await slices.ensure([wish], None, _no_room)
        assert await slices.ensure([wish], None, _no_room) == (made,)
        assert made.cores == 0
        assert [each.cores for each in driver.slices(card)] == [100, 0]
    finally:
        driver.close()


async def _no_room(_card: CardUuid) -> Collection[str]:
    return ()


async def test_an_online_slice_has_one_percent_where_the_kernel_driver_refuses_none() -> None:
    cards = Cards()
    cards.driver = OlderKernel(cards.driver.world)
    (made,) = await cards.ensure(cards.wish("web", 4, 0, online=True))
    assert made.cores == 1
    (again,) = await cards.ensure(cards.wish("web", 4, 0, online=True))
    assert again == made
    assert cards.done == ["slice-made"]
    with pytest.raises(DriverError):
        await cards.ensure(cards.wish("late", 4, 100))
    await cards.ensure(cards.wish("rest", 4, 99))
    with pytest.raises(DriverError, match=r"1 % of compute .* with 0 % of compute was refused") as full:
        await cards.ensure(cards.wish("web2", 4, 0, online=True))
    assert full.value.kind is Kind.FULL


async def test_a_full_card_is_made_room_on_from_what_is_over() -> None:
    cards = Cards()
    await cards.ensure(cards.wish("old", 40, 60))
    with pytest.raises(DriverError) as full:
        await cards.ensure(cards.wish("new", 40, 60))
    assert full.value.kind is Kind.FULL
    cards.removable = {"tangram-old", "tangram-never-was"}
    (made,) = await cards.ensure(cards.wish("new", 40, 60))
    assert [part.name for part in cards.on()] == [made.name] == ["tangram-new"]


async def test_what_is_in_use_is_never_removed() -> None:
    cards = Cards()
    (part,) = await cards.ensure(cards.wish("old", 40, 60))
    cards.driver.world.use(0, part.id)
    cards.removable = {"tangram-old"}
    with pytest.raises(DriverError):
        await cards.ensure(cards.wish("new", 40, 60))
    assert await cards.slices.remove(cards.uuids[0], {"tangram-old"}) == ()
    assert [part.name for part in cards.on()] == ["tangram-old"]


async def test_the_first_slice_sets_the_policy_and_later_ones_leave_it() -> None:
    cards = Cards()
    await cards.ensure(cards.wish("a"), policy=QosPolicy.BURST_SHARE)
    assert cards.driver.room(cards.uuids[0]).policy is QosPolicy.BURST_SHARE
    await cards.ensure(cards.wish("b"), policy=QosPolicy.FIXED_SHARE)
    assert cards.driver.room(cards.uuids[0]).policy is QosPolicy.BURST_SHARE


async def test_what_a_pod_left_behind_does_not_keep_its_policy_for_the_next() -> None:
    cards = Cards()
    await cards.ensure(cards.wish("over"), policy=QosPolicy.BEST_EFFORT)
    cards.removable = {"tangram-over"}
    await cards.ensure(cards.wish("next"), policy=QosPolicy.FIXED_SHARE)
    assert cards.driver.room(cards.uuids[0]).policy is QosPolicy.FIXED_SHARE
    assert [part.name for part in cards.on()] == ["tangram-next"]


async def test_what_a_pod_left_behind_stays_where_it_is_in_nobodys_way() -> None:
    cards = Cards()
    await cards.ensure(cards.wish("over"), policy=QosPolicy.FIXED_SHARE)
    cards.removable = {"tangram-over"}
    await cards.ensure(cards.wish("next"), policy=QosPolicy.FIXED_SHARE)
    assert [part.name for part in cards.on()] == ["tangram-over", "tangram-next"]


async def test_only_slices_with_our_mark_are_ours() -> None:
    cards = Cards()
    cards.driver.create_slice(cards.uuids[0], memory=from_gib(1), cores=1, name="by-hand")
    await cards.ensure(cards.wish("a"))
    assert [part.name for part in await cards.slices.ours(cards.uuids[0])] == ["tangram-a"]


async def test_a_slice_stands_only_as_it_was_granted() -> None:
    cards = Cards(2)
    granted = await cards.ensure(cards.wish("a"), cards.wish("a", at=1))
    assert await cards.slices.standing(granted)
    assert await cards.slices.standing(())
    cards.driver.world.resize_slice(cards.uuids[0], granted[0].id, from_gib(2), None)
    assert not await cards.slices.standing(granted)
    cards.driver.world.remove_slice(cards.uuids[1], granted[1].id)
    assert not await cards.slices.standing(granted[1:])


async def test_a_driver_that_does_not_answer_is_never_taken_for_an_empty_card() -> None:
    cards = Cards()
    granted = await cards.ensure(cards.wish("a"))
    cards.driver.world.strike(0, Fault.VANISH)
    assert not await cards.slices.standing(granted)
    assert await cards.slices.remove(cards.uuids[0], {"tangram-a"}) == ()
    with pytest.raises(DriverError):
        await cards.ensure(cards.wish("a"))


async def test_many_at_once_on_one_card_are_served_one_by_one() -> None:
    cards = Cards()
    made = await asyncio.gather(*(cards.ensure(cards.wish(f"{number}", 3, 6)) for number in range(16)))
    assert len({part.id for (part,) in made}) == 16
    with pytest.raises(DriverError) as full:
        await cards.ensure(cards.wish("one-too-many", 1, 1))
    assert full.value.kind is Kind.FULL


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(1, 20), st.integers(1, 30), st.booleans()), max_size=12
    )
)
async def test_after_any_history_a_slice_is_as_last_wished_and_there_is_one_of_each_name(
    steps: list[tuple[str, int, int, bool]],
) -> None:
    cards = Cards()
    wished: dict[str, tuple[int, int]] = {}
    for name, gib, cores, remove in steps:
        if remove:
            gone = await cards.slices.remove(cards.uuids[0], {f"tangram-{name}"})
            assert (len(gone) == 1) is (name in wished)
            wished.pop(name, None)
        else:
            await cards.ensure(cards.wish(name, gib, cores))
            wished[name] = (gib, cores)
        found = {part.name: (part.memory // from_gib(1), part.cores) for part in cards.on()}
        assert found == {f"tangram-{each}": size for each, size in wished.items()}
        assert len(cards.on()) == len(found)

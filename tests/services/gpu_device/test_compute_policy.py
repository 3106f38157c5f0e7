"""The compute policy of sliced Moore Threads cards: read where known, set only on idle cards that need another one."""

import pytest

from builders.starts import inventory, metax, mthreads, uuid
from tangram.drivers.errors import DriverError, Kind
from tangram.model.cards import CardMode, QosPolicy
from tangram.model.devices import SliceRoom
from tangram.services.gpu_device.compute_policy import READ_AGAIN_S, ComputePolicies
from tangram.services.gpu_device.hardware import Hardware
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import NA

CARDS = inventory(mthreads(0), mthreads(1), mthreads(2, CardMode.WHOLE), metax(3))
ZERO, ONE = CardUuid(uuid(0)), CardUuid(uuid(1))


class _Cards:
    """A driver that knows policies alone."""

    def __init__(self, *, silent: bool = False) -> None:
        self.policies = {ZERO: QosPolicy.BEST_EFFORT, ONE: QosPolicy.BEST_EFFORT}
        self.silent = silent
        self.sliced: set[CardUuid] = set()
        self.reads: list[CardUuid] = []
        self.writes: list[CardUuid] = []

    def room(self, card: CardUuid) -> SliceRoom:
        self.reads.append(card)
        return SliceRoom(16, Bytes(0), 16, NA if self.silent else self.policies[card])

    def set_policy(self, card: CardUuid, policy: QosPolicy) -> None:
        self.writes.append(card)
        if card in self.sliced:
            raise DriverError(Kind.BUSY, f"card {card} still has a slice")
        self.policies[card] = policy

    def close(self) -> None:
        return None


class _Agent:
    def __init__(self, wanted: QosPolicy | None, *, silent: bool = False) -> None:
        self.now = 0.0
        self.cards = _Cards(silent=silent)
        hardware = Hardware(lambda: self.cards)  # type: ignore[arg-type, return-value]
        self.policies = ComputePolicies(hardware, wanted, clock=lambda: self.now)

    async def step(self, *busy: CardUuid) -> dict[CardUuid, QosPolicy]:
        await self.policies.step(CARDS, busy)
        return self.policies.known


async def test_policies_are_read_and_nothing_is_written_unless_one_is_wanted() -> None:
    agent = _Agent(None)
    assert await agent.step() == {ZERO: QosPolicy.BEST_EFFORT, ONE: QosPolicy.BEST_EFFORT}
    await agent.step()
    assert (agent.cards.reads, agent.cards.writes) == ([ZERO, ONE], [])
    agent.now, agent.cards.policies[ONE] = READ_AGAIN_S, QosPolicy.FIXED_SHARE
    assert (await agent.step())[ONE] is QosPolicy.FIXED_SHARE


async def test_the_wanted_policy_is_set_on_idle_cards_and_on_the_others_once_they_are_idle() -> None:
    agent = _Agent(QosPolicy.FIXED_SHARE)
    assert await agent.step(ONE) == {ZERO: QosPolicy.FIXED_SHARE, ONE: QosPolicy.BEST_EFFORT}
    assert agent.cards.writes == [ZERO]
    assert (await agent.step())[ONE] is QosPolicy.FIXED_SHARE
    await agent.step()
    assert agent.cards.writes == [ZERO, ONE]


async def test_a_card_that_refuses_is_tried_again_later_and_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = _Agent(QosPolicy.FIXED_SHARE)
    agent.cards.sliced = {ZERO}
    for _ in range(3):
        await agent.step()
    agent.now = READ_AGAIN_S
    await agent.step()
    assert agent.cards.writes == [ZERO, ONE, ZERO]
    assert len([each for each in caplog.records if each.levelname == "WARNING"]) == 1
    agent.now, agent.cards.sliced = 2 * READ_AGAIN_S, set()
    assert (await agent.step())[ZERO] is QosPolicy.FIXED_SHARE


async def test_a_module_that_states_no_policy_is_known_to_have_none() -> None:
    assert await _Agent(None, silent=True).step() == {}

"""What a tenant is charged for of a card."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.dashboards import GIB, card, held
from tangram.reports.charging import CARD, charges_of
from tangram.reports.status_shape import CardStatus, Holder

MODES = ("native", "sgpu", "vgpu", "shared", "undecided")


@st.composite
def cards(draw: st.DrawFn) -> CardStatus:
    """Any card, also one that was sold for more than it has."""
    vendor = draw(st.sampled_from(["metax", "mthreads"]))
    memory = draw(st.sampled_from([0, 1, 7, 16 * GIB, 64 * GIB]))
    holders = [
        Holder(
            pod=f"{draw(st.sampled_from(['a', 'b', 'c']))}/{number}",
            memory=draw(st.integers(0, 2 * memory)),
            cores=draw(st.integers(0, 200)),
            whole=draw(st.booleans()),
            slots=draw(st.integers(0, 4)),
        )
        for number in range(draw(st.integers(0, 6)))
    ]
    plain = card(0, vendor=vendor, mode=draw(st.sampled_from(MODES)), memory=memory)
    return msgspec.structs.replace(plain, holders=holders, slots=draw(st.integers(0, 16)))


@given(cards())
def test_a_card_is_never_charged_more_than_once(one: CardStatus) -> None:
    charges = charges_of(one).values()
    assert all(charge.card >= 0 and charge.memory >= 0 and charge.compute >= 0 for charge in charges)
    assert sum(charge.card for charge in charges) <= CARD
    assert sum(charge.memory for charge in charges) <= one.memory
    assert sum(charge.compute for charge in charges) <= CARD


@given(cards(), st.randoms(use_true_random=False))
def test_the_order_of_holders_changes_nothing(one: CardStatus, chance: random.Random) -> None:
    shuffled = list(one.holders)
    chance.shuffle(shuffled)
    assert charges_of(msgspec.structs.replace(one, holders=shuffled)) == charges_of(one)


@pytest.mark.parametrize("mode", ["native", "undecided"])
def test_a_whole_card_is_one(mode: str) -> None:
    charge = charges_of(card(0, held("a/x", whole=True), mode=mode))["a/x"]
    assert charge == (CARD, 64 * GIB, CARD)


@pytest.mark.parametrize(
    ("memory", "cores", "share"),
    [
        pytest.param(16, 10, 0.25, id="more memory than compute"),
        pytest.param(8, 50, 0.5, id="more compute than memory"),
        pytest.param(32, 0, 0.5, id="no compute reserved"),
        pytest.param(64, 100, 1.0, id="all of it"),
    ],
)
def test_a_slice_is_the_larger_of_its_shares(memory: int, cores: int, share: float) -> None:
    charge = charges_of(card(0, held("a/x", memory=memory * GIB, cores=cores), mode="sgpu"))["a/x"]
    assert charge.card == share * CARD
    assert charge.memory == memory * GIB
    assert charge.compute == cores * CARD // 100


@pytest.mark.parametrize("mode", ["vgpu", "shared"])
def test_virtual_functions_and_shared_places_are_their_part_of_the_slots(mode: str) -> None:
    two = msgspec.structs.replace(held("a/x"), slots=2, whole=True)
    one = msgspec.structs.replace(held("b/y"), slots=1, whole=True)
    charges = charges_of(msgspec.structs.replace(card(0, mode=mode), holders=[two, one], slots=4))
    assert charges["a/x"] == (CARD // 2, 32 * GIB, CARD // 2)
    assert charges["b/y"] == (CARD // 4, 16 * GIB, CARD // 4)


def test_shares_that_add_up_to_more_than_the_card_are_scaled_down_together() -> None:
    memory = held("a/x", memory=48 * GIB, cores=0)
    compute = held("b/y", memory=16 * GIB, cores=75)
    charges = charges_of(card(0, memory, compute, mode="sgpu"))
    assert charges["a/x"].card == charges["b/y"].card == CARD // 2
    assert charges["a/x"].memory == 48 * GIB

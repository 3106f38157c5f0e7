"""Which units are advised: those that were promised, else those that leave the node in the best shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.clusters import TWO_GROUPS_OF_FOUR
from builders.requests import DEFAULTS, request, whole_ask
from builders.servers import servers
from builders.starts import function, inventory, metax, uuid
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.filter import filter_nodes
from tangram.model.cards import CardMode
from tangram.model.nodes import Node
from tangram.model.requests import AskKind, NodePolicy
from tangram.services.gpu_device.prefer import preferred_units
from tangram.units.ids import CardUuid

EIGHT = replace(inventory(*(metax(index, CardMode.WHOLE) for index in range(8))), topology=TWO_GROUPS_OF_FOUR)
ALL = [uuid(index) for index in range(8)]


def cards(*indexes: int) -> list[str]:
    return [uuid(index) for index in indexes]


@pytest.mark.parametrize(
    ("count", "chosen"),
    [
        pytest.param(4, (4, 5, 6, 7), id="figure 2.2: the only four that share a group"),
        pytest.param(2, (2, 3), id="figure 2.3: the group of four stays whole"),
    ],
)
def test_with_the_first_two_cards_in_use_the_manuals_choice_is_made(
    count: int, chosen: tuple[int, ...]
) -> None:
    assert set(preferred_units(EIGHT, cards(2, 3, 4, 5, 6, 7), (), count)) == set(cards(*chosen))


def test_what_must_be_there_decides_the_group() -> None:
    assert set(preferred_units(EIGHT, ALL, cards(5), 4)) == set(cards(4, 5, 6, 7))


def test_a_promise_is_kept_before_the_best_choice_and_the_first_bound_comes_first() -> None:
    promises = [frozenset(map(CardUuid, cards(1, 6))), frozenset(map(CardUuid, cards(2, 3)))]
    assert set(preferred_units(EIGHT, ALL, (), 2, promises)) == set(cards(1, 6))


@pytest.mark.parametrize(
    ("promise", "must"),
    [
        pytest.param((0, 2), (), id="a card of it is taken"),
        pytest.param((2, 3, 4), (), id="of another size"),
        pytest.param((2, 3), (7,), id="without what must be there"),
    ],
)
def test_a_promise_that_cannot_be_kept_is_passed_over(
    promise: tuple[int, ...], must: tuple[int, ...]
) -> None:
    promised = frozenset(map(CardUuid, cards(*promise)))
    free = cards(1, 2, 3, 4, 5, 6, 7)
    found = preferred_units(EIGHT, free, cards(*must), 2, [promised])
    assert len(found) == 2
    assert set(found) != promised
    assert set(cards(*must)) <= set(found) <= set(free)


@given(st.sets(st.integers(0, 7)), st.integers(0, 9), st.data())
def test_advice_is_a_legal_choice_or_none(free: set[int], size: int, data: st.DataObject) -> None:
    must = data.draw(st.sets(st.sampled_from(sorted(free)), max_size=size)) if free else set[int]()
    found = preferred_units(EIGHT, cards(*free), cards(*must), size)
    if found:
        assert len(found) == len(set(found)) == size
        assert set(cards(*must)) <= set(found) <= set(cards(*free))
    else:
        assert size == 0 or size > len(free)


@given(servers(), st.data())
def test_what_the_agent_advises_is_what_the_scheduler_would_have_chosen(
    node: Node, data: st.DataObject
) -> None:
    taken = data.draw(st.sets(st.integers(0, len(node.cards) - 1), max_size=len(node.cards) - 1))
    free = [each for at, each in enumerate(node.cards) if at not in taken]
    size = data.draw(st.integers(1, len(free)))
    ledger = ledger_of(node)
    for at in taken:
        whole = Part(at, node.cards[at].memory, node.cards[at].cores, AskKind.WHOLE)
        ledger.put_tenant(tenant(f"t{at}", node, whole))
    policy = data.draw(st.sampled_from([None, NodePolicy.BINPACK, NodePolicy.SPREAD]))
    asked = request("p", whole_ask(size, vendor=node.cards[0].vendor), node_policy=policy)
    chosen = filter_nodes(ledger, asked, DEFAULTS).allocation
    assert chosen is not None
    held = replace(inventory(*node.cards), topology=node.topology)
    assert set(preferred_units(held, [each.uuid for each in free], (), size)) == set(chosen.cards)


@pytest.mark.parametrize(
    ("available", "must", "size"),
    [
        pytest.param(cards(0), (), 2, id="too few"),
        pytest.param(cards(0, 1), ["GPU-x"], 1, id="must have what nobody knows"),
        pytest.param(["GPU-x"], (), 1, id="nobody knows them"),
        pytest.param(cards(0), (), 0, id="none asked for"),
    ],
)
def test_where_there_is_no_telling_nothing_is_advised(
    available: list[str], must: list[str], size: int
) -> None:
    assert preferred_units(EIGHT, available, must, size) == ()


def test_without_known_links_there_is_still_a_choice_or_none() -> None:
    plain = inventory(*(metax(index, CardMode.WHOLE) for index in range(4)))
    found = preferred_units(plain, cards(0, 1, 2, 3), (), 2)
    assert found == () or len(set(found)) == 2


# ---- several units per card

SPLIT = inventory(
    *(replace(metax(index, CardMode.VIRTUAL), slots=4) for index in range(2)),
    functions=[function(number, of) for of in range(2) for number in range(4)],
)
SHARED = inventory(*(replace(metax(index, CardMode.SHARED), slots=3) for index in range(2)))


def test_virtual_functions_fill_the_card_that_is_begun() -> None:
    begun = ["VF-0-0", "VF-0-1", "VF-0-2", "VF-0-3", "VF-1-2", "VF-1-3"]
    assert set(preferred_units(SPLIT, begun, (), 2)) == {"VF-1-2", "VF-1-3"}
    assert set(preferred_units(SPLIT, begun, (), 3)) == {"VF-1-2", "VF-1-3", "VF-0-0"}


def test_turns_at_shared_cards_spread() -> None:
    turns = [f"{uuid(card)}-share-{turn}" for card in range(2) for turn in range(3)]
    found = preferred_units(SHARED, turns, (), 2)
    assert {each.rsplit("-share-", 1)[0] for each in found} == {uuid(0), uuid(1)}
    used = preferred_units(SHARED, turns[1:], (), 1)
    assert used[0].startswith(uuid(1))


@given(
    st.sets(st.sampled_from([f"VF-{of}-{number}" for of in range(2) for number in range(4)])),
    st.integers(1, 8),
)
def test_of_virtual_functions_a_legal_choice_is_made_too(free: set[str], size: int) -> None:
    found = preferred_units(SPLIT, sorted(free), (), size)
    assert (len(set(found)) == size and set(found) <= free) if len(free) >= size else found == ()

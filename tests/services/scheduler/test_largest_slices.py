"""The warning of more memory than any sliced card can slice follows the cards that the scheduler knows."""

from __future__ import annotations

from builders.scheduling import World, metax_cards, mthreads_cards, node, pod
from tangram.model.cards import CardMode

CODE = "memory-above-largest-card"
ASKED = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 64}


def warned(world: World) -> bool:
    seen = world.state.read_pod(pod("p", ASKED))
    assert seen.waiting is not None
    assert seen.waiting.admission.request is not None, "a warning refuses nothing"
    return CODE in {caution.code for caution in seen.waiting.admission.cautions}


def test_a_cluster_without_a_sliced_card_of_the_vendor_warns_of_nothing() -> None:
    assert not warned(World())
    whole = metax_cards("a", mode=CardMode.WHOLE)
    assert not warned(World(node("a", whole), node("b", mthreads_cards("b"))))


def test_the_largest_sliced_card_counts_and_joins_and_leaves_with_its_node() -> None:
    world = World(node("a", metax_cards("a", memory=63)))
    assert warned(world)
    world.put_node(node("b", metax_cards("b", memory=64)))
    assert not warned(world)
    world.remove_node("b")
    assert warned(world)
    world.remove_node("a")
    assert not warned(world)


def test_a_card_that_changes_its_mode_counts_at_once() -> None:
    world = World(node("a", metax_cards("a", memory=63)))
    world.put_node(node("a", metax_cards("a", mode=CardMode.WHOLE)))
    assert not warned(world)
    world.put_node(node("a", metax_cards("a", memory=63)))
    assert warned(world)


def test_a_pod_that_waits_already_is_read_again() -> None:
    world = World()
    world.create(pod("p", ASKED))
    world.put_node(node("a", metax_cards("a", memory=63)))
    (seen,) = world.state.waiting.values()
    assert seen.waiting is not None
    assert CODE in {caution.code for caution in seen.waiting.admission.cautions}

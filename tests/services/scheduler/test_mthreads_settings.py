"""What admission says of Moore Threads slices follows the cards that the scheduler knows."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from builders.scheduling import Object, World, mthreads_cards, node, pod
from tangram.model.cards import Card, QosPolicy

HALF = {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-core": 8, "mthreads.com/sgpu-memory": 32}
ALONE = {"mthreads.com/vgpu": 1}


def under(policy: QosPolicy | None, name: str, *, memory: int = 48) -> Sequence[Card]:
    return [replace(card, announced_qos=policy) for card in mthreads_cards(name, memory=memory)]


def by_its_plugin(name: str) -> Object:
    amounts = {"cpu": "64", "mthreads.com/sgpu-core": "32", "mthreads.com/sgpu-memory": "320"}
    return {"metadata": {"name": name}, "spec": {}, "status": {"capacity": amounts, "allocatable": amounts}}


def warned(world: World) -> bool:
    seen = world.state.read_pod(pod("p", HALF))
    assert seen.waiting is not None
    return "compute-is-a-weight" in {caution.code for caution in seen.waiting.admission.cautions}


def written(world: World) -> set[str]:
    seen = world.state.read_pod(pod("p", ALONE))
    assert seen.waiting is not None
    return {change.value for change in seen.waiting.admission.mutations}  # type: ignore[union-attr]


def test_a_weight_is_warned_of_until_every_sliced_card_runs_fixed_share() -> None:
    world = World()
    assert warned(world), "no card is known"
    world.put_node(node("a", under(QosPolicy.FIXED_SHARE, "a")))
    assert not warned(world)
    world.put_node(node("b", under(QosPolicy.BURST_SHARE, "b")))
    assert warned(world)
    world.put_node(node("b", under(QosPolicy.FIXED_SHARE, "b")))
    assert not warned(world)
    world.put_node(node("b", under(None, "b")))
    assert warned(world)
    world.remove_node("b")
    assert not warned(world)


def test_of_several_models_the_smallest_is_written_while_our_agent_serves_all_of_them() -> None:
    world = World(node("a", under(None, "a")), node("b", under(None, "b", memory=80)))
    assert written(world) == {"16", "96"}
    world.put_node(by_its_plugin("c"))
    assert written(world) == {"16"}
    world.remove_node("c")
    assert written(world) == {"16", "96"}

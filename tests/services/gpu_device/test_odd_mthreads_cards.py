"""Moore Threads pods through webhook, scheduler and agent: one rule on sizes, and a card for each container."""

import msgspec
import pytest

from builders.clusters import card
from builders.requests import DEFAULTS
from builders.starts import CORE, HAMI_MTHREADS, MEMORY, NODE, bound, inventory, mthreads, starting, written
from builders.tenants import ledger_of
from tangram.engine.filter import filter_nodes
from tangram.model.cards import Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Container, Pod, PodRef
from tangram.model.refusals import Refusal
from tangram.services.gpu_device.grants import mthreads_slice_edits
from tangram.services.gpu_device.guard import check
from tangram.services.gpu_device.guard_rules_asked import settings_for
from tangram.services.gpu_device.offer import slots_of
from tangram.services.gpu_device.records import Inventory
from tangram.units.ids import Namespace, PodName, PodUid
from tangram.units.memory import MIB, Bytes
from tangram.vendors.admission import admit
from tangram.vendors.completed import completed
from tangram.vendors.mthreads.tiers import memory_tiers, sizes_in_use, sizes_of
from tangram.vendors.settings import AdmissionSettings
from tangram.wire.binding import binding_writes

VGPU = "mthreads.com/vgpu"
NOBODY: frozenset[PodUid] = frozenset()


def node_of(mib: int, cards: int = 2) -> tuple[Node, Inventory]:
    """A node of our agent with sliced cards of so many MiB, and what its agent knows."""
    made = tuple(
        msgspec.structs.replace(
            card("n", at, vendor=Vendor.MTHREADS, memory=Bytes(mib * MIB), product="MTT S4000"),
            memory_tiers=memory_tiers(Bytes(mib * MIB)),
        )
        for at in range(cards)
    )
    return Node(name=NODE, cards=made, managed=True), inventory(*made)


def admitted(settings: AdmissionSettings, *limits: dict[str, str]) -> Pod:
    """The pod as the webhook leaves it."""
    pod = Pod(
        ref=PodRef(Namespace("default"), PodName("p"), PodUid("uid-p")),
        containers=tuple(Container(f"c{at}", limits=each) for at, each in enumerate(limits)),
    )
    answer = admit(pod, settings)
    assert answer.refusals == ()
    return completed(pod, answer.mutations)


def given_by_the_agent(pod: Pod, node: Node, own: Inventory, settings: AdmissionSettings) -> list[object]:
    """What each container gets: placed by the scheduler, bound, counted by the kubelet and checked by the agent."""
    request = admit(pod, settings).request
    assert request is not None
    outcome = filter_nodes(ledger_of(node), request, DEFAULTS)
    assert outcome.allocation is not None
    writes = binding_writes(request, outcome.allocation, node, 10**18)
    who = bound("p", *pod.containers, annotations=writes.annotations, on=own)
    found: list[object] = []
    for each in pod.containers:
        units = int(each.limits[MEMORY])
        begun = starting(who, each.name, resource=MEMORY, ids=units)
        answer = check(begun, own, [who], NOBODY)
        found.append(answer.sentence if isinstance(answer, Refusal) else [s.index for s in answer[0].shares])
    return found


@pytest.mark.parametrize("mib", [49_140, 49_152, 49_153, 49_663, 48_641, 81_920, 1024, 1025, 700])
@pytest.mark.parametrize("configured", [False, True], ids=["from the nodes", "from a configuration"])
def test_what_the_webhook_writes_for_all_of_a_card_is_offered_and_given(
    mib: int, *, configured: bool
) -> None:
    # 49,140 MiB were 95 units to the webhook and 96 to the agent, which refused the pod without end.
    node, own = node_of(mib)
    known = sizes_of(node.cards)
    box = (-(-mib // 512),) if configured else None
    settings = AdmissionSettings(mthreads_memory_per_card=sizes_in_use(box, known))
    pod = admitted(settings, {VGPU: "1"})
    assert int(pod.containers[0].limits[MEMORY]) == slots_of(MEMORY, node.cards[0])
    assert settings_for(own).mthreads_memory_per_card == settings.mthreads_memory_per_card
    assert given_by_the_agent(pod, node, own, settings) == [[1]]


@pytest.mark.parametrize("limits", [{MEMORY: "95", CORE: "8"}, {MEMORY: "64", CORE: "8"}, {MEMORY: "2"}])
@pytest.mark.parametrize("others", [(), (160,)], ids=["one model", "two models in the cluster"])
def test_every_size_that_admission_takes_is_one_that_the_card_can_be_given(
    limits: dict[str, str], others: tuple[int, ...]
) -> None:
    node, own = node_of(49_140)
    settings = AdmissionSettings(mthreads_memory_per_card=(95, *others))
    pod = admitted(settings, {VGPU: "1", **limits})
    assert given_by_the_agent(pod, node, own, settings) == [[1]]


def test_sizes_that_are_configured_give_way_to_cards_that_have_a_unit_less() -> None:
    assert sizes_in_use((96,), {95}) == (95,)
    assert sizes_in_use((96,), {95, 96}) == (96,)
    assert sizes_in_use((96, 160), {95}) == (95, 160)
    assert sizes_in_use((96,), ()) == (96,)
    assert sizes_in_use(None, {160, 96}) == (96, 160)


def test_two_containers_with_a_card_each_are_given_different_cards() -> None:
    node, own = node_of(49_152)
    settings = AdmissionSettings(mthreads_memory_per_card=(96,))
    pod = admitted(settings, {VGPU: "1"}, {VGPU: "1"})
    assert given_by_the_agent(pod, node, own, settings) == [[1], [0]]


def test_each_container_sees_its_own_card_alone() -> None:
    own = inventory(mthreads(0), mthreads(1))
    whole = {VGPU: "1", CORE: "16", MEMORY: "96"}
    said = {HAMI_MTHREADS: written([(1, 48, 16)], [(0, 48, 16)], word="Mthreads")}
    who = bound("p", whole, whole, annotations=said, on=own)
    devices = {device.uuid: device for device in own.devices}
    seen: list[str] = []
    for name in ("c0", "c1"):
        answer = check(starting(who, name, resource=MEMORY, ids=96), own, [who], NOBODY)
        assert not isinstance(answer, Refusal)
        seen.append(mthreads_slice_edits(answer[0], devices).env["MTHREADS_VISIBLE_DEVICES"])
    assert seen == ["1", "0"]


@pytest.mark.parametrize(
    ("cores", "limited", "weight"),
    [
        pytest.param(8, False, "8", id="a weight as it always was"),
        pytest.param(8, True, "8", id="which fixed share makes a ceiling"),
        pytest.param(16, False, "16", id="alone on its card"),
        pytest.param(16, True, "9999", id="alone, and empty slots take turns too"),
    ],
)
def test_a_weight_suits_the_policy_of_the_card(cores: int, weight: str, *, limited: bool) -> None:
    own = inventory(mthreads(0))
    said = {HAMI_MTHREADS: written([(0, 16, cores)], word="Mthreads")}
    who = bound("p", {VGPU: "1", CORE: str(cores), MEMORY: "32"}, annotations=said, on=own)
    answer = check(starting(who, "c0", resource=MEMORY, ids=32), own, [who], NOBODY)
    assert not isinstance(answer, Refusal)
    edits = mthreads_slice_edits(answer[0], {each.uuid: each for each in own.devices}, limited=limited)
    assert edits.env["MTHREADS_QOS_COMPUTING_POWER_WEIGHT"] == weight


MIXED = AdmissionSettings(mthreads_memory_per_card=(95, 96, 160), mthreads_served=True)


@pytest.mark.parametrize("mib", [49_140, 49_152, 81_920])
@pytest.mark.parametrize("limits", [{}, {CORE: "16"}, {CORE: "16", MEMORY: "95"}])
def test_a_card_of_its_own_is_given_on_any_model_of_a_cluster_that_has_several(
    mib: int, limits: dict[str, str]
) -> None:
    # Without a number the kubelet asked for compute alone, and the agent refused the pod (memory-missing).
    node, own = node_of(mib)
    pod = admitted(MIXED, {VGPU: "1", **limits}, {VGPU: "1", **limits})
    assert [each.limits[MEMORY] for each in pod.containers] == ["95", "95"]
    assert given_by_the_agent(pod, node, own, MIXED) == [[1], [0]]


@pytest.mark.parametrize(("units", "mib"), [("96", 49_152), ("160", 81_920)])
def test_the_size_of_a_larger_model_means_a_card_of_that_model(units: str, mib: int) -> None:
    pod = admitted(MIXED, {VGPU: "1", CORE: "16", MEMORY: units})
    node, own = node_of(mib)
    assert given_by_the_agent(pod, node, own, MIXED) == [[1]]
    request = admit(pod, MIXED).request
    assert request is not None
    for other in {49_140, 49_152, 81_920} - {mib}:
        assert filter_nodes(ledger_of(node_of(other)[0]), request, DEFAULTS).node is None


def test_several_whole_cards_of_one_container_are_given_on_any_model() -> None:
    for mib in (49_140, 81_920):
        node, own = node_of(mib)
        pod = admitted(MIXED, {VGPU: "2"})
        assert pod.containers[0].limits[MEMORY] == "190"
        assert given_by_the_agent(pod, node, own, MIXED) == [[1, 0]]


def test_nothing_is_written_for_several_models_while_a_vendors_plugin_serves_some_of_them() -> None:
    # It would give a pod on the larger model no more than the number says.
    pod = admitted(AdmissionSettings(mthreads_memory_per_card=(96, 160)), {VGPU: "1"})
    assert MEMORY not in pod.containers[0].limits

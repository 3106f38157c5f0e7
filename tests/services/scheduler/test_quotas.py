"""Namespace quotas: what counts, which of several, and that whole cards and bursts do not slip past."""

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.clusters import card, metax_node, mthreads_node
from builders.requests import request, run, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.allocate import tenant_for
from tangram.model.allocations import Tenant
from tangram.model.cards import AppClass, Card, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import Ask, AskKind, ContainerAsk
from tangram.services.scheduler.metrics_of_hami import QuotaFigure
from tangram.services.scheduler.quota_use import (
    CardOf,
    Quota,
    allocation_use,
    least_use,
    smallest_units,
)
from tangram.services.scheduler.quotas import Quotas
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import MIB, from_gib

NOTHING: Mapping[Quota, int] = {}
VMEMORY, VCORE = "limits.metax-tech.com/vmemory", "limits.metax-tech.com/vcore"
SGPU_MEMORY, SGPU_CORE = "limits.mthreads.com/sgpu-memory", "limits.mthreads.com/sgpu-core"


def quotas_of(**named: dict[str, object]) -> Quotas:
    quotas = Quotas()
    for name, hard in named.items():
        quotas.put("default", name, {"kind": "ResourceQuota", "spec": {"hard": hard}})
    return quotas


def cards_of(*nodes: Node) -> CardOf:
    known: dict[tuple[NodeName, CardUuid], Card] = {
        (node.name, each.uuid): each for node in nodes for each in node.cards
    }
    return lambda node, uuid: known.get((node, uuid))


@pytest.mark.parametrize(
    ("key", "written", "amount"),
    [
        pytest.param(VMEMORY, "64", from_gib(64), id="GiB"),
        pytest.param(VMEMORY, "2k", from_gib(2000), id="2000 as the API server writes it"),
        pytest.param(VMEMORY, "64Gi", from_gib(64), id="with a suffix it is bytes"),
        pytest.param(VMEMORY, "512Mi", 512 * MIB, id="less than a GiB"),
        pytest.param(VMEMORY, 64, from_gib(64), id="a number in a manifest"),
        pytest.param(VCORE, "250", 250, id="percent"),
        pytest.param(VCORE, "1k", 1000, id="percent in thousands"),
        pytest.param(SGPU_MEMORY, "96", from_gib(48), id="units of 512 MiB"),
        pytest.param(SGPU_CORE, "16", 16, id="sixteenths"),
        pytest.param(VMEMORY, "0", 0, id="none"),
        pytest.param(VCORE, "1500m", 1, id="a fraction is cut off"),
        pytest.param(VCORE, "nonsense", 0, id="unreadable allows nothing"),
        pytest.param(VCORE, "-1", 0, id="below zero allows nothing"),
    ],
)
def test_a_limit_is_read_in_the_unit_of_its_resource(key: str, written: object, amount: int) -> None:
    ((quota, limit),) = quotas_of(q={key: written}).limits("default").items()
    assert (f"limits.{quota}", limit.amount, limit.quota) == (key, amount, "q")


def test_of_several_quotas_the_strictest_counts_for_each_resource() -> None:
    """HAMi takes whichever it saw last."""
    quotas = quotas_of(wide={VMEMORY: "100", VCORE: "50"}, narrow={VMEMORY: "10", VCORE: "90"})
    limits = quotas.limits("default")
    assert (limits[Quota.METAX_MEMORY].amount, limits[Quota.METAX_MEMORY].quota) == (from_gib(10), "narrow")
    assert (limits[Quota.METAX_CORES].amount, limits[Quota.METAX_CORES].quota) == (50, "wide")
    quotas.remove("default", "narrow")
    assert quotas.limits("default")[Quota.METAX_MEMORY].amount == from_gib(100)


def test_a_quota_that_no_longer_speaks_of_cards_is_forgotten() -> None:
    quotas = quotas_of(q={VMEMORY: "1"})
    quotas.put("default", "q", {"spec": {"hard": {"pods": "10", "requests.metax-tech.com/gpu": "2"}}})
    assert not quotas.limits("default")
    quotas.remove("default", "q")
    quotas.remove("elsewhere", "q")


def test_a_quota_counts_in_its_own_namespace_only() -> None:
    quotas = Quotas()
    quotas.put("team-a", "q", {"spec": {"hard": {VMEMORY: "0"}}})
    asked = request("p", slice_ask(memory=from_gib(1), cores=10))
    assert quotas.exceeded_at_admission(asked, NOTHING, {}) is None
    elsewhere = replace(asked, pod=replace(asked.pod, namespace="team-a"))
    assert quotas.exceeded_at_admission(elsewhere, NOTHING, {}) is not None


def test_a_pod_that_would_exceed_its_quota_is_told_all_three_numbers() -> None:
    quotas = quotas_of(gpu={VMEMORY: "64"})
    asked = request("p", slice_ask(2, memory=from_gib(8), cores=10))
    held = {Quota.METAX_MEMORY: from_gib(56)}
    told = quotas.exceeded_at_admission(asked, held, {})
    assert told == (
        "exceeding resource quota: pod default/p asks for 16 GiB of metax-tech.com/vmemory and its namespace holds "
        "56 GiB; quota gpu allows 64 GiB in all; ask for less, wait until pods of the namespace have ended, or have "
        "the quota raised."
    )
    assert quotas.exceeded_at_admission(asked, {Quota.METAX_MEMORY: from_gib(48)}, {}) is None


def test_the_number_of_cards_multiplies_what_each_gives() -> None:
    """HAMi's users saw the number for one card."""
    asked = request("p", slice_ask(3, memory=from_gib(8), cores=10))
    assert least_use(asked, {}) == {Quota.METAX_MEMORY: from_gib(24), Quota.METAX_CORES: 30}


def test_init_containers_count_at_their_peak_and_sidecars_beside_everything() -> None:
    def container(name: str, role: Role, gib: int) -> ContainerAsk:
        return ContainerAsk(name, role, (slice_ask(memory=from_gib(gib), cores=gib),))

    asked = request(
        "p",
        container("prepare", Role.INIT, 10),
        container("helper", Role.SIDECAR, 2),
        container("check", Role.INIT, 9),
        container("main", Role.APP, 4),
        container("other", Role.APP, 4),
    )
    assert least_use(asked, {})[Quota.METAX_MEMORY] == from_gib(11)


def test_b18_a_whole_card_counts_with_the_smallest_card_at_admission_and_its_own_memory_once_chosen() -> None:
    small, large = metax_node("small", 1), metax_node("large", 1)
    large = replace(large, cards=(replace(large.cards[0], memory=from_gib(128)),))
    asked = request("p", slice_ask())
    quotas = quotas_of(q={VMEMORY: "100"})
    smallest = smallest_units((small, large))
    assert smallest[Vendor.METAX, AskKind.SLICE].memory == from_gib(64)
    assert quotas.exceeded_at_admission(asked, NOTHING, smallest) is None, "it may get the small one"
    assert quotas.exceeded_at_admission(asked, {Quota.METAX_MEMORY: from_gib(40)}, smallest) is not None

    allocation = run(ledger_of(large), asked)
    assert allocation is not None
    told = quotas.exceeded(asked, allocation_use(allocation, cards_of(large)), NOTHING)
    assert told is not None
    assert told.startswith("ResourceQuotaNotFit: exceeding resource quota: pod default/p would hold 128 GiB")


def test_b18_of_a_burst_that_was_admitted_together_only_what_the_quota_holds_is_placed() -> None:
    node = metax_node("n", 8)
    ledger, card_of = ledger_of(node), cards_of(node)
    quotas = quotas_of(q={VMEMORY: "40"})
    placed, held = list[Tenant](), Counter[Quota]()
    for number in range(10):
        asked = request(f"p{number}", slice_ask(memory=from_gib(16), cores=10))
        assert quotas.exceeded_at_admission(asked, NOTHING, {}) is None
        allocation = run(ledger, asked)
        assert allocation is not None
        wanted = allocation_use(allocation, card_of)
        if quotas.exceeded(asked, wanted, held) is None:
            placed.append(tenant_for(asked, allocation))
            held.update(wanted)
    assert len(placed) == 2


def test_the_sentence_of_a_chosen_placement_is_the_same_whatever_others_hold() -> None:
    quotas = quotas_of(q={VMEMORY: "40"})
    asked, wanted = request("p", slice_ask()), {Quota.METAX_MEMORY: from_gib(16)}
    told = {quotas.exceeded(asked, wanted, {Quota.METAX_MEMORY: from_gib(held)}) for held in (25, 30, 40)}
    assert len(told) == 1
    assert None not in told


def test_an_explicit_zero_blocks_everything_of_its_resource_and_nothing_else() -> None:
    quotas = quotas_of(q={VCORE: "0"})
    assert quotas.exceeded_at_admission(request("a", slice_ask(memory=from_gib(1), cores=1)), NOTHING, {})
    assert not quotas.exceeded_at_admission(request("b", slice_ask(memory=from_gib(1), cores=0)), NOTHING, {})
    moore = request("c", slice_ask(memory=from_gib(1), cores=1, vendor=Vendor.MTHREADS))
    assert not quotas.exceeded_at_admission(moore, NOTHING, {})


def test_what_tenants_hold_is_counted_by_vendor_and_a_card_out_of_sight_for_all() -> None:
    metax, moore = metax_node("m", 1), mthreads_node("t", 1)
    tenants = [
        tenant("a", metax, Part(0, from_gib(8), 20)),
        tenant("b", metax, Part(0, from_gib(4), 10)),
        tenant("c", moore, Part(0, from_gib(2), 3)),
    ]
    held = Counter[Quota]()
    for each in tenants:
        held.update(allocation_use(each.allocation, cards_of(metax, moore)))
    assert held == {
        Quota.METAX_MEMORY: from_gib(12),
        Quota.METAX_CORES: 30,
        Quota.MTHREADS_MEMORY: from_gib(2),
        Quota.MTHREADS_CORES: 3,
    }
    unseen = allocation_use(tenants[0].allocation, cards_of())
    assert unseen[Quota.METAX_MEMORY] == unseen[Quota.MTHREADS_MEMORY] == from_gib(8)


def test_a_resource_that_the_cluster_calls_otherwise_is_limited_and_told_by_that_name() -> None:
    quotas = quotas_of(q={"limits.example.com/memory": "8", VMEMORY: "1"})
    assert quotas.limits("default")[Quota.METAX_MEMORY].amount == from_gib(1)
    quotas.renamed = {"example.com/memory": "metax-tech.com/vmemory"}
    assert quotas.limits("default")[Quota.METAX_MEMORY].amount == from_gib(8)
    asked = request("p", slice_ask(memory=from_gib(16), cores=10))
    told = (
        quotas.exceeded_at_admission(asked, NOTHING, {}),
        quotas.exceeded(asked, least_use(asked, {}), NOTHING),
    )
    assert all(each is not None and "16 GiB of example.com/memory" in each for each in told)


def test_figures_are_in_the_units_of_hamis_metrics() -> None:
    quotas = quotas_of(b={VMEMORY: "64"}, a={SGPU_CORE: "8"})
    held = {Quota.METAX_MEMORY: from_gib(16), Quota.MTHREADS_CORES: 4}
    assert list(quotas.figures(lambda _namespace: held)) == [
        QuotaFigure("default", "metax-tech.com/vmemory", 16384, 65536),
        QuotaFigure("default", "mthreads.com/sgpu-core", 4, 8),
    ]


SIZES = st.sampled_from([None, from_gib(1), from_gib(16)])
ASKS = st.one_of(
    st.builds(
        slice_ask, st.integers(1, 3), memory=SIZES, cores=st.sampled_from([None, 0, 25, 100])
    ),
    st.builds(whole_ask, st.integers(1, 3)),
)  # fmt: skip


@given(
    st.lists(st.tuples(st.sampled_from(Role), ASKS), min_size=1, max_size=4),
    st.sampled_from([None, AppClass.ONLINE]),
    st.lists(st.tuples(st.sampled_from([32, 64]), st.sampled_from(CardMode)), min_size=1, max_size=8),
)
def test_admission_never_counts_more_than_the_pod_then_holds(
    asks: list[tuple[Role, Ask]], app_class: AppClass | None, layout: list[tuple[int, CardMode]]
) -> None:
    """Else a pod would be refused that fits its quota."""
    cards = tuple(
        card("n", index, memory=from_gib(gib), mode=mode, slots=4 if mode is CardMode.VIRTUAL else None)
        for index, (gib, mode) in enumerate(layout)
    )
    node = Node(name=NodeName("n"), cards=cards)
    containers = [ContainerAsk(f"c{at}", role, (ask,)) for at, (role, ask) in enumerate(asks)]
    asked = request("p", *containers, app_class=app_class)
    allocation = run(ledger_of(node), asked)
    if allocation is None:
        return
    held = allocation_use(allocation, cards_of(node))
    for quota, amount in least_use(asked, smallest_units((node,))).items():
        assert amount <= held.get(quota, 0)

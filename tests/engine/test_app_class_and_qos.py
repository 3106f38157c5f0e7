"""Who may share a MetaX card with whom: app classes first, then QoS policies."""

import msgspec
import pytest

from builders.clusters import metax_node
from builders.requests import DEFAULTS, indexes, pod, request, run, slice_ask
from builders.tenants import Part, ledger_of, rules, tenant
from tangram.engine.allocate import tenant_for
from tangram.engine.filter import filter_nodes
from tangram.model.cards import AppClass, QosPolicy
from tangram.model.verdicts import CardRule
from tangram.units.memory import from_gib

ONLINE, OFFLINE = AppClass.ONLINE, AppClass.OFFLINE
BEST_EFFORT, FIXED, BURST = QosPolicy.BEST_EFFORT, QosPolicy.FIXED_SHARE, QosPolicy.BURST_SHARE
NODE = metax_node("n", 1)
SMALL = slice_ask(memory=from_gib(4), cores=10)
Classes = tuple[AppClass | None, ...]


@pytest.mark.parametrize(
    ("runs", "classless", "offline", "online"),
    [
        pytest.param((), True, True, True, id="an idle card"),
        pytest.param((None,), True, False, False, id="classless pods"),
        pytest.param((OFFLINE,), False, True, True, id="offline pods"),
        pytest.param((ONLINE,), False, False, True, id="online pods"),
        pytest.param((OFFLINE, ONLINE), False, False, True, id="online and offline pods"),
        pytest.param((OFFLINE, OFFLINE), False, True, True, id="two offline pods"),
    ],
)
def test_a_card_that_runs(runs: Classes, *, classless: bool, offline: bool, online: bool) -> None:
    ledger = ledger_of(NODE)
    for number, app_class in enumerate(runs):
        ledger.put_tenant(tenant(f"t{number}", NODE, Part(0), app_class=app_class))
    for app_class, welcome in ((None, classless), (OFFLINE, offline), (ONLINE, online)):
        expected = CardRule.FITS if welcome else CardRule.APP_CLASS
        assert rules(ledger, request("p", SMALL, app_class=app_class)) == [expected]


@pytest.mark.parametrize("app_class", [ONLINE, OFFLINE, None])
def test_two_containers_of_a_class_pod_may_share_an_idle_card(app_class: AppClass | None) -> None:
    # B11: the pod's own first container must not look like somebody else's.
    placed = run(ledger_of(NODE), request("p", SMALL, SMALL, app_class=app_class))
    assert indexes(placed) == [0, 0]


def test_online_slices_reserve_memory_and_a_slot_but_no_compute() -> None:
    ledger = ledger_of(NODE)
    ask = slice_ask(memory=from_gib(30), cores=80)
    for name in ("a", "b"):
        placed = run(ledger, request(name, ask, app_class=ONLINE))
        assert placed is not None
        assert placed.containers[0].shares[0].cores == 0
    assert rules(ledger, request("c", ask, app_class=ONLINE)) == [CardRule.MEMORY]


def test_online_slices_look_at_no_policy_and_leave_none() -> None:
    ledger = ledger_of(NODE)
    ledger.put_tenant(tenant("off", NODE, Part(0), qos=FIXED, app_class=OFFLINE))
    assert run(ledger, request("on", SMALL, qos=BURST, app_class=ONLINE)) is not None
    ledger.remove(pod("off").uid)
    assert run(ledger, request("on2", SMALL, qos=FIXED, app_class=ONLINE)) is not None


@pytest.mark.parametrize(
    ("neighbours", "given_card"),
    [
        pytest.param({2: [OFFLINE], 1: [ONLINE, ONLINE]}, 0, id="an idle card"),
        pytest.param({2: [OFFLINE], 1: [ONLINE, ONLINE], 0: [ONLINE]}, 0, id="the fewest online pods"),
        pytest.param(
            {2: [OFFLINE], 1: [ONLINE, OFFLINE], 0: [ONLINE, ONLINE]}, 1, id="online pods before offline ones"
        ),
        pytest.param({2: [OFFLINE] * 2, 1: [OFFLINE], 0: [OFFLINE] * 2}, 1, id="the fewest to suspend"),
        pytest.param({2: [OFFLINE], 1: [ONLINE] * 9}, 0, id="whatever the order of cards says"),
    ],
)
def test_online_slices_go_where_they_suspend_nobody(
    neighbours: dict[int, list[AppClass]], given_card: int
) -> None:
    node = metax_node("n", 3)
    ledger = ledger_of(node)
    for at, classes in neighbours.items():
        for number, app_class in enumerate(classes):
            ledger.put_tenant(tenant(f"t{at}-{number}", node, Part(at), app_class=app_class))
    assert indexes(run(ledger, request("p", SMALL, app_class=ONLINE))) == [given_card]


@pytest.mark.parametrize(
    ("runs", "raw"),
    [
        pytest.param((), 0, id="an idle card"),
        pytest.param((OFFLINE, OFFLINE), -200, id="offline pods that would be suspended"),
        pytest.param((ONLINE,), -20, id="an online pod"),
        pytest.param((ONLINE, OFFLINE, OFFLINE), -24, id="offline pods that are suspended already"),
    ],
)
def test_an_online_pod_weighs_a_node_by_the_neighbours_of_its_card(runs: Classes, raw: int) -> None:
    ledger = ledger_of(NODE)
    for number, app_class in enumerate(runs):
        ledger.put_tenant(tenant(f"t{number}", NODE, Part(0), app_class=app_class))
    (score,) = filter_nodes(ledger, request("p", SMALL, app_class=ONLINE), DEFAULTS).score.tolist()
    fullness = 10 * len(runs) * (1 / 16 + 10 / 100 + 1 / 64)
    assert score == pytest.approx(10_000 * raw + fullness)


@pytest.mark.parametrize(
    ("runs", "welcome"),
    [
        pytest.param((), set(QosPolicy), id="an idle card"),
        pytest.param((FIXED,), {FIXED}, id="fixed-share"),
        pytest.param((BURST, BURST), {BURST}, id="burst-share twice"),
        pytest.param((None,), set(QosPolicy), id="a pod without a policy"),
    ],
)
def test_a_card_takes_the_policy_it_runs(runs: tuple[QosPolicy | None, ...], welcome: set[QosPolicy]) -> None:
    ledger = ledger_of(NODE)
    for number, policy in enumerate(runs):
        ledger.put_tenant(tenant(f"t{number}", NODE, Part(0), qos=policy))
    for policy in QosPolicy:
        expected = CardRule.FITS if policy in welcome else CardRule.QOS
        assert rules(ledger, request("p", SMALL, qos=policy)) == [expected]


def test_an_exclusive_slice_is_kept_off_by_the_pods_there_not_by_their_policy() -> None:
    ledger = ledger_of(NODE)
    ledger.put_tenant(tenant("t", NODE, Part(0, from_gib(4), 0), qos=FIXED))
    assert rules(ledger, request("p", slice_ask(), qos=BURST)) == [CardRule.MEMORY]
    assert rules(ledger, request("p", slice_ask(memory=from_gib(1)), qos=BURST)) == [CardRule.EXCLUSIVE]


def test_an_exclusive_slice_holds_its_card_to_no_policy() -> None:
    ledger = ledger_of(NODE)
    ledger.put_tenant(tenant("t", NODE, Part(0, from_gib(4), 100), qos=FIXED))
    # What keeps the others off is the compute, and that is what they are told.
    assert rules(ledger, request("p", SMALL, qos=BURST)) == [CardRule.CORES]


def test_what_the_node_announces_is_a_hint_and_the_tenants_are_the_truth() -> None:
    # B4: the plugin still reports the policy of a pod that is gone, or of one that never started.
    announced = msgspec.structs.replace(NODE.cards[0], announced_qos=FIXED)
    ledger = ledger_of(msgspec.structs.replace(NODE, cards=(announced,)))
    for policy in QosPolicy:
        assert rules(ledger, request("p", SMALL, qos=policy)) == [CardRule.FITS]


@pytest.mark.parametrize("how", ["bound and deleted", "reserved and released", "reserved and expired"])
@pytest.mark.parametrize("cores", [10, 100])
def test_no_policy_outlives_the_pod_that_brought_it(how: str, cores: int) -> None:
    # B4: a pending policy that is never cleared refuses right pods, or mixes policies on a card.
    ledger = ledger_of(NODE)
    first = request("first", slice_ask(memory=from_gib(4), cores=cores), qos=FIXED)
    outcome = filter_nodes(ledger, first, DEFAULTS)
    assert outcome.allocation is not None
    holder = tenant_for(first, outcome.allocation)
    if how == "bound and deleted":
        ledger.put_tenant(holder)
        ledger.remove(holder.pod.uid)
    else:
        assert ledger.reserve(holder, expires_at=60, attempt=ledger.begin_attempt())
        assert ledger.release(holder.pod.uid) if how.endswith("released") else ledger.expire(60)
    for policy in QosPolicy:
        assert rules(ledger, request("p", SMALL, qos=policy)) == [CardRule.FITS]
    assert run(ledger, request("second", SMALL, qos=BURST)) is not None
    assert rules(ledger, request("third", SMALL, qos=FIXED)) == [CardRule.QOS]


def test_the_policy_stays_while_one_of_its_pods_is_left() -> None:
    ledger = ledger_of(NODE)
    for name in ("a", "b"):
        assert run(ledger, request(name, SMALL, qos=FIXED)) is not None
    ledger.remove(pod("a").uid)
    assert rules(ledger, request("p", SMALL, qos=BURST)) == [CardRule.QOS]
    ledger.remove(pod("b").uid)
    assert rules(ledger, request("p", SMALL, qos=BURST)) == [CardRule.FITS]

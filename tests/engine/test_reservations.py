"""Promises and facts: reservations end by themselves, bound pods are the truth, and nothing is left behind."""

from builders.clusters import metax_node
from builders.requests import DEFAULTS, indexes, pod, request, slice_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.allocate import tenant_for
from tangram.engine.filter import filter_nodes
from tangram.engine.ledger import Ledger
from tangram.model.allocations import Tenant
from tangram.model.requests import Request
from tangram.units.ids import NodeName
from tangram.units.memory import from_gib

NODE = metax_node("n", 2)
OTHER = metax_node("other", 2)
ALL = slice_ask()


def filtered(ledger: Ledger, asked: Request) -> Tenant:
    outcome = filter_nodes(ledger, asked, DEFAULTS)
    assert outcome.allocation is not None
    return tenant_for(asked, outcome.allocation)


def reserved(ledger: Ledger, holder: Tenant, *, until: float = 60) -> bool:
    return ledger.reserve(holder, expires_at=until, attempt=ledger.begin_attempt())


def used(ledger: Ledger, node: str = "n") -> list[int]:
    """GiB in use per card."""
    view = ledger.view((NodeName(node),))
    return [int(each) // from_gib(1) for each in view.use.memory[0, :2]]


def test_a_reservation_keeps_its_cards_until_its_time_is_over() -> None:
    ledger = ledger_of(NODE)
    holder = filtered(ledger, request("p", ALL))
    assert reserved(ledger, holder)
    assert used(ledger) == [0, 64]
    assert ledger.expire(59.9) == []
    assert ledger.expire(60) == [holder]
    assert used(ledger) == [0, 0]
    assert ledger.reservations() == []
    assert ledger.expire(1e9) == []


def test_a_pods_own_reservation_does_not_stand_in_its_way() -> None:
    ledger = ledger_of(metax_node("n", 1))
    holder = filtered(ledger, request("p", ALL))
    assert reserved(ledger, holder)
    assert filtered(ledger, request("p", ALL)) == holder
    assert filter_nodes(ledger, request("q", ALL), DEFAULTS).node is None


def test_every_filter_call_replaces_the_last_promise_of_the_pod() -> None:
    ledger = ledger_of(NODE, OTHER)
    assert reserved(ledger, tenant("p", NODE, Part(0)))
    assert reserved(ledger, tenant("p", OTHER, Part(1)))
    assert (used(ledger, "n"), used(ledger, "other")) == ([0, 0], [0, 1])
    assert ledger.reservations() == [pod("p").uid]


def test_an_older_try_that_comes_late_never_overwrites_a_newer_one() -> None:
    # B33: a filter that outlives kube-scheduler's patience answers after its successor.
    ledger = ledger_of(NODE, OTHER)
    older, newer = ledger.begin_attempt(), ledger.begin_attempt()
    assert ledger.reserve(tenant("p", NODE, Part(0)), expires_at=60, attempt=newer)
    assert not ledger.reserve(tenant("p", OTHER, Part(0)), expires_at=90, attempt=older)
    assert (used(ledger, "n"), used(ledger, "other")) == ([1, 0], [0, 0])


def test_a_decision_sees_every_promise_made_before_it() -> None:
    # B33: read, choose and reserve happen on one state.
    ledger = ledger_of(NODE)
    cards = [indexes(run_reserved(ledger, f"p{at}").allocation) for at in range(2)]
    assert cards == [[1], [0]]
    assert filter_nodes(ledger, request("p3", ALL), DEFAULTS).node is None


def run_reserved(ledger: Ledger, name: str) -> Tenant:
    holder = filtered(ledger, request(name, ALL))
    assert reserved(ledger, holder)
    return holder


def test_the_bind_wins_over_whatever_was_promised() -> None:
    ledger = ledger_of(NODE, OTHER)
    attempt = ledger.begin_attempt()
    assert ledger.reserve(tenant("p", NODE, Part(0)), expires_at=60, attempt=attempt)
    ledger.put_tenant(tenant("p", OTHER, Part(1)))
    assert (used(ledger, "n"), used(ledger, "other")) == ([0, 0], [0, 1])
    later = ledger.begin_attempt()
    assert not ledger.reserve(tenant("p", NODE, Part(0)), expires_at=60, attempt=later)
    assert ledger.expire(1e9) == []
    assert used(ledger, "other") == [0, 1]


def test_giving_up_a_reservation_never_touches_a_bound_pod() -> None:
    ledger = ledger_of(NODE)
    ledger.put_tenant(tenant("p", NODE, Part(0)))
    assert not ledger.release(pod("p").uid)
    assert used(ledger) == [1, 0]
    assert not ledger.release(pod("unknown").uid)


def test_a_failed_bind_leaves_nothing_behind() -> None:
    # B22: lock, patch and bind failures kept the reservation.
    ledger = ledger_of(NODE)
    assert reserved(ledger, filtered(ledger, request("p", ALL)))
    assert ledger.release(pod("p").uid)
    assert used(ledger) == [0, 0]
    assert ledger.holding(pod("p").uid) is None


def test_after_a_restart_only_bound_pods_hold_cards() -> None:
    # B2: a stale annotation on a pending pod brought its reservation back, restart after restart.
    before = ledger_of(NODE)
    before.put_tenant(tenant("bound", NODE, Part(0)))
    assert reserved(before, tenant("pending", NODE, Part(1)))
    after = ledger_of(NODE)
    for holding in before.holdings():
        if holding.bound:
            after.put_tenant(holding.tenant)
    assert used(after) == [1, 0]
    assert after.reservations() == []


def test_a_bound_pod_whose_cards_or_node_change_is_read_again() -> None:
    # B21: an update of a known pod never re-read node and cards.
    ledger = ledger_of(NODE, OTHER)
    ledger.put_tenant(tenant("p", NODE, Part(0, from_gib(8))))
    ledger.put_tenant(tenant("p", NODE, Part(1, from_gib(2))))
    assert used(ledger) == [0, 2]
    ledger.put_tenant(tenant("p", OTHER, Part(0, from_gib(2))))
    assert (used(ledger, "n"), used(ledger, "other")) == ([0, 0], [2, 0])
    assert ledger.holdings_on(NODE.name) == []
    assert ledger.remove(pod("p").uid) is not None
    assert used(ledger, "other") == [0, 0]


def test_the_same_event_twice_counts_once() -> None:
    ledger = ledger_of(NODE)
    for _ in range(2):
        ledger.put_tenant(tenant("p", NODE, Part(0)))
    assert used(ledger) == [1, 0]
    assert ledger.remove(pod("p").uid) is not None
    assert ledger.remove(pod("p").uid) is None
    assert used(ledger) == [0, 0]

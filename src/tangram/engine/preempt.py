"""Who would have to go so that a more important pod fits: the fewest pods, and of those the least important.

kube-scheduler cannot work this out for shares, because it does not see them. This only names victims; whoever evicts
them respects the budgets again at that moment. A pod protected by a disruption budget is named only when no set
without one is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType

import msgspec
import numpy as np

from tangram.engine.filter import EVERY_NODE, Candidates, filter_nodes
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.allocations import Allocation, Tenant
from tangram.model.requests import Request
from tangram.units.ids import NodeName, PodUid

MOST_TRIES = 400
"""Sets of victims tried per node before settling for giving back one by one."""


_NOBODY: Mapping[PodUid, tuple[str, ...]] = MappingProxyType({})

_Fits = Callable[[Iterable[Tenant]], Allocation | None]


class Preemption(msgspec.Struct, frozen=True):
    """Evict these, and the pod fits there on those cards."""

    node: NodeName
    victims: tuple[Tenant, ...]
    allocation: Allocation

    @property
    def budgets_violated(self) -> int:
        return sum(1 for victim in self.victims if victim.protected_by)

    @property
    def cost(self) -> tuple[int, int, int, int, str]:
        """Smaller is kinder."""
        priorities = [victim.priority for victim in self.victims]
        return self.budgets_violated, len(priorities), max(priorities), sum(priorities), self.node


def hopeful_nodes(
    ledger: Ledger,
    request: Request,
    defaults: Defaults,
    candidates: Candidates = EVERY_NODE,
    *,
    most: int,
) -> list[NodeName]:
    """At most so many nodes where evicting everyone weaker would make room, the most promising first; none for a pod
    that needs no room.
    """
    weaker = {
        name: tenants for name in _names(ledger, candidates) if (tenants := weaker_on(ledger, request, name))
    }
    everyone = [tenant.pod.uid for tenants in weaker.values() for tenant in tenants]
    if not everyone or filter_nodes(ledger, request, defaults, candidates).node is not None:
        return []
    narrowed = candidates._replace(names=tuple(weaker))
    outcome = filter_nodes(ledger, request, defaults, narrowed, without=everyone)
    hopeful = [
        ledger.node_at(int(outcome.view.rows[at])).name for at in np.flatnonzero(outcome.placement.fits)
    ]
    hopeful.sort(key=lambda name: (min(tenant.priority for tenant in weaker[name]), len(weaker[name]), name))
    return hopeful[:most]


def preemption_on(
    ledger: Ledger,
    request: Request,
    defaults: Defaults,
    here: Candidates,
    *,
    protected: Mapping[PodUid, tuple[str, ...]] = _NOBODY,
) -> Preemption | None:
    """The kindest way to make room on the one node `here` names. `protected` are pods whose budgets forbid it."""
    weaker = [
        msgspec.structs.replace(tenant, protected_by=protected.get(tenant.pod.uid, tenant.protected_by))
        for name in here.names or ()
        for tenant in weaker_on(ledger, request, name)
    ]
    weaker.sort(key=_least_important)
    return _on_node(ledger, request, defaults, here, weaker=weaker)


def adjusted(
    ledger: Ledger,
    request: Request,
    defaults: Defaults,
    node: NodeName,
    given: Collection[PodUid],
    *,
    spared: Collection[PodUid] = (),
) -> tuple[PodUid, ...] | None:
    """Who has to go on a node, beginning with those that somebody named who does not see cards.

    As many more as the cards need, none of them one of the `spared`; and none of the given who holds cards that help
    nobody. None when nothing helps. Where the pod lacks nothing that is seen here, they were named for something else.
    """
    here = Candidates(names=(node,))

    def fits_without(uids: Iterable[PodUid]) -> Allocation | None:
        return filter_nodes(ledger, request, defaults, here, without=tuple(uids)).allocation

    victims = list(given)
    if fits_without(()) is not None:
        return tuple(victims)
    if fits_without(victims) is None:
        stay = {*given, *spared}
        others = [tenant for tenant in weaker_on(ledger, request, node) if tenant.pod.uid not in stay]
        if fits_without([*given, *(tenant.pod.uid for tenant in others)]) is None:
            return None
        more = _fewest(others, lambda group: fits_without((*given, *(each.pod.uid for each in group))))
        victims += [tenant.pod.uid for tenant in more]
    for uid in given:
        holding = ledger.holding(uid)
        without_it = [each for each in victims if each != uid]
        # One without cards was named for a reason that need not be seen here, such as a port.
        if holding is not None and holding.charges and fits_without(without_it) is not None:
            victims = without_it
    return tuple(victims)


def weaker_on(ledger: Ledger, request: Request, name: NodeName) -> list[Tenant]:
    """Bound pods of lower priority on a node that hold cards, the least important first."""
    tenants = [
        holding.tenant
        for holding in ledger.holdings_on(name)
        if holding.bound and holding.charges and holding.tenant.priority < request.priority
    ]
    return sorted(tenants, key=_least_important)


def _names(ledger: Ledger, candidates: Candidates) -> list[NodeName]:
    if candidates.names is None:
        return [node.name for node in ledger.nodes()]
    return list(candidates.names)


def _least_important(tenant: Tenant) -> tuple[bool, int, str]:
    return bool(tenant.protected_by), tenant.priority, str(tenant.pod)


def _on_node(
    ledger: Ledger, request: Request, defaults: Defaults, here: Candidates, *, weaker: Sequence[Tenant]
) -> Preemption | None:
    def fits_without(victims: Iterable[Tenant]) -> Allocation | None:
        uids: list[PodUid] = [victim.pod.uid for victim in victims]
        return filter_nodes(ledger, request, defaults, here, without=uids).allocation

    unprotected = [tenant for tenant in weaker if not tenant.protected_by]
    for pool in (unprotected, list(weaker)) if len(unprotected) < len(weaker) else (unprotected,):
        if fits_without(pool) is None:
            continue
        victims = _fewest(pool, fits_without)
        allocation = fits_without(victims)
        if allocation is not None:
            return Preemption(allocation.node, tuple(victims), allocation)
    return None


def _fewest(pool: Sequence[Tenant], fits_without: _Fits) -> list[Tenant]:
    """The kindest set that makes room, exactly while that is affordable, else by giving back the most important."""
    tries = 0
    for groups in _kindest_first(pool):
        best: list[Tenant] | None = None
        for group in groups:
            tries += 1
            if tries > MOST_TRIES:
                return best or _given_back(pool, fits_without)
            if best is not None and _worth(group) >= _worth(best):
                continue
            if fits_without(group) is not None:
                best = list(group)
        if best is not None:
            return best
    return list(pool)


def _kindest_first(pool: Sequence[Tenant]) -> Iterator[Iterator[tuple[Tenant, ...]]]:
    """Sets that break equally many budgets and are equally large, group by group in the order of `cost`.

    A pool with protected pods in it was only taken because sparing all of them is not enough.
    """
    protected = [tenant for tenant in pool if tenant.protected_by]
    others = [tenant for tenant in pool if not tenant.protected_by]
    for broken in range(1 if protected else 0, len(protected) + 1):
        for more in range(len(others) + 1):
            if broken + more:
                yield (
                    one + other
                    for one in combinations(protected, broken)
                    for other in combinations(others, more)
                )


def _worth(victims: Iterable[Tenant]) -> tuple[int, int, int]:
    priorities = [victim.priority for victim in victims]
    return sum(1 for victim in victims if victim.protected_by), max(priorities), sum(priorities)


def _given_back(pool: Sequence[Tenant], fits_without: _Fits) -> list[Tenant]:
    """Everyone goes, then as many as possible stay after all, the most important first."""
    victims = list(pool)
    for tenant in sorted(pool, key=lambda each: (not each.protected_by, -each.priority, str(each.pod))):
        spared = [each for each in victims if each is not tenant]
        if spared and fits_without(spared) is not None:
            victims = spared
    return victims

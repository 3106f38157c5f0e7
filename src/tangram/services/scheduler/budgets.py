"""Which of the pods that could go for a more important one are under a disruption budget, and how far it reaches.

Only a warning ahead of time, so that others are chosen: every eviction is asked for, and the API server has the last
word. What kube-scheduler's own preemption treats as a wish is a bar here, because nobody but us chose these victims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tangram.engine.preempt import weaker_on
from tangram.kube.api import Api
from tangram.kube.informer import Change
from tangram.model.allocations import Tenant
from tangram.model.requests import Request
from tangram.services.scheduler.state import State
from tangram.units.ids import NodeName, PodUid
from tangram.wire import loose
from tangram.wire.disruption import Budget

_PAGE = 500


class Budgets:
    """Every budget of the cluster, fed by an informer."""

    def __init__(self, state: State, api: Api) -> None:
        self._state = state
        self._api = api
        self._known: dict[tuple[str, str], Budget] = {}

    def changed(self, change: Change[Budget]) -> None:
        key = change.key.namespace, change.key.name
        if change.new is None:
            self._known.pop(key, None)
        else:
            self._known[key] = change.new

    async def over(self, request: Request, node: NodeName) -> dict[PodUid, tuple[Budget, ...]]:
        """The budgets of those who might have to go there. Raises `ApiError` and `ApiUnreachable`.

        Labels are kept nowhere, and read only where a budget could be concerned.
        """
        weaker = {tenant.pod.uid: tenant.pod for tenant in weaker_on(self._state.ledger, request, node)}
        namespaces = {str(pod.namespace) for pod in weaker.values()}
        budgets = [budget for budget in self._known.values() if budget.namespace in namespaces]
        if not budgets:
            return {}
        found: dict[PodUid, tuple[Budget, ...]] = {}
        query = {"fieldSelector": f"spec.nodeName={node}"}
        async for page in self._api.pages("/api/v1/pods", query, _PAGE):
            for pod in loose.elements(page.get("items")):
                metadata = loose.members(loose.members(pod).get("metadata"))
                uid, labels = PodUid(loose.text(metadata.get("uid"))), loose.text_map(metadata.get("labels"))
                namespace = loose.text(metadata.get("namespace"))
                over = tuple(each for each in budgets if each.covers(namespace, labels))
                if uid in weaker and over:
                    found[uid] = over
        return found


def names_of(budgets: Iterable[Budget]) -> tuple[str, ...]:
    """For a tenant's `protected_by`."""
    return tuple(budget.name for budget in budgets)


def is_forbidden(budgets: Sequence[Budget]) -> bool:
    """Whether no eviction of a pod under these would be accepted; the API server takes none under more than one."""
    return len(budgets) > 1 or any(budget.allowed < 1 for budget in budgets)


def beyond_budget(
    victims: Iterable[Tenant], budgets: Mapping[PodUid, tuple[Budget, ...]]
) -> tuple[PodUid, ...]:
    """Those of the victims that are more than their budget allows together, the most important of them."""
    spent: Counter[tuple[str, str]] = Counter()
    beyond: list[PodUid] = []
    for victim in sorted(victims, key=lambda each: each.priority):
        for budget in budgets.get(victim.pod.uid, ()):
            key = budget.namespace, budget.name
            spent[key] += 1
            if spent[key] > budget.allowed:
                beyond.append(victim.pod.uid)
    return tuple(beyond)

"""What the pods of each namespace hold, kept up to date so that a burst cannot slip through a quota.

Promises count like bound pods: of a hundred pods that were admitted at once, only as many are given cards as the quota
allows. Only namespaces that have a quota are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tangram.kube.api import Object
from tangram.kube.informer import Change
from tangram.model.allocations import Allocation, Tenant
from tangram.model.cards import Card
from tangram.model.requests import Request
from tangram.services.scheduler.metrics_of_hami import QuotaFigure
from tangram.services.scheduler.quota_use import (
    Quota,
    QuotaUse,
    Unit,
    UnitKey,
    allocation_use,
    smallest_units,
)
from tangram.services.scheduler.quotas import Quotas
from tangram.services.scheduler.state import State
from tangram.units.ids import CardUuid, NodeName, PodUid


class QuotaBook:
    def __init__(self, state: State, quotas: Quotas) -> None:
        self._state = state
        self._quotas = quotas
        self.enabled = True
        self._used: dict[str, dict[Quota, int]] = {}
        self._by_pod: dict[PodUid, QuotaUse] = {}
        self._smallest: Mapping[UnitKey, Unit] = {}
        self._smallest_of = -1
        state.ledger.moved = self._moved

    def quota_changed(self, change: Change[Object]) -> None:
        """Fed by an informer of ResourceQuotas."""
        namespace, name = change.key
        if change.new is None:
            self._quotas.remove(namespace, name)
        else:
            self._quotas.put(namespace, name, change.new)
        if not self._quotas.limits(namespace):
            self._used.pop(namespace, None)
        elif namespace not in self._used:
            self._used[namespace] = {}
            for holding in self._state.ledger.holdings():
                if holding.tenant.pod.namespace == namespace:
                    self._moved(holding.tenant, 1)

    def over(self, request: Request, allocation: Allocation) -> str | None:
        """Why the pod may not have these cards, its own promise left out of account."""
        namespace = str(request.pod.namespace)
        used = self._used.get(namespace)
        if used is None or not self.enabled:
            return None
        own = self._by_pod.get(request.pod.uid, {})
        others = {quota: amount - own.get(quota, 0) for quota, amount in used.items()}
        return self._quotas.exceeded(request, allocation_use(allocation, self._card), others)

    def over_at_admission(self, request: Request) -> str | None:
        """Why a new pod could not have any cards that it asks for."""
        used = self._used.get(str(request.pod.namespace))
        if used is None or not self.enabled:
            return None
        if self._smallest_of != self._state.edition:
            self._smallest = smallest_units(self._state.ledger.nodes())
            self._smallest_of = self._state.edition
        return self._quotas.exceeded_at_admission(request, used, self._smallest)

    def figures(self) -> Iterator[QuotaFigure]:
        """For the metrics."""
        return self._quotas.figures(lambda namespace: self._used.get(namespace, {}))

    def _moved(self, tenant: Tenant, sign: int) -> None:
        uid, used = tenant.pod.uid, self._used.get(str(tenant.pod.namespace))
        if used is None:
            return
        if sign < 0:
            own = self._by_pod.pop(uid, {})
        else:
            own = self._by_pod[uid] = allocation_use(
                tenant.allocation, self._card, init_done=tenant.init_done
            )
        for quota, amount in own.items():
            used[quota] = used.get(quota, 0) + sign * amount

    def _card(self, node: NodeName, uuid: CardUuid) -> Card | None:
        known = self._state.ledger.node(node)
        return None if known is None else next((card for card in known.cards if card.uuid == uuid), None)

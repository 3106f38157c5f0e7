"""What a namespace may hold of cards, from the ResourceQuotas that HAMi's users write.

The keys are `limits.` before a vendor's memory or compute resource; Kubernetes accepts them and counts nothing. Two
things differ from HAMi, on purpose. Of several quotas in a namespace the strictest counts, where HAMi takes whichever
it saw last. And whole cards count with their memory, where HAMi counts none, so that leaving the size out is no way
around a quota: with the smallest card there is while nobody knows which it will be, and with the card's own memory
once it is chosen. That second check is also what stops a burst of pods that were all admitted together. Scopes of a
quota are not looked at, as in HAMi.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from tangram.model.requests import Request
from tangram.services.scheduler.metrics_of_hami import QuotaFigure
from tangram.services.scheduler.quota_use import Quota, QuotaUse, Unit, UnitKey, least_use
from tangram.units.memory import GIB, MIB, SGPU_MEMORY_UNIT, Bytes, memory_text
from tangram.units.quantity import Format, Quantity, QuantityError, parse_quantity
from tangram.vendors.renaming import NOTHING_RENAMED, Renamed, own_name, with_usual_names
from tangram.vendors.wording import sentence
from tangram.wire import loose

REASON: Final = "ResourceQuotaNotFit"
"""HAMi's word for a node that only a quota keeps a pod from."""
_PEER: Final = "exceeding resource quota"
_PREFIX: Final = "limits."
_QUOTAS: Final = {quota.value: quota for quota in Quota}
_MEMORY: Final = (Quota.METAX_MEMORY, Quota.MTHREADS_MEMORY)


class Limit(msgspec.Struct, frozen=True, order=True):
    amount: int
    quota: str
    """The ResourceQuota that sets it."""
    resource: str
    """What the cluster calls the resource."""


class Quotas:
    """The ResourceQuotas of all namespaces, as far as they are about cards. `renamed` may change at any time."""

    def __init__(self, renamed: Renamed = NOTHING_RENAMED) -> None:
        self.renamed = renamed
        self._hard: dict[str, dict[str, dict[str, str]]] = {}
        """Namespace to ResourceQuota to resource to text."""

    def put(self, namespace: str, name: str, manifest: Mapping[str, object]) -> None:
        """A ResourceQuota that is new or has changed."""
        hard = loose.text_map(loose.members(manifest.get("spec")).get("hard"))
        texts = {
            key.removeprefix(_PREFIX): text
            for key, text in hard.items()
            if key.startswith(_PREFIX) and "/" in key
        }
        if texts:
            self._hard.setdefault(namespace, {})[name] = texts
        else:
            self.remove(namespace, name)

    def remove(self, namespace: str, name: str) -> None:
        of_namespace = self._hard.get(namespace, {})
        of_namespace.pop(name, None)
        if not of_namespace:
            self._hard.pop(namespace, None)

    def limits(self, namespace: str) -> Mapping[Quota, Limit]:
        """What counts in a namespace: of each resource the smallest amount that any of its quotas sets."""
        strictest: dict[Quota, Limit] = {}
        for name, texts in self._hard.get(namespace, {}).items():
            for resource, text in with_usual_names(texts, self.renamed).items():
                quota = _QUOTAS.get(resource)
                if quota is not None:
                    limit = Limit(_amount(quota, text), name, own_name(quota, self.renamed))
                    strictest[quota] = min(strictest.get(quota, limit), limit)
        return strictest

    def exceeded_at_admission(
        self, request: Request, used: QuotaUse, smallest: Mapping[UnitKey, Unit]
    ) -> str | None:
        """Why the pod could not be placed within its namespace's quotas, wherever it went; None when it could.

        `smallest` is from `smallest_units`, best worked out once for each change of nodes. Neither it nor `used` is
        looked at in a namespace without `limits`.
        """
        limits = self.limits(request.pod.namespace)
        if not limits:
            return None
        wanted = least_use(request, smallest)
        for quota, limit in sorted(limits.items()):
            if wanted.get(quota, 0) and used.get(quota, 0) + wanted[quota] > limit.amount:
                return sentence(
                    f"pod {request.pod} asks for {_text(quota, wanted[quota])} of {limit.resource} and its namespace"
                    f" holds {_text(quota, used.get(quota, 0))}",
                    f"quota {limit.quota} allows {_text(quota, limit.amount)} in all",
                    "ask for less, wait until pods of the namespace have ended, or have the quota raised",
                    peer=_PEER,
                )
        return None

    def exceeded(self, request: Request, wanted: QuotaUse, used: QuotaUse) -> str | None:
        """Why a pod may not have the cards that were chosen; `used` leaves this pod out.

        The sentence says nothing of what others hold: one that changed with every pod of the namespace would make
        kube-scheduler try the pod again and again.
        """
        for quota, limit in sorted(self.limits(request.pod.namespace).items()):
            if wanted.get(quota, 0) and used.get(quota, 0) + wanted[quota] > limit.amount:
                return f"{REASON}: " + sentence(
                    f"pod {request.pod} would hold {_text(quota, wanted[quota])} of {limit.resource}",
                    f"quota {limit.quota} allows its namespace {_text(quota, limit.amount)} in all",
                    "wait until pods of the namespace have ended, ask for less, or have the quota raised",
                    peer=_PEER,
                )
        return None

    def figures(self, used_in: Callable[[str], QuotaUse]) -> Iterator[QuotaFigure]:
        """Every limit that counts, with what is held under it, in HAMi's units: MiB and the vendor's compute."""
        for namespace in sorted(self._hard):
            limits = self.limits(namespace)
            if not limits:
                continue
            used = used_in(namespace)
            for quota, limit in sorted(limits.items()):
                unit = MIB if quota in _MEMORY else 1
                held, allowed = used.get(quota, 0) // unit, limit.amount // unit
                yield QuotaFigure(namespace, limit.resource, held, allowed)


def _amount(quota: Quota, text: str) -> int:
    """The amount a quota sets. What cannot be read, or is below zero, allows nothing: the API server lets none pass."""
    try:
        quantity = parse_quantity(text)
    except QuantityError:
        return 0
    number = max(0, int(quantity.as_fraction()))
    match quota:
        case Quota.METAX_MEMORY:
            return number * (1 if _is_in_bytes(quantity) else GIB)
        case Quota.MTHREADS_MEMORY:
            return number * SGPU_MEMORY_UNIT
        case _:
            return number


def _is_in_bytes(quantity: Quantity) -> bool:
    """Whether `vmemory` was limited in bytes rather than in GiB, as HAMi reads it always.

    The API server writes 2000 as 2k, so a letter alone says nothing; but nobody limits a namespace to 2000 bytes, and
    nobody has a million GiB.
    """
    return quantity.format is Format.BINARY_SI or quantity.value() >= MIB


def _text(quota: Quota, amount: int) -> str:
    return memory_text(Bytes(amount)) if quota in _MEMORY else str(amount)

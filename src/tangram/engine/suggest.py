"""The nearest changes that would let a waiting pod run, each one tried before it is named.

A suggestion that was not run through the filter is a guess, and a person who follows a wrong guess stops asking. So
every change here is applied to the request, the filter is asked again, and only what then fits is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from tangram.engine.filter import EVERY_NODE, Candidates, filter_nodes
from tangram.engine.frag import FragScores
from tangram.engine.hostrules import taint_text
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.engine.view import View
from tangram.model.allocations import Tenant
from tangram.model.cards import QosPolicy
from tangram.model.nodes import Node
from tangram.model.pods import Toleration
from tangram.model.requests import Ask, AskKind, CardFilter, CardOrder, HostAsk, Request
from tangram.model.verdicts import Suggestion
from tangram.units.ids import NodeName
from tangram.units.memory import MIB, Bytes, floor_mib, from_mib, memory_text, rough_memory_text

MOST_ENDINGS_TRIED = 64
"""Running pods whose end is tried, those that hold least first."""
MOST_TAINTS_TRIED = 16
FEW_AMOUNTS = 16
"""Up to this many amounts are tried one by one, beyond it by halving."""

Fits = Callable[[Request], NodeName | None]


class Ground(NamedTuple):
    """The nodes that changes are tried on."""

    nodes: Sequence[Node]
    view: View


Kind = Callable[[Ground, Request, Fits], Suggestion | None]


def suggest(
    ledger: Ledger,
    request: Request,
    defaults: Defaults,
    candidates: Candidates = EVERY_NODE,
    *,
    frag: FragScores | None = None,
    most: int = 5,
) -> tuple[Suggestion, ...]:
    """At most that many verified changes, one of each kind, those that cost the person least first."""

    def fits(changed: Request) -> NodeName | None:
        return filter_nodes(ledger, changed, defaults, candidates, frag=frag).node

    view = ledger.view(candidates.names)
    ground = Ground([ledger.node_at(row) for row in view.rows[view.nodes.live].tolist()], view)
    found: list[Suggestion] = []
    for kind in _KINDS:
        suggestion = kind(ground, request, fits)
        if suggestion is not None:
            found.append(suggestion)
    ending = _when_a_pod_ends(ledger, request, defaults, candidates)
    if ending is not None:
        found.insert(min(len(found), most - 1), ending)
    return tuple(found[:most])


def _if_fits(fits: Fits, changed: Request, code: str, sentence: str, **change: str) -> Suggestion | None:
    node = fits(changed)
    return None if node is None else _suggestion(code, sentence, node, **change)


def _suggestion(code: str, sentence: str, node: NodeName, **change: object) -> Suggestion:
    return Suggestion(
        code, sentence, node, change=tuple((name, str(value)) for name, value in change.items())
    )


def _drop_scope(_: Ground, request: Request, fits: Fits) -> Suggestion | None:
    if request.required_scope is None:
        return None
    changed = msgspec.structs.replace(request, required_scope=None)
    return _if_fits(
        fits,
        changed,
        "drop-scope",
        f"drop the rule that all cards lie within one {request.required_scope}",
        scope=request.required_scope,
    )


def _drop_mutex(_: Ground, request: Request, fits: Fits) -> Suggestion | None:
    rest = tuple(each for each in request.card_order if each is not CardOrder.MUTEX)
    if rest == request.card_order:
        return None
    changed = msgspec.structs.replace(request, card_order=rest)
    return _if_fits(
        fits, changed, "drop-mutex", "drop card policy mutex, which wants a card nobody else uses"
    )


def _drop_card_lists(_: Ground, request: Request, fits: Fits) -> Suggestion | None:
    if request.cards == CardFilter():
        return None
    changed = msgspec.structs.replace(request, cards=CardFilter())
    return _if_fits(fits, changed, "drop-card-lists", "drop the lists of allowed and forbidden cards")


def _other_qos(_: Ground, request: Request, fits: Fits) -> Suggestion | None:
    for policy in QosPolicy if request.qos is not None else ():
        node = fits(msgspec.structs.replace(request, qos=policy)) if policy is not request.qos else None
        if node is not None:
            sentence = f"ask for policy {policy} instead of {request.qos}"
            return _suggestion("other-qos", sentence, node, qos=policy, was=request.qos)
    return None


def _drop_app_class(_: Ground, request: Request, fits: Fits) -> Suggestion | None:
    if request.app_class is None:
        return None
    changed = msgspec.structs.replace(request, app_class=None)
    sentence = f"drop app class {request.app_class}"
    # `class` is no name in Python.
    return _if_fits(fits, changed, "drop-app-class", sentence, **{"class": request.app_class})


def _less_memory(ground: Ground, request: Request, fits: Fits) -> Suggestion | None:
    asked = {ask: _memory_asked(ground, ask) for ask in _asks(request) if ask.kind is AskKind.SLICE}
    if not asked:
        return None
    largest = max(asked.values())
    found = _largest_that_fits(
        _memory_amounts(ground, next(iter(asked)), below=largest),
        lambda amount: fits(
            _with_asks(
                request,
                lambda ask: (
                    ask if asked.get(ask, 0) <= amount else msgspec.structs.replace(ask, memory=Bytes(amount))
                ),
            )
        ),
    )
    if found is None:
        return None
    amount, node = found
    # Exact, because the person will write it down: an amount rounded up is one that does not fit.
    less, instead = rough_memory_text(Bytes(largest - amount)), memory_text(Bytes(amount))
    sentence = f"ask for {less} less memory: {instead} per card"
    return _suggestion("less-memory", sentence, node, memory=amount, was=largest)


def _memory_asked(ground: Ground, ask: Ask) -> int:
    cards = [card for node in ground.nodes for card in node.cards if card.vendor is ask.vendor]
    return max((ask.memory_on(card) for card in cards), default=ask.memory or 0)


def _memory_amounts(ground: Ground, ask: Ask, *, below: int) -> list[int]:
    """Amounts worth trying, ascending: the legal tiers, or else what cards really have free, in whole MiB."""
    tiers = {
        tier
        for node in ground.nodes
        for card in node.cards
        if card.vendor is ask.vendor
        for tier in card.memory_tiers
    }
    view = ground.view
    free = (view.facts.memory - view.use.memory)[view.facts.present]
    amounts = tiers or {from_mib(floor_mib(Bytes(int(each)))) for each in free.tolist() if each >= MIB}
    return sorted(each for each in amounts if each < below)


def _less_compute(ground: Ground, request: Request, fits: Fits) -> Suggestion | None:
    view = ground.view
    most = max((_cores_asked(ground, ask) for ask in _asks(request) if ask.kind is AskKind.SLICE), default=0)
    free = (view.facts.cores - view.use.cores)[view.facts.present]
    found = _largest_that_fits(
        sorted({int(each) for each in free.tolist() if 0 < each < most}),
        lambda amount: fits(_with_asks(request, lambda ask: _compute_capped(ask, amount))),
    )
    if found is None:
        return None
    cores, node = found
    sentence = f"ask for {cores} compute instead of {most}"
    return _suggestion("less-compute", sentence, node, cores=cores, was=most)


def _cores_asked(ground: Ground, ask: Ask) -> int:
    cards = [card for node in ground.nodes for card in node.cards if card.vendor is ask.vendor]
    return max((ask.cores_on(card) for card in cards), default=ask.cores or 0)


def _compute_capped(ask: Ask, amount: int) -> Ask:
    if ask.kind is AskKind.WHOLE or (ask.cores is not None and ask.cores <= amount):
        return ask
    return msgspec.structs.replace(ask, cores=amount)


def _fewer_cards(_: Ground, request: Request, fits: Fits) -> Suggestion | None:
    most = max((ask.count for ask in _asks(request)), default=0)
    found = _largest_that_fits(
        range(1, most),
        lambda count: fits(
            _with_asks(request, lambda ask: msgspec.structs.replace(ask, count=min(ask.count, count)))
        ),
    )
    if found is None:
        return None
    count, node = found
    sentence = f"ask for {count} card{'s' if count > 1 else ''} instead of {most}"
    return _suggestion("fewer-cards", sentence, node, count=count, was=most)


def _drop_node_rules(_: Ground, request: Request, fits: Fits) -> Suggestion | None:
    if not (request.placing.node_selector or request.placing.required):
        return None
    placing = msgspec.structs.replace(request.placing, node_selector=(), required=())
    changed = msgspec.structs.replace(request, placing=placing)
    return _if_fits(fits, changed, "drop-node-rules", "drop nodeSelector and required node affinity")


def _tolerate(ground: Ground, request: Request, fits: Fits) -> Suggestion | None:
    """One more toleration, for the taint that would open a node; the smallest by name when several would."""
    taints = sorted({taint for node in ground.nodes for taint in node.taints}, key=taint_text)
    for taint in taints[:MOST_TAINTS_TRIED]:
        extra = Toleration(key=taint.key, value=taint.value, effect=taint.effect)
        tolerations = (*request.placing.tolerations, extra)
        placing = msgspec.structs.replace(request.placing, tolerations=tolerations)
        node = (
            None
            if extra in request.placing.tolerations
            else fits(msgspec.structs.replace(request, placing=placing))
        )
        if node is not None:
            sentence = f"tolerate taint {taint_text(taint)}"
            return _suggestion(
                "tolerate", sentence, node, key=taint.key, value=taint.value, effect=taint.effect
            )
    return None


def _less_host(_: Ground, request: Request, fits: Fits) -> Suggestion | None:
    if not (request.host.cpu_milli or request.host.memory):
        return None
    # What is counted in Koordinator's words is asked of the cards, not of the host.
    changed = msgspec.structs.replace(request, host=HostAsk(counted=request.host.counted))
    return _if_fits(fits, changed, "less-host", "ask for less CPU and host memory")


_KINDS: tuple[Kind, ...] = (
    _drop_scope,
    _drop_mutex,
    _drop_card_lists,
    _other_qos,
    _drop_app_class,
    _less_memory,
    _less_compute,
    _fewer_cards,
    _drop_node_rules,
    _tolerate,
    _less_host,
)


def _largest_that_fits(
    amounts: Sequence[int], fits: Callable[[int], NodeName | None]
) -> tuple[int, NodeName] | None:
    """The largest of ascending amounts that fits. Many are searched by halving: what fits stays fitting below."""
    if len(amounts) <= FEW_AMOUNTS:
        return next(((each, node) for each in reversed(amounts) if (node := fits(each)) is not None), None)
    found: tuple[int, NodeName] | None = None
    low, high = 0, len(amounts) - 1
    while low <= high:
        middle = (low + high) // 2
        node = fits(amounts[middle])
        if node is None:
            high = middle - 1
        else:
            found, low = (amounts[middle], node), middle + 1
    return found


def _asks(request: Request) -> list[Ask]:
    return [ask for container in request.containers for ask in container.asks]


def _with_asks(request: Request, change: Callable[[Ask], Ask]) -> Request:
    containers = tuple(
        msgspec.structs.replace(container, asks=tuple(change(ask) for ask in container.asks))
        for container in request.containers
    )
    return msgspec.structs.replace(request, containers=containers)


def _when_a_pod_ends(
    ledger: Ledger, request: Request, defaults: Defaults, candidates: Candidates
) -> Suggestion | None:
    """A single pod whose end would make room, the one that gives up least."""
    for tenant in _smallest_tenants(ledger, candidates):
        here = candidates._replace(names=(tenant.allocation.node,))
        outcome = filter_nodes(ledger, request, defaults, here, without=(tenant.pod.uid,))
        if outcome.node is not None:
            sentence = f"wait until pod {tenant.pod} ends"
            change = (("pod", str(tenant.pod)),)
            return Suggestion("when-pod-ends", sentence, outcome.node, tenant.pod, change)
    return None


def _smallest_tenants(ledger: Ledger, candidates: Candidates) -> Iterator[Tenant]:
    """Tenants by how little they hold; bounded, and no node may use up all tries."""
    allowed = None if candidates.names is None else set(candidates.names)
    tenants = [
        holding.tenant
        for holding in ledger.holdings()
        if holding.charges and (allowed is None or holding.tenant.allocation.node in allowed)
    ]
    tenants.sort(key=lambda tenant: (_memory_held(tenant), str(tenant.pod)))
    tried: dict[NodeName, int] = {}
    left = MOST_ENDINGS_TRIED
    for tenant in tenants:
        node = tenant.allocation.node
        if left and tried.get(node, 0) < MOST_ENDINGS_TRIED // 4:
            tried[node] = tried.get(node, 0) + 1
            left -= 1
            yield tenant


def _memory_held(tenant: Tenant) -> int:
    return sum(share.memory for container in tenant.allocation.containers for share in container.shares)

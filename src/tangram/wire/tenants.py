"""Who holds what, read back from bound pods: the only thing the ledger is ever rebuilt from.

Only a pod with a node counts, whatever its annotations say: a manifest copied from a running pod carries that pod's
allocation, and a peer that trusted it blocked cards for pods that never ran. And a bound pod that asks for cards always
counts, even if nobody can tell which: it comes back as `Unnamed`, for the caller to charge with care, because the
alternative is selling its card again.

What a pod runs with is never judged by what admission would let in today: a request that is refused now is read by what
its kubelet counted. And an allocation counts only if it names what that request amounts to, on cards of its node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from tangram.model.allocations import Allocation, ContainerShares, Share, Tenant
from tangram.model.cards import AppClass, QosPolicy
from tangram.model.nodes import Node
from tangram.model.pods import Pod, Role
from tangram.model.requests import HostAsk, Request, Vocabulary
from tangram.units.ids import NodeName
from tangram.vendors.admission import Admission, admit
from tangram.vendors.host import read_host
from tangram.vendors.metax import names
from tangram.vendors.running import running_request
from tangram.vendors.settings import DEFAULT_SETTINGS, AdmissionSettings
from tangram.wire.as_counted import as_counted, disagreement
from tangram.wire.errors import WireError
from tangram.wire.held import Held, held_by_hami, held_by_koordinator, held_by_metax

_POLICIES = {policy.value: policy for policy in QosPolicy}
_CLASSES = {each.value: each for each in AppClass}


class Unnamed(msgspec.Struct, frozen=True):
    """A bound pod that asks for cards without saying, in a way that can be believed, which ones it holds."""

    pod: Pod
    node: NodeName
    request: Request
    """By what its kubelet counted, where admission would refuse it. It asks for no card where no amount can be read."""
    reason: str
    written: Tenant | None = None
    """What its annotation says, where that can be read and is not what the pod asks for."""


def read_tenant(
    pod: Pod,
    node: Node | None,
    settings: AdmissionSettings = DEFAULT_SETTINGS,
    *,
    admission: Admission | None = None,
) -> Tenant | Unnamed | None:
    """The pod as a holder of cards, or None when it holds none. Never raises.

    A terminating pod still holds its cards. `node` is the pod's own node, or None when nothing is known of it yet;
    ids are then taken as written. `admission` is the pod's own under the same settings, where it was read already.
    """
    if pod.node_name is None or pod.ended:
        return None
    admission = admission or admit(pod, settings)
    if not admission.ours:
        return _of_foreign_pod(pod, pod.node_name, node)
    request = admission.request or running_request(pod, settings)
    try:
        held = _held(pod, node, request)
    except WireError as error:
        return Unnamed(pod, pod.node_name, request, error.sentence)
    if not held.any:
        return Unnamed(pod, pod.node_name, request, "no annotation names its cards")
    if not request.asks_for_cards:
        return _tenant(pod, pod.node_name, held, request)
    held = as_counted(held, request, node)
    tenant = _tenant(pod, pod.node_name, held, request)
    reason = disagreement(held, request, node)
    return tenant if reason is None else Unnamed(pod, pod.node_name, request, reason, tenant)


def _of_foreign_pod(pod: Pod, node_name: NodeName, node: Node | None) -> Tenant | None:
    """A pod that names no resource of ours, as its annotations say: its cluster may have other names for them."""
    try:
        held = _held(pod, node, None)
    except WireError:
        return None
    return _tenant(pod, node_name, held, None) if held.any else None


def _tenant(pod: Pod, node_name: NodeName, held: Held, request: Request | None) -> Tenant:
    known = request is not None and request.asks_for_cards
    return Tenant(
        pod=pod.ref,
        allocation=Allocation(node_name, _containers(pod, held, request)),
        qos=request.qos
        if request is not None and known
        else _POLICIES.get(pod.annotations.get(names.QOS_POLICY, "")),
        app_class=request.app_class
        if request is not None and known
        else _CLASSES.get(pod.annotations.get(names.APP_CLASS, "")),
        priority=pod.priority,
        host=_host(pod) if request is None else request.host,
        init_done=pod.init_done,
    )


def on_the_host_alone(pod: Pod, node: NodeName) -> Tenant:
    """A pod without cards still uses processors and memory of its node."""
    containers = tuple(ContainerShares(each.name, each.role) for each in pod.containers)
    return Tenant(
        pod=pod.ref,
        allocation=Allocation(node, containers),
        priority=pod.priority,
        host=_host(pod),
        init_done=pod.init_done,
    )


def _host(pod: Pod) -> HostAsk:
    host = read_host(pod)
    return host if isinstance(host, HostAsk) else HostAsk()


def _held(pod: Pod, node: Node | None, request: Request | None) -> Held:
    """What the first believable annotation says. Raises the first `WireError` if none is."""
    first_error: WireError | None = None
    for reader in _readers(request):
        try:
            held = reader(pod, node)
        except WireError as error:
            first_error = first_error or error
            continue
        if held.any:
            return held
    if first_error is not None:
        raise first_error
    return Held()


def _readers(request: Request | None) -> Iterable[Callable[[Pod, Node | None], Held]]:
    """The pod's own words first: of two schedulers that wrote on it, the one it asked placed it."""
    containers = request.containers if request is not None else ()
    if any(ask.vocabulary is Vocabulary.KOORDINATOR for container in containers for ask in container.asks):
        return (held_by_koordinator, held_by_metax, held_by_hami)
    return (held_by_hami, held_by_metax, held_by_koordinator)


def _containers(pod: Pod, held: Held, request: Request | None) -> tuple[ContainerShares, ...]:
    shares: list[tuple[Share, ...]] = [() for _ in pod.containers]
    if held.per_pod:
        shares[_main_container(pod, request)] = held.per_pod
    else:
        shares = list(held.per_container)
    return tuple(
        ContainerShares(container.name, container.role, got)
        for container, got in zip(pod.containers, shares, strict=True)
    )


def _main_container(pod: Pod, request: Request | None) -> int:
    """Where a pod's total is booked: on a container that stays, so that it is not released when init is over."""
    asking = {
        position
        for position, container in enumerate(request.containers if request is not None else ())
        if container.asks
    } or set(range(len(pod.containers)))
    staying = [position for position in asking if pod.containers[position].role is not Role.INIT]
    return min(staying or asking)

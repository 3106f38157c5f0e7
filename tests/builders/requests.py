"""Requests as admission would hand them to the engine."""

from tangram.engine.allocate import tenant_for
from tangram.engine.filter import filter_nodes
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.allocations import Allocation
from tangram.model.cards import AppClass, QosPolicy, Vendor
from tangram.model.pods import PodRef, Role
from tangram.model.requests import (
    Ask,
    AskKind,
    CardFilter,
    CardOrder,
    ContainerAsk,
    NodePolicy,
    Request,
    Vocabulary,
)
from tangram.model.topology import TopologyScope
from tangram.units.ids import Namespace, PodName, PodUid
from tangram.units.memory import Bytes

DEFAULTS = Defaults()


def pod(name: str) -> PodRef:
    return PodRef(Namespace("default"), PodName(name), PodUid(f"uid-{name}"))


def slice_ask(
    count: int = 1, *, memory: Bytes | None = None, cores: int | None = None, vendor: Vendor = Vendor.METAX
) -> Ask:
    mthreads = vendor is Vendor.MTHREADS
    return Ask(
        vendor=vendor,
        kind=AskKind.SLICE,
        count=count,
        memory=memory,
        cores=cores,
        undivided=mthreads and (memory is None or cores == 16),
        vocabulary=Vocabulary.MTHREADS if mthreads else Vocabulary.METAX,
    )


def whole_ask(count: int = 1, *, vendor: Vendor = Vendor.METAX) -> Ask:
    return Ask(vendor=vendor, kind=AskKind.WHOLE, count=count, vocabulary=Vocabulary.METAX)


def request(
    name: str,
    *asks: Ask | ContainerAsk,
    qos: QosPolicy | None = QosPolicy.BEST_EFFORT,
    app_class: AppClass | None = None,
    node_policy: NodePolicy | None = None,
    card_order: tuple[CardOrder, ...] = (),
    cards: CardFilter | None = None,
    one_card: bool = False,
    zone_aware: bool | None = None,
    required_scope: TopologyScope | None = None,
    priority: int = 0,
) -> Request:
    """Each plain ask becomes an app container of its own."""
    containers = tuple(
        each if isinstance(each, ContainerAsk) else ContainerAsk(f"c{position}", Role.APP, (each,))
        for position, each in enumerate(asks)
    )
    return Request(
        pod=pod(name),
        containers=containers,
        qos=qos,
        app_class=app_class,
        node_policy=node_policy,
        card_order=card_order,
        cards=cards or CardFilter(),
        one_card=Vendor.MTHREADS if one_card else None,
        zone_aware=zone_aware,
        required_scope=required_scope,
        priority=priority,
    )


def run(ledger: Ledger, asked: Request, defaults: Defaults = DEFAULTS) -> Allocation | None:
    """Place the pod and make it a tenant, as filter and bind would."""
    outcome = filter_nodes(ledger, asked, defaults)
    if outcome.allocation is not None:
        ledger.put_tenant(tenant_for(asked, outcome.allocation))
    return outcome.allocation


def indexes(allocation: Allocation | None) -> list[int]:
    """The numbers of the cards given, in the order given."""
    if allocation is None:
        return []
    return [share.index for container in allocation.containers for share in container.shares]

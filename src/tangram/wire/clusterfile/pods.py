"""A pod of a short file: one that runs on cards with numbers, or one that still asks for some.

What is left out means the same as in a manifest: a slice without `cores` takes all compute of a MetaX card and reserves
none of a Moore Threads card, a MetaX slice without `qos` is best-effort. A card that is handed out whole has no parts
to give, so amounts beside it are refused rather than ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from tangram.model.cards import AppClass, QosPolicy, Vendor
from tangram.model.pods import PodRef, Role
from tangram.model.requests import Ask, AskKind, CardFilter, ContainerAsk, HostAsk, Request, Vocabulary
from tangram.units.ids import IdError, Namespace, PodName, PodUid, namespace, pod_name
from tangram.units.memory import Bytes
from tangram.vendors.wording import either
from tangram.wire.clusterfile.cards import find_product
from tangram.wire.clusterfile.fields import Fields, refusal

MOST_PODS: Final = 200_000
CONTAINER: Final = "main"

POD_KEYS: Final = (
    "name",
    "namespace",
    "count",
    "node",
    "cards",
    "memory",
    "cores",
    "kind",
    "vendor",
    "product",
    "qos",
    "app_class",
    "priority",
    "cpu",
    "host_memory",
)
_LARGEST_PRIORITY = 2_000_001_000
_MOST_CORES = {Vendor.METAX: 100, Vendor.MTHREADS: 16, Vendor.GENERIC: 100}


class Amounts(msgspec.Struct, frozen=True):
    """What the entry says of each card; None where it says nothing."""

    memory: Bytes | None
    cores: int | None
    kind: AskKind | None

    @property
    def sliced(self) -> bool:
        return self.kind is AskKind.SLICE or self.memory is not None or self.cores is not None


class Manner(msgspec.Struct, frozen=True):
    """How a pod runs, wherever it does."""

    qos: QosPolicy | None
    app_class: AppClass | None
    priority: int
    host: HostAsk


def pod_fields(value: object, place: str) -> Fields:
    """The entry with its keys checked."""
    return Fields(value, place, POD_KEYS)


def refs_of(fields: Fields) -> list[PodRef]:
    """The pods of one entry: one, or with `count` that many, numbered from 0."""
    base = fields.text("name")
    if base is None:
        raise fields.lacking("name", "write for example name: train")
    count = fields.whole("count", least=1, most=MOST_PODS)
    names = [base] if count is None else [f"{base}-{number}" for number in range(count)]
    try:
        home = namespace(fields.text("namespace") or "default")
        return [_ref(home, pod_name(name)) for name in names]
    except IdError as error:
        key = "namespace" if error.code == "id_namespace" else "name"
        raise fields.no(key, error.legal, f"write {error.instead}") from error


def amounts_of(fields: Fields) -> Amounts:
    """What the entry asks of each card, without knowing the card yet."""
    amounts = Amounts(
        fields.memory("memory"),
        fields.whole("cores", most=_MOST_CORES[Vendor.METAX]),
        fields.word("kind", AskKind),
    )
    if amounts.kind is AskKind.WHOLE and (amounts.memory is not None or amounts.cores is not None):
        raise refusal(
            fields.place,
            "it says kind: whole and an amount",
            "a whole card has no parts",
            "remove one of the two",
        )
    return amounts


def manner_of(fields: Fields, *, metax_slice: bool) -> Manner:
    """Policy, class, priority and host needs."""
    app_class = fields.word("app_class", AppClass)
    qos = fields.word("qos", QosPolicy)
    for key in ("qos", "app_class"):
        if key in fields and not metax_slice:
            raise fields.no(key, "only MetaX slices have one", "remove it")
    if qos is None and metax_slice and app_class is not AppClass.ONLINE:
        qos = QosPolicy.BEST_EFFORT
    host = HostAsk(fields.cpu_milli("cpu") or 0, fields.memory("host_memory") or Bytes(0))
    priority = fields.whole("priority", least=-_LARGEST_PRIORITY, most=_LARGEST_PRIORITY) or 0
    return Manner(qos, app_class, priority, host)


def cores_of(fields: Fields, amounts: Amounts, vendor: Vendor) -> int | None:
    """Compute of each card in the vendor's units; None for all of it."""
    most = _MOST_CORES[vendor]
    if amounts.cores is not None and amounts.cores > most:
        raise fields.no("cores", f"compute of a {vendor} card is 0 to {most}", f"write at most {most}")
    if amounts.cores is None and amounts.memory is not None and vendor is Vendor.MTHREADS:
        return 0
    return amounts.cores


def read_request(fields: Fields, ref: PodRef, vendors: Iterable[Vendor]) -> Request:
    """A pod that asks for `cards` cards, of the only vendor around unless it names one."""
    count = fields.whole("cards", most=1000) or 0
    amounts = amounts_of(fields)
    product = fields.text("product")
    asks: tuple[Ask, ...] = ()
    metax_slice = False
    if count:
        vendor = _vendor(fields, product, vendors)
        metax_slice = vendor is Vendor.METAX and amounts.sliced
        asks = (
            Ask(
                vendor=vendor,
                kind=AskKind.SLICE if amounts.sliced else AskKind.WHOLE,
                count=count,
                memory=amounts.memory,
                cores=cores_of(fields, amounts, vendor),
                vocabulary=Vocabulary.PLAIN,
            ),
        )
    elif amounts.sliced or product:
        raise refusal(
            fields.place, "it asks for parts of cards and for no cards", "it needs both", "write cards: 1"
        )
    manner = manner_of(fields, metax_slice=metax_slice)
    return Request(
        pod=ref,
        containers=(ContainerAsk(CONTAINER, Role.APP, asks),),
        qos=manner.qos,
        app_class=manner.app_class,
        cards=CardFilter(only_products=frozenset({product}) if product else frozenset()),
        host=manner.host,
        priority=manner.priority,
    )


def _vendor(fields: Fields, product: str | None, vendors: Iterable[Vendor]) -> Vendor:
    stated = fields.word("vendor", Vendor)
    if stated is not None:
        return stated
    known = find_product(product) if product else None
    if known is not None:
        return known[0]
    around = sorted(set(vendors))
    if len(around) != 1:
        legal = "it must say whose cards it wants" if around else "there are no cards to tell it by"
        raise refusal(
            fields.place, "vendor is missing", legal, f"write vendor: {either(around or list(Vendor))}"
        )
    return around[0]


def _ref(home: Namespace, name: PodName) -> PodRef:
    return PodRef(home, name, PodUid(f"{home}/{name}"))

"""The cards of a node of a short file: equal ones by number, or a list in which each may differ.

What a product is known for need not be written: its vendor and memory come from the vendors' own tables, and of a
sliced card what slices can have of that memory. What no table knows must be written, and is never assumed.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.model.cards import Card, CardMode, QosPolicy, Vendor
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes
from tangram.vendors.metax import products as metax
from tangram.vendors.mthreads import products as mthreads
from tangram.vendors.products import Product
from tangram.vendors.registry import rules_for
from tangram.vendors.wording import either
from tangram.wire import loose
from tangram.wire.clusterfile.fields import Fields, nearest, refusal
from tangram.wire.errors import shown
from tangram.wire.node_facts import MOST_CARDS, stand_in_id

SHARED_KEYS: Final = ("product", "vendor", "memory", "mode", "slots")
"""Keys that a node may give for all its cards and a card for itself."""

_CARD_KEYS = (*SHARED_KEYS, "index", "uuid", "numa", "unhealthy", "cordoned", "qos")
_CATALOGUES = {Vendor.METAX: metax.CATALOGUE, Vendor.MTHREADS: mthreads.CATALOGUE}
_USUAL_MODE = {
    Vendor.METAX: CardMode.WHOLE,
    Vendor.MTHREADS: CardMode.SLICED,
    Vendor.GENERIC: CardMode.UNDECIDED,
}
_COMPUTE = {Vendor.METAX: 100, Vendor.MTHREADS: mthreads.CORES_PER_CARD, Vendor.GENERIC: 100}
_LARGEST_NUMBER = 2**15


class _Make(msgspec.Struct, frozen=True):
    """What is asked of the vendors' tables about a card."""

    vendor: Vendor
    product: str
    memory: Bytes | None
    sliceable: Bytes | None = None
    """What slices can have in all, where that is known to be less."""


def read_cards(fields: Fields, node: NodeName) -> tuple[Card, ...]:
    """The cards under the key `cards`, numbered from `first_card`."""
    first = fields.whole("first_card", most=_LARGEST_NUMBER - MOST_CARDS) or 0
    if "cards" not in fields:
        return ()
    if loose.is_list(fields.members["cards"]):
        entries = fields.entries("cards")
        if len(entries) > MOST_CARDS:
            raise fields.no("cards", f"a node has at most {MOST_CARDS} cards", "list fewer")
        forms = [Fields(each, f"{fields.at('cards')}[{at}]", _CARD_KEYS) for at, each in enumerate(entries)]
    else:
        count = fields.whole("cards", most=MOST_CARDS) or 0
        forms = [Fields({}, fields.place, _CARD_KEYS)] * count
    cards = tuple(_card(form, fields, node, first + at) for at, form in enumerate(forms))
    _check_distinct(cards, fields)
    return _with_lists(_with_numa(cards, fields), fields)


def find_product(name: str) -> tuple[Vendor, Product] | None:
    """The known model of that name and its vendor."""
    for vendor, catalogue in _CATALOGUES.items():
        product = catalogue.find(name)
        if product is not None:
            return vendor, product
    return None


def _card(form: Fields, node: Fields, node_name: NodeName, usual_index: int) -> Card:
    make = _make(form, node)
    written = form.whole("index", most=_LARGEST_NUMBER)
    index = usual_index if written is None else written
    mode = form.word("mode", CardMode) or node.word("mode", CardMode) or _USUAL_MODE[make.vendor]
    known = make.sliceable if mode is CardMode.SLICED and make.sliceable is not None else make.memory
    memory = form.memory("memory") or node.memory("memory") or known
    if memory is None:
        what = f"product {make.product}" if make.product else "it"
        raise refusal(
            form.place,
            f"{what} has no memory that is known here",
            "cards have memory",
            "write memory: 64 GiB",
        )
    unhealthy = form.members.get("unhealthy")
    return Card(
        uuid=CardUuid(form.text("uuid") or stand_in_id(node_name, make.vendor, index)),
        index=index,
        vendor=make.vendor,
        memory=memory,
        product=make.product,
        cores=_COMPUTE[make.vendor],
        slots=_slots(form, node, mode),
        mode=mode,
        numa=-1 if (numa := form.whole("numa", most=_LARGEST_NUMBER)) is None else numa,
        healthy=unhealthy is None or unhealthy is False,
        health_reason=unhealthy if isinstance(unhealthy, str) else "",
        cordoned=form.flag("cordoned"),
        announced_qos=form.word("qos", QosPolicy),
        memory_tiers=rules_for(make.vendor).memory_tiers(memory),
    )


def _make(form: Fields, node: Fields) -> _Make:
    product = form.text("product") or node.text("product") or ""
    stated = form.word("vendor", Vendor) or node.word("vendor", Vendor)
    known = find_product(product) if product else None
    if known is not None:
        vendor, found = known
        if stated not in (None, vendor):
            raise refusal(
                form.place, f"vendor is {stated}", f"{found.name} is made by {vendor}", "remove vendor"
            )
        return _Make(vendor, found.name, found.memory, found.sliceable)
    if stated is None:
        if product:
            names = [each.name for catalogue in _CATALOGUES.values() for each in catalogue.products]
            legal = f"the products known here are {', '.join(names)}"
            short = [
                catalogue.unbranded(each.name)
                for catalogue in _CATALOGUES.values()
                for each in catalogue.products
            ]
            instead = f"{nearest(product, [*short, *names])}, or add vendor and memory for any other"
            raise refusal(form.place, f"product is {shown(product)}", legal, instead)
        legal = f"cards need a product, or a vendor ({either(Vendor)}) and a memory"
        raise refusal(
            form.place, "it says neither product nor vendor", legal, "write for example product: C500"
        )
    return _Make(stated, product, None)


def _slots(form: Fields, node: Fields, mode: CardMode) -> int:
    source = form if "slots" in form else node
    slots = source.whole("slots", least=1, most=1000)
    match mode:
        case CardMode.WHOLE:
            if slots not in (None, 1):
                raise source.no("slots", "a native card has one tenant", "remove it, or write mode: shared")
            return 1
        case CardMode.VIRTUAL:
            if slots not in metax.VIRTUAL_FUNCTION_COUNTS:
                legal = f"a card is split into {either(metax.VIRTUAL_FUNCTION_COUNTS)} virtual functions"
                raise source.no("slots", legal, "write for example slots: 4")
            return slots
        case CardMode.SHARED:
            if slots is None:
                raise form.lacking("slots", "write how often a card is handed out, for example slots: 4")
            return slots
        case CardMode.SLICED | CardMode.UNDECIDED:
            return slots or metax.MOST_SLICES


def _with_numa(cards: tuple[Card, ...], fields: Fields) -> tuple[Card, ...]:
    if "numa" not in fields:
        return cards
    if not loose.is_list(fields.members["numa"]):
        numa = fields.whole("numa", most=_LARGEST_NUMBER) or 0
        return tuple(msgspec.structs.replace(card, numa=numa) for card in cards)
    numbers = fields.numbers("numa")
    if len(numbers) != len(cards) or any(not -1 <= each <= _LARGEST_NUMBER for each in numbers):
        legal = f"it is one NUMA node for all cards, or a list of {len(cards)}, one for each"
        raise fields.no("numa", legal, "write for example [0, 0, 0, 0, 1, 1, 1, 1]")
    return tuple(msgspec.structs.replace(card, numa=numa) for card, numa in zip(cards, numbers, strict=True))


def _with_lists(cards: tuple[Card, ...], fields: Fields) -> tuple[Card, ...]:
    """The node's lists of unhealthy and cordoned cards, by number."""
    numbers = [card.index for card in cards]
    for key in ("unhealthy", "cordoned"):
        unknown = [number for number in fields.numbers(key) if number not in numbers]
        if unknown:
            legal = f"the cards are {', '.join(map(str, numbers)) or 'none'}"
            raise refusal(fields.at(key), f"it names card {unknown[0]}", legal, "name one of these")
    unhealthy, cordoned = set(fields.numbers("unhealthy")), set(fields.numbers("cordoned"))
    return tuple(
        msgspec.structs.replace(
            card,
            healthy=card.healthy and card.index not in unhealthy,
            cordoned=card.cordoned or card.index in cordoned,
        )
        for card in cards
    )


def _check_distinct(cards: tuple[Card, ...], fields: Fields) -> None:
    for what, values in (("number", [card.index for card in cards]), ("uuid", [card.uuid for card in cards])):
        twice = next((each for at, each in enumerate(values) if each in values[:at]), None)
        if twice is not None:
            place, legal = fields.at("cards"), f"each card has a {what} of its own"
            raise refusal(place, f"two cards have {what} {twice}", legal, "change one of them")

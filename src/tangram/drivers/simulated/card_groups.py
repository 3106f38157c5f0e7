"""Equal cards of a description: a named server, or a product and a count.

What a product is known for comes from the vendors' own tables; what nobody knows must be written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from tangram.drivers.simulated.description import CardSpec, Figure
from tangram.drivers.simulated.layouts import SERVERS, Pairs, Path, Pattern, Server, pairs_of, root_port_each
from tangram.model.cards import QosPolicy, Vendor
from tangram.model.devices import DriverMode, SriovState
from tangram.units.memory import MIB
from tangram.vendors.metax import products as metax
from tangram.vendors.mthreads import products as mthreads
from tangram.vendors.products import Product
from tangram.vendors.wording import either
from tangram.wire import loose
from tangram.wire.clusterfile.fields import Fields, nearest, refusal
from tangram.wire.errors import shown

MOST_CARDS: Final = 64

_KEYS = (
    "server",
    "product",
    "count",
    "memory",
    "numa",
    "links",
    "lanes",
    "sliced",
    "sriov",
    "virtual_functions",
    "policy",
    "mode",
    "driver_version",
    "firmware_version",
    "load",
    "without",
)
_CATALOGUES = {Vendor.METAX: metax.CATALOGUE, Vendor.MTHREADS: mthreads.CATALOGUE}
_DRIVER_VERSION = {Vendor.METAX: "3.8.30", Vendor.MTHREADS: "3.3.1"}
_FIRMWARE_VERSION = {Vendor.METAX: "1.33.5.0", Vendor.MTHREADS: "2.1.1"}
_DOMAINS_PER_GROUP: Final = 8
_MOST_NUMA: Final = 255


class Group(msgspec.Struct, frozen=True):
    """Cards of one kind and the direct links among them, by position within the group."""

    cards: tuple[CardSpec, ...]
    pairs: Pairs
    place: str


class _Shape(msgspec.Struct, frozen=True):
    product: str
    paths: tuple[Path, ...]
    numa: tuple[int, ...]
    pairs: Pairs


def read_group(entry: object, place: str, before: Sequence[Group]) -> Group:
    """The cards of one entry of the list, numbered after those of the entries before it."""
    form = Fields(entry, place, _KEYS)
    shape = _shape(form)
    vendor, product = _product(form, shape.product)
    memory = form.memory("memory") or product.memory
    if memory is None:
        read = f"product {product.name} has no memory that is known here"
        raise refusal(place, read, "cards have memory", "write memory: 64 GiB")
    if memory % MIB:
        raise form.no("memory", "cards have whole MiB of memory", "write for example 64 GiB")
    numa = _numa(form, shape)
    first = sum(len(group.cards) for group in before)
    first_of_vendor = sum(card.vendor is vendor for group in before for card in group.cards)
    functions = _virtual_functions(form, vendor)
    common = CardSpec(
        position=0,
        vendor=vendor,
        vendor_position=0,
        product=product.name,
        memory=memory,
        sliceable=product.sliceable_of(memory),
        numa=0,
        pcie_path=(),
        sliced=_sliced(form, vendor, functions),
        sriov=_sriov(form, vendor, functions),
        virtual_functions=functions,
        policy=form.word("policy", QosPolicy) or QosPolicy.BEST_EFFORT,
        mode=form.word("mode", DriverMode) or DriverMode.NATIVE,
        driver_version=form.text("driver_version") or _DRIVER_VERSION[vendor],
        firmware_version=form.text("firmware_version") or _FIRMWARE_VERSION[vendor],
        load=form.whole("load", most=100) or 0,
        without=_without(form),
    )
    domain = len(before) * _DOMAINS_PER_GROUP
    cards = tuple(
        msgspec.structs.replace(
            common,
            position=first + at,
            vendor_position=first_of_vendor + at,
            numa=numa[at],
            pcie_path=_in_domain(path, domain),
        )
        for at, path in enumerate(shape.paths)
    )
    return Group(cards, shape.pairs, place)


def _shape(form: Fields) -> _Shape:
    lanes = form.whole("lanes", least=1, most=16)
    pattern = form.word("links", Pattern)
    if "server" in form:
        for key in ("count", "lanes"):
            if key in form:
                raise form.no(key, "a named server has its own", "remove it, or remove server")
        server = _server(form)
        pairs = server.pairs if pattern is None else pairs_of(pattern, server.size)
        return _Shape(form.text("product") or server.product, server.paths, server.numa, pairs)
    product = form.text("product")
    if product is None:
        legal = f"cards need a product, or a server ({either(SERVERS)})"
        raise refusal(
            form.place, "it says neither product nor server", legal, "write for example product: C500"
        )
    count = form.whole("count", most=MOST_CARDS)
    count = 1 if count is None else count
    pairs = pairs_of(pattern or Pattern.NONE, count, lanes or 1)
    return _Shape(product, root_port_each(range(count)), (0,) * count, pairs)


def _server(form: Fields) -> Server:
    name = form.text("server") or ""
    make = SERVERS.get(name)
    if make is None:
        raise form.no("server", f"it is {either(SERVERS)}", nearest(name, SERVERS))
    return make()


def _product(form: Fields, name: str) -> tuple[Vendor, Product]:
    for vendor, catalogue in _CATALOGUES.items():
        found = catalogue.find(name)
        if found is not None:
            return vendor, found
    short = [
        catalogue.unbranded(each.name) for catalogue in _CATALOGUES.values() for each in catalogue.products
    ]
    raise refusal(
        form.place,
        f"product is {shown(name)}",
        f"the products known here are {', '.join(short)}",
        nearest(name, short),
    )


def _numa(form: Fields, shape: _Shape) -> tuple[int, ...]:
    if "numa" not in form:
        return shape.numa
    count = len(shape.paths)
    if not loose.is_list(form.members["numa"]):
        return (form.whole("numa", least=-1, most=_MOST_NUMA) or 0,) * count
    numbers = form.numbers("numa")
    if len(numbers) != count or not all(-1 <= number <= _MOST_NUMA for number in numbers):
        legal = f"it is one NUMA node for all, or a list of {count}, one for each, from -1 (unknown) to {_MOST_NUMA}"
        raise form.no("numa", legal, "write for example [0, 0, 1, 1]")
    return tuple(numbers)


def _sliced(form: Fields, vendor: Vendor, functions: int) -> bool:
    if "sliced" not in form:
        return vendor is Vendor.MTHREADS
    sliced = form.flag("sliced")
    if sliced and functions:
        raise form.no("sliced", "virtual functions and slices exclude each other", "remove one of the two")
    return sliced


def _virtual_functions(form: Fields, vendor: Vendor) -> int:
    count = form.whole("virtual_functions", most=max(metax.VIRTUAL_FUNCTION_COUNTS)) or 0
    if count and vendor is not Vendor.METAX:
        raise form.no("virtual_functions", "only MetaX cards are split into them", "remove it")
    if count and count not in metax.VIRTUAL_FUNCTION_COUNTS:
        raise form.no(
            "virtual_functions", f"it is 0, {either(metax.VIRTUAL_FUNCTION_COUNTS)}", "write one of these"
        )
    return count


def _sriov(form: Fields, vendor: Vendor, functions: int) -> SriovState | None:
    if "sriov" not in form:
        if vendor is not Vendor.METAX:
            return None
        # Every card of which an answer was captured says so.
        return SriovState.ON if functions else SriovState.FORBIDDEN
    # YAML reads the bare words on and off as truth values.
    switch = loose.flag(form.members["sriov"])
    written = form.text("sriov") if switch is None else ("on" if switch else "off")
    if vendor is not Vendor.METAX:
        raise form.no("sriov", "only MetaX cards have that switch", "remove it")
    if written not in tuple(SriovState):
        raise form.no("sriov", f"it is {either(SriovState)}", nearest(written or "", SriovState))
    if functions and written != SriovState.ON:
        raise form.no("sriov", "a card that is split has it on", "write sriov: on, or remove it")
    return SriovState(written)


def _without(form: Fields) -> frozenset[Figure]:
    found: set[Figure] = set()
    for word in form.entries("without"):
        if word not in tuple(Figure):
            legal = f"it is a list of {either(Figure)}"
            raise form.no(
                "without", f"{legal}, and {shown(word)} is none of them", nearest(str(word), Figure)
            )
        found.add(Figure(str(word)))
    return frozenset(found)


def _in_domain(path: Path, domain: int) -> Path:
    """Groups get domains of their own, so that two servers of one description never share a bus address."""
    return tuple(f"{int(address[:4], 16) + domain:04x}{address[4:]}" for address in path)

"""From a wish to cards: the named ones, or so many idle ones that are best connected.

The choice is the scheduler's own (`engine.card_sets`), so a host without Kubernetes gets what a node of a cluster would
get. Cards of one vendor go into a container, never of two: no image can use both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tangram.drivers.inventory import cards_of, topology_of
from tangram.drivers.snapshot import CardReading, Snapshot
from tangram.engine.card_sets import best_set
from tangram.engine.layout import layout_of
from tangram.engine.weights import DEFAULT_WEIGHTS
from tangram.model.cards import Vendor
from tangram.model.devices import Device, Slice
from tangram.model.nodes import Node
from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.wishes import VENDORS, Kind, Wish
from tangram.units.ids import CardUuid, NodeName
from tangram.units.na import NotAvailable, known

Users = Mapping[CardUuid, Sequence[str]]

NAMES = {Vendor.METAX: "MetaX", Vendor.MTHREADS: "Moore Threads", Vendor.GENERIC: "other"}
_MOST_LISTED = 16


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    vendor: Vendor
    devices: tuple[Device, ...]
    """The cards, or the parents of the slices."""
    slices: tuple[Slice, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences for the person who asked; nothing that keeps a container from starting."""


def choose(wish: Wish, snapshot: Snapshot, users: Users) -> Chosen:
    """The cards of a wish. Raises `HostError` with a sentence where there are none to give."""
    usable = [card for card in snapshot.cards if known(card.device.virtual_functions, 0) == 0]
    if wish.kind is Kind.SLICES:
        return _slices(wish, snapshot.cards)
    if wish.kind is Kind.CARDS:
        return _named(wish, usable, snapshot.cards, users)
    vendor = _vendor(wish, usable)
    mine = [card for card in usable if card.device.vendor is vendor]
    if wish.kind is Kind.ALL:
        return _checked(vendor, mine, users)
    return _counted(wish.count, vendor, mine, snapshot, users)


def _vendor(wish: Wish, usable: Sequence[CardReading]) -> Vendor:
    present = [each for each in VENDORS if any(card.device.vendor is each for card in usable)]
    if wish.vendor is not None:
        if wish.vendor in present:
            return wish.vendor
        raise HostError(f"this host has no {NAMES[wish.vendor]} card: it has {_listed(usable)}.")
    if not present:
        raise HostError("this host has no card that a container could be given.")
    if len(present) > 1:
        both = " and ".join(
            f"{sum(1 for card in usable if card.device.vendor is each)} {NAMES[each]}" for each in present
        )
        legal = " or ".join(f"--gpus={each.value}:{wish.text}" for each in present)
        raise HostError(
            f"--gpus={wish.text} does not say whose cards: this host has {both} cards, and a container has cards of "
            f"one vendor; write {legal}, or name the cards by uuid."
        )
    return present[0]


def _named(
    wish: Wish, usable: Sequence[CardReading], everything: Sequence[CardReading], users: Users
) -> Chosen:
    mine = [card for card in usable if wish.vendor in (None, card.device.vendor)]
    found = list(dict.fromkeys(_meant(name, mine, everything).device.uuid for name in wish.names))
    cards = [card for uuid in found for card in mine if card.device.uuid == uuid]
    vendors = {card.device.vendor for card in cards}
    if len(vendors) > 1:
        told = ", ".join(f"{card.device.index} is {NAMES[card.device.vendor]}'s" for card in cards)
        raise HostError(
            f"--gpus={wish.text} names cards of two vendors ({told}): a container has cards of one; name those."
        )
    return _checked(cards[0].device.vendor, cards, users)


def _meant(name: str, mine: Sequence[CardReading], everything: Sequence[CardReading]) -> CardReading:
    found = [card for card in mine if _goes_by(card.device, name)]
    if len(found) == 1:
        return found[0]
    if found:
        uuids = " or ".join(f"{card.device.uuid} ({NAMES[card.device.vendor]})" for card in found)
        raise HostError(f"card {name!r:.80} may be {uuids}: write the uuid.")
    if any(_goes_by(card.device, name) for card in everything if card not in mine):
        raise HostError(
            f"card {name!r:.80} is split into virtual functions or another vendor's: containers may have "
            f"{_listed(mine)}; name one of these."
        )
    raise HostError(f"this host has no card {name!r:.80}: it has {_listed(mine)}; name one of these.")


def _goes_by(device: Device, name: str) -> bool:
    word = name.casefold()
    serial = "" if isinstance(device.serial, NotAvailable) else device.serial.casefold()
    bdf = device.bdf.casefold()
    number = word.isascii() and word.isdecimal() and len(word) < 6 and int(word) == device.index
    return number or word in (device.uuid.casefold(), serial, bdf, bdf.removeprefix("0000:"))


def _checked(vendor: Vendor, cards: Sequence[CardReading], users: Users) -> Chosen:
    """These cards, whatever their state: who names a card may know better; but it is said."""
    notes = [
        f"card {card.device.index} is used by {', '.join(users[card.device.uuid])}; the container shares it."
        for card in cards
        if card.device.uuid in users
    ]
    notes += [
        f"card {card.device.index} is not healthy: {card.health.message or card.health.code}."
        for card in cards
        if card.health is not None and not card.health.healthy
    ]
    return Chosen(vendor=vendor, devices=tuple(card.device for card in cards), notes=tuple(notes))


def _counted(
    count: int, vendor: Vendor, mine: Sequence[CardReading], snapshot: Snapshot, users: Users
) -> Chosen:
    present = {card.device.uuid for card in snapshot.cards}
    whole = [card for card in mine if card.device.virtual_function_of not in present]
    pool = whole or mine
    sick = {
        card.device.uuid: card.health.message or card.health.code
        for card in pool
        if card.health is not None and not card.health.healthy
    }
    idle = [card for card in pool if card.device.uuid not in users and card.device.uuid not in sick]
    if len(idle) < count:
        reasons = [
            f"card {card.device.index} is used by {', '.join(users[card.device.uuid])}"
            if card.device.uuid in users
            else f"card {card.device.index} is not healthy ({sick[card.device.uuid]})"
            for card in pool
            if card not in idle
        ]
        told = "; ".join(reasons[:_MOST_LISTED]) or f"this host has {len(pool)}"
        raise HostError(
            f"--gpus={count} asks for {_cards(count)}, and {len(idle)} of {len(pool)} {_are(len(idle))} idle: {told}. "
            "Ask for fewer, wait, or share cards by naming them, as in --gpus=[0]."
        )
    devices = _best_connected(count, [card.device for card in idle], snapshot, whole=bool(whole))
    return Chosen(vendor=vendor, devices=devices)


def _best_connected(
    count: int, idle: Sequence[Device], snapshot: Snapshot, *, whole: bool
) -> tuple[Device, ...]:
    devices = [card.device for card in snapshot.cards]
    cards = cards_of(devices, {})
    topology = topology_of(devices, snapshot.links)
    layout = (
        layout_of(Node(name=NodeName("host"), cards=cards, topology=topology), DEFAULT_WEIGHTS)
        if whole
        else None
    )
    place = {card.uuid: number for number, card in enumerate(cards)}
    if layout is None:
        return tuple(idle[:count])
    best = best_set(layout, sum(1 << place[device.uuid] for device in idle), count)
    if best is None:
        return tuple(idle[:count])
    return tuple(device for device in idle if best.mask >> place[device.uuid] & 1)


def _slices(wish: Wish, cards: Sequence[CardReading]) -> Chosen:
    known_slices = {
        part.uuid.casefold(): (part, card) for card in cards for part in card.slices or () if part.uuid
    }
    found: list[tuple[Slice, CardReading]] = []
    for name in wish.names:
        one = known_slices.get(name.casefold())
        if one is None:
            legal = ", ".join(
                f"sgpu:{part.uuid} (card {card.device.index})" for part, card in known_slices.values()
            )
            there = f"it has {legal}; name one of these" if legal else "it has none; make one first"
            raise HostError(f"this host has no slice {name!r:.80}: {there}.")
        found.append(one)
    parents = {card.device.uuid: card.device for _, card in found}
    if any(device.vendor is not Vendor.METAX for device in parents.values()):
        raise HostError(
            f"--gpus={wish.text}: slices of Moore Threads cards are made by the vendor's runtime for one container; "
            "name a card and pass MTHREADS_QOS_MEMORY_LIMIT with -e."
        )
    notes = [
        f"slice {part.uuid} is in use; the container shares it."
        if part.busy is True
        else f"slice {part.uuid} may be in use: the processes in it cannot be listed here."
        for part, _ in found
        if part.busy is not False
    ]
    return Chosen(
        vendor=Vendor.METAX,
        devices=tuple(parents.values()),
        slices=tuple(part for part, _ in found),
        notes=tuple(notes),
    )


def _listed(cards: Sequence[CardReading]) -> str:
    shown = [f"{card.device.index} ({card.device.uuid})" for card in cards[:_MOST_LISTED]]
    more = f" and {len(cards) - _MOST_LISTED} more" if len(cards) > _MOST_LISTED else ""
    return f"{', '.join(shown)}{more}" if shown else "none"


def _cards(count: int) -> str:
    return "1 card" if count == 1 else f"{count} cards"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"

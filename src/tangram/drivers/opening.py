"""From a word to a driver: `auto`, or the name of one way of reaching cards with where to find it.

`auto` takes the best way that works for each vendor (library, then tool), joins the two where a node has both, and
lets sysfs add the cards that neither knew. Where a vendor's library or tool answers, cards of that vendor that it does
not list are limited: no container could use them either. That holds for the one card that an old library does not know
beside others, for all of them, and for those that it stops listing later. The library stays in front, and takes its
cards over when it finds them. `auto` never falls back to simulated cards: a scheduler that believes in cards that are
not there is worse than one that has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from tangram.drivers.chosen_vendors import ChosenVendors
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.joined import JoinedDriver
from tangram.drivers.protocol import Driver
from tangram.drivers.ways import METAX_WAYS, MTHREADS_WAYS, SYSFS, WAYS, Conditions, Way
from tangram.model.cards import SERVED, Vendor

AUTO: Final = "auto"
FORMS: Final = (AUTO, *(form for way in WAYS for form in way.forms))

_USUAL = Conditions()

OnTry = Callable[[str], None]
"""Hears the name of each way before it is tried, so that a caller knows which one hangs."""


def open_driver(text: str, on_try: OnTry = lambda _: None, conditions: Conditions = _USUAL) -> Driver:
    """The driver of that name, showing the cards of the vendors that count.

    Raises `DriverError`: `invalid` for a text that names no driver, `no-library` or `no-driver` when there is nothing
    to reach.
    """
    driver = _open(text, on_try, conditions)
    return driver if conditions.vendors >= frozenset(SERVED) else ChosenVendors(driver, conditions.vendors)


def _open(text: str, on_try: OnTry, conditions: Conditions) -> Driver:
    if text.strip() == AUTO:
        return _automatic(on_try, conditions)
    name, colon, rest = text.strip().partition(":")
    way = next((way for way in WAYS if way.name == name), None)
    if way is None:
        raise DriverError(
            Kind.INVALID, f"the driver is {text!r:.80}: a driver is {_either(FORMS)}; write one of these"
        )
    if (colon or way.needs) and not rest.strip():
        raise DriverError(
            Kind.INVALID,
            f"the driver is {text!r:.80}: nothing stands after {name}:; write {_either(way.forms)}",
        )
    on_try(way.name)
    return way.open(rest.strip() or None, conditions)


def _automatic(on_try: OnTry, conditions: Conditions) -> Driver:
    remarks: list[str] = []
    found: list[Driver] = []
    known: set[str] = set()
    idle: list[Driver] = []
    doubts: dict[Vendor, str] = {}
    for vendor, ways in ((Vendor.METAX, METAX_WAYS), (Vendor.MTHREADS, MTHREADS_WAYS)):
        if vendor not in conditions.vendors:
            continue
        driver, places, without_cards = _first_working(ways, on_try, conditions, remarks)
        if driver is not None:
            found.append(driver)
            known |= places
            if not places:
                # It is there and in trouble. Whoever asked must see the trouble, not another way round it.
                _close(idle)
                return driver
            # The join hides from sysfs the cards that this one lists.
            doubts[vendor] = f"{driver.name} does not list this card"
        elif without_cards is not None:
            idle.append(without_cards.driver)
            doubts[vendor] = without_cards.sentence
    # What sysfs does not know is said in the list of what was looked for.
    doubting = msgspec.structs.replace(conditions, doubts=doubts)
    rest, places, without_cards = _first_working((SYSFS,), on_try, doubting, [])
    if without_cards is not None:
        without_cards.driver.close()
    if rest is not None and (places - known or not found):
        found += [*idle, rest]
    else:
        _close(idle if rest is None else [*idle, rest])
    if not found:
        looked = "; ".join(way.looks_for for way in (*METAX_WAYS, *MTHREADS_WAYS, SYSFS))
        said = f" ({'; '.join(remarks)})" if remarks else ""
        raise DriverError(
            Kind.NO_LIBRARY, f"no MetaX or Moore Threads card was found here{said}. Looked for {looked}"
        )
    return found[0] if len(found) == 1 else JoinedDriver(found)


class _WithoutCards(NamedTuple):
    """A driver that answers and has no card that it can use."""

    driver: Driver
    sentence: str


def _first_working(
    ways: Sequence[Way], on_try: OnTry, conditions: Conditions, remarks: list[str]
) -> tuple[Driver | None, set[str], _WithoutCards | None]:
    """The first that has cards, with where they sit; or the first in trouble, with no places.

    Where none has any, the first that answers without a card is the last of the answer, still open.
    """
    without_cards: _WithoutCards | None = None
    for way in ways:
        on_try(way.name)
        driver: Driver | None = None
        places, sentence = set[str](), f"{way.name} answers and lists no card"
        try:
            driver = way.open(None, conditions)
            places = {device.bdf or device.uuid for device in driver.devices()}
            answers = True
        except DriverError as error:
            answers = error.kind is not Kind.NO_LIBRARY
            sentence = error.sentence
            if answers and driver is not None and error.kind is not Kind.NO_DRIVER:
                return _instead_of(without_cards, driver), set(), None
            if answers:
                remarks.append(f"{way.name}: {sentence.rstrip('.')}")
        if driver is not None and places:
            return _instead_of(without_cards, driver), places, None
        if driver is not None and answers and without_cards is None:
            without_cards = _WithoutCards(driver, sentence)
        elif driver is not None:
            driver.close()
    return None, set(), without_cards


def _close(drivers: Sequence[Driver]) -> None:
    for driver in drivers:
        driver.close()


def _instead_of(without_cards: _WithoutCards | None, driver: Driver) -> Driver:
    if without_cards is not None:
        without_cards.driver.close()
    return driver


def _either(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last

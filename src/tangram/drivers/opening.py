"""From a word to a driver: `auto`, or the name of one way of reaching cards with where to find it.

`auto` takes the best way that works for each vendor (library, then tool), joins the two where a node has both, and
lets sysfs add the cards that neither knew. It never falls back to simulated cards: a scheduler that believes in cards
nobody has is worse than one that has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.joined import JoinedDriver
from tangram.drivers.protocol import Driver
from tangram.drivers.ways import METAX_WAYS, MTHREADS_WAYS, SYSFS, WAYS, Conditions, Way

AUTO: Final = "auto"
FORMS: Final = (AUTO, *(form for way in WAYS for form in way.forms))

_ABSENT = (Kind.NO_LIBRARY, Kind.NO_DRIVER)
_USUAL = Conditions()

OnTry = Callable[[str], None]
"""Hears the name of each way before it is tried, so that a caller knows which one hangs."""


def open_driver(text: str, on_try: OnTry = lambda _: None, conditions: Conditions = _USUAL) -> Driver:
    """The driver of that name.

    Raises `DriverError`: `invalid` for a text that names no driver, `no-library` or `no-driver` when there is nothing
    to reach.
    """
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
    for ways in (METAX_WAYS, MTHREADS_WAYS):
        driver, places = _first_working(ways, on_try, conditions, remarks)
        if driver is not None:
            found.append(driver)
            known |= places
            if not places:
                # It is there and in trouble. Whoever asked must see the trouble, not another way round it.
                return driver
    # What sysfs does not know is said in the list of what was looked for.
    rest, places = _first_working((SYSFS,), on_try, conditions, [])
    if rest is not None and (places - known or not found):
        found.append(rest)
    elif rest is not None:
        rest.close()
    if not found:
        looked = "; ".join(way.looks_for for way in (*METAX_WAYS, *MTHREADS_WAYS, SYSFS))
        said = f" ({'; '.join(remarks)})" if remarks else ""
        raise DriverError(
            Kind.NO_LIBRARY, f"no MetaX or Moore Threads card was found here{said}. Looked for {looked}"
        )
    return found[0] if len(found) == 1 else JoinedDriver(found)


def _first_working(
    ways: Sequence[Way], on_try: OnTry, conditions: Conditions, remarks: list[str]
) -> tuple[Driver | None, set[str]]:
    """The first that has cards, with where they sit; or the first in trouble, with no places."""
    for way in ways:
        on_try(way.name)
        driver: Driver | None = None
        try:
            driver = way.open(None, conditions)
            places = {device.bdf or device.uuid for device in driver.devices()}
        except DriverError as error:
            if driver is not None and error.kind not in _ABSENT:
                return driver, set()
            if error.kind is not Kind.NO_LIBRARY:
                remarks.append(f"{way.name}: {error.sentence.rstrip('.')}")
            places = set[str]()
        if driver is not None and places:
            return driver, places
        if driver is not None:
            driver.close()
    return None, set()


def _either(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last

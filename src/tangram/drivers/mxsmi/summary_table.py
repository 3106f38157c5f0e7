"""The table that plain `mx-smi` prints, in the four shapes it has had. A last resort: it is made for eyes.

Two rows per card. The first holds the bus address, the second the memory; everything else is found by its unit, not by
its column, because the columns have moved with almost every release.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from tangram.drivers.mxsmi.text import ParseError, address, lines_of
from tangram.units.memory import MIB, Bytes
from tangram.units.na import NA, Maybe

COMMAND: Final = ""

_MEMORY = re.compile(r"([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*MiB")
_TEMPERATURE = re.compile(r"(?<![0-9A-Za-z])(-?[0-9]{1,4})C(?![A-Za-z])")
_POWER = re.compile(r"(?<![0-9A-Za-z])([0-9]{1,6})W(?:\s*/\s*([0-9]{1,6})W|\s*/\s*NA)?(?![A-Za-z])")
_PERCENT = re.compile(r"([0-9]{1,3})%")
_DRIVER = re.compile(r"Kernel Mode Driver Version:\s*(\S{1,40})")
_FIRMWARE = re.compile(r"BIOS Version:\s*(\S{1,40})")
_SLICED: Final = {"Enabled": True, "Disabled": False, "Native": False}
_UNKNOWN: Final = ("unknown", "NA", "|")


class TableCard(msgspec.Struct, frozen=True, kw_only=True):
    bdf: str
    index: Maybe[int] = NA
    utilisation_percent: Maybe[float] = NA
    sliced: Maybe[bool] = NA
    temperature_celsius: Maybe[float] = NA
    power_watts: Maybe[float] = NA
    power_cap_watts: Maybe[float] = NA
    memory_used: Maybe[Bytes] = NA
    memory_total: Maybe[Bytes] = NA
    state: str = ""
    """Empty before the tool had such a column."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    driver_version: Maybe[str] = NA
    firmware_version: Maybe[str] = NA
    cards: dict[str, TableCard]
    """By bus address."""


def parse_table(text: str) -> Table:
    """The table. Raises `ParseError` when no row tells a card's bus address."""
    lines = lines_of(text, COMMAND)
    cards: dict[str, TableCard] = {}
    for at, line in enumerate(lines):
        cells = _cells(line)
        bdf = next((found for cell in cells if (found := address(cell)) is not None), None)
        if bdf is None:
            continue
        if bdf in cards:
            raise ParseError(COMMAND, f"it prints the card at {bdf} twice")
        below = _cells(lines[at + 1]) if at + 1 < len(lines) else []
        cards[bdf] = _card(bdf, cells, below)
    if not cards:
        raise ParseError(COMMAND, "no row of its table names a bus address")
    return Table(
        driver_version=_version(_DRIVER, text), firmware_version=_version(_FIRMWARE, text), cards=cards
    )


def _card(bdf: str, above: list[str], below: list[str]) -> TableCard:
    words = " ".join(above)
    use = _PERCENT.search(words)
    switch = next((word for word in reversed(words.split()) if word in _SLICED), None)
    temperature = _first(_TEMPERATURE, below)
    power = _first(_POWER, below)
    memory = _first(_MEMORY, below)
    return TableCard(
        bdf=bdf,
        index=_index(above),
        utilisation_percent=NA if use is None else float(use[1]),
        sliced=NA if switch is None else _SLICED[switch],
        temperature_celsius=NA if temperature is None else float(temperature[1]),
        power_watts=NA if power is None else float(power[1]),
        power_cap_watts=NA if power is None or power[2] is None else float(power[2]),
        memory_used=NA if memory is None else Bytes(int(memory[1]) * MIB),
        memory_total=NA if memory is None else Bytes(int(memory[2]) * MIB),
        state=below[-1] if below else "",
    )


def _index(cells: list[str]) -> Maybe[int]:
    """The newest shape counts boards in the first column and cards in the second; the older ones have no boards."""
    place = 1 if len(cells) > 3 else 0
    first = cells[place].split()[:1] if len(cells) > place else []
    return int(first[0]) if first and first[0].isascii() and first[0].isdigit() and len(first[0]) < 5 else NA


def _cells(line: str) -> list[str]:
    stripped = line.strip()
    if not stripped.startswith("|") or not stripped.endswith("|") or len(stripped) < 2:
        return []
    return [cell.strip() for cell in stripped[1:-1].split("|")]


def _first(pattern: re.Pattern[str], cells: list[str]) -> re.Match[str] | None:
    return next((found for cell in cells if (found := pattern.search(cell)) is not None), None)


def _version(pattern: re.Pattern[str], text: str) -> Maybe[str]:
    found = pattern.search(text)
    return NA if found is None or found[1] in _UNKNOWN else found[1]

"""`mx-smi -L`: every card with its bus address, whether it can be used, and its slices below it."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from tangram.drivers.mxsmi.text import PRODUCT, ParseError, address, lines_of, shown
from tangram.units.memory import GIB, Bytes

COMMAND: Final = "-L"

_CARD = re.compile(
    rf"GPU#([0-9]{{1,4}})\s+{PRODUCT}\s+([0-9a-fA-F:.]{{7,20}})\s+(Available|Not Available)\s*(.*)"
)
_SLICE = re.compile(
    r"\s+SGPU#([0-9]{1,4})\s+([0-9]{1,3})%\s+([0-9]{1,9}(?:\.[0-9]{1,9})?)gb\s+(Available|Not Available)\s*(.*)"
)
_UUID = re.compile(r"\(UUID: ([!-~]{1,100}?)\)\s*(\S*)\s*")
_REASON = re.compile(r"\((.*)\)\s*")


class ListedSlice(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    cores: int
    memory: Bytes
    available: bool
    uuid: str = ""
    alias: str = ""


class ListedCard(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    product: str
    bdf: str
    available: bool
    uuid: str = ""
    """Empty for a card that cannot be used: the tool does not tell it then."""
    reason: str = ""
    slices: tuple[ListedSlice, ...] = ()


def parse_listing(text: str) -> tuple[ListedCard, ...]:
    """The cards, in the tool's order. Raises `ParseError` for a line about a card that cannot be understood."""
    cards: list[ListedCard] = []
    for line in lines_of(text, COMMAND):
        if line.startswith("GPU#"):
            cards.append(_card(line))
        elif line.lstrip().startswith("SGPU#"):
            if not cards:
                raise ParseError(COMMAND, f"a slice stands before any card: {shown(line)}")
            below = cards[-1]
            cards[-1] = msgspec.structs.replace(below, slices=(*below.slices, _slice(line)))
    numbers = [card.index for card in cards]
    addresses = [card.bdf for card in cards]
    if len(set(numbers)) < len(numbers) or len(set(addresses)) < len(addresses):
        raise ParseError(COMMAND, "it lists one card twice")
    return tuple(cards)


def _card(line: str) -> ListedCard:
    found = _CARD.fullmatch(line.rstrip())
    bdf = None if found is None else address(found[3])
    if found is None or bdf is None:
        raise ParseError(COMMAND, f"no card can be read from {shown(line)}")
    available = found[4] == "Available"
    uuid = _UUID.fullmatch(found[5])
    reason = _REASON.fullmatch(found[5])
    if available and uuid is None:
        raise ParseError(COMMAND, f"a card that is available has no uuid: {shown(line)}")
    return ListedCard(
        index=int(found[1]),
        product=found[2],
        bdf=bdf,
        available=available,
        uuid="" if uuid is None else uuid[1],
        reason=reason[1].strip() if reason is not None and not available and uuid is None else "",
    )


def _slice(line: str) -> ListedSlice:
    found = _SLICE.fullmatch(line.rstrip())
    if found is None:
        raise ParseError(COMMAND, f"no slice can be read from {shown(line)}")
    uuid = _UUID.fullmatch(found[5])
    return ListedSlice(
        id=int(found[1]),
        cores=int(found[2]),
        memory=Bytes(round(float(found[3]) * GIB)),
        available=found[4] == "Available",
        uuid="" if uuid is None else uuid[1],
        alias="" if uuid is None else uuid[2],
    )

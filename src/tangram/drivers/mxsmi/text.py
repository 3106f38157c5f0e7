"""What the parsers share: numbers out of other people's text, and the one error that leaves a parser."""

from __future__ import annotations

import re
from typing import Final

from tangram.units.ids import IdError, pci_bus_id
from tangram.units.na import NA, Maybe

LONGEST: Final = 4 << 20
"""Characters of any answer; sixteen cards with everything take a tenth of that."""

PRODUCT: Final = r"([^\s:]{1,64}(?: [^\s:]{1,64}){0,7})"
"""Of a regular expression: what a card is called. `ht-smi`, the same tool under another brand, prints names of several
words ("Mars X201"); none has the colon that every bus address has, so a name ends before one."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,9})?")
_LONGEST_ECHO: Final = 80


class ParseError(ValueError):
    """A text that is not what the command prints. The sentence names the command and what was there instead."""

    def __init__(self, command: str, sentence: str) -> None:
        super().__init__(command, sentence)
        self.command = command
        self.sentence = sentence

    def __str__(self) -> str:
        return f"mx-smi {self.command}: {self.sentence}".replace("mx-smi :", "mx-smi:")


def lines_of(text: str, command: str) -> list[str]:
    """The lines, if it is not far more than the tool would print."""
    if len(text) > LONGEST:
        raise ParseError(command, f"it printed more than {LONGEST} characters")
    return text.splitlines()


def whole(text: str) -> Maybe[int]:
    """A whole number that stands alone."""
    return int(text) if _WHOLE.fullmatch(text.strip()) else NA


def decimal(text: str) -> Maybe[float]:
    """A number that stands alone, with or without a fraction."""
    return float(text) if _DECIMAL.fullmatch(text.strip()) else NA


def count_with(unit: str, text: str) -> Maybe[int]:
    """The whole number before a unit, as in `858 KB`."""
    number, blank, word = text.strip().partition(" ")
    return whole(number) if blank and word.strip() == unit else NA


def amount_with(unit: str, text: str) -> Maybe[float]:
    """The number before a unit, with a blank between them or not, as in `38.50 C` and `61W`."""
    stripped = text.strip()
    if not stripped.endswith(unit):
        return NA
    return decimal(stripped[: len(stripped) - len(unit)])


def address(text: str) -> str | None:
    """A bus address in its one spelling."""
    try:
        return str(pci_bus_id(text))
    except IdError:
        return None


def shown(text: str) -> str:
    """Echo a bit of what was read."""
    return repr(text if len(text) <= _LONGEST_ECHO else text[:_LONGEST_ECHO] + "...")

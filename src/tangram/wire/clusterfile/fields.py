"""One map of a short file, read key by key, with a sentence for everything that does not belong there.

Every sentence says where, what was read, what is legal and what to write; the `place` is a path such as
`nodes[2].cards[0]`, which a person can find without counting lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar, cast

from tangram.units.memory import Bytes, MemorySizeError, parse_memory
from tangram.units.quantity import QuantityError, parse_quantity
from tangram.vendors.wording import either
from tangram.wire import loose
from tangram.wire.errors import WireError, shown

LARGEST_AMOUNT = 2**50
"""A pebibyte of memory or a trillion processors: above it only a slip of the pen, and sums must fit 64 bits."""

_Word = TypeVar("_Word", bound=StrEnum)


def refusal(place: str, read: str, legal: str, instead: str) -> WireError:
    """One sentence about one place of the file."""
    where = f"{place}: " if place else ""
    return WireError("short-file", f"{where}{read}; {legal}; {instead}")


def nearest(word: str, words: Iterable[str], otherwise: str = "write one of these") -> str:
    """What to write instead: the legal word that is spelled nearly like it, if there is one."""
    close = get_close_matches(word, list(words), n=1)
    return f"write {close[0]}" if close else otherwise


class Fields:
    """A map with a closed set of keys. Every reader answers None where the key is absent."""

    def __init__(self, value: object, place: str, keys: tuple[str, ...]) -> None:
        if not loose.is_object(value):
            raise refusal(
                place, f"it is {shown(value)}", f"it is a map with the keys {', '.join(keys)}", "write one"
            )
        self.place = place
        self.members: Mapping[str, object] = loose.members(value)
        for key in cast("Iterable[object]", self.members):
            if key not in keys:
                legal = f"the keys here are {', '.join(keys)}"
                raise refusal(
                    place, f"key {shown(key)} is not known", legal, nearest(str(key), keys, "remove it")
                )

    def __contains__(self, key: str) -> bool:
        return self.members.get(key) is not None

    def at(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def no(self, key: str, legal: str, instead: str) -> WireError:
        """The refusal of what stands under the key."""
        return refusal(self.at(key), f"it is {shown(self.members.get(key))}", legal, instead)

    def lacking(self, key: str, instead: str) -> WireError:
        return refusal(self.place, f"{key} is missing", f"it must say its {key}", instead)

    def text(self, key: str) -> str | None:
        if key not in self:
            return None
        written = loose.scalar_text(self.members[key])
        if not written or not written.strip():
            raise self.no(key, "it is a text", "write one, or remove it")
        return written.strip()

    def word(self, key: str, words: type[_Word]) -> _Word | None:
        written = self.text(key)
        if written is None:
            return None
        try:
            return words(written)
        except ValueError:
            raise self.no(key, f"it is {either(words)}", nearest(written, words)) from None

    def whole(self, key: str, *, least: int = 0, most: int = 2**31 - 1) -> int | None:
        if key not in self:
            return None
        number = loose.integer(self.members[key])
        if number is None or not least <= number <= most:
            raise self.no(
                key, f"it is a whole number from {least} to {most}", f"write for example {max(least, 1)}"
            )
        return number

    def flag(self, key: str) -> bool:
        if key not in self:
            return False
        value = self.members[key]
        if not isinstance(value, bool):
            raise self.no(key, "it is true or false", "write true, or remove it")
        return value

    def memory(self, key: str) -> Bytes | None:
        if key not in self:
            return None
        try:
            size = parse_memory(loose.scalar_text(self.members[key]) or "")
        except MemorySizeError as error:
            raise self.no(key, error.legal, f"write {error.instead}") from error
        if not 0 < size <= LARGEST_AMOUNT:
            raise self.no(key, "it is more than 0 and at most 1024 TiB", "write for example 64 GiB")
        return size

    def cpu_milli(self, key: str) -> int | None:
        if key not in self:
            return None
        try:
            quantity = parse_quantity(loose.scalar_text(self.members[key]) or "")
        except QuantityError as error:
            raise self.no(key, error.legal, f"write {error.instead}") from error
        if not 0 <= quantity.value() <= LARGEST_AMOUNT // 1000:
            raise self.no(key, "it is a number of processors from 0", "write for example 64")
        return quantity.milli_value()

    def entries(self, key: str) -> list[object]:
        if key not in self:
            return []
        if not loose.is_list(self.members[key]):
            raise self.no(key, "it is a list", "write one, such as [1, 2], or remove it")
        return loose.elements(self.members[key])

    def numbers(self, key: str) -> list[int]:
        """A list of card numbers, in the order written."""
        found = [loose.integer(each) for each in self.entries(key)]
        numbers = [number for number in found if number is not None]
        if len(numbers) < len(found):
            raise self.no(key, "it is a list of whole numbers", "write for example [1, 2]")
        return numbers

    def texts(self, key: str) -> dict[str, str]:
        if key not in self:
            return {}
        written = self.members[key]
        found = loose.text_map(written)
        if not loose.is_object(written) or len(found) < len(loose.members(written)):
            raise self.no(key, "it is a map of texts", "write for example {zone: a}")
        return found

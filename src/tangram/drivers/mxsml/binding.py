"""Questions to the library, each answered with a value or `NA`.

The library answers through addresses of memory that we provide. That memory is made once per loaded library and used
again and again, as a pass over sixteen cards asks over six hundred questions; a record handed out here is good only
until the next question of its kind. Everything in it that the library claims (counts, sizes, ends of texts) is checked
against the memory it had.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from ctypes import Array, Structure, addressof, byref, c_char, c_int, c_uint, c_uint64, memset, sizeof
from typing import Final, TypeVar, cast

from tangram.drivers.mxsml import codes
from tangram.drivers.mxsml.layouts import roomy
from tangram.drivers.mxsml.library import FULL_NAMES, Library
from tangram.drivers.mxsml.rings import Rings
from tangram.units.na import NA, Maybe, NotAvailable

TEXT_BYTES: Final = 96
LONGEST_TEXT_BYTES: Final = 1024
NUMBERS: Final = 32
MOST_RECORDS: Final = 4096
"""A library that claims more has lost its mind, and we keep our memory."""

_Record = TypeVar("_Record", bound=Structure)


class Binding:
    """Typed questions over one loaded library, for one thread."""

    def __init__(self, library: Library, rings: Rings, given_up: Callable[[], bool] = bool) -> None:
        self.library = library
        self.rings = rings
        self.given_up = given_up
        """Whether nobody waits for the present work any more."""
        self._functions = library.functions
        self._entering = library.entering
        self.status = codes.DONE
        """Of the last question."""
        self._gone = False
        self._records: dict[type[Structure], tuple[Structure, object, int, int]] = {}
        self._lists: dict[type[Structure], Array[Structure]] = {}
        self._count = (c_uint * 16)()
        self._signed = (c_int * 16)()
        self._wide = (c_uint64 * 8)()
        self._numbers = (c_uint * (NUMBERS + 256))()
        self._text = (c_char * (LONGEST_TEXT_BYTES + 1024))()
        # Where each of them is, worked out once and not per question.
        self._at_count = byref(self._count)
        self._at_signed = byref(self._signed)
        self._at_wide = byref(self._wide)
        self._at_numbers = byref(self._numbers)
        self._at_text = byref(self._text)

    @contextmanager
    def watching_for_loss(self) -> Generator[LossWatch]:
        """Whether any question inside was answered with "no such device"."""
        self._gone = False
        watch = LossWatch()
        yield watch
        watch.lost = self._gone

    def ask(self, name: str, *arguments: object) -> bool:
        """Whether the call succeeded; `status` has the code."""
        function = self._functions.get(name)
        if function is None:
            status = self.library.call(name, *arguments)
        else:
            # The library's own `call`, without the cost of calling it: most questions are asked here.
            self._entering(FULL_NAMES[name])
            status = function(*arguments)
        self.status = status
        if status == codes.GONE:
            self._gone = True
        return status == codes.DONE

    def number(self, name: str, *arguments: int) -> Maybe[int]:
        """An unsigned number, the function's last argument."""
        self._count[0] = 0
        return self._count[0] if self.ask(name, *arguments, self._at_count) else NA

    def signed(self, name: str, *arguments: int) -> Maybe[int]:
        self._signed[0] = 0
        return self._signed[0] if self.ask(name, *arguments, self._at_signed) else NA

    def bits(self, name: str, *arguments: int) -> Maybe[int]:
        """Sixty-four bits, the function's last argument."""
        self._wide[0] = 0
        return self._wide[0] if self.ask(name, *arguments, self._at_wide) else NA

    def count(self, name: str, *arguments: int, most: int) -> int:
        """What a function that answers with a count says, unless it is more than there can be."""
        found = self.library.call(name, *arguments)
        return found if found <= most else 0

    def text(self, name: str, *arguments: int) -> Maybe[str]:
        """A text, whose buffer and its size are the function's last arguments. Gets more room when told to need it."""
        self.clear_text()
        self._count[0] = TEXT_BYTES
        if self.ask(name, *arguments, self._at_text, self._at_count):
            return self.written_text()
        needed = self._count[0]
        if self.status != codes.TOO_SMALL or not TEXT_BYTES < needed <= LONGEST_TEXT_BYTES:
            return NA
        memset(addressof(self._text), 0, LONGEST_TEXT_BYTES)
        self._count[0] = LONGEST_TEXT_BYTES
        if not self.ask(name, *arguments, self._at_text, self._at_count):
            return NA
        return decoded(self._text.raw[:LONGEST_TEXT_BYTES]) or NA

    def last_size(self) -> int:
        """What the last function with a size made of it, the end of the text among it."""
        return self._count[0]

    def state_with_text(self, name: str, *arguments: int) -> tuple[Maybe[int], str]:
        """A number with words for it: number, buffer and size are the function's last arguments."""
        self.clear_text()
        self._signed[0] = 0
        self._count[0] = TEXT_BYTES
        found = self.ask(name, *arguments, self._at_signed, self._at_text, self._at_count)
        return (self._signed[0], known_text(self.written_text())) if found else (NA, "")

    def record(self, name: str, *arguments: int, into: type[_Record]) -> _Record | NotAvailable:
        """A record, the function's last argument. Zeroed before, as the library leaves some fields untouched."""
        held = self._records.get(into)
        if held is None:
            made = roomy(into)
            held = self._records[into] = (made, byref(made), addressof(made), sizeof(into))
        record, at, address, size = held
        memset(address, 0, size)
        return cast("_Record", record) if self.ask(name, *arguments, at) else NA

    def records(
        self, name: str, *arguments: int, into: type[_Record], room: int
    ) -> Sequence[_Record] | NotAvailable:
        """Several records: how many and where are the function's last arguments. Grows when told it is too few."""
        held = self._room_for(into, room)
        self._count[0] = len(held)
        if not self.ask(name, *arguments, self._at_count, byref(held)):
            needed = self._count[0]
            if self.status != codes.TOO_SMALL or not len(held) < needed <= MOST_RECORDS:
                return NA
            held = self._more(into, needed + needed // 2)
            self._count[0] = len(held)
            if not self.ask(name, *arguments, self._at_count, byref(held)):
                return NA
        return held[: min(self._count[0], len(held))]

    def counted_records(
        self, name: str, *arguments: int, into: type[_Record], spare: int, tries: int
    ) -> Sequence[_Record] | NotAvailable:
        """As `records`, of a function that cuts its list without a word, and tells its length when there is no room."""
        for _ in range(tries):
            self._count[0] = 0
            nothing = self._room_for(into, spare)
            if (
                not self.ask(name, *arguments, self._at_count, byref(nothing))
                or self._count[0] > MOST_RECORDS
            ):
                return NA
            room = self._count[0] + spare
            found = self.records(name, *arguments, into=into, room=room)
            if isinstance(found, NotAvailable) or len(found) < room:
                return found
        return NA

    def filled(self, name: str, *, into: type[_Record], room: int) -> Sequence[_Record] | NotAvailable:
        """Records of a function that is told how many there is room for, and leaves the others empty."""
        held = self._room_for(into, room)
        memset(addressof(held), 0, sizeof(into) * room)
        return held[:room] if self.ask(name, room, byref(held)) else NA

    def numbers(self, name: str, *arguments: int, count_first: bool = True) -> Maybe[tuple[int, ...]]:
        """Several numbers; the function takes how many before where, or the other way round."""
        self._count[0] = NUMBERS
        out = (self._at_count, self._at_numbers)
        if not self.ask(name, *arguments, *(out if count_first else reversed(out))):
            return NA
        return tuple(self._numbers[: min(self._count[0], NUMBERS)])

    def words(self, name: str, device: int, count: int) -> Maybe[tuple[int, ...]]:
        """Exactly that many numbers, for a function that is told how many before the buffer."""
        for at in range(count):
            self._numbers[at] = 0
        return tuple(self._numbers[:count]) if self.ask(name, device, count, self._at_numbers) else NA

    def clear_text(self) -> None:
        memset(addressof(self._text), 0, TEXT_BYTES)

    def written_text(self) -> Maybe[str]:
        # Cut at our size and not at the one reported, which counts the zero on some versions and not on others.
        return decoded(self._text.raw[:TEXT_BYTES]) or NA

    def _room_for(self, into: type[_Record], room: int) -> Array[_Record]:
        held = cast("Array[_Record] | None", self._lists.get(into))
        return held if held is not None and len(held) >= room else self._more(into, room)

    def _more(self, into: type[_Record], room: int) -> Array[_Record]:
        memory = array("b", bytes(sizeof(into) * room + 1024))
        held = (into * room).from_buffer(memory)
        self._lists[into] = held
        return held


class LossWatch:
    """What was seen while watching; final when the watching has ended."""

    lost = False


def decoded(raw: bytes) -> str:
    """The text before the first zero. Bytes that are no UTF-8 show as such instead of failing."""
    return raw.split(b"\0", 1)[0].decode(errors="replace").strip()


def known_text(text: Maybe[str]) -> str:
    """The text, or an empty one."""
    return "" if isinstance(text, NotAvailable) else text

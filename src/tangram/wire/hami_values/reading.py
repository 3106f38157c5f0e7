"""What a file of values says, by the names of the table: nested or dotted, in this or that spelling.

Helm takes whatever stands in such a file and passes over what no template asks for, so a misspelled value does nothing
and nobody hears of it. Here every value is either known or told. A value of the wrong kind is refused, and so are two
spellings that say different things: which of them holds in HAMi depends on the version of its chart.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

import msgspec

from tangram.units.durations import DurationError, parse_duration
from tangram.wire import loose
from tangram.wire.errors import WireError, shown
from tangram.wire.hami_values.other_vendors import DEVICES, OTHER_VENDORS, vendor_row
from tangram.wire.hami_values.rows import Kind, Note, Outcome, Row
from tangram.wire.hami_values.table import ROWS

_OUR_VENDORS = ("metax", "mthreads")
_OLD_DEVICES = "device"
"""HAMi's own documents write it both ways."""
_MOST_PARTS = 2000
_MOST_DEPTH = 20
_BY_SPELLING: Final = {key: row for row in (*ROWS, *OTHER_VENDORS) for key in row.spellings}
_FOLDERS: Final = frozenset(
    ".".join(key.split(".")[:depth]) for key in _BY_SPELLING for depth in range(1, len(key.split(".")))
) | {DEVICES, _OLD_DEVICES}


class HamiValuesError(WireError):
    """A value that cannot be read. `key` says which, so that whoever has the text can tell the line."""

    key: str

    def __init__(self, code: str, sentence: str, key: str = "") -> None:
        super().__init__(code, sentence)
        self.key = key


class Said(NamedTuple):
    """A value of the table, as somebody wrote it."""

    written: str
    """The spelling they used."""
    row: Row
    value: object


class Sayings(msgspec.Struct, frozen=True):
    """All that a file says."""

    said: dict[str, Said]
    """By the key of the row."""
    unknown: tuple[Note, ...]


def read_sayings(document: object) -> Sayings:
    """What the document says. Raises `HamiValuesError`."""
    if document is not None and not loose.is_object(document):
        raise HamiValuesError(
            "hami-values-malformed",
            f"the values are {shown(document)}: they are a map, as helm get values prints it; write for example "
            "scheduler: with replicas: 2 under it",
        )
    said: dict[str, Said] = {}
    unknown: list[Note] = []
    for written, row, value in _walk("", loose.members(document)):
        if row is None:
            unknown.append(Note(written, Outcome.UNKNOWN, _unknown(written)))
            continue
        read = read_value(written, row, value)
        if read is None:
            continue
        found = said.setdefault(row.key, Said(written, row, read))
        if not _agree(found.value, read):
            what = (
                f"{written} is written twice, nested and dotted, as"
                if written == found.written
                else f"{found.written} and {written} are two spellings of one value and say"
            )
            raise HamiValuesError(
                "hami-values-disagree",
                f"{what} {shown(found.value)} and {shown(read)}: they have to agree; remove the one that is "
                "wrong",
                written,
            )
    return Sayings(said, tuple(unknown))


def _agree(one: object, other: object) -> bool:
    """Whether two values are the same; two without an end are not compared, because that has none either."""
    return one is other or (_finite(one) and _finite(other) and one == other)


def _walk(above: str, members: Mapping[str, object]) -> Iterator[tuple[str, Row | None, object]]:
    for name, value in members.items():
        path = f"{above}{_spelled(name)}"
        row = _row(path)
        if path in _FOLDERS and loose.is_object(value):
            yield from _walk(f"{path}.", loose.members(value))
        elif row is None and path in _FOLDERS:
            if value is not None:
                raise HamiValuesError(
                    "hami-values-kind",
                    f"{path} is {shown(value)}: it is a map of values; write them under it",
                    path,
                )
        else:
            yield path, row, value


def _row(path: str) -> Row | None:
    known = _BY_SPELLING.get(path)
    folder, _, vendor = path.partition(".")
    if known is None and folder in (DEVICES, _OLD_DEVICES) and vendor and vendor not in _OUR_VENDORS:
        first = vendor.partition(".")[0]
        return None if first in _OUR_VENDORS else vendor_row(path)
    return known


def _spelled(name: object) -> str:
    """A key as it is; one that is no text, as YAML allows, so that it can be spoken of."""
    text = loose.scalar_text(name)
    return shown(name) if text is None else text if len(text) <= 120 else f"{text[:120]}..."


def _unknown(key: str) -> str:
    folder, _, last = key.rpartition(".")
    beside = [known for known in _BY_SPELLING if known.rpartition(".")[0] == folder]
    near = _like(last, beside, 0.7) or _like(last, list(_BY_SPELLING), 0.85)
    hint = f"did you mean {near}?" if near else "look whether it is spelled right."
    return f"It is no value of HAMi's chart that is known here, so nothing was made of it; {hint}"


def _like(word: str, among: Sequence[str], likeness: float) -> str:
    """The key whose last part is most like the word; what stands before it would make all of them alike."""
    lasts = {known.rpartition(".")[2].lower(): known for known in reversed(among)}
    found = difflib.get_close_matches(word.lower(), lasts, n=1, cutoff=likeness)
    return lasts[found[0]] if found else ""


def read_value(written: str, row: Row, value: object) -> object:
    """The value as its row has it; None where it says nothing. Raises `HamiValuesError`."""
    if value is None or value == "" or (value in ([], {}) and row.kind is not Kind.FLAG):
        return None
    read = _READERS[row.kind](value)
    if read is None:
        raise HamiValuesError(
            "hami-values-kind",
            f"{written} is {shown(value)}: it is {row.kind}; write that, or remove it",
            written,
        )
    return read


def _count(value: object) -> int | None:
    number = loose.integer(value)
    return number if number is not None and 0 <= number < 2**31 else None


def _duration(value: object) -> float | None:
    """Go writes them as we do; a number alone is one in seconds, as a chart's template would have written it."""
    number = loose.integer(value)
    try:
        return number if number is not None else parse_duration(loose.text(value))
    except DurationError:
        return None


def read_sizes(value: object) -> list[int] | None:
    """Whole numbers; one alone is a list of one. None for anything else."""
    sizes = [loose.integer(each) for each in (loose.elements(value) if loose.is_list(value) else [value])]
    return None if None in sizes else [size for size in sizes if size is not None]


def _names(value: object) -> list[str] | None:
    """A name alone is a list of one, as a chart's `--set` makes it."""
    names = loose.elements(value) if loose.is_list(value) else [value]
    texts = [loose.text(name).strip() for name in names]
    return list(dict.fromkeys(texts)) if all(texts) else None


def _text(value: object) -> str | None:
    return (loose.scalar_text(value) or "").strip() or None


def _map(value: object) -> object:
    return value if loose.is_object(value) and _finite(value) else None


def _resources(value: object) -> object:
    """As Kubernetes reads it: what has a limit alone asks for as much.

    Without that our chart would ask for an amount of its own, and a pod that asks for more than its limit is refused.
    """
    if _map(value) is None:
        return None
    said = {key: side for key, side in loose.members(value).items() if side not in (None, {})}
    limits, requests = loose.members(said.get("limits")), said.get("requests", {})
    if not limits or not loose.is_object(requests):
        return said
    return said | {"requests": {**limits, **loose.members(requests)}}


def _maps(value: object) -> object:
    elements = loose.elements(value) if loose.is_list(value) else ()
    maps = elements and all(map(loose.is_object, elements))
    return value if maps and _finite(value) else None


def _finite(value: object, depth: int = _MOST_DEPTH, parts: list[int] | None = None) -> bool:
    """Whether a value has an end: an alias in YAML may lead back to where it stands, or stand for a thousand others."""
    left = [_MOST_PARTS] if parts is None else parts
    left[0] -= 1
    if depth < 0 or left[0] < 0:
        return False
    if loose.is_object(value):
        members = loose.members(value)
        return all(isinstance(cast("object", key), str) for key in members) and all(
            _finite(member, depth - 1, left) for member in members.values()
        )
    if loose.is_list(value):
        return all(_finite(element, depth - 1, left) for element in loose.elements(value))
    return is_plain(value)


def is_plain(value: object) -> bool:
    """Whether JSON and YAML have a word for a value that is neither a map nor a list."""
    if isinstance(value, int):
        return value.bit_length() < 64
    return value is None or loose.scalar_text(value) not in (None, "nan", "inf", "-inf")


_READERS: Final[Mapping[Kind, Callable[[object], object]]] = {
    Kind.FLAG: loose.flag,
    Kind.TEXT: _text,
    Kind.COUNT: _count,
    Kind.DURATION: _duration,
    Kind.SIZES: read_sizes,
    Kind.NAMES: _names,
    Kind.MAP: _map,
    Kind.RESOURCES: _resources,
    Kind.MAPS: _maps,
    Kind.ANY: lambda value: value,
}

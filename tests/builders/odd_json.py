"""JSON that goes wrong in every way JSON can: right in shape but for a few places, or of no shape at all.

Objects are lists of members here, because in what people send a name can come twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import msgspec
from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]


class Members(NamedTuple):
    """An object, as the list of what stands in its braces."""

    pairs: list[list[Any]]


class Text(NamedTuple):
    """A piece of JSON as it is, for numbers and depths that no encoder writes."""

    written: bytes


DEEP = Text(b"[" * 3000 + b"]" * 3000)
DEEP_OBJECT = Text(b'{"a":' * 3000 + b"1" + b"}" * 3000)
NUMBERS = (0, -1, 1.5, 2**31, 2**63, 2**64 - 1, -(2**63), 1e308, 5e-324)
HUGE = ("x" * 300, Text(b"9" * 40), Text(b"-" + b"9" * 4000), Text(b"1e400"), Text(b"1e30"), Text(b"-0"))
TEXTS = (
    "",
    " ",
    "a",
    "b",
    "uid-bound",
    "uid-promised",
    "..",
    "a/b",
    "a?b=c",
    "\0",
    "\n",
    "ü\u202e\U0001f600",
)
HALF = (Text(b'"\\ud800"'), Text(b'"\xff\xfe"'), Text(b'"\\u0000"'), Text(b"tru"), Text(b"NaN"), Text(b""))

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from((*NUMBERS, *TEXTS)),
    st.text(max_size=12),
    st.integers(),
)
ODD = st.one_of(
    SCALARS,
    SCALARS,
    st.sampled_from((DEEP, DEEP_OBJECT)),
    st.sampled_from((*HUGE, *NUMBERS, *NUMBERS, *TEXTS, *HALF)),
    st.just([]),
    st.just(Members([])),
    st.lists(SCALARS, max_size=3),
    st.lists(st.lists(SCALARS, min_size=2, max_size=2), max_size=3).map(
        lambda pairs: Members([[str(key), value] for key, value in pairs])
    ),
)
WAYS = st.sampled_from(("other", "other", "other", "gone", "twice", "case", "listed"))


def tree(document: object) -> Any:  # noqa: ANN401 - JSON
    """The document with its objects as `Members`."""
    if isinstance(document, dict):
        return Members([[key, tree(value)] for key, value in cast("dict[str, object]", document).items()])
    if isinstance(document, list):
        return [tree(each) for each in cast("list[object]", document)]
    return document


def written(thing: object) -> bytes:
    """The tree as it is sent."""
    if isinstance(thing, Text):
        return thing.written
    if isinstance(thing, Members):
        inner = (msgspec.json.encode(key) + b":" + written(value) for key, value in thing.pairs)
        return b"{" + b",".join(inner) + b"}"
    if isinstance(thing, list):
        return b"[" + b",".join(map(written, cast("list[object]", thing))) + b"]"
    if isinstance(thing, int) and not -(2**63) <= thing < 2**64:
        return str(thing).encode() if thing.bit_length() < 4096 else b"9" * 4000
    return msgspec.json.encode(thing)


@st.composite
def bent(draw: Draw, documents: st.SearchStrategy[Any]) -> bytes:
    """One of the documents with a few things wrong in it, or none."""
    whole = tree(draw(documents))
    for _ in range(draw(st.sampled_from((0, 0, 1, 1, 1, 2, 3)))):
        places = list(_places(whole))
        if places:
            _bend(draw, *draw(st.sampled_from(places)))
    return written(whole)


def any_json() -> st.SearchStrategy[bytes]:
    """Objects in objects under names that lead readers deeper than random text would."""
    names = st.sampled_from(
        ("Pod", "pod", "Nodes", "NodeNames", "items", "metadata", "spec", "containers", "resources", "limits", "uid",
         "metax-tech.com/sgpu", "NodeNameToVictims", "NodeNameToMetaVictims", "Pods", "UID", "PodName", "PodUID",
         "PodNamespace", "Node", "kind", "apiVersion", "request", "object", "oldObject", "operation", "resource", "a")
    )  # fmt: skip
    return st.recursive(
        ODD,
        lambda inner: (
            st.lists(inner, max_size=3) | st.lists(st.tuples(names, inner).map(list), max_size=4).map(Members)
        ),
        max_leaves=15,
    ).map(written)


def _places(thing: object) -> Iterator[tuple[list[Any], int]]:
    """Every list or object and every position in it."""
    inner = thing.pairs if isinstance(thing, Members) else thing
    if isinstance(inner, Text | tuple) or not isinstance(inner, list):
        return
    within = cast("list[Any]", inner)
    for position, each in enumerate(within):
        yield within, position
        yield from _places(each[1] if isinstance(thing, Members) else each)


def _bend(draw: Draw, within: list[Any], position: int) -> None:
    entry: Any = within[position]
    pair = cast("list[Any]", entry) if isinstance(entry, list) else []
    is_member = len(pair) == 2 and isinstance(pair[0], str)
    match draw(WAYS):
        case "gone":
            del within[position]
        case "twice":
            within.append([pair[0], draw(ODD)] if is_member else entry)
        case "case" if is_member:
            name = str(pair[0])
            pair[0] = draw(st.sampled_from((name.upper(), name.lower(), f" {name}")))
        case "listed" if is_member:
            pair[1] = [pair[1]]
        case _ if is_member:
            pair[1] = draw(ODD)
        case _:
            within[position] = draw(ODD)

"""What differs between two trees of JSON, short enough to be read, and whole enough to make the second from the first.

A leaf that differs is `{was: ..., is: ...}`, with one of the two where there is nothing on the other side. Elements of
lists are `at N`, `removed N` and `added N`; they are the same element if they have the same name. Long texts are
compared line by line, under `lines`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, Final, cast

Tree = Any
"""Whatever JSON can say."""
WAS, IS, LINES = "was", "is", "lines"
_MARKS: Final = frozenset({WAS, IS, LINES})
_LONG: Final = 4
"""Lines from which a text is compared by line."""
SAME: Final[Tree] = None


def difference(was: Tree, now: Tree) -> Tree:
    """What to hand to `applied` so that it makes the second of the first; `SAME` if they are equal."""
    if isinstance(was, dict) and isinstance(now, dict):
        return _of_maps(cast("dict[str, Tree]", was), cast("dict[str, Tree]", now))
    if isinstance(was, list) and isinstance(now, list):
        return dict(_of_lists(cast("list[Tree]", was), cast("list[Tree]", now))) or SAME
    if _equal(was, now):
        return SAME
    if isinstance(was, str) and isinstance(now, str) and min(was.count("\n"), now.count("\n")) >= _LONG:
        return {LINES: difference(was.split("\n"), now.split("\n"))}
    return cast("dict[str, Tree]", {WAS: was, IS: now})


def applied(was: Tree, differing: Tree) -> Tree:
    """The second tree. A difference that was taken from another first tree fails."""
    if differing is SAME:
        return was
    marked = _MARKS & differing.keys()
    if LINES in marked:
        return "\n".join(applied(was.split("\n"), differing[LINES]))
    if marked:
        assert _equal(differing[WAS], was), (
            f"{was!r} stands where the difference was taken from {differing[WAS]!r}"
        )
        return differing[IS]
    return _list(cast("list[Tree]", was), differing) if isinstance(was, list) else _map(was, differing)


def _of_maps(was: dict[str, Tree], now: dict[str, Tree]) -> Tree:
    assert not _MARKS & (was.keys() | now.keys()), "a map of the charts uses a word of ours"
    found: dict[str, Tree] = {}
    for key in [*was, *(key for key in now if key not in was)]:
        if key not in now:
            found[key] = {WAS: was[key]}
        elif key not in was:
            found[key] = {IS: now[key]}
        elif (inner := difference(was[key], now[key])) is not SAME:
            found[key] = inner
    return found or SAME


def _map(was: dict[str, Tree], differing: dict[str, Tree]) -> dict[str, Tree]:
    made = dict(was)
    for key, inner in differing.items():
        if inner.keys() == {WAS}:
            assert _equal(made.pop(key), inner[WAS]), f"{key} was something else"
        elif inner.keys() == {IS}:
            assert key not in made, f"{key} was not there"
            made[key] = inner[IS]
        else:
            made[key] = applied(made[key], inner)
    return made


def _of_lists(was: list[Tree], now: list[Tree]) -> Iterator[tuple[str, Tree]]:
    who = [_identity(each) for each in was], [_identity(each) for each in now]
    for what, old, old_end, new, new_end in SequenceMatcher(None, *who, autojunk=False).get_opcodes():
        if old_end - old == new_end - new:
            for before, after in zip(range(old, old_end), range(new, new_end), strict=True):
                if (inner := difference(was[before], now[after])) is not SAME:
                    yield f"at {before}", inner
            continue
        assert what != "equal"
        for before in range(old, old_end):
            yield f"removed {before}", was[before]
        for after in range(new, new_end):
            yield f"added {after}", now[after]


def _list(was: list[Tree], differing: dict[str, Tree]) -> list[Tree]:
    told = {tuple(key.split(" ")): inner for key, inner in differing.items()}
    for (word, number), inner in told.items():
        assert word != "removed" or _equal(was[int(number)], inner), f"element {number} was something else"
    made = [
        applied(each, told.get(("at", str(number)), SAME))
        for number, each in enumerate(was)
        if ("removed", str(number)) not in told
    ]
    added = {int(number): inner for (word, number), inner in told.items() if word == "added"}
    for number, inner in sorted(added.items(), key=lambda each: each[0]):
        made.insert(number, inner)
    return made


def _identity(element: Tree) -> str:
    if isinstance(element, dict) and isinstance(name := cast("dict[str, Tree]", element).get("name"), str):
        return f"name {name}"
    return json.dumps(element, sort_keys=True)


def _equal(one: Tree, other: Tree) -> bool:
    """As JSON: 1 and true are two things."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)

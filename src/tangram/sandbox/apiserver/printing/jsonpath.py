r"""The paths that columns of defined kinds are read by: `.status.conditions[?(@.type=="Ready")].status`.

This is the dialect of `kubectl` and the API server: fields (`.a`, `['a']`, `.a\.b`), indexes and slices (`[0]`, `[-1]`,
`[1:3]`), wildcards (`.*`, `[*]`), unions (`[0,2]`), descent (`..a`) and filters that compare one value with another.
Templates (`{range}`, text around a path) are refused: a column is one path. A path that leads nowhere finds nothing;
one that asks a text for its third element raises `PathError`, and the cell stays empty.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tangram.sandbox.apiserver.printing.path_steps import (
    Constant,
    Descent,
    Everything,
    Field,
    Filter,
    Path,
    PathError,
    Slice,
    Step,
    Union,
)

__all__ = ["Path", "PathError", "parse"]

_TOKEN: Final = re.compile(
    r"""
    (?P<descent>\.\.)
  | \.(?P<field>(?:\\.|[^\\\s.,\[\]$@{}])*)
  | \[\?\((?P<filter>(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^"')\n])*)\)\]
  | \[(?P<inside>[^\]\n]*)\]
  | "(?P<double>(?:\\.|[^"\\])*)" | '(?P<single>(?:\\.|[^'\\])*)'
  | (?P<number>[+-]?[0-9.]+)
  | (?P<word>true|false)\b
  | (?P<ignored>[ @$])
    """,
    re.VERBOSE,
)
_FIELD: Final = re.compile(r"(?:\\.|[^\\\s.,\[\]$@{}])+")
_COMPARISON: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_KEY: Final = re.compile(r"'([^']*)'")
_SLICE: Final = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


def parse(written: str) -> Path:
    """The path a column names. Raises `PathError`."""
    steps: list[Step] = []
    place = 0
    while place < len(written):
        match = _TOKEN.match(written, place)
        if match is None:
            raise PathError(f"{written!r} is no path from {written[place:]!r} on")
        place = match.end()
        kind, inside = str(match.lastgroup), match[str(match.lastgroup)]
        if kind == "descent" and (name := _FIELD.match(written, place)):
            # What follows two dots needs no third one.
            place = name.end()
            steps += [Descent(), _field(name[0])]
        else:
            steps += _steps(kind, inside)
    return Path(tuple(steps))


def _steps(kind: str, inside: str) -> Sequence[Step]:
    match kind:
        case "field":
            return [_field(inside)]
        case "descent":
            return [Descent()]
        case "filter":
            return [_filter(inside)]
        case "inside":
            return _bracket(inside)
        case "double" | "single":
            plain = re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), inside)
            return [Constant(plain)]
        case "number":
            return [Constant(_number(inside))]
        case "word":
            return [Constant(inside == "true")]
        case _:
            return []


def _field(name: str) -> Step:
    return Everything() if name == "*" else Field(name.replace("\\", ""))


def _number(written: str) -> int | float:
    try:
        return float(written) if "." in written else int(written)
    except ValueError:
        raise PathError(f"{written!r} is no number") from None


def _filter(inside: str) -> Step:
    compared = _COMPARISON.fullmatch(inside)
    if compared is None:
        return Filter(parse(inside), "", Path(()))
    return Filter(parse(compared[1]), compared[2], parse(compared[3]))


def _bracket(inside: str) -> Sequence[Step]:
    if "," in inside:
        return [Union(tuple(Path(tuple(_bracket(one.strip()))) for one in inside.split(",")))]
    if key := _KEY.fullmatch(inside):
        return parse(f".{key[1]}").steps
    numbers = _SLICE.fullmatch(":" if inside == "*" else inside)
    if numbers is None:
        raise PathError(f"[{inside}] names no element")
    first, end, step = (_index((part or "").removeprefix(":")) for part in numbers.groups())
    return [Slice(first, end, step, single=numbers[2] is None)]


def _index(written: str) -> int | None:
    try:
        return int(written) if written else None
    except ValueError:
        raise PathError(f"{written[:20]!r} is no number") from None

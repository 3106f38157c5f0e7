r"""The paths that columns of defined kinds are read by: `.status.conditions[?(@.type=="Ready")].status`.

This is the dialect of `kubectl` and the API server: fields (`.a`, `['a']`, `.a\.b`), indexes and slices (`[0]`, `[-1]`,
`[1:3]`), wildcards (`.*`, `[*]`), unions (`[0,2]`), descent (`..a`) and filters that compare one value with another.
Templates (`{range}`, text around a path) are refused: a column is one path. A path that leads nowhere finds nothing;
one that asks a text for its third element raises `PathError`, and the cell stays empty.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

Values = list[object]


class PathError(Exception):
    """The path cannot be read, or cannot be followed in this object."""


class Step:
    def walk(self, values: Values) -> Values:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Path:
    steps: tuple[Step, ...]

    def find(self, thing: object) -> Values:
        values: Values = [thing]
        for step in self.steps:
            values = step.walk(values)
        return values


@dataclass(frozen=True, slots=True)
class _Field(Step):
    name: str

    def walk(self, values: Values) -> Values:
        return [
            value[self.name] for value in map(_object, values) if value is not None and self.name in value
        ]


@dataclass(frozen=True, slots=True)
class _Constant(Step):
    value: object

    def walk(self, values: Values) -> Values:
        return [self.value] if values else []


class _Everything(Step):
    def walk(self, values: Values) -> Values:
        return [inside for value in values for inside in _inside(value)]


class _Descent(Step):
    def walk(self, values: Values) -> Values:
        found: Values = []
        for value in values:
            inside = list(_inside(value))
            if inside:
                found += [value, *self.walk(inside)]
        return found


@dataclass(frozen=True, slots=True)
class _Slice(Step):
    first: int | None
    end: int | None
    step: int | None
    single: bool
    """One index was written, not a range."""

    def walk(self, values: Values) -> Values:
        found: Values = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise PathError("only lists have numbered elements")
            found += self._of(cast("Values", value))
        return found

    def _of(self, value: Values) -> Values:
        size = len(value)
        first = 0 if self.first is None else self.first + size * (self.first < 0)
        end = size if self.end is None else self.end + size * (self.end < 0)
        if self.single:
            end = first + 1
        if first == end:
            return []
        if not 0 <= first < size or not 0 <= end <= size or first > end:
            raise PathError(f"a list of {size} has no elements {first} to {end}")
        if self.step is not None and self.step <= 0:
            raise PathError("a step goes forward")
        return value[first : end : self.step or 1]


@dataclass(frozen=True, slots=True)
class _Union(Step):
    branches: tuple[Path, ...]

    def walk(self, values: Values) -> Values:
        found: Values = []
        for branch in self.branches:
            reached = values
            for step in branch.steps:
                reached = step.walk(reached)
            found += reached
        return found


@dataclass(frozen=True, slots=True)
class _Filter(Step):
    left: Path
    sign: str
    """Empty: it is enough that the left side is there."""
    right: Path

    def walk(self, values: Values) -> Values:
        found: Values = []
        for value in values:
            if not isinstance(value, list):
                raise PathError("only lists can be filtered")
            found += [element for element in cast("Values", value) if self._keeps(element)]
        return found

    def _keeps(self, element: object) -> bool:
        left = self.left.find(element)
        if not self.sign or not left:
            return bool(left)
        right = self.right.find(element)
        if not right:
            return False
        if len(left) > 1 or len(right) > 1:
            raise PathError("one value is compared with one value")
        return _compared(left[0], self.sign, right[0])


_SIGNS: Final[dict[str, Callable[..., bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _compared(left: object, sign: str, right: object) -> bool:
    # Whole numbers, fractions, texts and truths compare among themselves only, and truths have no order.
    if type(left) is not type(right) or not isinstance(left, bool | int | float | str):
        raise PathError("values of different kinds cannot be compared")
    if sign not in _SIGNS or (isinstance(left, bool) and sign not in {"==", "!="}):
        raise PathError(f"{sign} compares nothing here")
    return _SIGNS[sign](left, right)


def _object(value: object) -> dict[str, object] | None:
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("Values", value) if isinstance(value, list) else ()


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
            steps += [_Descent(), _field(name[0])]
        else:
            steps += _steps(kind, inside)
    return Path(tuple(steps))


def _steps(kind: str, inside: str) -> Sequence[Step]:
    match kind:
        case "field":
            return [_field(inside)]
        case "descent":
            return [_Descent()]
        case "filter":
            return [_filter(inside)]
        case "inside":
            return _bracket(inside)
        case "double" | "single":
            plain = re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), inside)
            return [_Constant(plain)]
        case "number":
            return [_Constant(_number(inside))]
        case "word":
            return [_Constant(inside == "true")]
        case _:
            return []


def _field(name: str) -> Step:
    return _Everything() if name == "*" else _Field(name.replace("\\", ""))


def _number(written: str) -> int | float:
    try:
        return float(written) if "." in written else int(written)
    except ValueError:
        raise PathError(f"{written!r} is no number") from None


def _filter(inside: str) -> Step:
    compared = _COMPARISON.fullmatch(inside)
    if compared is None:
        return _Filter(parse(inside), "", Path(()))
    return _Filter(parse(compared[1]), compared[2], parse(compared[3]))


def _bracket(inside: str) -> Sequence[Step]:
    if "," in inside:
        return [_Union(tuple(Path(tuple(_bracket(one.strip()))) for one in inside.split(",")))]
    if key := _KEY.fullmatch(inside):
        return parse(f".{key[1]}").steps
    numbers = _SLICE.fullmatch(":" if inside == "*" else inside)
    if numbers is None:
        raise PathError(f"[{inside}] names no element")
    first, end, step = (_index((part or "").removeprefix(":")) for part in numbers.groups())
    return [_Slice(first, end, step, single=numbers[2] is None)]


def _index(written: str) -> int | None:
    if written == "-":
        raise PathError("- is no number")
    return int(written) if written else None

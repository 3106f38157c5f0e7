"""What each part of a path does with the values it has reached so far.

A step that finds nothing hands on nothing, and the steps behind it then find nothing either. A step that makes no sense
for what it meets raises `PathError`: the third element of a text, a number compared with a word.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
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
class Field(Step):
    name: str

    def walk(self, values: Values) -> Values:
        return [
            value[self.name] for value in map(_object, values) if value is not None and self.name in value
        ]


@dataclass(frozen=True, slots=True)
class Constant(Step):
    value: object

    def walk(self, values: Values) -> Values:
        return [self.value] if values else []


class Everything(Step):
    def walk(self, values: Values) -> Values:
        return [inside for value in values for inside in _inside(value)]


class Descent(Step):
    def walk(self, values: Values) -> Values:
        found: Values = []
        for value in values:
            inside = list(_inside(value))
            if inside:
                found += [value, *self.walk(inside)]
        return found


@dataclass(frozen=True, slots=True)
class Slice(Step):
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
class Union(Step):
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
class Filter(Step):
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

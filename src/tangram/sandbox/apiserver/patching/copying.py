"""JSON values as this package handles them: copies, for functions that promise not to change what they are given."""

from __future__ import annotations

from typing import Any, TypeVar, cast

Json = Any
"""A decoded JSON value. What it is, its shape says, or whoever looks."""
Value = TypeVar("Value")


def duplicate(value: Value) -> Value:
    """Several times as fast as `copy.deepcopy`, which also looks for what JSON cannot have."""
    return cast("Value", _copied(value))


def _copied(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _copied(each) for name, each in cast("dict[str, Json]", value).items()}
    if isinstance(value, list):
        return [_copied(each) for each in cast("list[Json]", value)]
    return value

"""The sentences in which a field is refused, word for word as the real server has them: kubectl's users know them.

Those that repeat no value are worded in `schemas.faults`. The others differ from the ones there in how they show it: an
object of a built-in kind is a struct to the real server, and its fields stand in the order in which they were given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.schemas.faults import forbidden, required, too_long, too_many

__all__ = [
    "IMMUTABLE",
    "NOT_NEGATIVE",
    "child",
    "duplicate",
    "each_invalid",
    "forbidden",
    "invalid",
    "not_found",
    "not_negative",
    "number",
    "one_of",
    "required",
    "too_long",
    "too_many",
    "unchanged",
    "unsaid",
    "unsupported",
]

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
IMMUTABLE: Final = "field is immutable"


def child(path: str, name: str) -> str:
    """A field below another."""
    return f"{path}.{name}" if path else name


def invalid(path: str, value: Any, detail: str) -> Fault:  # noqa: ANN401 - any JSON
    """Something is there and wrong."""
    return Fault(path, "FieldValueInvalid", _with(f"Invalid value: {_told(value)}", detail))


def unsaid(path: str, detail: str) -> Fault:
    """Something is wrong and its value is not repeated."""
    return Fault(path, "FieldValueInvalid", f"Invalid value: {detail}")


def unsupported(path: str, value: Any, legal: Iterable[str]) -> Fault:  # noqa: ANN401 - any JSON
    """Not one of a few words."""
    listed = ", ".join(json.dumps(each) for each in legal)
    message = f"Unsupported value: {_told(value)}: supported values: {listed}"
    return Fault(path, "FieldValueNotSupported", message)


def duplicate(path: str, value: Any, detail: str = "") -> Fault:  # noqa: ANN401 - any JSON
    """Another one has it already."""
    return Fault(path, "FieldValueDuplicate", _with(f"Duplicate value: {_told(value)}", detail))


def not_found(path: str, value: Any) -> Fault:  # noqa: ANN401 - any JSON
    """It names something that is not there."""
    return Fault(path, "FieldValueNotFound", f"Not found: {_told(value)}")


def each_invalid(path: str, value: Any, details: Sequence[str]) -> list[Fault]:  # noqa: ANN401 - any JSON
    """One fault for every sentence about a value."""
    return [invalid(path, value, detail) for detail in details]


def one_of(path: str, value: str, legal: Sequence[str]) -> list[Fault]:
    """A word that must be there and be one of a few."""
    if not value:
        return [required(path)]
    return [] if value in legal else [unsupported(path, value, legal)]


def not_negative(path: str, value: Any) -> list[Fault]:  # noqa: ANN401 - any JSON
    """A number from zero on; one that is not there is zero."""
    return [invalid(path, value, NOT_NEGATIVE)] if number(value) < 0 else []


def unchanged(path: str, new: Any, old: Any) -> list[Fault]:  # noqa: ANN401 - any JSON
    """What was decided at creation."""
    return [] if new == old else [invalid(path, new, IMMUTABLE)]


def number(value: Any) -> int:  # noqa: ANN401 - any JSON
    """A number, zero where there is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _with(opening: str, detail: str) -> str:
    return f"{opening}: {detail}" if detail else opening


def _told(value: Any) -> str:  # noqa: ANN401 - any JSON
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

"""JSON Schema that answers a mistake with what is legal.

helm checks values before it renders anything, and prints of every failure where it is and what the schema wanted. What
validators say of an unknown key or of a pattern helps nobody: they name the mistake and keep the legal names to
themselves, or point at the wrong place. Of a constant they print the value, so a sentence is the constant that a wrong
value fails against. It reads the same in helm 3 and helm 4, whose validators differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]


def worded(sentence: str, legal: Schema) -> Schema:
    """Values of that kind; others are answered 'value must be' and the sentence."""
    return {"if": legal, "then": True, "else": {"const": sentence}}


def closed(options: Mapping[str, Schema], *, unsaid: Mapping[str, Schema] | None = None) -> Schema:
    """An object with these keys and no others. `unsaid` are legal too, and nothing that people write."""
    names = sorted(options)
    there = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return {
        "type": "object",
        "properties": {**options, **(unsaid or {})},
        "additionalProperties": {"const": f"left out: there is no such option; here are {there}"},
    }


def text(sentence: str, pattern: str) -> Schema:
    """A text of that form."""
    return worded(sentence, {"type": "string", "pattern": f"^(?:{pattern})$"})


def number(sentence: str, least: int, most: int) -> Schema:
    """A whole number between the two."""
    return worded(sentence, {"type": "integer", "minimum": least, "maximum": most})


def word(*legal: str) -> Schema:
    """One of these; validators list them by themselves."""
    return {"enum": list(legal)}


def several(sentence: str, each: Schema, most: int) -> Schema:
    """A list without repetition."""
    return worded(sentence, {"type": "array", "items": each, "uniqueItems": True, "maxItems": most})

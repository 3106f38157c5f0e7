"""All catalogues in `words/` as one, and how a sentence of it is said in one language.

A key that nobody wrote is a fault of the page, not of its reader, so it is raised here and found by the tests, which
look up every key that a template names.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast

from markupsafe import Markup, escape

from tangram.web import words
from tangram.web.language import CountedWords, Language, Words


class Catalogue(NamedTuple):
    words: Words
    counted: CountedWords


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """Every module of `words/`. Raises `ValueError` for a key that two of them have."""
    plain: dict[str, tuple[str, str]] = {}
    counted: dict[str, tuple[str, str, str]] = {}
    for found in pkgutil.iter_modules(words.__path__):
        module = vars(importlib.import_module(f"{words.__name__}.{found.name}"))
        _join(plain, cast("Words", module.get("WORDS", {})), found.name)
        _join(counted, cast("CountedWords", module.get("COUNTED", {})), found.name)
    return Catalogue(plain, counted)


def _join(into: dict[str, Any], more: Mapping[str, Any], name: str) -> None:
    twice = into.keys() & more.keys()
    if twice:
        raise ValueError(
            f"words/{name}.py has keys that another catalogue has too: {', '.join(sorted(twice))}"
        )
    into.update(more)


def said(language: Language, key: str, **values: object) -> str:
    """One sentence. Whatever is put into it is escaped with it, unless it is markup already."""
    english, chinese = catalogue().words[key]
    return _filled(chinese if language is Language.CHINESE else english, values)


def counted(language: Language, key: str, count: float, **values: object) -> str:
    """One sentence with a number in it, called `n` there."""
    one, many, chinese = catalogue().counted[key]
    english = one if count == 1 else many
    return _filled(chinese if language is Language.CHINESE else english, {"n": count, **values})


def _filled(text: str, values: Mapping[str, object]) -> str:
    if any(isinstance(value, Markup) for value in values.values()):
        return escape(text).format(**values)
    return text.format(**values)

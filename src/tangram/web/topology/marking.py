"""SVG as text: the few ways in which the picture writes an element, each safe for whatever names are put into it."""

from __future__ import annotations

from typing import Final
from unicodedata import east_asian_width
from xml.sax.saxutils import escape

from markupsafe import Markup

_WIDE: Final = frozenset("WF")
_NARROW_LETTER: Final = 0.6
"""Of an average letter of a sans serif font, in parts of its size."""


def safe(words: object) -> str:
    """Inside an element or an attribute. What no XML may hold becomes a question mark."""
    text = str(words)
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return escape(text, {'"': "&quot;", "'": "&#39;"})


def number(value: float) -> str:
    """With one decimal at most: the same everywhere, and half as long."""
    return f"{value:.1f}".removesuffix(".0").replace("-0", "0" if value == 0 else "-0")


def element(name: str, inside: str | None = None, /, **attributes: object) -> str:
    """`class_` is the attribute `class`, and an underline within a name a hyphen. None leaves an attribute out."""
    written = "".join(
        f' {key.removesuffix("_").replace("_", "-")}="{number(value) if isinstance(value, float) else safe(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}/>" if inside is None else f"<{name}{written}>{inside}</{name}>"


def rect(x: float, y: float, width: float, height: float, **attributes: object) -> str:
    """A rectangle."""
    return element("rect", x=float(x), y=float(y), width=float(width), height=float(height), **attributes)


def text(words: object, x: float, y: float, **attributes: object) -> str:
    """A line of text, from its left end unless told otherwise."""
    return element("text", safe(words), x=float(x), y=float(y), **attributes)


def title(words: object) -> str:
    """What is said of an element under the pointer."""
    return element("title", safe(words))


def drawn(inside: str, width: int, height: int) -> Markup:
    """A small picture beside a text that says the same, made of elements from here."""
    return Markup(  # noqa: S704 - whatever is in it went through `safe`
        element(
            "svg", inside, width=width, height=height, viewBox=f"0 0 {width} {height}", aria_hidden="true"
        )
    )


def width_of(words: str, size: float) -> float:
    """About how wide a line will be. Fonts differ, so whoever cuts by this leaves some air."""
    return size * sum(1.0 if east_asian_width(letter) in _WIDE else _NARROW_LETTER for letter in words)


def fitting(words: str, width: float, size: float) -> str:
    """The line cut in its middle: the end is what tells replicas apart."""
    if width_of(words, size) <= width:
        return words
    for kept in range(len(words) - 1, 1, -1):
        tail = min(7, kept // 2)
        shorter = f"{words[: kept - tail]}…{words[len(words) - tail :]}"
        if width_of(shorter, size) <= width:
            return shorter
    return "…"

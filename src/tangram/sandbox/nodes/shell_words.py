"""The few words of a shell that pods in examples use, taken apart: quotes, variables, `;`, `&&`, `||` and loops.

Nothing is executed here or anywhere else in the sandbox. What is not understood (pipes, redirections, substitutions)
is said so, and the container then runs without doing anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

OPERATORS: Final = (";", "&&", "||")

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_FOREIGN: Final = frozenset("|&<>()`")
_BLANKS: Final = " \t"


class NotUnderstood(ValueError):  # noqa: N818 - says what is the case
    """A script with something in it that only a real shell could do."""


class Word(msgspec.Struct, frozen=True):
    """A word as pieces of text, each with whether variables in it are to be filled in."""

    pieces: tuple[tuple[str, bool], ...]

    def text(self, environment: Mapping[str, str]) -> str:
        return "".join(_filled(piece, environment) if open_ else piece for piece, open_ in self.pieces)

    @property
    def plain(self) -> str:
        """The word as it is written, without its quotes."""
        return "".join(piece for piece, _ in self.pieces)


def words_of(script: str) -> list[Word | str]:
    """Words, and between them operators (`;`, `&&`, `||`). Raises `NotUnderstood`."""
    found: list[Word | str] = []
    pieces: list[tuple[str, bool]] = []
    at = 0
    while at < len(script):
        operator = _operator(script, at)
        if operator or script[at] in _BLANKS or (script[at] == "#" and not pieces):
            if pieces:
                found.append(Word(tuple(pieces)))
                pieces = []
            if operator:
                found.append(";" if operator == "\n" else operator)
            end = script.find("\n", at) if script[at] == "#" else at + max(1, len(operator))
            at = len(script) if end < 0 else end
        else:
            piece, at = _piece(script, at)
            pieces += piece
    if pieces:
        found.append(Word(tuple(pieces)))
    return found


def _operator(script: str, at: int) -> str:
    return next((each for each in (*OPERATORS, "\n") if script.startswith(each, at)), "")


def _piece(script: str, at: int) -> tuple[list[tuple[str, bool]], int]:
    """One quoted or bare stretch of a word, and where it ends."""
    letter = script[at]
    if letter == "'":
        end = _closing(script, at, "'")
        return [(script[at + 1 : end], False)], end + 1
    if letter == '"':
        end = _closing(script, at, '"')
        return _double_quoted(script[at + 1 : end]), end + 1
    if letter == "\\":
        # A backslash before the end of a line joins it with the next.
        kept = script[at + 1 : at + 2]
        return ([] if kept in ("", "\n") else [(kept, False)]), at + 2
    if letter in _FOREIGN or script.startswith(("$(", "$["), at):
        raise NotUnderstood(f"{letter} is for a real shell")
    end = at + 1
    while end < len(script) and script[end] not in _FOREIGN and script[end] not in " \t\n;'\"\\":
        if script.startswith(("$(", "$["), end):
            raise NotUnderstood("a command in a word is for a real shell")
        end += 1
    return [(script[at:end], True)], end


def _closing(script: str, at: int, quote: str) -> int:
    end = at + 1
    while end < len(script):
        if script[end] == "\\" and quote == '"':
            end += 2
            continue
        if script[end] == quote:
            return end
        end += 1
    raise NotUnderstood("a quote is not closed")


def _double_quoted(text: str) -> list[tuple[str, bool]]:
    """Inside double quotes variables count, and a backslash protects a few letters."""
    if "`" in text or "$(" in text:
        raise NotUnderstood("a command in quotes is for a real shell")
    pieces: list[tuple[str, bool]] = [("", False)]
    at = 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text) and text[at + 1] in '$"\\`':
            pieces.append((text[at + 1], False))
            at += 2
            continue
        end = at + 1
        while end < len(text) and text[end] != "\\":
            end += 1
        pieces.append((text[at:end], True))
        at = end
    return pieces


def _filled(text: str, environment: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: environment.get(found[1] or found[2], ""), text)

"""What a row of the table says about one value of HAMi's chart, and what comes of a value.

A row is data, so that the page for people and the command that translates cannot differ: the sentences of both are
these. It decides nothing; `translating` does.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Final

import msgspec


class Outcome(StrEnum):
    """What became of a value."""

    MAPPED = "mapped"
    NOT_NEEDED = "not-needed"
    NOT_SUPPORTED = "not-supported"
    UNKNOWN = "unknown"


class Kind(StrEnum):
    """What a value has to be. Charts take text for anything, so `"false"` is as good as `false`."""

    FLAG = "true or false"
    TEXT = "a text"
    COUNT = "a whole number of 0 or more"
    DURATION = "a duration such as 5m"
    SIZES = "a whole number, or a list of them"
    NAMES = "a list of names"
    MAP = "a map"
    RESOURCES = "a map with requests and limits"
    MAPS = "a list of maps"
    ANY = "anything"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One value of HAMi's chart."""

    key: str
    also: tuple[str, ...] = ()
    """Other spellings, of older and newer charts."""
    way: Outcome
    here: str = ""
    """Our value that takes its place."""
    kind: Kind = Kind.ANY
    usual: tuple[object, ...] = ()
    """What HAMi's chart has if nobody says anything. Such a value is nobody's decision, and not spoken of."""
    becomes: object = msgspec.UNSET
    """What to write here instead of the value itself."""
    remark: str = ""
    if_usual: str = ""
    """Told of the usual value all the same, where ours differs on purpose."""

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.key, *self.also)


def mapped(
    key: str,
    here: str,
    kind: Kind,
    *,
    usual: tuple[object, ...] = (),
    also: tuple[str, ...] = (),
    remark: str = "",
    if_usual: str = "",
) -> Row:
    """A value that ours has too."""
    return Row(
        key=key,
        also=also,
        way=Outcome.MAPPED,
        here=here,
        kind=kind,
        usual=usual,
        remark=remark,
        if_usual=if_usual,
    )


def _left_out(
    way: Outcome,
    key: str,
    remark: str,
    *,
    usual: tuple[object, ...] = (),
    kind: Kind = Kind.ANY,
    also: tuple[str, ...] = (),
) -> Row:
    return Row(key=key, also=also, way=way, kind=kind, usual=usual, remark=remark)


not_needed: Final = partial(_left_out, Outcome.NOT_NEEDED)
"""A value that nobody misses, and why."""
not_supported: Final = partial(_left_out, Outcome.NOT_SUPPORTED)
"""A value without which something is different, and what to do instead."""


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """One option of HAMi's scheduler, as it stands under `scheduler.extender.extraArgs`."""

    name: str
    key: str = ""
    """The value that says the same, if there is one."""
    remark: str = ""
    takes: bool = True
    """Whether a word has to follow it; a switch may stand alone."""


class Note(msgspec.Struct, frozen=True):
    """What became of one value, told to a person."""

    key: str
    outcome: Outcome
    sentence: str


class Line(msgspec.Struct, frozen=True):
    """One value of ours."""

    path: str
    value: object
    comment: str


EXTRA_ARGS: Final = "scheduler.extender.extraArgs"

"""One shape for every "no" that a person's input earns."""

from __future__ import annotations

import msgspec


class Refusal(msgspec.Struct, frozen=True):
    """Why a request is not taken, for people and for programs.

    The sentence says what was read, what is legal and what to write instead. The code is stable: tests, dashboards
    and support pages key on it.
    """

    code: str
    sentence: str
    container: str = ""
    """Empty when the whole pod is meant."""


class Caution(msgspec.Struct, frozen=True):
    """Something legal that is rarely meant; the request is taken and the person is told."""

    code: str
    sentence: str
    container: str = ""

"""What a probe found, in a form that people and programs can act on."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec


class Outcome(StrEnum):
    OK = "ok"
    WARN = "warn"
    """Works, or works for some; somebody should look."""
    FAIL = "fail"
    """Cards cannot be served as they should until this is mended."""
    SKIP = "skip"
    """Not looked at, with the reason."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    check: str
    """Stable name, for programs and for searching."""
    outcome: Outcome
    why: str
    todo: str = ""
    """What to do about it; empty where nothing needs doing."""


Findings = Iterator[Finding]
"""Probes hand findings out one by one, so that those made before a hang are kept."""


def ok(check: str, why: str) -> Finding:
    """Nothing to do."""
    return Finding(check=check, outcome=Outcome.OK, why=why)


def warn(check: str, why: str, todo: str) -> Finding:
    """Somebody should look."""
    return Finding(check=check, outcome=Outcome.WARN, why=why, todo=todo)


def fail(check: str, why: str, todo: str) -> Finding:
    """Must be mended."""
    return Finding(check=check, outcome=Outcome.FAIL, why=why, todo=todo)


def skip(check: str, why: str, todo: str = "") -> Finding:
    """Not looked at."""
    return Finding(check=check, outcome=Outcome.SKIP, why=why, todo=todo)

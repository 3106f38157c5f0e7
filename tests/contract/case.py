"""The list of cases. A case is a function whose name is a sentence; being decorated puts it on the list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from contract.world import World

Ask = Callable[[World], Awaitable[object]]


class Case(Struct, frozen=True):
    name: str
    subject: str
    """The module it stands in."""
    ask: Ask

    @property
    def sentence(self) -> str:
        return self.name.replace("_", " ")


_CASES: Final[dict[str, Case]] = {}


def case(ask: Ask) -> Ask:
    """Put a function on the list under its own name."""
    name = ask.__name__
    if name in _CASES:
        raise ValueError(f"two cases are called {name}: the record keeps one answer for a name")
    _CASES[name] = Case(name, ask.__module__.rpartition(".")[2], ask)
    return ask


def registered() -> dict[str, Case]:
    """Every case whose module has been imported."""
    return _CASES

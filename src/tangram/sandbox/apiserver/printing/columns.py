"""What a table's head says, and what prints the rows of a kind below it.

Columns with a priority above zero are printed by `-o wide` alone; the server always sends them. Their descriptions are
left empty: no client prints them, and those of the real server are the API reference, sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.printing.ages import since
from tangram.sandbox.apiserver.printing.reading import at

Cells = list[Any]


class Heading(Struct, frozen=True):
    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    def definition(self) -> Object:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


class Printer(Struct, frozen=True):
    headings: tuple[Heading, ...]
    cells: Callable[[Object, datetime], Cells]
    conditions: Callable[[Object], list[Object]] = lambda _thing: []
    """What is remarkable about a row, for clients that draw finished pods in grey."""


Printers = Mapping[tuple[str, str], Printer]
"""By group and kind."""

NAME: Final = Heading("Name", format="name")
AGE: Final = Heading("Age")
CONTAINERS: Final = (Heading("Containers", priority=1), Heading("Images", priority=1))
SELECTOR: Final = Heading("Selector", priority=1)


def count(name: str) -> Heading:
    """A column of whole numbers."""
    return Heading(name, "integer")


def wide(name: str) -> Heading:
    """A column for `-o wide`."""
    return Heading(name, priority=1)


def age_of(thing: Object, now: datetime) -> str:
    """How long ago an object was made."""
    return since(at(thing, "metadata", "creationTimestamp"), now)

"""What an example is to the tests: manifests in an order, and what must come of each of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"


class Part(Struct, frozen=True):
    """What one container holds: so much of each of these cards."""

    cards: tuple[int, ...]
    memory: str
    compute: int
    """Of 100 for MetaX, of 16 for Moore Threads."""
    limit: int | None = None
    """The compute that the card enforces, where that is not what was set aside."""
    sees: str = ""
    """The memory that the container finds, where nothing keeps it to its own."""


class On(Struct, frozen=True):
    """One pod: its node, and what its containers hold there."""

    node: str
    containers: Mapping[str, Part]
    none: tuple[str, ...] = ()
    """Containers without a card."""


class Runs(Struct, frozen=True):
    """A manifest whose pods come to run. A key is a pod's name, or a label such as `app=chat` for several pods."""

    file: str
    pods: Mapping[str, tuple[On, ...]]
    namespace: str = "default"
    ends: bool = False
    """They come to a good end by themselves."""
    gone: tuple[str, ...] = ()
    """Pods of earlier manifests that had to make room."""


class Made(Struct, frozen=True):
    """A manifest without pods."""

    file: str


class Waits(Struct, frozen=True):
    """A manifest whose pods find no place. The text is part of what a scheduler says of each of them."""

    file: str
    pods: Mapping[str, str]
    count: int = 1


class Refused(Struct, frozen=True):
    """A manifest that our webhook refuses. The text is all that it says."""

    file: str
    says: str


class Leaves(Struct, frozen=True):
    """A pod is deleted, and others that waited come to run."""

    pod: str
    then: Mapping[str, tuple[On, ...]]


Step = Runs | Made | Waits | Refused | Leaves


class Example(Struct, frozen=True):
    name: str
    steps: tuple[Step, ...]
    cluster: str = ""
    """A cluster file of its own."""

    @property
    def folder(self) -> Path:
        return EXAMPLES / self.name

    @property
    def files(self) -> list[str]:
        return [step.file for step in self.steps if not isinstance(step, Leaves)]


def one(node: str, cards: tuple[int, ...], memory: str, compute: int, limit: int | None = None) -> tuple[On]:
    """A pod with one container, called main."""
    return (On(node, {"main": Part(cards, memory, compute, limit)}),)

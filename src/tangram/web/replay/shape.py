"""What the process that replays is asked and answers, as JSON. No names are in it: sizes and order decide.

Memory is bytes, compute the vendor's units, room cards' worth.
"""

from __future__ import annotations

import msgspec


class CardAsked(msgspec.Struct, frozen=True, array_like=True):
    vendor: str
    product: str
    memory: int
    cores: int
    slots: int
    mode: str


class ShareAsked(msgspec.Struct, frozen=True, array_like=True):
    card: int
    """Its position among the node's cards."""
    memory: int
    cores: int
    slots: int
    whole: bool


class PodAsked(msgspec.Struct, frozen=True, array_like=True):
    node: int
    """Its position among the nodes."""
    shares: list[ShareAsked]


class WaitingAsked(msgspec.Struct, frozen=True, array_like=True):
    vendor: str
    cards: int
    memory: int
    """0 for whole cards."""
    cores: int


class Question(msgspec.Struct, frozen=True, kw_only=True):
    nodes: list[list[CardAsked]]
    """Cards that take pods, node by node."""
    pods: list[PodAsked]
    """In the order in which they are placed anew."""
    waiting: list[WaitingAsked]
    """They say what is typical and are not placed."""
    policy: str
    card_policy: list[str]
    rival: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one policy makes of the same pods on the same, empty cards."""

    policy: str
    placed: int
    idle: float
    fragmented: float
    tried: float
    """Further typical pods that came until they asked for all that is idle; the mean over a few orders of arrival."""
    more: float
    """How many of them found room."""
    more_cards: float
    """The cards' worth that those take."""


class Typical(msgspec.Struct, frozen=True, kw_only=True):
    share: float
    """Of all pods."""
    vendor: str
    whole: bool
    cards: int
    memory: int = 0
    """Of each card; 0 for whole cards."""
    cores: int = 0


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """The cards of one model, as they are now."""

    vendor: str
    product: str
    cards: int
    idle: float
    fragmented: float
    without_demand: float = 0.0
    """Of `idle`, what no typical pod could use even if nothing ran."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    outcomes: list[Outcome]
    """Of the policy in force, then of the other one."""
    typical: list[Typical]
    models: list[Model]
    seconds: float

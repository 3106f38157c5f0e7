"""Policies on the command line, in the words that pods use for them."""

from __future__ import annotations

from tangram.cli.failures import InputError
from tangram.model.cards import QosPolicy
from tangram.model.requests import CardOrder, NodePolicy
from tangram.vendors.wording import either

POD_POLICIES = (NodePolicy.BINPACK, NodePolicy.SPREAD, NodePolicy.FRAG)
"""What a pod may ask for; `bestfit` is a yardstick for replays."""


def read_node_policy(word: str, option: str, legal: tuple[NodePolicy, ...]) -> NodePolicy:
    """The policy of that name, if it is one of the legal ones."""
    found = next((policy for policy in legal if policy == word), None)
    if found is None:
        raise InputError(f"{option} is {word!r:.80}: it is {either(legal)}; write one of these.")
    return found


def read_qos_policy(word: str, option: str) -> QosPolicy:
    """The policy of that name for slices of MetaX cards."""
    if word not in tuple(QosPolicy):
        raise InputError(f"{option} is {word!r:.80}: it is {either(QosPolicy)}; write one of these.")
    return QosPolicy(word)


def read_card_order(text: str, option: str) -> tuple[CardOrder, ...]:
    """A comma list of card policies, each named once."""
    words = [word.strip() for word in text.split(",")]
    unknown = [word for word in words if word not in tuple(CardOrder)]
    if unknown or len(set(words)) < len(words):
        fault = f"{unknown[0]!r:.80} in it is not known" if unknown else "a word in it is repeated"
        raise InputError(
            f"{option} is {text!r:.80}, and {fault}: it is {either(CardOrder)}, or a comma list of them, each once."
        )
    return tuple(CardOrder(word) for word in words)

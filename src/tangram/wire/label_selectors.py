"""Label selectors as objects carry them, in Kubernetes' reading of the odd corners: none at all selects nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.wire import loose

Rule = tuple[str, str, tuple[str, ...]]
"""Key, operator and values."""


class Selector(msgspec.Struct, frozen=True):
    """`rules` must all hold; a selector without any selects everything."""

    rules: tuple[Rule, ...] = ()
    nothing: bool = False

    @property
    def everything(self) -> bool:
        return not self.rules and not self.nothing

    def matches(self, labels: Mapping[str, str], *, unknown: bool = False) -> bool:
        """`unknown` is the answer of a rule with an operator that is not known here."""
        return not self.nothing and all(_holds(rule, labels, unknown=unknown) for rule in self.rules)

    def narrowed(self, labels: Mapping[str, str]) -> Selector:
        """The same, and these labels too."""
        added = ((key, "In", (value,)) for key, value in labels.items())
        return msgspec.structs.replace(self, rules=(*self.rules, *added))


NOTHING: Final = Selector(nothing=True)


def read_selector(written: object) -> Selector:
    """A LabelSelector: matchLabels and matchExpressions."""
    if written is None:
        return NOTHING
    members = loose.members(written)
    equal = ((key, "In", (value,)) for key, value in loose.text_map(members.get("matchLabels")).items())
    others = (
        (
            loose.text(rule.get("key")),
            loose.text(rule.get("operator")),
            tuple(loose.text(value) for value in loose.elements(rule.get("values"))),
        )
        for rule in map(loose.members, loose.elements(members.get("matchExpressions")))
    )
    return Selector((*equal, *others))


def _holds(rule: Rule, labels: Mapping[str, str], *, unknown: bool) -> bool:
    key, operator, values = rule
    match operator:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return unknown

"""Disruption budgets: whose eviction would break a promise that somebody made to an application.

Only a warning ahead of time: the eviction call itself is refused by the API server if the budget does not allow it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tangram.wire import loose


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    allowed: int
    """How many of its pods may go right now."""
    labels: tuple[tuple[str, str], ...] = ()
    rules: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Key, operator and values of `matchExpressions`."""
    selects: bool = True
    """A budget without a selector protects nobody; one with an empty selector protects the whole namespace."""

    def covers(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a pod with these labels is under the budget."""
        return (
            self.selects
            and namespace == self.namespace
            and all(labels.get(key) == value for key, value in self.labels)
            and all(_holds(rule, labels) for rule in self.rules)
        )


def read_budget(manifest: Mapping[str, object]) -> Budget:
    """Never raises: a budget that cannot be read protects as far as it can be read."""
    metadata = loose.members(manifest.get("metadata"))
    spec, status = loose.members(manifest.get("spec")), loose.members(manifest.get("status"))
    selector = loose.members(spec.get("selector"))
    rules = (loose.members(each) for each in loose.elements(selector.get("matchExpressions")))
    return Budget(
        namespace=loose.text(metadata.get("namespace")),
        name=loose.text(metadata.get("name")),
        allowed=loose.integer(status.get("disruptionsAllowed")) or 0,
        labels=tuple(sorted(loose.text_map(selector.get("matchLabels")).items())),
        rules=tuple(
            (
                loose.text(rule.get("key")),
                loose.text(rule.get("operator")),
                tuple(loose.text(each) for each in loose.elements(rule.get("values"))),
            )
            for rule in rules
        ),
        selects=spec.get("selector") is not None,
    )


def _holds(rule: tuple[str, str, tuple[str, ...]], labels: Mapping[str, str]) -> bool:
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
            # An operator of a later version: better one pod too many protected than one too few.
            return True

"""Disruption budgets: whose eviction would break a promise that somebody made to an application.

Only a warning ahead of time: the eviction call itself is refused by the API server if the budget does not allow it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tangram.wire import loose
from tangram.wire.label_selectors import Selector, read_selector


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    allowed: int
    """How many of its pods may go right now."""
    selector: Selector
    """A budget without one protects nobody; one with an empty one protects the whole namespace."""

    def covers(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a pod with these labels is under the budget."""
        # An operator of a later version: better one pod too many protected than one too few.
        return namespace == self.namespace and self.selector.matches(labels, unknown=True)


def read_budget(manifest: Mapping[str, object]) -> Budget:
    """Never raises: a budget that cannot be read protects as far as it can be read."""
    metadata = loose.members(manifest.get("metadata"))
    spec, status = loose.members(manifest.get("spec")), loose.members(manifest.get("status"))
    return Budget(
        namespace=loose.text(metadata.get("namespace")),
        name=loose.text(metadata.get("name")),
        allowed=loose.integer(status.get("disruptionsAllowed")) or 0,
        selector=read_selector(spec.get("selector")),
    )

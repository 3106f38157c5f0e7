"""What one person may see. Every page, every event and every file is made through it, and nothing is made without it.

Three rights of Kubernetes decide: to list pods of all namespaces, to list pods of one, and to list nodes. Who lacks the
last still learns what `explain` tells anybody about cards: how full they are, and not by whom.
"""

from __future__ import annotations

import msgspec


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """Hashable: viewers with the same sight share what was made for one of them."""

    everything: bool = False
    """May list pods of every namespace."""
    nodes: bool = False
    """May list nodes. Without it only nodes are shown on which a pod sits that may be seen."""
    namespaces: frozenset[str] = frozenset()
    """Namespaces whose pods may be listed, of those that matter here."""

    def of_namespace(self, namespace: str) -> bool:
        return self.everything or namespace in self.namespaces

    def of_pod(self, pod: str) -> bool:
        """Of a pod by its `namespace/name`."""
        return self.of_namespace(pod.partition("/")[0])

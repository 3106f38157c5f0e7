"""Pods by the node they are bound to, kept up to date beside the common copy."""

from __future__ import annotations

from collections import defaultdict

from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.copies import Copies
from tangram.sandbox.controllers.reading import key_of, spec_of
from tangram.sandbox.controllers.resources import PODS


class PodsByNode:
    def __init__(self, copies: Copies) -> None:
        self._pods = copies.of(PODS)
        self._keys: defaultdict[str, dict[Key, None]] = defaultdict(dict)
        self._pods.listeners.append(self._changed)

    def on(self, node: str) -> list[Object]:
        found = (self._pods.get(key) for key in self._keys.get(node, ()))
        return [pod for pod in found if pod is not None]

    def nodes(self) -> list[str]:
        return [node for node, keys in self._keys.items() if keys]

    def _changed(self, before: Object | None, after: Object | None) -> None:
        was, now = node_of(before), node_of(after)
        if before is not None and was and was != now:
            self._keys[was].pop(key_of(before), None)
            if not self._keys[was]:
                del self._keys[was]
        if after is not None and now:
            self._keys[now][key_of(after)] = None


def node_of(pod: Object | None) -> str:
    """The node a pod is bound to; empty for none."""
    return "" if pod is None else spec_of(pod).get("nodeName") or ""

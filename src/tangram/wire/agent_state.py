"""Whether a node's agent takes new pods, as it says itself on its node.

A pod that reaches a kubelet without its device plugin is refused there for good, so a scheduler sends none to an agent
that is about to go.
"""

from __future__ import annotations

from typing import Final

AGENT: Final = "tangram.dev/agent"
SERVING: Final = "serving"
STOPPING: Final = "stopping"

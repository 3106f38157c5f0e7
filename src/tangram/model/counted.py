"""Amounts that a kubelet counts on its node and kube-scheduler was told to leave to us: Koordinator's resources.

No device plugin stands behind them. koord-manager or our agent states them on the node, and a kubelet whose node states
one fails every pod that would take more of it than is stated, 0 included; where the node does not state it, the kubelet
passes over it. kube-scheduler is told not to count them, since most nodes state none, so whoever places a pod has to.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Counted(StrEnum):
    """The names, in the order in which amounts are kept."""

    GPU = "koordinator.sh/gpu"
    SHARED = "koordinator.sh/gpu.shared"
    CORE = "koordinator.sh/gpu-core"
    MEMORY = "koordinator.sh/gpu-memory"
    RATIO = "koordinator.sh/gpu-memory-ratio"


COUNTED: Final = tuple(Counted)

Amounts = tuple[int, ...]
"""One for each of `COUNTED`, or none at all."""
Stated = tuple[int | None, ...]
"""The same of a node, `None` where it does not state the name."""

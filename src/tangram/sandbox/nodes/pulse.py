"""The heartbeats of all nodes, one after the other and evenly spread: an idle sandbox should cost nearly nothing.

A node's Lease is renewed every ten seconds where there are few nodes, and as seldom as its watchers allow where
there are many. The whole status follows every five minutes, as from a real kubelet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from tangram.sandbox.nodes.node_keeping import NodeKeeping

USUAL_S: Final = 10.0
SHORTEST_GAP_S: Final = 0.5
"""Between the renewals of two nodes, unless the silence allowed demands more."""
REPORT_S: Final = 300.0
SEEN_AT_ONCE: Final = 24
_SAFETY: Final = 0.75
"""Of the silence that is allowed; the rest is for a busy moment."""


class Pulse:
    def __init__(self, silence: float) -> None:
        self._silence = silence

    def period(self, nodes: int) -> float:
        """Seconds between two renewals of one node's Lease, of so many nodes."""
        return min(max(USUAL_S, nodes * SHORTEST_GAP_S), self._silence * _SAFETY)

    async def run(self, nodes: Sequence[NodeKeeping]) -> None:
        if not nodes:
            return
        clock = asyncio.get_running_loop().time
        period = self.period(len(nodes))
        rounds = max(1, round(REPORT_S / period))
        seconds = max(40, round(self._silence))
        turn = 0
        # People look at a node as soon as there is one; of many, nobody looks at all.
        for node in nodes[:SEEN_AT_ONCE]:
            await node.beat(seconds)
        begun = clock()
        while True:
            for place, node in enumerate(nodes):
                await node.beat(seconds)
                # Reports are spread over the rounds, so that no round is heavier than another.
                if turn and (turn + place) % rounds == 0:
                    await node.report()
                due = begun + turn * period + (place + 1) * period / len(nodes)
                await asyncio.sleep(max(0.0, due - clock()))
            turn += 1

"""koord-scheduler's debug API about devices, answered from our books for all nodes with cards, whoever reports them."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from tangram.engine.ledger import Ledger
from tangram.model.nodes import Node
from tangram.services.scheduler.desk import Reply
from tangram.units.ids import NodeName
from tangram.wire.koordinator.summaries import node_summary

NOT_FOUND: Final = 404
PART: Final = 50
"""Nodes told of at once, in a few milliseconds: pods are waiting to be placed meanwhile."""

_encode = msgspec.json.Encoder().encode


class DeviceSummaries:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def every_node(self) -> Reply:
        """By name, every node that has cards or a `Device`."""
        told: dict[str, object] = {}
        nodes = [node for node in self._ledger.nodes() if _has_devices(node)]
        for at, node in enumerate(sorted(nodes, key=lambda node: node.name), 1):
            told[str(node.name)] = self._summary(node)
            if at % PART == 0:
                await asyncio.sleep(0)
        return Reply(_encode(told))

    def one(self, name: str) -> Reply:
        """The same of one node; a sentence where there is none of that name."""
        node = self._ledger.node(NodeName(name))
        if node is not None and _has_devices(node):
            return Reply(_encode(self._summary(node)))
        why = "there is no such node" if node is None else "it has no cards that anybody told of"
        sentence = f"cannot find node {name}: {why}; ask without a name for all nodes with cards"
        return Reply(_encode({"message": sentence}), NOT_FOUND)

    def _summary(self, node: Node) -> dict[str, object]:
        return node_summary(node, self._ledger.holdings_on(node.name))


def _has_devices(node: Node) -> bool:
    return bool(node.cards) or node.described

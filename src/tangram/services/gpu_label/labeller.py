"""Keeps the labels of one node true: one patch for each change, none when nothing changed.

What the node carries is known from the API server alone, never remembered, so a restart writes nothing and a label that
somebody removed comes back. Somebody who keeps writing other values, such as the vendor's own labeller, is answered
ever more slowly and named in the log: two programs that undo each other must not become a load.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from tangram.kube.api import Api, Object
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.informer import Change
from tangram.services.gpu_label.looking import Sight
from tangram.services.gpu_label.metrics import Metrics
from tangram.services.gpu_label.wanting import Wish, wish_for
from tangram.units.ids import NodeName
from tangram.wire.metax_labels import Choices

MANAGER: Final = "tangram-gpu-label"
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0
PACE_S: Final = 0.5
LONGEST_PACE_S: Final = 60.0
CALM_S: Final = 10.0
"""Writes that lie further apart are no quarrel."""

_USUAL: Final = Choices()

_log = logging.getLogger("tangram.gpu_label")


def node_path(node: NodeName) -> str:
    """Where the API server keeps the node."""
    return f"/api/v1/nodes/{node}"


async def write_labels(api: Api, node: NodeName, wish: Wish) -> Object:
    """One patch; the node as it is then."""
    change = {"metadata": {"labels": wish.changes}}
    return await api.merge(node_path(node), change, fieldManager=MANAGER)


class Labeller:
    """`told` and `saw` take news, `run` writes until cancelled."""

    def __init__(self, api: Api, node: NodeName, metrics: Metrics, choices: Choices = _USUAL) -> None:
        self._api = api
        self._name = node
        self._metrics = metrics
        self._choices = choices
        self._node: Object | None = None
        self._sight: Sight | None = None
        self._moved = asyncio.Event()
        self._trouble = ""
        self._pace = PACE_S
        self._written_at = float("-inf")

    def told(self, change: Change[Object]) -> None:
        """The informer's news of the node."""
        if change.key.name != self._name:
            return
        if change.new is None:
            self._node = None
        else:
            self._take(change.new)
        self._moved.set()

    def saw(self, sight: Sight) -> None:
        """What the machine has now."""
        self._sight = sight
        self._moved.set()

    def unready(self) -> list[str]:
        """What keeps the labels from being true, for `/readyz`."""
        reasons = [self._trouble] if self._trouble else []
        if self._sight is None:
            reasons.append("the cards of this machine have not been read yet")
        if self._node is None:
            reasons.append(f"the API server has not told about node {self._name} yet, or it has no such node")
        return reasons

    async def run(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            await self._moved.wait()
            self._moved.clear()
            if self._node is None or self._sight is None:
                continue
            wish = wish_for(self._node, self._sight, self._choices)
            self._metrics.labels.set(len(wish.labels))
            if not wish.changes:
                self._trouble = ""
                continue
            try:
                self._take(await write_labels(self._api, self._name, wish))
            except (ApiError, ApiUnreachable) as error:
                self._failed(error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
                continue
            pause = FIRST_PAUSE_S
            self._wrote(wish)
            await asyncio.sleep(self._pace)

    def _take(self, node: Object) -> None:
        """The newer of two: the answer to a patch overtakes news of the time before it."""
        if self._node is None or not _is_older(node, self._node):
            self._node = node

    def _failed(self, error: ApiError | ApiUnreachable) -> None:
        self._metrics.patches_failed.inc()
        sentence = f"the labels of node {self._name} could not be written: {error}"
        if sentence != self._trouble:
            _log.warning("%s", sentence)
        self._trouble = sentence
        self._moved.set()

    def _wrote(self, wish: Wish) -> None:
        self._trouble = ""
        self._metrics.patches.inc()
        now = asyncio.get_running_loop().time()
        hasty = now - self._written_at < 2 * self._pace + CALM_S
        self._pace = min(2 * self._pace, LONGEST_PACE_S) if hasty else PACE_S
        self._written_at = now
        _log.info(
            "the labels of node %s were written",
            self._name,
            extra={"changes": wish.changes, "cordoned": wish.cordoned},
        )
        if self._pace >= LONGEST_PACE_S:
            _log.warning(
                "somebody else keeps changing labels of ours: look for another labeller on node %s",
                self._name,
                extra={"labels": sorted(wish.changes)},
            )


def _is_older(one: Object, other: Object) -> bool:
    """Whether it is an earlier state of the same object. Versions that are no numbers cannot be told apart."""
    mine, theirs = one.get("metadata", {}), other.get("metadata", {})
    versions = str(mine.get("resourceVersion", "")), str(theirs.get("resourceVersion", ""))
    if mine.get("uid") != theirs.get("uid") or not all(
        text.isascii() and text.isdigit() for text in versions
    ):
        return False
    return int(versions[0]) < int(versions[1])

"""The cluster as the API server tells it: the weights' ConfigMap, and nodes and bound pods where they are wanted.

Of nodes and pods only what topology reads is kept. None of it is needed by a kube-scheduler that sends whole nodes to
nodes that publish their figures; so whoever does not ask for it is spared the watch over every pod of the cluster.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tangram.daemon.running import Supervisor
from tangram.kube.api import Api, Object
from tangram.kube.informer import Change, Informer, Key
from tangram.services.gpu_aware.occupancy import Holder, NodeUse, Occupancy, holder_of
from tangram.services.gpu_aware.weighing import Scale
from tangram.vendors.metax import names
from tangram.wire import hami, loose
from tangram.wire.agent_state import AGENT
from tangram.wire.gpu_aware_weights import WrittenWeights, join_weights, read_written
from tangram.wire.inventory import INVENTORY
from tangram.wire.metax_listing import NODE_DEVICES
from tangram.wire.metax_topology import LOSSES, SCORES

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"
_BOUND: Final = {"fieldSelector": "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"}
_ANNOTATIONS: Final = (INVENTORY, NODE_DEVICES, SCORES, LOSSES, hami.CORDONED_CARDS, AGENT)
_RESOURCES: Final = (names.GPU, names.SGPU)

_log = logging.getLogger("tangram.gpu_aware")


class MapName(NamedTuple):
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class FollowedWeights:
    """The weights in a ConfigMap, taken over as it changes; one that is not there means the usual weights.

    `alias` is the ConfigMap of MetaX's manual, where there may be one: what was edited there counts first.
    """

    def __init__(self, api: Api, place: MapName, scale: Scale, alias: MapName | None = None) -> None:
        self._place = place
        self._scale = scale
        self._contested: tuple[str, ...] = ()
        self._usual = _FollowedMap(api, place, self._changed)
        self._alias = None if alias is None else _FollowedMap(api, alias, self._changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as running:
            running.create_task(self._usual.run())
            if self._alias is not None:
                running.create_task(self._alias.run())

    def unready(self) -> list[str]:
        """Only until the API server was asked once: without it the usual weights must do."""
        followed = [each for each in (self._usual, self._alias) if each is not None]
        return [
            f"the ConfigMap {each.place} has not been asked for yet" for each in followed if not each.asked
        ]

    def _changed(self) -> None:
        if self._alias is None:
            self._scale.take(self._usual.written.data)
            return
        joined = join_weights(self._usual.written, self._alias.written)
        self._scale.take(joined.data, joined.sources)
        if joined.contested and joined.contested != self._contested:
            _log.warning(
                "%s edited in both ConfigMaps, and %s counts: write the same value into both, or delete the key there",
                " and ".join(joined.contested),
                self._alias.place,
                extra={"other": str(self._place)},
            )
        self._contested = joined.contested


class _FollowedMap:
    """One ConfigMap with weights."""

    def __init__(self, api: Api, place: MapName, changed: Callable[[], None]) -> None:
        self.place = place
        self.written = WrittenWeights(source=str(place))
        self._changed = changed
        self._tried = False
        self._complaint = _Complaint(f"the ConfigMap {place}")
        self._informer: Informer[WrittenWeights] = Informer(
            api,
            f"/api/v1/namespaces/{place.namespace}/configmaps",
            self._update,
            keep=lambda thing: read_written(str(place), thing),
            query={"fieldSelector": f"metadata.name={place.name}"},
            troubled=self._troubled,
        )

    @property
    def asked(self) -> bool:
        return self._tried or self._informer.synced.is_set()

    async def run(self) -> None:
        await self._informer.run()

    def _update(self, change: Change[WrittenWeights]) -> None:
        self._complaint.settle()
        self.written = change.new or WrittenWeights(source=str(self.place))
        self._changed()

    def _troubled(self, sentence: str) -> None:
        self._tried = True
        self._complaint.hear(sentence)


class FollowedCluster:
    """Nodes, and what the pods bound to them hold."""

    def __init__(self, api: Api) -> None:
        self._occupancy = Occupancy()
        self._about_nodes, self._about_pods = _Complaint("the list of nodes"), _Complaint("the list of pods")
        self._nodes: Informer[Object] = Informer(
            api, NODES, self._told_of_node, keep=kept_of, troubled=self._about_nodes.hear
        )
        self._pods: Informer[Holder | None] = Informer(
            api, PODS, self._told_of_pod, keep=holder_of, query=_BOUND, troubled=self._about_pods.hear
        )

    def begin(self, supervisor: Supervisor) -> None:
        supervisor.vital("following nodes", self._nodes.run())
        supervisor.vital("following pods", self._pods.run())

    def unready(self) -> Sequence[str]:
        waiting = [
            what
            for what, informer in (("nodes", self._nodes), ("pods", self._pods))
            if not informer.synced.is_set()
        ]
        return [f"the API server has not told all {what} yet" for what in waiting]

    def node(self, name: str) -> Object | None:
        return self._nodes.objects.get(Key("", name))

    def use(self, name: str) -> NodeUse | None:
        return self._occupancy.of(name) if self._pods.synced.is_set() else None

    def _told_of_node(self, _change: Change[Object]) -> None:
        self._about_nodes.settle()

    def _told_of_pod(self, change: Change[Holder | None]) -> None:
        self._about_pods.settle()
        self._occupancy.change(change.key, change.old, change.new)


def kept_of(node: Object) -> Object:
    """A Node object with nothing left but what a node's standing is read from."""
    metadata, status = loose.members(node.get("metadata")), loose.members(node.get("status"))
    return {
        "metadata": {
            "name": metadata.get("name"),
            "annotations": _only(metadata.get("annotations"), _ANNOTATIONS),
        },
        "status": {side: _only(status.get(side), _RESOURCES) for side in ("capacity", "allocatable")},
    }


def _only(written: object, keys: Sequence[str]) -> dict[str, object]:
    found = loose.members(written)
    return {key: found[key] for key in keys if key in found}


class _Complaint:
    """Says what keeps something from being followed once, however often it is tried again."""

    def __init__(self, about: str) -> None:
        self._about = about
        self._said = ""

    def hear(self, sentence: str) -> None:
        if sentence != self._said:
            _log.warning("%s cannot be followed: %s", self._about, sentence)
        self._said = sentence

    def settle(self) -> None:
        self._said = ""

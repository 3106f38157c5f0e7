"""This node's object as the API server has it, and what of it concerns the driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tangram.kube.api import Object
from tangram.kube.informer import Change
from tangram.kube.objects import older
from tangram.units.ids import NodeName
from tangram.wire import loose
from tangram.wire.operator import names
from tangram.wire.operator.node_states import MacaState, state_of

OFFERS: Final = ("metax-tech.com/gpu", "metax-tech.com/sgpu", "metax-tech.com/vfio-gpu")
"""What a kubelet gives out for a device plugin. Other amounts of a node are written by others and stay."""
TRUE: Final = "true"


class OwnNode:
    """`told` by the informer; `take` what a patch answered, which may be newer."""

    def __init__(self, name: NodeName, changed: Callable[[], None] = lambda: None) -> None:
        self.name: Final = name
        self._changed = changed
        self.known: bool = False
        self.labels: Mapping[str, str] = {}
        self.annotations: Mapping[str, str] = {}
        self.allocatable: Mapping[str, str] = {}
        self.conditions: Mapping[str, Mapping[str, str]] = {}
        self._version: str = ""
        self._uid: str = ""

    @property
    def runtime_ready(self) -> bool:
        return self.labels.get(names.RUNTIME_READY) == TRUE

    @property
    def maca_ready(self) -> bool:
        return self.labels.get(names.MACA_READY) == TRUE

    @property
    def maca(self) -> MacaState | None:
        return state_of(MacaState, dict(self.annotations), names.MACA_STATE)

    @property
    def withdrawn(self) -> bool:
        return self.labels.get(names.DRIVER_READY) != TRUE

    @property
    def offered(self) -> bool:
        """Whether the kubelet has units to give out. It takes them back when gpu-device has gone."""
        return any(self.allocatable.get(name, "0") not in ("0", "") for name in OFFERS)

    @property
    def turn(self) -> str:
        return self.annotations.get(names.TURN, "")

    @property
    def remove(self) -> bool:
        return self.annotations.get(names.REMOVE) == TRUE

    def told(self, change: Change[Object]) -> None:
        if change.key.name != self.name:
            return
        if change.new is None:
            self.known = False
        else:
            self.take(change.new)
        self._changed()

    def take(self, node: Object) -> None:
        metadata = loose.members(node.get("metadata"))
        version, uid = loose.text(metadata.get("resourceVersion")), loose.text(metadata.get("uid"))
        if self.known and uid == self._uid and older(version, self._version):
            return
        status = loose.members(node.get("status"))
        self.known, self._version, self._uid = True, version, uid
        self.labels = loose.text_map(metadata.get("labels"))
        self.annotations = loose.text_map(metadata.get("annotations"))
        self.allocatable = loose.text_map(status.get("allocatable"))
        entries = (loose.text_map(entry) for entry in loose.elements(status.get("conditions")))
        self.conditions = {entry.get("type", ""): entry for entry in entries}

"""What the parts of the agent hand to each other. Nothing here decides."""

from __future__ import annotations

import msgspec

from tangram.model.allocations import Tenant
from tangram.model.cards import Card
from tangram.model.devices import Device
from tangram.model.pods import Pod
from tangram.model.refusals import Refusal
from tangram.model.topology import Topology
from tangram.services.gpu_device.resources import unit_uuid
from tangram.units.ids import CardUuid, NodeName, PodUid
from tangram.wire.tenants import Unnamed


class BoundPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod of this node as the API server knows it, with what it says it holds."""

    pod: Pod
    holds: Tenant | Unnamed | None
    bound_at: int = 0
    """Unix nanoseconds; of two pods that claim the same room the later one is refused."""
    kubelet_uid: PodUid
    """The UID the kubelet writes down: the pod's own, or for a static pod the hash of its file."""
    mounts: dict[str, tuple[str, ...]] = {}
    """By container, where it mounts something itself."""
    on_host: bool = False
    """It mounts folders of the host, which nobody may let a tenant do."""


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """Everything this node has at one moment. Replaced whole when anything changes."""

    node: NodeName
    devices: tuple[Device, ...] = ()
    """Cards and virtual functions, as the driver lists them."""
    cards: tuple[Card, ...] = ()
    """Physical cards with the mode in which each is offered, its health and whether it is cordoned."""
    topology: Topology | None = None

    def card(self, uuid: CardUuid) -> Card | None:
        return next((card for card in self.cards if card.uuid == uuid), None)

    def card_behind(self, unit: str) -> Card | None:
        """The card behind a unit of a whole resource, which may be a virtual function of it or a turn at it."""
        uuid = unit_uuid(unit)
        device = self.device(uuid)
        if self.card(uuid) is None and device is not None and device.virtual_function_of is not None:
            uuid = device.virtual_function_of
        return self.card(uuid)

    def device(self, uuid: CardUuid) -> Device | None:
        return next((device for device in self.devices if device.uuid == uuid), None)


class Starting(msgspec.Struct, frozen=True, kw_only=True):
    """Who a call of the kubelet is about: one pod, and those of its containers that hold exactly these ids.

    There are several when the kubelet gave a finished init container's ids to a later container of the pod; which of
    them is starting cannot be told then, and need not be: they share what the ids stand for.
    """

    bound: BoundPod
    resource: str
    ids: tuple[str, ...]
    containers: tuple[str, ...]
    """In the pod's order, at least one."""
    claims: dict[str, str] = {}
    """By container, the CDI device name that Allocate answered with; none where the kubelet's notes are unreadable."""


class Late(msgspec.Struct, frozen=True):
    """Not known yet, but may be in a moment: ask again, and say this when time is up."""

    refusal: Refusal
    ref: str = ""
    """`namespace/name` of the pod where at least that is known."""

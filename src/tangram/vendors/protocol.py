"""The one interface a vendor implements, and the shapes its answers take."""

from __future__ import annotations

from typing import Protocol

import msgspec

from tangram.model.cards import AppClass, QosPolicy, Vendor
from tangram.model.pods import Container, Pod
from tangram.model.refusals import Caution, Refusal
from tangram.model.requests import Ask, CardFilter
from tangram.units.memory import Bytes


class SetAnnotation(msgspec.Struct, frozen=True, tag="annotation"):
    key: str
    value: str


class SetLimit(msgspec.Struct, frozen=True, tag="limit"):
    """A limit the container did not name; it goes into requests as well."""

    container: str
    resource: str
    value: str


class RemoveResource(msgspec.Struct, frozen=True, tag="remove"):
    """A resource that other limits have replaced; it leaves limits and requests alike."""

    container: str
    resource: str


Mutation = SetAnnotation | SetLimit | RemoveResource


class Reading(msgspec.Struct, frozen=True):
    """What one vendor made of one container. Any refusal means the asks are not to be used."""

    asks: tuple[Ask, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    cautions: tuple[Caution, ...] = ()
    mutations: tuple[Mutation, ...] = ()


class PodReading(msgspec.Struct, frozen=True, kw_only=True):
    """What one vendor made of the pod's annotations, once it knows which containers ask for its cards."""

    cards: CardFilter = CardFilter()
    qos: QosPolicy | None = None
    app_class: AppClass | None = None
    zone_aware: bool | None = None
    one_card: bool = False
    refusals: tuple[Refusal, ...] = ()
    cautions: tuple[Caution, ...] = ()
    mutations: tuple[Mutation, ...] = ()


class RunningReading(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod that has its node holds of one vendor's cards, by the resources that its kubelet counted."""

    asks: tuple[tuple[Ask, ...], ...]
    """Of each of the pod's containers, in order."""
    qos: QosPolicy | None = None
    app_class: AppClass | None = None
    one_card: bool = False


class VendorRules(Protocol):
    """Everything above the engine that differs between makers of cards."""

    @property
    def vendor(self) -> Vendor: ...

    @property
    def resource_names(self) -> frozenset[str]:
        """Names whose presence in a container makes it this vendor's business."""
        ...

    @property
    def koordinator_resource(self) -> str:
        """The name that must stand beside Koordinator's words for them to mean this vendor's cards."""
        ...

    def read_container(self, pod: Pod, container: Container) -> Reading: ...

    def read_pod(self, pod: Pod, readings: tuple[Reading, ...]) -> PodReading:
        """Read the annotations; `readings` has this vendor's reading of each of the pod's containers, in order."""
        ...

    def read_running(self, pod: Pod) -> RunningReading:
        """Read a pod that has its node. Never refuses: an amount that cannot be read counts as all of a card."""
        ...

    def memory_tiers(self, memory: Bytes) -> tuple[Bytes, ...]:
        """Legal slice sizes of a card with that much memory; empty when any size is."""
        ...

"""What hardware says about itself, whichever library or file said it.

These are reports, not decisions: a figure nobody could read is `NA`. The scheduler's view of the same cards is
`model.cards.Card`, made from these by `drivers.inventory`.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tangram.model.cards import QosPolicy, Vendor
from tangram.model.topology import Link
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe


class DriverMode(StrEnum):
    """How the kernel driver runs the cards."""

    NATIVE = "native"
    CLOUD = "cloud"
    """The virtualisation host driver: physical functions that hand out virtual ones."""


class SriovState(StrEnum):
    ON = "on"
    OFF = "off"
    FORBIDDEN = "forbidden"
    """The firmware does not offer virtual functions."""


class DeviceNodes(msgspec.Struct, frozen=True):
    """Character devices a container needs for this card; empty where none was found."""

    control: str = ""
    """Shared by all cards (MetaX `/dev/mxcd`) or the card's own (Moore Threads `/dev/mtgpu.N`)."""
    card: str = ""
    render: str = ""

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(path for path in (self.control, self.card, self.render) if path)


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One card, or one virtual function of a card."""

    uuid: CardUuid
    index: int
    """The number people see in the vendor's tool."""
    vendor: Vendor
    product: str
    """As the library spells it: `MXC500`, `MTT S4000`."""
    bdf: str = ""
    family: str = ""
    """`MXC`, `MXN`, `MTT`."""
    serial: Maybe[str] = NA
    memory: Maybe[Bytes] = NA
    numa: Maybe[int] = NA
    pcie_path: tuple[str, ...] = ()
    """Bus addresses from the root port down to the card."""
    nodes: DeviceNodes = DeviceNodes()
    driver_version: Maybe[str] = NA
    firmware_version: Maybe[str] = NA
    mode: Maybe[DriverMode] = NA
    sriov: Maybe[SriovState] = NA
    virtual_functions: Maybe[int] = NA
    """How many this card is split into now."""
    virtual_function_of: CardUuid | None = None
    sliced: Maybe[bool] = NA
    """Whether slices can be made of it now (MetaX sGPU switch, Moore Threads sgpu_km binding)."""
    sliceable: Maybe[Bytes] = NA
    """What all its slices together can have of its memory, where the driver keeps some of it for itself."""
    memory_tiers: tuple[Bytes, ...] = ()


class LinkPort(msgspec.Struct, frozen=True):
    """One port of a direct link as one card sees it."""

    card: CardUuid
    port: int
    up: Maybe[bool] = NA
    state: str = ""
    speed: Maybe[float] = NA
    """GT/s."""
    width: Maybe[int] = NA
    remote: CardUuid | None = None
    remote_bdf: str = ""


class LinkReport(msgspec.Struct, frozen=True):
    """How the cards of the node are joined. Positions in `links` are positions in the list of devices."""

    known: bool = False
    links: tuple[Link, ...] = ()
    ports: tuple[LinkPort, ...] = ()


class Process(msgspec.Struct, frozen=True):
    pid: int
    name: str = ""
    memory: Maybe[Bytes] = NA
    slice_id: int | None = None


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """A card's live figures at one moment."""

    utilisation_percent: Maybe[float] = NA
    memory_used: Maybe[Bytes] = NA
    memory_total: Maybe[Bytes] = NA
    temperature_celsius: Maybe[float] = NA
    power_watts: Maybe[float] = NA
    power_cap_watts: Maybe[float] = NA
    clocks_mhz: dict[str, int] = {}
    ecc_corrected: Maybe[int] = NA
    ecc_uncorrected: Maybe[int] = NA
    retired_pages: Maybe[int] = NA
    throttled_by: tuple[str, ...] = ()
    processes: Maybe[tuple[Process, ...]] = NA


class Health(msgspec.Struct, frozen=True):
    """Whether new pods may be given the card. The code is stable, the message is for people."""

    healthy: bool
    code: str = ""
    message: str = ""


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a card that exists in the kernel."""

    card: CardUuid
    id: int
    memory: Bytes
    cores: int
    """Percent for MetaX, weight in sixteenths for Moore Threads."""
    uuid: str = ""
    name: Maybe[str] = ""
    """What we (or another tool) called it when it was made; NA where that cannot be read, which is not having none."""
    minor: Maybe[int] = NA
    online: Maybe[bool] = NA
    memory_used: Maybe[Bytes] = NA
    utilisation_percent: Maybe[float] = NA
    busy: Maybe[bool] = NA


class SliceRoom(msgspec.Struct, frozen=True):
    """What can still be sliced off a card."""

    slots: int
    memory: Bytes
    cores: int
    policy: Maybe[QosPolicy] = NA

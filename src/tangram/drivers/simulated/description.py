"""What a simulated node is made of, after the file was read and everything in it was found legal."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from tangram.drivers.errors import Kind
from tangram.model.cards import QosPolicy, Vendor
from tangram.model.devices import DriverMode, SriovState
from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.memory import Bytes

USUAL_KERNEL: Final = "5.15.0-91-generic"


class Fault(StrEnum):
    """What can befall a card. `recover` ends whatever has befallen it."""

    ECC = "ecc"
    """Memory errors that could not be corrected: present tenants may go on, new ones must not come."""
    OVERHEAT = "overheat"
    LINK = "link"
    """Its direct links are down; alone it still works."""
    VANISH = "vanish"
    """The card fell off the bus."""
    HANG = "hang"
    """Calls about the card do not return."""
    RECOVER = "recover"


class Figure(StrEnum):
    """Figures that a description can take away, as an older driver would."""

    UTILISATION = "utilisation"
    MEMORY = "memory"
    TEMPERATURE = "temperature"
    POWER = "power"
    CLOCKS = "clocks"
    ECC = "ecc"
    PROCESSES = "processes"
    NUMA = "numa"
    SERIAL = "serial"


class Call(StrEnum):
    """Calls of the driver interface that a description can make fail."""

    DEVICES = "devices"
    LINKS = "links"
    FIGURES = "figures"
    HEALTH = "health"
    SLICES = "slices"
    ROOM = "room"
    CREATE_SLICE = "create_slice"
    RESIZE_SLICE = "resize_slice"
    SET_POLICY = "set_policy"
    REMOVE_SLICE = "remove_slice"
    SET_SLICED = "set_sliced"
    SET_VIRTUAL_FUNCTIONS = "set_virtual_functions"


class KernelCall(StrEnum):
    """Questions and orders to the kernel of a simulated node."""

    BUS = "bus"
    RELEASE = "kernel_release"
    LOADED = "module_loaded"
    OF_HOST = "module_of_host"
    LOAD_OF_HOST = "module_load_of_host"
    LOAD = "module_load"
    UNLOAD = "module_unload"
    CARDS = "bus_cards"
    FUNCTIONS = "functions"
    SET_FUNCTIONS = "set_functions"


class ModuleAtStart(StrEnum):
    """Whether the driver of the MetaX cards is loaded when the node begins."""

    LOADED = "loaded"
    NONE = "none"


class CardSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One card as described. Its position in the description is its number everywhere."""

    position: int
    vendor: Vendor
    vendor_position: int
    """Its number among the cards of its vendor, which is how that vendor's runtime counts."""
    product: str
    memory: Bytes
    sliceable: Bytes
    """What its slices can have in all: less than its memory where the model's driver keeps some."""
    numa: int
    pcie_path: tuple[str, ...]
    sliced: bool
    sriov: SriovState | None
    """None where the vendor has no such thing."""
    virtual_functions: int = 0
    policy: QosPolicy = QosPolicy.BEST_EFFORT
    mode: DriverMode = DriverMode.NATIVE
    driver_version: str
    firmware_version: str
    load: int = 0
    """Percent of the card that something outside our sight uses."""
    without: frozenset[Figure] = frozenset()

    @property
    def bdf(self) -> str:
        return self.pcie_path[-1]


class Joint(msgspec.Struct, frozen=True):
    """What joins two cards, by position (`a` < `b`)."""

    a: int
    b: int
    kind: LinkKind
    pcie: PcieLevel
    lanes: int = 1


class Event(msgspec.Struct, frozen=True):
    """A fault on the timeline."""

    at: float
    card: int
    fault: Fault


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A call that answers with an error for a while, as a library does that was replaced under our feet."""

    call: Call
    kind: Kind
    card: int | None = None
    at: float = 0
    until: float | None = None
    text: str = ""
    code: int | None = None


class Description(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""
    """Goes into every uuid, so that the cards of two nodes differ though their files are otherwise alike."""
    cards: tuple[CardSpec, ...]
    joints: tuple[Joint, ...] = ()
    events: tuple[Event, ...] = ()
    """In the order of time."""
    failures: tuple[Failure, ...] = ()
    latency: float = 0
    """Seconds that every call takes."""
    stuck_after: float = 0
    """Seconds until a call about a hanging card is given up."""
    kernel: str = USUAL_KERNEL
    module: ModuleAtStart = ModuleAtStart.LOADED
    host_driver: str = ""
    """The driver that the host has installed. Empty: with a module loaded that one, else none."""

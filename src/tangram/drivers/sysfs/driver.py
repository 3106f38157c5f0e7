"""The kernel's own view of the cards behind the interface every driver has. Needs no right but to read.

A card that no map of MetaX's names has no uuid that anybody else would know it by; it is called after its bus address,
in a spelling that cannot be taken for a uuid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.pcie import level_between
from tangram.drivers.read_only import ReadOnly
from tangram.drivers.sysfs.files import Files
from tangram.drivers.sysfs.layout import LayoutNode, card_nodes, read_layout, uuid_of
from tangram.drivers.sysfs.pci import DEVICES, PciFunction, read_functions
from tangram.drivers.sysfs.products import family_of
from tangram.drivers.sysfs.smi_files import (
    figures_in,
    memory_in,
    room_in,
    sliceable_in,
    sliced_in,
    slices_in,
)
from tangram.drivers.unusable import limited, uuid_at
from tangram.drivers.watchdog import DEFAULT_LIMIT, Watchdog
from tangram.model.cards import Vendor
from tangram.model.devices import Device, DeviceNodes, Figures, Health, LinkReport, Slice, SliceRoom
from tangram.model.topology import Link, LinkKind
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe, NotAvailable, known
from tangram.vendors.mthreads.tiers import memory_tiers

NAME: Final = "sysfs"

_Answer = TypeVar("_Answer")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    sysfs_root: str = "/sys"
    dev_root: str = "/dev"
    """Where the node's `/dev` is seen from here. Reports always say `/dev`."""
    limit: float = DEFAULT_LIMIT
    """Seconds a question may take: reading a file of a hung card does not return."""
    doubts: Mapping[Vendor, str] = {}
    """Vendors whose cards are listed as limited, with the reason: their own software answers, and whoever asks here
    asks about cards that it does not list."""


class _Card(msgspec.Struct, frozen=True):
    function: PciFunction
    device: Device
    node: LayoutNode | None


class SysfsDriver(ReadOnly):
    means = "sysfs"

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._watchdog = Watchdog(NAME, limit=self._settings.limit)
        self._files = Files(Path(self._settings.sysfs_root), self._watchdog.entering)
        self._seen: dict[CardUuid, str] = {}
        """Every card there ever was, with its bus address."""

    @property
    def name(self) -> str:
        return NAME

    def devices(self) -> Sequence[Device]:
        found = tuple(card.device for card in self._cards())
        if not found:
            raise DriverError(
                Kind.NO_DRIVER,
                f"no PCI device of vendor 9999 (MetaX) or 1ed5 (Moore Threads) is in "
                f"{self._files.root / DEVICES}: the node has no such cards, or they are given to a virtual machine",
                call=DEVICES,
            )
        return found

    def links(self, devices: Sequence[Device]) -> LinkReport:
        nodes = {card.device.uuid: card.node for card in self._cards()}
        links: list[Link] = []
        for (a, one), (b, other) in combinations(enumerate(devices), 2):
            level = level_between(one.pcie_path, other.pcie_path, one.numa, other.numa)
            linked = _linked(nodes.get(one.uuid), nodes.get(other.uuid))
            links.append(Link(a, b, LinkKind.METAXLINK if linked else LinkKind.NONE, level))
        return LinkReport(known=bool(devices), links=tuple(links))

    def figures(self, uuid: CardUuid) -> Figures:
        card = self._card(uuid)
        if card.function.vendor is not Vendor.METAX:
            return Figures(memory_total=card.device.memory)
        return self._ask("figures", lambda: figures_in(self._files, Path(card.function.folder)))

    def health(self) -> Mapping[CardUuid, Health]:
        present = {card.device.uuid: self._health(card) for card in self._cards()}
        gone = {
            uuid: Health(healthy=False, code="card-gone", message=f"nothing is at {bdf} any more")
            for uuid, bdf in self._seen.items()
            if uuid not in present
        }
        return {**present, **gone}

    def _health(self, card: _Card) -> Health:
        found, doubt = _health(card), self._settings.doubts.get(card.function.vendor)
        return limited(doubt) if found.healthy and doubt is not None else found

    def slices(self, uuid: CardUuid) -> Sequence[Slice]:
        card = self._card(uuid)
        if card.function.vendor is not Vendor.METAX:
            return ()

        def read() -> tuple[Slice, ...]:
            return slices_in(self._files, Path(card.function.folder), uuid, read_layout(self._files))

        return self._ask("slices", read)

    def room(self, uuid: CardUuid) -> SliceRoom:
        card = self._card(uuid)
        room = self._ask("room", lambda: room_in(self._files, Path(card.function.folder)))
        if room is None:
            raise DriverError(
                Kind.NOT_SUPPORTED,
                f"the kernel does not say what is left of {card.device.bdf}; ask the vendor's library",
                call="sgpu/available_vram_quota",
            )
        return room

    def close(self) -> None:
        self._watchdog.close()

    def _ask(self, call: str, work: Callable[[], _Answer]) -> _Answer:
        return self._watchdog.run(work, call=call)

    def _card(self, uuid: CardUuid) -> _Card:
        found = next((card for card in self._cards() if card.device.uuid == uuid), None)
        if found is None:
            raise DriverError(Kind.CARD_GONE, f"there is no card {str(uuid)!r:.80} on this node")
        return found

    def _cards(self) -> tuple[_Card, ...]:
        cards = self._ask("devices", self._read)
        self._seen.update({card.device.uuid: card.device.bdf for card in cards})
        return cards

    def _read(self) -> tuple[_Card, ...]:
        functions = read_functions(self._files)
        nodes = card_nodes(read_layout(self._files))
        uuids = {each.bdf: known(uuid_of(nodes.get(each.bdf)), uuid_at(each.bdf)) for each in functions}
        counts = dict.fromkeys(Vendor, 0)
        cards: list[_Card] = []
        for function in sorted(functions, key=lambda each: list(Vendor).index(each.vendor)):
            node = nodes.get(function.bdf)
            device = self._device(function, node, counts[function.vendor], uuids)
            counts[function.vendor] += 1
            cards.append(_Card(function, device, node))
        return tuple(cards)

    def _device(
        self, function: PciFunction, node: LayoutNode | None, index: int, uuids: Mapping[str, CardUuid]
    ) -> Device:
        folder, metax = Path(function.folder), function.vendor is Vendor.METAX
        stated = self._files.text(folder / "smi/showcardname")
        product = function.named.name if isinstance(stated, NotAvailable) else stated
        reported = memory_in(self._files, folder)
        memory: Maybe[Bytes] = reported
        if isinstance(reported, NotAvailable) and function.named.memory is not None:
            memory = function.named.memory
        version = folder / "smi/showdriverversion" if metax else self._files.root / "module/mtgpu/version"
        return Device(
            uuid=uuids[function.bdf],
            index=index,
            vendor=function.vendor,
            product=product,
            bdf=function.bdf,
            family=family_of(function.vendor, product),
            memory=memory,
            numa=function.numa,
            pcie_path=function.path,
            nodes=self._nodes(function, node),
            driver_version=self._files.last_word(version),
            firmware_version=self._files.last_word(folder / "smi/showvbios"),
            mode=function.mode,
            sriov=function.sriov,
            virtual_functions=function.split,
            virtual_function_of=uuids.get(function.parent),
            sliced=sliced_in(self._files, folder) if metax else NA,
            sliceable=sliceable_in(self._files, folder) if metax else NA,
            memory_tiers=() if metax or isinstance(memory, NotAvailable) else memory_tiers(memory),
        )

    def _nodes(self, function: PciFunction, node: LayoutNode | None) -> DeviceNodes:
        """The nodes that exist. Moore Threads' control node is numbered by its library alone, so it is left out."""
        render = function.render_node
        if not render and node is not None and isinstance(node.render_minor, int):
            render = f"renderD{node.render_minor}"
        wanted = (
            "mxcd" if function.vendor is Vendor.METAX else "",
            f"dri/{function.card_node}" if function.card_node else "",
            f"dri/{render}" if render else "",
        )
        root = Path(self._settings.dev_root)
        return DeviceNodes(*(f"/dev/{each}" if each and _exists(root / each) else "" for each in wanted))


def _health(card: _Card) -> Health:
    if isinstance(card.function.kernel_driver, NotAvailable):
        return Health(healthy=False, code="no-driver", message="no kernel driver holds the card")
    if card.node is not None and card.node.active is False:
        reason = card.node.inactive_reason or "the kernel driver says it is not active"
        return Health(healthy=False, code="unavailable", message=reason)
    return Health(healthy=True)


def _linked(one: LayoutNode | None, other: LayoutNode | None) -> bool:
    if one is None or other is None:
        return False
    return other.number in one.linked_to or one.number in other.linked_to


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False

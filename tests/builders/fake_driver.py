"""A driver that says what a test tells it to, fails where told, and hangs until told otherwise."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import msgspec

from builders.hanging import LONG
from tangram.drivers.errors import DriverError, Kind
from tangram.model.cards import QosPolicy, Vendor
from tangram.model.devices import Device, Figures, Health, LinkReport, Slice, SliceRoom
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes, from_gib


def metax_card(index: int, **more: object) -> Device:
    facts: dict[str, object] = {
        "uuid": CardUuid(f"GPU-{index}"),
        "index": index,
        "vendor": Vendor.METAX,
        "product": "MXC500",
        "bdf": f"0000:{index + 16:02x}:00.0",
        "memory": from_gib(64),
        "numa": index // 4,
        "sliced": False,
    }
    return Device(**{**facts, **more})  # pyright: ignore[reportArgumentType] - a test names the fields it cares for


def mthreads_card(index: int, **more: object) -> Device:
    facts: dict[str, object] = {
        "uuid": CardUuid(f"mt-{index}"),
        "vendor": Vendor.MTHREADS,
        "product": "MTT S4000",
        "bdf": f"0001:{index + 16:02x}:00.0",
        "memory": from_gib(48),
    }
    return metax_card(index, **{**facts, **more})


class FakeDriver:
    def __init__(self, *devices: Device, name: str = "fake", links: LinkReport | None = None) -> None:
        self.name = name
        self.found = list(devices)
        self.link_report = LinkReport() if links is None else links
        self.figures_of: dict[CardUuid, Figures] = {}
        self.health_of: dict[CardUuid, Health] = {}
        self.slices_of: dict[CardUuid, list[Slice]] = {}
        self.errors: dict[str, DriverError] = {}
        self.hanging: dict[str, threading.Event] = {}
        self.inside = threading.Event()
        """Set while a call hangs."""
        self.closed = False

    def hang(self, call: str) -> Callable[[], None]:
        """Make a call hang; what is returned lets it go."""
        self.hanging[call] = threading.Event()
        return self.hanging[call].set

    def _enter(self, call: str) -> None:
        if call in self.hanging:
            let_go = self.hanging[call]
            self.inside.set()
            # A test that forgets to let go ends all the same.
            let_go.wait(LONG)
            self.inside.clear()
        if call in self.errors:
            raise self.errors[call]

    def devices(self) -> Sequence[Device]:
        self._enter("devices")
        return tuple(self.found)

    def links(self, devices: Sequence[Device]) -> LinkReport:
        assert [device.uuid for device in devices] == [device.uuid for device in self.found]
        self._enter("links")
        return self.link_report

    def figures(self, uuid: CardUuid) -> Figures:
        self._enter("figures")
        return self.figures_of.get(uuid, Figures())

    def health(self) -> Mapping[CardUuid, Health]:
        self._enter("health")
        return {**{device.uuid: Health(healthy=True) for device in self.found}, **self.health_of}

    def slices(self, uuid: CardUuid) -> Sequence[Slice]:
        self._enter("slices")
        return self.slices_of.get(uuid, [])

    def room(self, uuid: CardUuid) -> SliceRoom:
        raise _read_only(f"room of {uuid}")

    def create_slice(
        self, uuid: CardUuid, *, memory: Bytes, cores: int, name: str = "", online: bool = False
    ) -> Slice:
        made = Slice(card=uuid, id=0, memory=memory, cores=cores, name=name, online=online)
        self.slices_of.setdefault(uuid, []).append(made)
        return made

    def resize_slice(
        self, uuid: CardUuid, slice_id: int, *, memory: Bytes | None = None, cores: int | None = None
    ) -> Slice:
        raise _read_only(f"slice {slice_id} of {uuid}, {memory}, {cores}")

    def set_policy(self, uuid: CardUuid, policy: QosPolicy) -> None:
        raise _read_only(f"{uuid}, {policy}")

    def remove_slice(self, uuid: CardUuid, slice_id: int) -> None:
        raise _read_only(f"slice {slice_id} of {uuid}")

    def set_sliced(self, uuid: CardUuid, *, on: bool) -> None:
        position = next(at for at, device in enumerate(self.found) if device.uuid == uuid)
        self.found[position] = msgspec.structs.replace(self.found[position], sliced=on)

    def set_virtual_functions(self, uuid: CardUuid, count: int) -> None:
        raise _read_only(f"{count} of {uuid}")

    def close(self) -> None:
        self.closed = True


def _read_only(what: str) -> DriverError:
    return DriverError(Kind.NOT_SUPPORTED, f"not here: {what}")

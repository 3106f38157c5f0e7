"""What koord-scheduler writes on a pod at bind: cards, minors and a time.

Koordinator counts at pod level and forgets which container asked. Of memory as bytes and as percent one is asked for
and the other derived by integer arithmetic; `of_bytes` and `of_ratio` are the two directions, and they are not
inverses: 30 % of 64Gi, read back from its bytes, is 29.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tangram.units.memory import Bytes
from tangram.units.quantity import Format, Quantity, QuantityError, parse_quantity
from tangram.vendors.names import KOORDINATOR_CORE, KOORDINATOR_MEMORY, KOORDINATOR_RATIO
from tangram.wire import jsontext, loose
from tangram.wire.errors import WireError, shown
from tangram.wire.koordinator import names

_LARGEST_MINOR = 2**31 - 1
_LARGEST_AMOUNT = 2**62


class AllocatedDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One device given to a pod. Field order is the wire's."""

    minor: int
    resources: dict[str, str] = {}
    id: str = ""
    extension: dict[str, object] = {}
    """Virtual functions and templates of other vendors, passed on unread."""


class GpuShare(msgspec.Struct, frozen=True):
    """The part of one card that an `AllocatedDevice` states."""

    core_percent: int
    memory: Bytes
    ratio: int

    @staticmethod
    def of_bytes(core_percent: int, memory: Bytes, card_memory: Bytes) -> GpuShare:
        """A share asked for in bytes; a card of unknown size is taken to be all used."""
        return GpuShare(core_percent, memory, memory * 100 // card_memory if card_memory else 100)

    @staticmethod
    def of_ratio(core_percent: int, ratio: int, card_memory: Bytes) -> GpuShare:
        """A share asked for in percent."""
        return GpuShare(core_percent, Bytes(ratio * card_memory // 100), ratio)

    @staticmethod
    def as_asked(core_percent: int, memory: Bytes, card_memory: Bytes) -> GpuShare:
        """A share of a pod in Koordinator's words of which only the bytes are known, whichever of both it asked for.

        A percentage that became bytes lost less than one of them, which is given back before counting.
        """
        return GpuShare(core_percent, memory, (memory + 1) * 100 // card_memory if card_memory else 100)

    def resources(self) -> dict[str, str]:
        return {
            KOORDINATOR_CORE: Quantity.whole(self.core_percent).canonical(),
            KOORDINATOR_MEMORY: Quantity.whole(self.memory, Format.BINARY_SI).canonical(),
            KOORDINATOR_RATIO: Quantity.whole(self.ratio).canonical(),
        }


def encode_allocated(devices: Mapping[str, Sequence[AllocatedDevice]]) -> str:
    """`device-allocated`, by device type. Raises `WireError` for minors and texts that cannot be written."""
    written: dict[str, object] = {}
    for kind, given in sorted(devices.items()):
        if any(not 0 <= device.minor <= _LARGEST_MINOR for device in given):
            raise WireError(
                "allocated-unwritable", f"{names.DEVICE_ALLOCATED} needs a minor from 0 for every device"
            )
        written[kind] = [_device_object(device) for device in given]
    return jsontext.compact(written, names.DEVICE_ALLOCATED)


def decode_allocated(written: str) -> dict[str, tuple[AllocatedDevice, ...]]:
    """The devices of each type. Raises `WireError` when any of them has no minor or no readable resources."""
    found = jsontext.parse(written, names.DEVICE_ALLOCATED)
    if found is not None and not loose.is_object(found):
        raise _malformed(found)
    devices: dict[str, tuple[AllocatedDevice, ...]] = {}
    for kind, rows in loose.members(found).items():
        if rows is not None and not loose.is_list(rows):
            raise _malformed(rows)
        devices[kind] = tuple(_read_device(row) for row in loose.elements(rows))
    return devices


def gpu_share(device: AllocatedDevice, card_memory: Bytes | None) -> GpuShare:
    """How much of a card is held: bytes if they are stated, the percent of a card of known size, or the larger of both.

    Koordinator derives one from the other and cuts off what is left over, so that the percentages of a full card may
    add up to less than 100, but bytes never to less than was given: they are what is charged. Raises `WireError`
    when neither tells.
    """
    core = _amount(device, KOORDINATOR_CORE)
    memory = _amount(device, KOORDINATOR_MEMORY)
    ratio = _amount(device, KOORDINATOR_RATIO)
    if memory is None and (ratio is None or card_memory is None):
        raise WireError(
            "allocated-without-memory",
            f"{names.DEVICE_ALLOCATED} does not say how much memory of minor {device.minor} is held",
        )
    if memory is None:
        return GpuShare.of_ratio(core or 0, ratio or 0, card_memory or Bytes(0))
    if ratio is None or card_memory is None:
        percent = memory * 100 // card_memory if card_memory else 100
        return GpuShare(core or 0, Bytes(memory), percent if ratio is None else ratio)
    return GpuShare(core or 0, Bytes(max(memory, ratio * card_memory // 100)), ratio)


def _device_object(device: AllocatedDevice) -> dict[str, object]:
    written: dict[str, object] = {
        "minor": device.minor,
        "resources": dict(sorted(device.resources.items())),
    }
    if device.id:
        written["id"] = device.id
    if device.extension:
        written["extension"] = device.extension
    return written


def _read_device(row: object) -> AllocatedDevice:
    device = loose.members(row)
    minor = loose.integer(device.get("minor"))
    resources = device.get("resources")
    known = loose.text_map(resources)
    if (
        minor is None
        or not 0 <= minor <= _LARGEST_MINOR
        or not (resources is None or loose.is_object(resources))
        or len(known) != len(loose.members(resources))
    ):
        raise _malformed(row)
    return AllocatedDevice(
        minor=minor,
        resources=known,
        id=loose.text(device.get("id")),
        extension=dict(loose.members(device.get("extension"))),
    )


def _malformed(found: object) -> WireError:
    return WireError(
        "allocated-malformed",
        f"{names.DEVICE_ALLOCATED} holds {shown(found)}: it is an object from device type to a list of devices "
        "with minor and resources",
    )


def _amount(device: AllocatedDevice, resource: str) -> int | None:
    text = device.resources.get(resource)
    if text is None:
        return None
    try:
        amount = parse_quantity(text).value()
    except QuantityError:
        amount = -1
    if not 0 <= amount <= _LARGEST_AMOUNT:
        raise WireError(
            "allocated-malformed",
            f"{names.DEVICE_ALLOCATED} gives {shown(text)} of {resource}: it is a quantity from 0",
        )
    return amount

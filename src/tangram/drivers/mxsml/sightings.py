"""Which cards the library sees right now, and by which numbers.

The library numbers cards by bus address, so a number means another card after one was lost: everything above names a
card by uuid and the number is looked up anew for each question. Cards the library sees but cannot use are sightings as
well; leaving them out would turn a broken card into a smaller node.
"""

from __future__ import annotations

from typing import NamedTuple

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml import codes, functions
from tangram.drivers.mxsml.binding import Binding, decoded
from tangram.drivers.mxsml.layouts import DeviceIds, DeviceInfo
from tangram.drivers.unusable import uuid_at
from tangram.units.ids import CardUuid
from tangram.units.na import NotAvailable


class Sighting(NamedTuple):
    number: int
    """The library's, good until it enumerates again."""
    uuid: CardUuid
    bdf: str
    product: str = ""
    family: str = ""
    mode: int = 0
    trouble: str = ""
    """Why the library cannot use it; empty for a card in order."""
    limited: bool = False
    gid: int = 0
    """The kernel driver's number for it."""


def look(binding: Binding) -> tuple[Sighting, ...]:
    """Every card there is: ordinary and virtual ones, then physical functions, then those that cannot be used."""
    first = functions.FIRST_PHYSICAL_ID
    ordinary = binding.count("GetDeviceCount", most=functions.MOST_DEVICES)
    physical = binding.count("GetPfDeviceCount", most=functions.MOST_DEVICES)
    numbers = (*range(ordinary), *range(first, first + physical))
    seen = [found for number in numbers if (found := _sighting(binding, number)) is not None]
    places = {each.bdf for each in seen}
    return (*seen, *(each for each in _limited(binding) if each.bdf not in places))


def still_at(binding: Binding, uuid: CardUuid, number: int) -> Sighting | None:
    """The card of that uuid if it still has the number it had last."""
    found = _sighting(binding, number) if number >= 0 else None
    return found if found is not None and found.uuid == uuid else None


def none_found(binding: Binding) -> DriverError:
    """What to raise when the library is in order and has no card to show."""
    return DriverError(
        Kind.NO_DRIVER,
        f"{binding.library.path} lists no MetaX card: the kernel driver is not loaded or there is no card",
        call=f"{functions.PREFIX}GetDeviceCount",
    )


def _sighting(binding: Binding, number: int) -> Sighting | None:
    info = binding.record("GetDeviceInfo", number, into=DeviceInfo)
    if isinstance(info, NotAvailable):
        if binding.status == codes.GONE:
            return None
        trouble = binding.library.error("GetDeviceInfo", binding.status).sentence
        return Sighting(number, CardUuid(f"unread-{number}"), "", trouble=trouble)
    bdf, product = decoded(info.bdf), decoded(info.name)
    uuid = CardUuid(decoded(info.uuid)) or uuid_at(bdf)
    return Sighting(number, uuid, bdf, product, _family(product, info.brand), info.mode, gid=info.gpu_id)


def limited_numbers(binding: Binding) -> list[int]:
    """The numbers of cards that are on the bus and that the library cannot use."""
    listed = binding.record("GetAllLimitedDevices", into=DeviceIds)
    if isinstance(listed, NotAvailable):
        return []
    return list(listed.ids[: max(0, min(listed.number, functions.MOST_DEVICES))])


def _limited(binding: Binding) -> list[Sighting]:
    return [
        Sighting(
            number,
            uuid_at(bdf),
            bdf,
            decoded(info.name),
            _family(decoded(info.name), info.brand),
            limited=True,
            trouble="seen on the PCI bus, but the library cannot use it",
        )
        for number in limited_numbers(binding)
        if not isinstance(
            info := binding.record("GetLimitedDeviceInfo", number, into=DeviceInfo), NotAvailable
        )
        and (bdf := decoded(info.bdf))
    ]


def _family(product: str, brand: int) -> str:
    return product[:3] if product[:2] == "MX" and product[2:3].isalpha() else functions.BRANDS.get(brand, "")

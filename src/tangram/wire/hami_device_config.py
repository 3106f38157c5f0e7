"""HAMi's `device-config.yaml`, read as it is: what the cluster calls our resources, and how large its cards are.

It is shared with vendors that are none of our business, so sections and keys we do not know are left alone. Of the two
we know, a value that HAMi would misread in silence is refused. So is a name that stands for two resources: HAMi's
backends would both answer for it, and one card would be counted twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads
from tangram.vendors.renaming import usual_names
from tangram.wire import loose
from tangram.wire.errors import WireError, shown

ALL_EMPTY: Final = "all configurations are empty"
"""HAMi's words for a file that says nothing."""

_METAX, _MTHREADS = "metax", "mthreads"
_RESOURCES: Final = {
    _METAX: {
        "resourceCountName": metax.GPU,
        "resourceVCountName": metax.SGPU,
        "resourceVMemoryName": metax.VMEMORY,
        "resourceVCoreName": metax.VCORE,
    },
    _MTHREADS: {
        "resourceCountName": mthreads.VGPU,
        "resourceMemoryName": mthreads.SGPU_MEMORY,
        "resourceCoreName": mthreads.SGPU_CORE,
    },
}
_ZONES = "sgpuTopologyAware"
_MEMORY = "memoryPerCard"
_MOST_UNITS = 2**16
_MOST_SIZES = 16
_LABEL = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN = r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?"
_RESOURCE = re.compile(rf"{_DOMAIN}/{_LABEL}")
_FOREIGN_DOMAIN = re.compile(r"(?:.*\.)?kubernetes\.io/")


class HamiDeviceConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What the file says about cards of ours; an empty one says what HAMi assumes."""

    renamed: dict[str, str] = {}
    """From this cluster's own name of a resource to the usual one, for those that differ."""
    zone_aware: bool = False
    mthreads_memory_per_card: tuple[int, ...] | None = None
    """In units of 512 MiB; `None` where the file does not say, and the cards of the cluster tell."""


def read_hami_device_config(document: object) -> HamiDeviceConfig:
    """The configuration a parsed file stands for. Raises `WireError` for a file HAMi or we could not follow."""
    sections = loose.members(document)
    if document is not None and not loose.is_object(document):
        raise WireError(
            "device-config-malformed",
            f"the file is {shown(document)}: it is a map with a section for each vendor; "
            f"write for example {_METAX}: with {_ZONES}: true under it",
        )
    if not any(sections.values()):
        raise WireError(
            "device-config-empty",
            f"{ALL_EMPTY}: at least one vendor's section says something; "
            f"write for example {_METAX}: with resourceVCountName: {metax.SGPU} under it, or name no file",
        )
    ours = {vendor: _section(sections, vendor) for vendor in _RESOURCES}
    called = _names(ours)
    return HamiDeviceConfig(
        renamed={own: usual for usual, own in called.items() if own != usual},
        zone_aware=_zone_aware(ours[_METAX].get(_ZONES)),
        mthreads_memory_per_card=_memory_per_card(ours[_MTHREADS].get(_MEMORY)),
    )


def _section(sections: Mapping[str, object], vendor: str) -> Mapping[str, object]:
    written = sections.get(vendor)
    if written is not None and not loose.is_object(written):
        raise _refused(vendor, written, "it is a map of keys", "the keys HAMi documents, or remove it")
    return loose.members(written)


def _names(ours: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """What each usual name is called here. An empty name says nothing, as a chart leaves it."""
    called: dict[str, str] = {}
    where: dict[str, str] = {}
    for vendor, keys in _RESOURCES.items():
        for key, usual in keys.items():
            place = f"{vendor}.{key}"
            own = _name(place, ours[vendor].get(key), usual)
            if own in where:
                raise WireError(
                    "device-config-name-twice",
                    f"{place} and {where[own]} are both {shown(own)}: each resource has a name of its own; "
                    f"write for example {place}: {usual}",
                )
            called[usual], where[own] = own, place
    taken = usual_names() - set(called)
    for own in sorted(taken & set(where)):
        raise _refused(
            where[own],
            own,
            "that name has a meaning of its own",
            "another, or leave it out for the usual one",
        )
    return called


def _name(place: str, value: object, usual: str) -> str:
    if value is None or value == "":
        return usual
    own = loose.text(value)
    if not _RESOURCE.fullmatch(own) or _FOREIGN_DOMAIN.match(own):
        legal = "it is the name of an extended resource, DOMAIN/NAME, and kubernetes.io is taken"
        raise _refused(place, value, legal, usual)
    return own


def _zone_aware(value: object) -> bool:
    found = False if value is None or value == "" else loose.flag(value)
    if found is None:
        raise _refused(f"{_METAX}.{_ZONES}", value, "it is true or false", "one of these")
    return found


def _memory_per_card(value: object) -> tuple[int, ...] | None:
    """A number, or a list of them as newer releases write it."""
    if value is None:
        return None
    sizes = [loose.integer(each) for each in (loose.elements(value) if loose.is_list(value) else [value])]
    known = [size for size in sizes if size is not None and 1 <= size <= _MOST_UNITS]
    if not sizes or len(known) < len(sizes) or len(sizes) > _MOST_SIZES:
        raise _refused(
            f"{_MTHREADS}.{_MEMORY}",
            value,
            f"it is a number of 512 MiB units from 1 to {_MOST_UNITS}, or a list of up to {_MOST_SIZES} of them",
            "96 for the MTT S4000, 160 for the MTT S5000, or [96, 160] for both",
        )
    return tuple(sorted(set(known)))


def _refused(place: str, value: object, legal: str, instead: str) -> WireError:
    return WireError("device-config-value", f"{place} is {shown(value)}: {legal}; write {instead}")

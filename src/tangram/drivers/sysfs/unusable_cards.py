"""What the kernel's files say of a MetaX card that the vendor's software cannot use.

The library and the tool read a card's name and its slicing from these files too, but of usable cards only. Allocations
of pods name the card that way, and its slices are there whether the software can use it or not: so a driver over either
takes them from here, and a card in trouble stays the card that it was.
"""

from __future__ import annotations

from typing import NamedTuple

from tangram.drivers.sysfs.files import Files
from tangram.drivers.sysfs.layout import card_nodes, read_layout, uuid_of
from tangram.drivers.sysfs.pci import DEVICES
from tangram.drivers.sysfs.smi_files import sliceable_in, sliced_in
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe


class Slicing(NamedTuple):
    sliced: Maybe[bool] = NA
    """Whether the card is switched to slices."""
    sliceable: Maybe[Bytes] = NA
    """What all of them together can have."""


def uuid_by_place(files: Files, bdf: str) -> Maybe[CardUuid]:
    """The name of the card at that bus address."""
    return uuid_of(card_nodes(read_layout(files)).get(bdf))


def slicing_at(files: Files, bdf: str) -> Slicing:
    """Of the card at that bus address, which must be the name of a file and no path."""
    folder = files.root / DEVICES / bdf
    return Slicing(sliced_in(files, folder), sliceable_in(files, folder))

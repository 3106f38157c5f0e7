"""Devices as cards: what can be given away of each."""

import msgspec
import pytest

from tangram.drivers.inventory import cards_of
from tangram.model.cards import CardMode, Vendor
from tangram.model.devices import Device
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes, from_gib, from_mib
from tangram.units.na import NA

SLICED = Device(
    uuid=CardUuid("GPU-1"),
    index=0,
    vendor=Vendor.METAX,
    product="MXC500",
    memory=from_gib(64),
    sliced=True,
    sliceable=from_mib(64512),
)


@pytest.mark.parametrize(
    ("mode", "memory"),
    [
        (None, from_mib(64512)),
        (CardMode.SLICED, from_mib(64512)),
        (CardMode.UNDECIDED, from_mib(64512)),
        (CardMode.WHOLE, from_gib(64)),
    ],
)
def test_slices_get_what_the_card_can_slice_and_a_whole_card_is_whole(
    mode: CardMode | None, memory: Bytes
) -> None:
    (card,) = cards_of((SLICED,), {}, {} if mode is None else {SLICED.uuid: mode})
    assert card.memory == memory


def test_a_driver_that_does_not_say_how_much_can_be_sliced_means_all_of_it() -> None:
    (card,) = cards_of((msgspec.structs.replace(SLICED, sliceable=NA),), {})
    assert card.memory == from_gib(64)

"""The one variable by which a MetaX container learns of its slices."""

import pytest

from tangram.model.grants import GrantedSlice
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes, from_gib, from_mib
from tangram.wire.errors import WireError
from tangram.wire.metax_container import SLICES, slice_environment

FOUR_GIB = from_gib(4)


def part(name: str = "tangram-a", memory: Bytes = FOUR_GIB, number: int = 2) -> GrantedSlice:
    return GrantedSlice(card=CardUuid("GPU-0"), id=number, name=name, memory=memory, cores=25)


def test_a_slice_is_written_as_the_one_public_source_has_it() -> None:
    assert slice_environment([("0000:10:00.0", part())]) == {
        "METAX_SGPUS": "sgpu=0000:10:00.0#2;compute=25;vram=4096;alias=tangram-a"
    }


def test_several_are_joined_by_commas_in_their_order() -> None:
    text = slice_environment([("0000:10:00.0", part("b")), ("0000:20:00.0", part("a", from_mib(512), 0))])[
        SLICES
    ]
    assert text == (
        "sgpu=0000:10:00.0#2;compute=25;vram=4096;alias=b,sgpu=0000:20:00.0#0;compute=25;vram=512;alias=a"
    )


@pytest.mark.parametrize("name", ["", "a;b", "a,b", "a#b", "a=b"])
def test_a_name_that_would_be_read_as_something_else_is_refused(name: str) -> None:
    with pytest.raises(WireError, match="cannot name"):
        slice_environment([("0000:10:00.0", part(name))])


def test_a_card_without_an_address_is_refused() -> None:
    with pytest.raises(WireError, match="cannot name"):
        slice_environment([("", part())])

"""The values of --gpus (M106-M109)."""

import pytest

from tangram.model.cards import Vendor
from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.wishes import Kind, Wish, read_gpus


@pytest.mark.parametrize(
    ("value", "wish"),
    [
        pytest.param("all", Wish(Kind.ALL, text="all"), id="all"),
        pytest.param("2", Wish(Kind.COUNT, count=2, text="2"), id="count"),
        pytest.param("[0,2]", Wish(Kind.CARDS, names=("0", "2"), text="[0,2]"), id="numbers"),
        pytest.param('"[0, 2]"', Wish(Kind.CARDS, names=("0", "2"), text="[0, 2]"), id="quoted"),
        pytest.param("0,2", Wish(Kind.CARDS, names=("0", "2"), text="0,2"), id="without-brackets"),
        pytest.param("[0,0]", Wish(Kind.CARDS, names=("0",), text="[0,0]"), id="twice"),
        pytest.param("[SN1]", Wish(Kind.CARDS, names=("SN1",), text="[SN1]"), id="serial"),
        pytest.param(
            "[sgpu:a,SGPU:b]",
            Wish(Kind.SLICES, names=("a", "b"), vendor=Vendor.METAX, text="[sgpu:a,SGPU:b]"),
            id="slices",
        ),
        pytest.param("metax:all", Wish(Kind.ALL, vendor=Vendor.METAX, text="all"), id="vendor"),
        pytest.param(
            "mthreads:2", Wish(Kind.COUNT, count=2, vendor=Vendor.MTHREADS, text="2"), id="other-vendor"
        ),
    ],
)
def test_a_value_is_read_as_it_was_meant(value: str, wish: Wish) -> None:
    assert read_gpus(value) == wish


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        pytest.param('"device=0"', "for NVIDIA's cards call docker", id="nvidia"),
        pytest.param("all,capabilities=utility", "for NVIDIA's cards call docker", id="nvidia-all"),
        pytest.param("0", "a number is 1 or more, and a single card is named in brackets", id="none"),
        pytest.param("9" * 40, "so many cards are not to be had", id="far-too-many"),
        pytest.param("", "which names no card between its commas", id="empty"),
        pytest.param("[]", "which names no card between its commas", id="empty-brackets"),
        pytest.param("[0,,1]", "which names no card between its commas", id="hole"),
        pytest.param("[0", "where a bracket is missing", id="bracket"),
        pytest.param("[0,[1]]", "which names no card between its commas", id="brackets-in-brackets"),
        pytest.param("[0,sgpu:x]", "cards and slices in one", id="mixed"),
        pytest.param("[sgpu:]", "where a slice has no uuid", id="no-uuid"),
        pytest.param("mthreads:[sgpu:a]", "made by the vendor's runtime", id="mthreads-slices"),
    ],
)
def test_whatever_cannot_be_meant_is_a_sentence(value: str, sentence: str) -> None:
    with pytest.raises(HostError, match=sentence.replace("[", r"\[")):
        read_gpus(value)

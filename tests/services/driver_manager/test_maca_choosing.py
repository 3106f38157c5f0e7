"""Which MXMACA images a node takes, by what is written on it."""

from collections.abc import Mapping

import pytest

from tangram.services.driver_manager.maca_choosing import NO_IMAGE, UNKNOWN, choose_images
from tangram.services.driver_manager.problems import Problem
from tangram.vendors.metax.maca_images import read_maca_image
from tangram.wire.metax_cards import LABEL_PRODUCT
from tangram.wire.operator.names import MACA_PRODUCT

C500, N100, ANY = (
    "r.example/gpu/maca-c500:3.0-amd64",
    "r.example/gpu/mxn100-maca:3.0",
    "r.example/maca-native:2.9",
)


def chosen(labels: Mapping[str, str], *images: str, machine: str = "x86_64") -> tuple[str, ...] | str:
    """The images, or the code of what is the matter."""
    read = [image for image in map(read_maca_image, images) if image is not None]
    found = choose_images(read, labels, machine)
    return found.code if isinstance(found, Problem) else found


@pytest.mark.parametrize(
    ("labels", "images", "taken"),
    [
        pytest.param({}, (), (), id="none-is-named"),
        pytest.param({LABEL_PRODUCT: "MXC500"}, (C500, N100), (C500,), id="by-the-cards"),
        pytest.param({MACA_PRODUCT: "n100"}, (C500, N100), (N100,), id="cordoned-by-the-operators-mark"),
        pytest.param(
            {LABEL_PRODUCT: "MXN100", MACA_PRODUCT: "c500"},
            (C500, N100),
            (N100,),
            id="the-cards-before-the-mark",
        ),
        pytest.param({}, (C500, N100), UNKNOWN, id="nothing-is-known"),
        pytest.param({}, (ANY,), (ANY,), id="one-for-every-product-needs-no-label"),
        pytest.param({}, (ANY, C500), UNKNOWN, id="one-of-two-needs-it"),
        pytest.param({LABEL_PRODUCT: "MXN100"}, (ANY, C500), (ANY,), id="the-one-for-every-product"),
        pytest.param({LABEL_PRODUCT: "MXC500"}, (C500, ANY), (C500, ANY), id="side-by-side-in-their-order"),
        pytest.param({LABEL_PRODUCT: "MXN100"}, (C500,), NO_IMAGE, id="of-other-cards"),
    ],
)
def test_a_node_takes_what_its_cards_need(
    labels: dict[str, str], images: tuple[str, ...], taken: tuple[str, ...] | str
) -> None:
    assert chosen(labels, *images) == taken


def test_an_image_for_other_processors_is_not_for_a_node() -> None:
    labels = {LABEL_PRODUCT: "MXC500"}
    assert chosen(labels, C500, machine="aarch64") == NO_IMAGE
    assert chosen({LABEL_PRODUCT: "MXN100"}, N100, machine="aarch64") == (N100,)


def test_who_has_no_image_is_told_which_to_add() -> None:
    image = read_maca_image(C500)
    assert image is not None
    found = choose_images([image], {LABEL_PRODUCT: "MXN100"}, "x86_64")
    assert isinstance(found, Problem)
    assert "the MXN100 cards and amd64 processors" in found.why
    assert "only maca-c500:3.0-amd64" in found.why
    assert "maca-n100:VERSION-SYSTEM-amd64" in found.why

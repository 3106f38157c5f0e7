"""Whom an MXMACA image is for, by its name."""

import pytest

from tangram.vendors.metax.maca_images import (
    MacaImage,
    images_for,
    known_products,
    product_served,
    read_maca_image,
)
from tangram.vendors.metax.products import CATALOGUE

TAG = "2.23.0.4-ubuntu18.04-amd64"


def read(image: str) -> MacaImage:
    found = read_maca_image(image)
    assert found is not None, image
    return found


@pytest.mark.parametrize(
    ("image", "product", "version", "architecture"),
    [
        pytest.param(f"maca-c500:{TAG}", "c500", "2.23.0.4", "amd64", id="the-earlier-scheme"),
        pytest.param(f"mxc500-maca:{TAG}", "c500", "2.23.0.4", "amd64", id="the-later-scheme"),
        pytest.param(f"r.example:5000/a/b/maca-n100:{TAG}", "n100", "2.23.0.4", "amd64", id="in-a-registry"),
        pytest.param("mxc500-maca:2.24.0.0", "c500", "2.24.0.0", "", id="a-version-alone"),
        pytest.param("maca-mxc500:2.24.0.0", "c500", "2.24.0.0", "", id="with-the-brand"),
        pytest.param("maca-native:2.32.0-aarch64", "", "2.32.0", "arm64", id="for-every-product"),
        pytest.param(
            "maca-c600:3.0-rc1-centos9-x86_64", "c600", "3.0-rc1", "amd64", id="dashes-in-a-version"
        ),
        pytest.param(f"maca-c500:{TAG}@sha256:{'0' * 64}", "c500", "2.23.0.4", "amd64", id="with-a-digest"),
    ],
)
def test_a_name_of_either_scheme_says_product_version_and_architecture(
    image: str, product: str, version: str, architecture: str
) -> None:
    assert read(image) == MacaImage(image=image, product=product, version=version, architecture=architecture)


@pytest.mark.parametrize(
    "image",
    [
        pytest.param("maca:2.23.0.4", id="no-product"),
        pytest.param("maca-x900:2.23.0.4", id="an-unknown-product"),
        pytest.param("mxc5OO-maca:2.23.0.4", id="letters-for-figures"),
        pytest.param("pytorch:2.1", id="another-name"),
        pytest.param("maca-c500-torch:2.1", id="more-in-the-name"),
        pytest.param("", id="nothing"),
    ],
)
def test_a_name_of_no_known_product_is_for_no_node(image: str) -> None:
    assert read_maca_image(image) is None


def test_every_product_of_one_word_can_be_named() -> None:
    assert {"c500", "n100", "c550"} <= set(known_products())
    assert [read(f"maca-{word}:1").product for word in known_products()] == list(known_products())


@pytest.mark.parametrize(
    ("cards", "listed", "served"),
    [
        pytest.param("MXC500", ("c500", "n100"), "c500", id="their-own"),
        pytest.param("C500", ("n100", "c500"), "c500", id="without-the-brand"),
        pytest.param("MXC550", ("c500", "n100"), "c500", id="of-the-generation"),
        pytest.param("MXC550", ("c500", "c550"), "c550", id="their-own-before-the-generation"),
        pytest.param("MXC500-P", ("c500", "c550"), "c500", id="a-variant-of-a-model"),
        pytest.param("MXC600-A", ("c500",), "c500", id="a-variant-that-the-catalogue-lacks"),
        pytest.param("MXN260", ("c500", "n100"), "c500", id="an-n-card-of-the-c-generation"),
        pytest.param("MXN100V", ("c500", "n100"), "n100", id="the-other-generation"),
        pytest.param("MXN100", ("c500",), "n100", id="no-image-for-them"),
        pytest.param("MXC588", ("c500", "c550"), "c588", id="two-of-the-generation-and-no-own"),
        pytest.param("MXX900", ("c500", "n100"), "x900", id="unknown-cards"),
    ],
)
def test_a_node_is_served_by_the_images_of_its_product_or_its_generation(
    cards: str, listed: tuple[str, ...], served: str
) -> None:
    assert product_served(cards, [read(f"maca-{product}:1") for product in listed]) == served


@pytest.mark.parametrize("product", [each.name for each in CATALOGUE.products])
def test_one_product_listed_for_each_generation_serves_all_cards_that_are_known(product: str) -> None:
    images = [read(f"maca-c500:{TAG}"), read(f"mxn100-maca:{TAG}")]
    assert len(images_for(images, product_served(product, images), "amd64")) == 1


def test_a_node_takes_images_of_its_product_and_architecture_in_their_order() -> None:
    images = [
        read(name)
        for name in (f"maca-n100:{TAG}", "maca-native:2.32.0", f"maca-c500:{TAG}", "maca-c500:2.18.0-arm64")
    ]
    taken = [image.image for image in images_for(images, "c500", "amd64")]
    assert taken == ["maca-native:2.32.0", f"maca-c500:{TAG}"]


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        pytest.param("maca-c500:1", "maca-n100:1", True, id="two-generations"),
        pytest.param("maca-c500:1", "maca-c550:1", False, id="one-generation"),
        pytest.param("maca-n100:1", "maca-native:1", False, id="one-for-every-product"),
    ],
)
def test_images_of_two_generations_are_for_other_chips(one: str, other: str, *, apart: bool) -> None:
    assert read(one).is_for_other_chips(read(other)) is apart
    assert read(other).is_for_other_chips(read(one)) is apart


@pytest.mark.parametrize(
    ("one", "other", "twice"),
    [
        pytest.param(
            "maca-c500:1-ubuntu18.04-amd64", "mxc500-maca:1-ubuntu20.04-amd64", True, id="both-schemes"
        ),
        pytest.param("maca-c500:1", "maca-c500:2", False, id="two-versions"),
        pytest.param("maca-c500:1", "maca-n100:1", False, id="two-products"),
        pytest.param("maca-c500:1-amd64", "maca-c500:1-arm64", False, id="two-architectures"),
        pytest.param("maca-c500:1-amd64", "maca-c500:1", True, id="one-for-any-architecture"),
        pytest.param("maca-native:1", "maca-c500:1", True, id="one-for-every-product"),
    ],
)
def test_two_images_are_one_too_many_where_a_node_would_get_both_in_one_folder(
    one: str, other: str, *, twice: bool
) -> None:
    assert read(one).is_twice(read(other)) is twice
    assert read(other).is_twice(read(one)) is twice

"""Where the content of a payload image lies on a node: one folder for each image, that any file system can have."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tangram.wire.operator.payloads import payload_folder


def test_people_see_which_image_it_is() -> None:
    folder = payload_folder("cr.metax-tech.com/cloud/driver-image:2.32.0-amd64")
    assert re.fullmatch(r"driver-image-2\.32\.0-amd64-[0-9a-f]{10}", folder)


def test_equal_names_in_two_registries_are_two_folders() -> None:
    assert payload_folder("a.example/driver-image:1") != payload_folder("b.example/driver-image:1")


@given(st.text(max_size=300))
def test_any_reference_is_the_name_of_one_folder(image: str) -> None:
    folder = payload_folder(image)
    assert re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z._-]{1,100}", folder)

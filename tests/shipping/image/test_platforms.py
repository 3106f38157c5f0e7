"""The machines an image is made for."""

import platform as machine

import pytest

from shipping.image.errors import ImageError
from shipping.image.platforms import of_this_machine, platform_named


def test_both_names_of_a_platform_are_known() -> None:
    assert platform_named("arm64") == platform_named("aarch64")


def test_wheels_for_any_glibc_up_to_debians_are_taken() -> None:
    tags = platform_named("amd64").wheel_platforms()
    assert tags[0] == "manylinux_2_36_x86_64"
    assert tags[-2:] == ["manylinux_2_17_x86_64", "manylinux2014_x86_64"]


def test_an_unknown_architecture_is_told_which_there_are() -> None:
    with pytest.raises(ImageError, match=r"'riscv64' is no architecture.*amd64 and arm64"):
        platform_named("riscv64")


def test_a_machine_that_runs_no_image_is_told_where_to_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "machine", lambda: "loongarch64")
    with pytest.raises(ImageError, match=r"'loongarch64'.*build the image on x86_64 or aarch64"):
        of_this_machine()

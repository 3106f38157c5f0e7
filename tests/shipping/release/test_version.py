"""One spelling of a version for tags, charts, images and wheels."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import parse_wheel_filename

from shipping.release.errors import ReleaseError
from shipping.release.version import Version, snapshot_of, version_of_tag

SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-z-][0-9a-z-]*)(\.(0|[1-9]\d*|\d*[a-z-][0-9a-z-]*))*)?"
)
IMAGE_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
NUMBERS = st.integers(0, 10**6)
STAGES = st.one_of(
    st.just(""), st.builds("-{}.{}".format, st.sampled_from(["alpha", "beta", "rc", "dev"]), NUMBERS)
)
VERSIONS = st.builds("{}.{}.{}{}".format, NUMBERS, NUMBERS, NUMBERS, STAGES)


@given(VERSIONS)
def test_a_version_that_is_taken_is_one_for_helm_for_registries_and_for_python(text: str) -> None:
    version = Version.of(text, "here")

    assert SEMVER.fullmatch(version.text)
    assert IMAGE_TAG.fullmatch(version.text)
    named = f"tangram_gpu-{version.of_wheel}-py3-none-any.whl"
    assert str(parse_wheel_filename(named)[1]) == version.of_wheel


@pytest.mark.parametrize(
    ("tag", "packages"),
    [
        pytest.param("v0.1.0", "0.1.0", id="a release"),
        pytest.param("v1.0.0-rc.1", "1.0.0rc1", id="a candidate"),
        pytest.param("v1.0.0-alpha.2", "1.0.0a2", id="alpha"),
        pytest.param("v1.0.0-beta.12", "1.0.0b12", id="beta"),
    ],
)
def test_a_tag_is_the_version_and_python_has_its_own_spelling(tag: str, packages: str) -> None:
    version = version_of_tag(tag)
    assert (version.tag, version.of_wheel) == (tag, packages)


@pytest.mark.parametrize(
    "tag",
    ["v1", "v1.0", "v1.0.0.0", "v01.0.0", "v1.0.0rc1", "v1.0.0-rc1", "v1.0.0-rc.01",
     "v1.0.0+g12", "v1.0.0-x.1", "v1.0.0\n"],
)  # fmt: skip
def test_another_spelling_is_refused_with_the_legal_ones(tag: str) -> None:
    with pytest.raises(ReleaseError, match=r"is no version here: write X\.Y\.Z, or X\.Y\.Z-rc\.N"):
        version_of_tag(tag)


def test_a_snapshot_cannot_be_tagged() -> None:
    with pytest.raises(ReleaseError, match="names a snapshot, which is never released"):
        version_of_tag("v1.0.0-dev.3")


@pytest.mark.parametrize(
    ("said", "last", "snapshot"),
    [
        pytest.param("0.1.0", None, "0.1.0-dev.7", id="before the first release"),
        pytest.param("0.2.0", "0.1.0", "0.2.0-dev.7", id="the next version is written down"),
        pytest.param("0.1.0", "0.1.0", "0.1.1-dev.7", id="right after a release"),
        pytest.param("0.1.0", "0.3.2", "0.3.3-dev.7", id="somebody wrote an old version"),
        pytest.param("1.0.0-rc.1", "0.9.0", "1.0.0-dev.7", id="between candidates"),
    ],
)
def test_a_snapshot_comes_before_the_version_that_is_next(said: str, last: str | None, snapshot: str) -> None:
    before = None if last is None else Version.of(last, "")
    assert snapshot_of(Version.of(said, ""), before, 7).text == snapshot

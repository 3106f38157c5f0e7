"""The lock file for another machine, and wheels fetched and unpacked for it."""

from pathlib import Path

import pytest

from builders.packages import wheel_file
from shipping.image import wheels
from shipping.image.errors import ImageError
from shipping.image.lockfile import Pin, read_lock, requirement_lines
from shipping.image.platforms import platform_named
from shipping.image.recipe import MODULES
from shipping.image.tree import File
from shipping.image.wheels import failure, read_wheel

ARM = platform_named("arm64")
ONE, TWO = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
LOCK = f"""\
Some.Thing==1.2 \\
    --hash={TWO} \\
    --hash={ONE}
    # via tangram-gpu (pyproject.toml)
numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash={ONE}
numpy==2.5.4 ; python_full_version >= '3.12' \\
    --hash={TWO}
only-windows==1 ; sys_platform == 'win32' \\
    --hash={ONE}
only-arm==3 ; platform_machine == 'aarch64' \\
    --hash={ONE}
"""


def test_markers_are_answered_for_the_image_and_not_for_this_machine() -> None:
    pins = {pin.name: pin for pin in read_lock(LOCK, ARM)}
    assert set(pins) == {"some-thing", "numpy", "only-arm"}
    assert pins["numpy"].version == "2.4.6"
    assert pins["some-thing"].hashes == (ONE, TWO)
    assert "only-arm" not in {pin.name for pin in read_lock(LOCK, platform_named("amd64"))}


def test_pip_gets_versions_and_hashes_without_markers() -> None:
    assert requirement_lines([Pin("a", "1", (ONE, TWO))]) == f"a==1 --hash={ONE} --hash={TWO}\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param(f"a>=1 --hash={ONE}", "does not name one version of a", id="no version"),
        pytest.param("a==1", "does not name one version of a with hashes", id="no hash"),
        pytest.param("-r other.txt", "which is no pin", id="an option"),
        pytest.param(f"a==1 --hash={ONE}\nA==2 --hash={ONE}", "two versions of a", id="two versions"),
    ],
)
def test_a_lock_that_does_not_pin_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ImageError, match=sentence):
        read_lock(text, ARM)


def test_a_wheel_is_unpacked_as_its_format_says(tmp_path: Path) -> None:
    path = wheel_file(
        tmp_path,
        files={
            "thing-1.0.data/platlib/thing/fast.so": b"so",
            "thing-1.0.data/scripts/thing": b"#!python",
            "thing-1.0.data/headers/thing.h": b"",
        },
        metadata="License-Expression: MIT\nClassifier: A\nClassifier: B\n",
        entry_points="[console_scripts]\nThing = thing.cli:main\n",
    )
    wheel = read_wheel(path)
    assert {name.removeprefix(f"{MODULES}/") for name in wheel.files} == {
        "thing/__init__.py",
        "thing/fast.so",
        "thing-1.0.dist-info/METADATA",
        "thing-1.0.dist-info/RECORD",
        "thing-1.0.dist-info/entry_points.txt",
    }
    assert wheel.files[f"{MODULES}/thing/__init__.py"] == File(b"x = 1\n", mtime=1580601600)
    assert wheel.scripts == {"Thing": "thing.cli:main"}
    assert wheel.metadata["Classifier"] == ["A", "B"]


def test_a_file_that_differs_from_the_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"holds thing/__init__\.py, which is not the file its record names"):
        read_wheel(wheel_file(tmp_path, spoiled="thing/__init__.py"))


def test_a_path_out_of_the_image_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="leads out of the image"):
        read_wheel(wheel_file(tmp_path, files={"../evil": b""}))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04torn"])
def test_a_torn_wheel_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x-1-py3-none-any.whl"
    path.write_bytes(content)
    with pytest.raises(ImageError, match=r"x-1-py3-none-any\.whl is no whole wheel"):
        read_wheel(path)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        pytest.param(
            "ERROR: No matching distribution found for numpy==2.4.6 (from versions: 1)\n",
            "There is no wheel of numpy==2.4.6 for arm64 and Python 3.11: choose a version that has one",
            id="no wheel for the platform",
        ),
        pytest.param(
            "WARNING: Retrying after connection broken by 'X'\nERROR: No matching distribution found for a==1\n",
            "The package index cannot be reached",
            id="no network",
        ),
        pytest.param(
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "not the one the lock file names", id="hash"
        ),
        pytest.param("ERROR: odd", "pip could not fetch the wheels for arm64", id="anything else"),
    ],
)
def test_a_failure_of_pip_is_said_in_a_sentence(said: str, sentence: str) -> None:
    assert sentence in failure(said, said, ARM)


def test_pip_is_asked_for_wheels_of_the_platform_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pip that finds nothing, called for real: no index, so no network."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ImageError, match=r"no wheel of thing==1\.0 for arm64"):
        wheels.download_wheels([Pin("thing", "1.0", (ONE,))], ARM, tmp_path)

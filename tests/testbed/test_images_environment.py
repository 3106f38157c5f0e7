"""The image of the project's own environment: equal every time, quick after an edit, and complete."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import BedError
from testbed.images import Image, environment_image
from testbed.images.dependencies import needed_distributions
from testbed.images.environment import HOME, SOURCE

PROGRAM = "import testbed.images; print(testbed.images.environment_image().tarball)"
SCRIPT = "/usr/local/bin/own-script"


@pytest.fixture(name="folder", scope="module")
def make_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Half a gigabyte of tarballs is not left to pytest, which keeps the folders of three runs."""
    folder = tmp_path_factory.mktemp("images")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(name="_own_cache", scope="module")
def use_own_cache(folder: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TANGRAM_TESTBED_CACHE", str(folder / "own"))
        yield


@pytest.fixture(name="image", scope="module")
def make_image(_own_cache: None) -> Image:
    return environment_image(
        name="docker.io/local/with-extras:1",
        extra_files={SCRIPT: b"#!/bin/sh\necho $WHO\n", "/srv/examples": SOURCE.parent / "examples"},
    )


@pytest.fixture(name="root", scope="module")
def unpack(image: Image, folder: Path) -> Path:
    """The root folder a container would see, the layers applied one over the other."""
    root = folder / "root"
    with tarfile.open(image.tarball) as outer:
        for digest in image.layers:
            stream = outer.extractfile(blob(digest))
            with tarfile.open(fileobj=stream) as layer:
                # Our own archive, in which links to absolute paths are wanted.
                layer.extraction_filter = staticmethod(as_written)
                layer.extractall(root)  # noqa: S202
    return root


def as_written(member: tarfile.TarInfo, _path: str) -> tarfile.TarInfo:
    return member


def blob(digest: str) -> str:
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def json_in(archive: tarfile.TarFile, name: str) -> Any:  # noqa: ANN401 - JSON of any shape
    stream = archive.extractfile(name)
    assert stream is not None
    return json.load(stream)


def layer_names(image: Image, number: int) -> list[str]:
    with tarfile.open(image.tarball) as outer:
        stream = outer.extractfile(blob(image.layers[number]))
        with tarfile.open(fileobj=stream) as layer:
            return layer.getnames()


@pytest.mark.usefixtures("_own_cache")
def test_another_process_with_an_empty_cache_makes_the_same_bytes(folder: Path) -> None:
    settings = {
        "PYTHONHASHSEED": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TANGRAM_TESTBED_CACHE": str(folder / "other"),
    }
    other = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
        timeout=600,
    )
    first, second = environment_image().tarball, Path(other.stdout.strip())

    assert first != second
    assert first.name == second.name
    assert subprocess.run(["cmp", first, second], check=False).returncode == 0


@pytest.mark.usefixtures("_own_cache")
def test_a_changed_line_of_source_changes_only_the_last_layer(tmp_path: Path) -> None:
    source = tmp_path / "src"
    shutil.copytree(SOURCE, source)
    before = environment_image(source=source)
    with (source / "tangram" / "__init__.py").open("a", encoding="utf-8") as module:
        module.write("# one more line\n")

    after = environment_image(source=source)

    assert after.layers[:-1] == before.layers[:-1]
    assert after.layers[-1] != before.layers[-1]
    assert after.tarball != before.tarball


@pytest.mark.usefixtures("_own_cache")
def test_the_source_layer_follows_the_content_and_not_the_times(tmp_path: Path) -> None:
    source = tmp_path / "elsewhere"
    shutil.copytree(SOURCE, source, copy_function=shutil.copyfile)

    assert environment_image(source=source) == environment_image()


@pytest.mark.usefixtures("_own_cache")
def test_further_distributions_come_in_a_layer_of_their_own() -> None:
    plain = environment_image()
    larger = environment_image(distributions=["packaging"])

    assert [*larger.layers[:3], larger.layers[4]] == list(plain.layers)
    assert any(name.endswith("/site-packages/packaging/__init__.py") for name in layer_names(larger, 3))


@pytest.mark.usefixtures("_own_cache")
def test_further_variables_join_those_of_the_image() -> None:
    image = environment_image(extra_environment={"WHO": "a test", "LANG": "C"})

    with tarfile.open(image.tarball) as outer:
        (entry,) = json_in(outer, "index.json")["manifests"]
        manifest = json_in(outer, blob(entry["digest"]))
        config = json_in(outer, blob(manifest["config"]["digest"]))
    assert config["config"]["Env"] == [
        "LANG=C",
        f"PATH={HOME}/bin:/usr/local/bin:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE=1",
        "PYTHONUNBUFFERED=1",
        "WHO=a test",
    ]


def test_what_no_program_reads_is_left_out(image: Image) -> None:
    interpreter, dependencies = 1, 2
    names = layer_names(image, interpreter) + layer_names(image, dependencies)

    assert not [name for name in names if name.endswith((".a", ".pyi", ".h", ".pxd"))]
    assert not [name for name in names if "/tests/" in name or "/test/" in name or "/idlelib/" in name]
    assert not [name for name in names if name.endswith("/RECORD")]


def test_every_library_that_a_file_of_the_image_needs_is_in_the_image(root: Path) -> None:
    programs = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink() and is_elf(path)]
    available = {path.name for path in programs}

    missing = {
        (path.name, name) for path in programs for name in needed_libraries(path) if name not in available
    }

    assert len(programs) > 50
    assert missing == set()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param(
            {"distributions": ["no-such-thing"]}, "'no-such-thing', which is not installed", id="missing"
        ),
        pytest.param({"distributions": ["two words"]}, "'two words' is no requirement", id="malformed"),
        pytest.param({"extras": ["gold"]}, "has no extra 'gold'", id="extra"),
        pytest.param(
            {"extra_files": {"/x": Path("/nowhere/at/all")}}, "is no file and no folder here", id="file"
        ),
        pytest.param({"extra_files": {"x": b""}}, "cannot be placed in an image", id="path"),
        pytest.param({"name": "tangram"}, "is no name for an image", id="name"),
        pytest.param({"source": Path("/nowhere")}, "/nowhere has no folder tangram", id="source"),
    ],
)
@pytest.mark.usefixtures("_own_cache")
def test_what_cannot_be_done_is_said_in_a_sentence(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(BedError, match=sentence):
        environment_image(**options)  # pyright: ignore[reportArgumentType] - the table holds one wrong value each


def test_only_what_runs_is_needed_not_what_develops() -> None:
    names = set(needed_distributions(["tangram-gpu"]))

    assert {"tangram-gpu", "numpy", "msgspec", "cyclopts", "rich"} <= names
    assert names.isdisjoint({"pytest", "ruff", "hypothesis", "pip"})


def is_elf(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(6) == b"\x7fELF\x02\x01"


def needed_libraries(path: Path) -> list[str]:
    """The DT_NEEDED names of a 64-bit little-endian ELF file."""
    data = path.read_bytes()

    def number(start: int, size: int) -> int:
        return int.from_bytes(data[start : start + size], "little")

    headers = [number(32, 8) + i * number(54, 2) for i in range(number(56, 2))]
    loaded = [
        (number(at + 16, 8), number(at + 8, 8), number(at + 32, 8)) for at in headers if number(at, 4) == 1
    ]
    dynamic = [number(at + 8, 8) for at in headers if number(at, 4) == 2]
    if not dynamic:
        return []
    entries: list[tuple[int, int]] = []
    at = dynamic[0]
    while number(at, 8):
        entries.append((number(at, 8), number(at + 8, 8)))
        at += 16
    (table,) = (value for tag, value in entries if tag == 5)
    (strings,) = (
        table - address + offset for address, offset, size in loaded if address <= table < address + size
    )
    starts = [strings + value for tag, value in entries if tag == 1]
    return [data[start : data.index(b"\0", start)].decode() for start in starts]

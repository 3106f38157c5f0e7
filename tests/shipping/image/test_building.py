"""From sources to files: what is kept, what is refused, and what a second build does."""

import os
import re
import subprocess
from io import StringIO
from pathlib import Path

import msgspec
import pytest

from builders.packages import wheel_file
from shipping.image import building, layering
from shipping.image.__main__ import main
from shipping.image.building import BUDGET, build, refuse_large
from shipping.image.bytecode import cached_name
from shipping.image.cachefolder import cache_folder, filled, forget_unused, key_of, only_builder
from shipping.image.errors import ImageError
from shipping.image.layers import Layer
from shipping.image.oci import PlatformImage
from shipping.image.platforms import PLATFORMS, Platform
from shipping.image.programs import NAMES, Go
from shipping.image.progress import Progress
from shipping.image.project import LOCK, Project, build_wheel, read_project
from shipping.image.recipe import VENDOR_LIBRARIES_NEED
from shipping.image.tree import File, Tree


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TANGRAM_IMAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    return tmp_path / "cache"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    root = tmp_path / "sources"
    (root / "src").mkdir(parents=True)
    (root / "requirements").mkdir()
    (root / LOCK).write_text("")
    (root / "pyproject.toml").write_text('[project]\nname = "tangram-gpu"\nversion = "1.0"\n')
    (root / "src" / "module.py").write_text("x = 1\n")
    return root


# -- the project ------------------------------------------------------------------------------------------------------


def test_the_moment_is_the_one_asked_for(sources: Path) -> None:
    project = read_project(sources)
    assert (project.moment, project.created, project.revision) == (1700000000, "2023-11-14T22:13:20Z", "")


def test_the_moment_is_otherwise_the_commits_and_changes_are_marked(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    when = {**os.environ, "GIT_COMMITTER_DATE": "1600000000 +0000", "GIT_CONFIG_GLOBAL": os.devnull}
    person = ["-c", "user.name=n", "-c", "user.email=e@example.com"]
    for words in (["init", "--quiet"], ["add", "."], [*person, "commit", "--quiet", "--message", "m"]):
        subprocess.run(["git", *words], cwd=sources, check=True, env=when)
    committed = read_project(sources)
    assert committed.moment == 1600000000
    assert len(committed.revision) == 40
    (sources / "src" / "module.py").write_text("x = 2\n")
    changed = read_project(sources)
    assert changed.revision == f"{committed.revision}-changed"
    assert changed.content != committed.content


@pytest.mark.parametrize("text", ["soon", "-1", "1.5", "9" * 12])
def test_a_moment_that_is_no_number_is_refused(
    sources: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", text)
    with pytest.raises(ImageError, match=f"SOURCE_DATE_EPOCH is '{text}': it must be a number of seconds"):
        read_project(sources)


def test_without_commit_or_moment_nothing_is_made_up(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    with pytest.raises(ImageError, match=r"no git checkout .*: set SOURCE_DATE_EPOCH"):
        read_project(sources)


def test_a_wheel_that_cannot_be_built_is_said(sources: Path) -> None:
    with pytest.raises(ImageError, match="wheel could not be built; hatchling said"):
        build_wheel(read_project(sources))


# -- the cache --------------------------------------------------------------------------------------------------------


def test_a_folder_of_the_cache_is_whole_or_absent(cache: Path) -> None:
    def fails(folder: Path) -> None:
        (folder / "half").write_text("")
        raise ImageError("no")

    with pytest.raises(ImageError):
        filled(cache / "kind" / "name", fails)
    assert list((cache / "kind").iterdir()) == []
    filled(cache / "kind" / "name", lambda folder: (folder / "whole").touch())
    filled(cache / "kind" / "name", fails)
    assert [path.name for path in (cache / "kind" / "name").iterdir()] == ["whole"]


def test_what_no_build_uses_is_forgotten(cache: Path) -> None:
    for name in ("old", "new"):
        (cache / "layers" / name).mkdir(parents=True)
    os.utime(cache / "layers" / "old", (0, 0))
    forget_unused(cache, now=(cache / "layers" / "new").stat().st_mtime)
    assert [path.name for path in (cache / "layers").iterdir()] == ["new"]


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    assert key_of(["ab", "c"]) != key_of(["a", "bc"])


def test_a_cache_that_depends_on_the_current_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANGRAM_IMAGE_CACHE", "here")
    with pytest.raises(ImageError, match=r"TANGRAM_IMAGE_CACHE is 'here'.*absolute"):
        cache_folder()


def test_a_second_builder_says_that_it_waits(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def busy(_file: object, how: int) -> None:
        calls.append(how)
        if len(calls) == 1:
            raise BlockingIOError

    monkeypatch.setattr("fcntl.flock", busy)
    said: list[str] = []
    with only_builder(cache, said.append):
        pass
    assert said == [f"Another build works in {cache}: waiting for it."]
    assert len(calls) == 2


# -- what is said -----------------------------------------------------------------------------------------------------


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("kind", [StringIO, Terminal])
def test_a_step_is_named_with_its_time(kind: type[StringIO]) -> None:
    times = iter([0.0, *[3.0] * 1000])
    output = kind()
    with Progress(output, lambda: next(times)).step("Fetching"):
        pass
    assert output.getvalue().endswith("Fetching: 3 s\n")


def test_a_failed_step_leaves_the_line_to_the_error() -> None:
    output = Terminal()
    with pytest.raises(ImageError), Progress(output).step("Fetching"):
        raise ImageError("no")
    assert output.getvalue().endswith("\r\x1b[K")


def test_an_error_is_a_sentence_and_a_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "x")
    assert main(["--output", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("SOURCE_DATE_EPOCH is 'x'")


# -- the build --------------------------------------------------------------------------------------------------------


def test_an_image_above_the_budget_is_refused() -> None:
    def image(size: int) -> PlatformImage:
        return PlatformImage(PLATFORMS[1], b"", b"", (Layer("d", "i", size, Path("x")),))

    refuse_large([image(BUDGET)])
    with pytest.raises(
        ImageError, match=r"image for arm64 is 150 MB compressed \(layers of 150 MB\), more than the 150"
    ):
        refuse_large([image(BUDGET + 1)])


def test_compiled_modules_are_where_python_looks() -> None:
    assert cached_name("usr/lib/a/b.py") == "usr/lib/a/__pycache__/b.cpython-311.pyc"


@pytest.fixture
def without_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Downloads, Debian's layer and Python are stand-ins; everything after them is real."""
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    wheel_file(downloads, "other", metadata="License-Expression: MIT\n")
    own = tmp_path / "own"
    own.mkdir()

    def own_wheel(project: Project) -> tuple[str, bytes]:
        source = (project.root / "src" / "module.py").read_bytes()
        points = "[console_scripts]\ntangram = tangram.cli:main\n"
        path = wheel_file(own, "tangram_gpu", files={"tangram/module.py": source}, entry_points=points)
        return path.name, path.read_bytes()

    def no_bytecode(tree: Tree, *_: object) -> Tree:
        return dict(tree)

    def no_debs(_: Path) -> list[object]:
        return []

    libraries: Tree = {
        f"usr/lib/{platform.triplet}/{name}": File(b"library")
        for platform in PLATFORMS
        for name in VENDOR_LIBRARIES_NEED
    }

    def small_base(_: object) -> Tree:
        return {"usr/bin/python3.11": File(b"python"), **libraries}

    def folder(*_: object, **__: object) -> Path:
        return downloads

    def a_go(_: Path) -> Go:
        return Go(Path("go"), "go1.26.0", tmp_path / "LICENSE")

    (tmp_path / "LICENSE").write_text("the licence of Go")
    for name in NAMES:
        (downloads / name).write_text(name)
    monkeypatch.setattr(building, "find_go", a_go)
    monkeypatch.setattr(building, "compiled", folder)
    monkeypatch.setattr(building, "debian_packages", folder)
    monkeypatch.setattr(building, "locked_wheels", folder)
    monkeypatch.setattr(building, "build_wheel", own_wheel)
    monkeypatch.setattr(layering, "with_bytecode", no_bytecode)
    monkeypatch.setattr(layering, "read_debs", no_debs)
    monkeypatch.setattr(layering, "base_tree", small_base)


@pytest.mark.usefixtures("without_network")
def test_a_build_writes_what_its_record_names_and_a_second_one_nothing(sources: Path, tmp_path: Path) -> None:
    said = StringIO()
    record = build(tmp_path / "dist", Progress(said), root=sources)
    written = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "dist").iterdir()}
    assert set(written) == {*record.files, "tangram-1.0-image.json"}
    assert set(record.compressed_bytes) == {"amd64", "arm64"}
    assert build(tmp_path / "dist", Progress(said), root=sources) == record
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "dist").iterdir()} == written
    assert "holds the image of these sources already" in said.getvalue()


@pytest.mark.usefixtures("without_network")
def test_a_file_that_was_removed_is_written_again(sources: Path, tmp_path: Path) -> None:
    record = build(tmp_path / "dist", Progress(StringIO()), root=sources)
    (tmp_path / "dist" / "tangram-1.0-oci.tar").unlink()
    assert build(tmp_path / "dist", Progress(StringIO()), root=sources) == record
    assert (tmp_path / "dist" / "tangram-1.0-oci.tar").exists()


@pytest.mark.usefixtures("without_network")
@pytest.mark.parametrize("file", ["layer.tar.gz", "facts.json"])
def test_a_layer_that_was_damaged_in_the_cache_is_made_again(
    sources: Path, tmp_path: Path, cache: Path, file: str
) -> None:
    record = build(tmp_path / "dist", Progress(StringIO()), root=sources)
    for path in cache.glob(f"layers/*/{file}"):
        path.write_bytes(path.read_bytes()[:-1])
    assert build(tmp_path / "dist-2", Progress(StringIO()), root=sources) == record


@pytest.mark.usefixtures("without_network")
def test_another_cache_makes_the_same_image(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = build(tmp_path / "dist", Progress(StringIO()), root=sources)
    monkeypatch.setenv("TANGRAM_IMAGE_CACHE", str(tmp_path / "another"))
    assert build(tmp_path / "dist-2", Progress(StringIO()), root=sources) == record


@pytest.mark.usefixtures("without_network")
def test_a_change_of_ours_leaves_the_other_layers_alone(sources: Path, tmp_path: Path, cache: Path) -> None:
    def layers(kind: str) -> set[str]:
        found = (cache / "layers").glob(f"{kind}-*/facts.json")
        return {msgspec.json.decode(path.read_bytes())["digest"] for path in found}

    build(tmp_path / "dist", Progress(StringIO()), root=sources)
    before = {kind: layers(kind) for kind in ("debian", "wheels", "tangram")}
    (sources / "src" / "module.py").write_text("x = 2\n")
    build(tmp_path / "dist", Progress(StringIO()), root=sources)
    assert layers("debian") == before["debian"]
    assert layers("wheels") == before["wheels"]
    assert layers("tangram") > before["tangram"]


@pytest.mark.usefixtures("without_network")
def test_a_broken_record_is_no_record(sources: Path, tmp_path: Path) -> None:
    record = build(tmp_path / "dist", Progress(StringIO()), root=sources)
    (tmp_path / "dist" / "tangram-1.0-image.json").write_text("{torn")
    assert build(tmp_path / "dist", Progress(StringIO()), root=sources) == record


@pytest.mark.usefixtures("without_network")
def test_an_image_with_a_library_missing_is_not_made(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(_tree: Tree, _platform: Platform) -> list[str]:
        return ["/usr/bin/x needs libgone.so, which is not there"]

    monkeypatch.setattr(layering, "problems", lacking)
    with pytest.raises(ImageError, match=r"image for amd64 would not work: /usr/bin/x needs libgone\.so"):
        build(tmp_path / "dist", Progress(StringIO()), root=sources)
    assert not (tmp_path / "dist").exists()


@pytest.mark.usefixtures("without_network")
@pytest.mark.parametrize("name", VENDOR_LIBRARIES_NEED)
def test_an_image_that_could_not_load_a_vendors_library_is_not_made(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    complete = layering.base_tree(())

    def without_one(_: object) -> Tree:
        return {path: entry for path, entry in complete.items() if not path.endswith(f"/{name}")}

    monkeypatch.setattr(layering, "base_tree", without_one)
    with pytest.raises(ImageError, match=re.escape(f"The image for amd64 lacks {name}, which a vendor's")):
        build(tmp_path / "dist", Progress(StringIO()), root=sources)
    assert not (tmp_path / "dist").exists()

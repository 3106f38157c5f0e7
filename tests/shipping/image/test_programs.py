"""The compiled programs: which Go is taken, how it is called, and what is said where it cannot be."""

import struct
from pathlib import Path

import pytest

from shipping.image import programs
from shipping.image.errors import ImageError
from shipping.image.platforms import Platform, platform_named
from shipping.image.programs import compiled, find_go, parts_of_programs, programs_tree
from shipping.image.tree import File

_SCRIPT = """#!/bin/sh
if [ "$1" = env ]; then echo {version}; echo {root}; exit 0; fi
echo "$GOOS $GOARCH $CGO_ENABLED $GOPROXY $*" >> {root}/calls
[ -e {root}/complaint ] && {{ cat {root}/complaint >&2; exit 1; }}
while [ "$1" != -o ]; do shift; done
for name in mx-container-runtime mx-payload; do cp {root}/program-$GOARCH "$2$name"; done
"""


def static_program(platform: Platform) -> bytes:
    """The least of a program without a loader and without libraries."""
    head = b"\x7fELF\x02\x01".ljust(16, b"\0") + struct.pack("<HHI", 2, platform.elf_machine, 1)
    return head.ljust(64, b"\0")


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TANGRAM_IMAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(programs, "USUAL_PLACE", tmp_path / "usual")
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    monkeypatch.setattr(programs, "_candidates", lambda: _only_ours(tmp_path))
    root = tmp_path / "runtime"
    root.mkdir()
    (root / "go.mod").write_text("module m\n\ngo 1.24\n")
    (root / "main.go").write_text("package main\n")
    return root


def _only_ours(tmp_path: Path) -> list[Path]:
    """Not the Go of the machine that runs the tests."""
    places = (tmp_path / "path" / "go", tmp_path / "usual" / "go")
    return [place for place in places if place.exists()]


def install(tmp_path: Path, version: str = "go1.26.8", where: str = "path") -> Path:
    folder = tmp_path / where
    folder.mkdir()
    (folder / "go").write_text(_SCRIPT.format(version=version, root=folder))
    (folder / "go").chmod(0o755)
    (folder / "LICENSE").write_text("the licence of Go")
    for name in ("amd64", "arm64"):
        (folder / f"program-{name}").write_bytes(static_program(platform_named(name)))
    return folder


def test_without_go_it_is_said_where_to_get_it(sources: Path) -> None:
    with pytest.raises(ImageError, match=r"Go 1\.24 or newer, but there is no `go` .*go\.dev/dl"):
        find_go(sources)


def test_a_go_that_is_too_old_is_named_and_another_one_taken(sources: Path, tmp_path: Path) -> None:
    install(tmp_path, "go1.19.8")
    with pytest.raises(ImageError, match=r"path/go is 1\.19\.8: take one"):
        find_go(sources)
    install(tmp_path, "go1.24", where="usual")
    assert find_go(sources).program == tmp_path / "usual" / "go"


@pytest.mark.parametrize("name", ["amd64", "arm64"])
def test_programs_are_compiled_once_for_each_platform(sources: Path, tmp_path: Path, name: str) -> None:
    folder = install(tmp_path)
    platform, go = platform_named(name), find_go(sources)
    made = compiled(sources, "1.0", platform, go)
    (sources / "main_test.go").write_text("package main\n")
    assert compiled(sources, "1.0", platform, go) == made
    (call,) = (folder / "calls").read_text().splitlines()
    assert call.startswith(f"linux {name} 0 off build -trimpath -buildvcs=false -ldflags -s -w -buildid= ")
    assert "version.Version=1.0" in call
    (sources / "main.go").write_text("package main // changed\n")
    assert compiled(sources, "1.0", platform, go) != made


def test_a_mistake_in_the_sources_is_shown_as_go_shows_it(sources: Path, tmp_path: Path) -> None:
    (install(tmp_path) / "complaint").write_text("./main.go:3: undefined: x\n")
    with pytest.raises(ImageError, match=r"do not compile for amd64; Go said:\n\./main\.go:3: undefined: x"):
        compiled(sources, "1.0", platform_named("amd64"), find_go(sources))
    assert not list((tmp_path / "cache" / "programs").iterdir())


@pytest.mark.parametrize("content", [b"#!/bin/sh", static_program(platform_named("arm64"))])
def test_a_program_for_another_machine_is_not_shipped(sources: Path, tmp_path: Path, content: bytes) -> None:
    (install(tmp_path) / "program-amd64").write_bytes(content)
    with pytest.raises(ImageError, match="program that stands alone on amd64"):
        compiled(sources, "1.0", platform_named("amd64"), find_go(sources))


def test_the_programs_and_their_licence_are_in_the_image_and_in_its_list(
    sources: Path, tmp_path: Path
) -> None:
    folder = install(tmp_path)
    go = find_go(sources)
    made = compiled(sources, "1.0", platform_named("amd64"), go)
    tree = programs_tree(made, go)
    assert set(tree) == {
        "usr/lib/tangram/mx-container-runtime",
        "usr/lib/tangram/mx-payload",
        "usr/share/doc/tangram/go-LICENSE",
    }
    assert tree["usr/lib/tangram/mx-payload"] == File(
        static_program(platform_named("amd64")), executable=True
    )
    parts = parts_of_programs(made, "1.0+x", go)
    assert [(part.name, part.version) for part in parts][-1] == ("stdlib", "1.26.8")
    assert {part.purl for part in parts} == {
        "pkg:generic/mx-container-runtime@1.0%2Bx",
        "pkg:generic/mx-payload@1.0%2Bx",
        "pkg:golang/stdlib@1.26.8",
    }
    (folder / "LICENSE").unlink()
    with pytest.raises(ImageError, match=r"LICENSE, which must go with everything"):
        programs_tree(made, go)

"""What comes over the network is fetched once, until somebody asks for a fresh look."""

import os
from io import StringIO
from pathlib import Path

import pytest

from builders.packages import fake_program, member, tar_of
from shipping.image.downloads import debian_packages, locked_wheels, one_program
from shipping.image.platforms import platform_named
from shipping.image.progress import Progress

AMD = platform_named("amd64")
APT = """
echo "$@" >> {folder}/calls
case "$*" in
  *indextargets*) echo 'Packages|http://mirror.example/|bookworm|main';;
  *--print-uris*)
    for name in libc6 dpkg openssl; do
      echo "'http://m/x' ${{name}}_$(cat {folder}/version)_amd64.deb 8 SHA256:6ba"
    done;;
  *download*) for last; do :; done; touch "$last.deb";;
esac
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tools"
    fake_program(folder, "apt-get", APT.format(folder=folder))
    (folder / "version").write_text("1.0")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("TANGRAM_IMAGE_CACHE", str(tmp_path / "cache"))
    return folder


def calls(tools: Path, word: str) -> int:
    return sum(word in line.split() for line in (tools / "calls").read_text().splitlines())


def test_packages_are_fetched_once_and_without_what_is_left_out(tools: Path) -> None:
    first = debian_packages(AMD, Progress(StringIO()), refresh=False)
    again = debian_packages(AMD, Progress(StringIO()), refresh=False)
    assert first == again
    assert [path.name for path in first.iterdir()] == ["libc6=1.0.deb"]
    assert calls(tools, "update") == 1


def test_mirrors_are_named_nowhere_afterwards(tools: Path, tmp_path: Path) -> None:
    debian_packages(AMD, Progress(StringIO()), refresh=False)
    assert calls(tools, "update") == 1
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert [path for path in files if "mirror.example" in path.read_text()] == []


def test_an_image_without_security_updates_is_said_to_be_one(tools: Path) -> None:
    said = StringIO()
    debian_packages(AMD, Progress(said), refresh=False)
    assert (
        "do not name bookworm-security, bookworm-updates: the image for amd64 is made without"
        in said.getvalue()
    )
    one = "echo 'Packages|http://mirror.example/|bookworm|main'"
    three = "printf 'Packages|http://m/|%s|main\\n' bookworm bookworm-security bookworm-updates"
    fake_program(tools, "apt-get", APT.format(folder=tools).replace(one, three))
    said = StringIO()
    debian_packages(AMD, Progress(said), refresh=True)
    assert "without" not in said.getvalue()


def test_what_a_killed_build_left_half_fetched_is_neither_used_nor_kept(tools: Path) -> None:
    whole = debian_packages(AMD, Progress(StringIO()), refresh=False)
    half = whole.rename(whole.with_name(f".{whole.name}"))
    (half / "half.deb").touch()
    (whole.parent / ".amd64-of-another-day").mkdir()
    again = debian_packages(AMD, Progress(StringIO()), refresh=False)
    assert again == whole
    assert {path.name for path in again.iterdir()} == {"libc6=1.0.deb"}
    assert {path.name for path in whole.parent.iterdir()} == {whole.name, "newest"}
    assert calls(tools, "download") == 2


def test_a_fresh_look_takes_newer_packages_and_keeps_equal_ones(tools: Path) -> None:
    first = debian_packages(AMD, Progress(StringIO()), refresh=False)
    assert debian_packages(AMD, Progress(StringIO()), refresh=True) == first
    assert calls(tools, "download") == 1
    (tools / "version").write_text("1.1")
    newer = debian_packages(AMD, Progress(StringIO()), refresh=True)
    assert [path.name for path in newer.iterdir()] == ["libc6=1.1.deb"]
    assert not first.exists()
    assert debian_packages(AMD, Progress(StringIO()), refresh=False) == newer


def test_packages_of_last_week_are_used_and_said(tools: Path) -> None:
    folder = debian_packages(AMD, Progress(StringIO()), refresh=False)
    os.utime(folder.parent / "newest", (0, 0))
    said = StringIO()
    assert debian_packages(AMD, Progress(said), refresh=False) == folder
    assert "days ago: `make image REFRESH=1` looks for newer ones" in said.getvalue()
    assert calls(tools, "update") == 1


def test_an_empty_lock_needs_no_index(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    folder = locked_wheels("", AMD, Progress(StringIO()))
    assert list(folder.glob("*.whl")) == []
    assert not (tools / "calls").exists()


def test_one_program_of_a_package_is_kept_without_the_package(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "files.tar").write_bytes(
        tar_of([member("./usr/bin/qemu", mode=0o755), member("./usr/bin/other")])
    )
    control = "Package: q\\nVersion: 2\\nArchitecture: all\\n"
    answers = f'case $1 in --field) printf "{control}";; *) cat {tmp_path}/files.tar;; esac'
    fake_program(tools, "dpkg-deb", answers)
    program = one_program("q", "usr/bin/qemu", AMD, Progress(StringIO()))
    assert program.read_bytes() == b"content"
    assert os.access(program, os.X_OK)
    assert {path.name for path in program.parents[2].rglob("*") if path.is_file()} == {"qemu"}

"""Which Go is taken, and what is said where none will do."""

from pathlib import Path

import pytest

from builders.fake_go import FakeGo, prepared
from testbed import toolchain
from testbed.errors import BedError
from testbed.toolchain import find_go

NEEDED = ("1.25", "1.26.3", "1.26.0")


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    fake = prepared(tmp_path, monkeypatch)
    monkeypatch.setenv("PATH", f"{fake.program.parent}:/usr/bin:/bin")
    return fake


def refusal() -> str:
    with pytest.raises(BedError) as caught:
        find_go(NEEDED)
    return str(caught.value)


@pytest.mark.parametrize("version", ["go1.26.3", "go1.27", "go1.27rc1", "go2.0.1", "go1.26.10"])
def test_a_go_as_new_as_the_newest_go_mod_will_do(go: FakeGo, version: str) -> None:
    go.install(version)
    found = find_go(NEEDED)
    assert (found.program, found.version) == (go.program, version)
    assert go.calls() == [], "its VERSION file was read, it was not started"


def test_a_go_without_a_version_file_is_asked(go: FakeGo) -> None:
    go.install(None)
    go.says_version("go1.26.8")
    assert find_go(NEEDED).version == "go1.26.8"
    assert go.calls() == ["env"]


@pytest.mark.parametrize("version", ["go1.19.8", "go1.26.2", "go1.25.9"])
def test_an_older_go_is_named_with_what_is_needed_and_where_to_get_it(go: FakeGo, version: str) -> None:
    go.install(version)
    sentence = refusal()
    assert sentence.startswith(
        f"The test bed needs Go 1.26.3 or newer, but {go.program} is {version.removeprefix('go')}: "
    )
    assert "Debian's own is too old" in sentence
    assert "https://go.dev/dl" in sentence


def test_no_go_at_all_is_said(go: FakeGo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    go.program.unlink()
    monkeypatch.setattr(toolchain, "USUAL_PLACES", (tmp_path / "usual",))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal().startswith(
        f"The test bed needs Go 1.26.3 or newer and found no `go` on PATH or in {tmp_path / 'usual'}: "
    )


def test_the_usual_place_serves_where_path_has_none_or_an_old_one(
    go: FakeGo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(toolchain, "USUAL_PLACES", (go.program.parent,))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_go(NEEDED).program == go.program

    old = tmp_path / "bin" / "go"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho go1.19.8\n", "utf-8")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:/usr/bin:/bin")
    assert find_go(NEEDED).program == go.program


@pytest.mark.parametrize("answer", ["", "devel", "command not found"])
def test_a_go_that_tells_no_version_is_not_trusted(go: FakeGo, answer: str) -> None:
    go.install(None)
    go.says_version(answer)
    assert str(go.program) in refusal()

"""A sandbox's folder is one sandbox's at a time, and whatever a killed one left is no trouble for the next."""

from __future__ import annotations

import datetime as dt
import os
import stat
import tempfile
from pathlib import Path

import pytest

from tangram.daemon.certificates import issue
from tangram.daemon.errors import SettingError
from tangram.sandbox.folder import LOCK, taking, write_pair, write_private


def test_a_folder_is_made_with_a_short_place_for_sockets_and_both_are_private_to_one(tmp_path: Path) -> None:
    with taking(tmp_path / "a" / "b c") as folder:
        assert folder.path.is_dir()
        assert len(str(folder.sockets)) < 40
        assert stat.S_IMODE(folder.sockets.stat().st_mode) == 0o700
        (folder.sockets / "deep").mkdir()
    assert not folder.sockets.exists()
    assert list(folder.path.iterdir()) == []


def test_a_second_sandbox_is_told_of_the_first_and_takes_nothing_from_it(tmp_path: Path) -> None:
    with taking(tmp_path) as folder:
        with (
            pytest.raises(SettingError, match=rf"already \(process {os.getpid()}\): use that one"),
            taking(tmp_path),
        ):
            pass
        assert folder.sockets.is_dir()
        assert (tmp_path / LOCK).exists()
    with taking(tmp_path) as again:
        assert again.sockets != folder.sockets


def test_what_a_killed_sandbox_left_is_cleared_away(tmp_path: Path) -> None:
    left = Path(tempfile.mkdtemp(prefix="tangram-"))
    (left / "nodes").mkdir()
    (tmp_path / LOCK).write_text(f"4194304\n{left}\n", "utf-8")
    with taking(tmp_path):
        assert not left.exists()


@pytest.mark.parametrize("content", [b"", b"7", b"\xff\xfe\x00", b"7\n/\n", b"7\n../..\n", b"x" * 9000])
def test_a_lock_that_says_anything_else_hurts_nobody(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LOCK).write_bytes(content)
    with taking(tmp_path) as folder:
        assert folder.sockets.is_dir()


def test_a_folder_of_somebody_else_is_not_cleared_away(tmp_path: Path) -> None:
    for name in ("tangram-not-in-the-right-place", "else"):
        other = tmp_path / name
        other.mkdir()
        (tmp_path / LOCK).write_text(f"1\n{other}\n", "utf-8")
        with taking(tmp_path):
            assert other.is_dir()


def test_a_link_is_not_followed_when_clearing_away(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    link = Path(tempfile.mkdtemp(prefix="tangram-"))
    link.rmdir()
    link.symlink_to(precious)
    try:
        (tmp_path / LOCK).write_text(f"1\n{link}\n", "utf-8")
        with taking(tmp_path):
            assert precious.is_dir()
    finally:
        link.unlink()


def test_sockets_go_elsewhere_when_the_usual_place_has_a_long_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 60)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with taking(tmp_path / "f") as folder:
        assert len(str(folder.sockets)) < 40


@pytest.mark.parametrize(
    ("place", "why"),
    [
        pytest.param("file", "File exists", id="a file"),
        pytest.param("file/below", "Not a directory", id="below a file"),
        pytest.param("n" * 300, "File name too long", id="too long a name"),
        pytest.param("/proc/none", "No such file", id="nowhere"),
    ],
)
def test_a_folder_that_cannot_be_used_is_named_with_the_reason(tmp_path: Path, place: str, why: str) -> None:
    (tmp_path / "file").touch()
    words = rf"cannot be used \({why}.*\): name one that you may write to with --data\."
    with pytest.raises(SettingError, match=words), taking(tmp_path / place):
        pass


def test_what_is_private_is_readable_by_nobody_else_and_replaced_in_one_step(tmp_path: Path) -> None:
    write_private(tmp_path / "f", b"one")
    write_private(tmp_path / "f", b"two")
    assert (tmp_path / "f").read_bytes() == b"two"
    issued = issue(("localhost",), "test", now=dt.datetime.now(dt.UTC), life=dt.timedelta(days=1))
    pair = write_pair(tmp_path / "keys", "api", issued)
    for path in (tmp_path / "f", pair.key, pair.certificate, pair.authority):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(each.name for each in (tmp_path / "keys").iterdir()) == ["api-ca.crt", "api.crt", "api.key"]

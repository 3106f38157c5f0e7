"""Grants as files: complete or not there, never with two meanings, and only ours are touched."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.plugins import names_in, short_directory
from tangram.model.grants import Grant
from tangram.model.pods import PodRef
from tangram.services.gpu_device.grant_files import GrantFiles, NameTaken
from tangram.units.ids import CardUuid, Namespace, PodName, PodUid
from tangram.wire.cdi_grants import grant_file_name, grant_text

GRANT = Grant(
    claim="c0ffee",
    pod=PodRef(Namespace("default"), PodName("p"), PodUid("u")),
    container="main",
    resource="metax-tech.com/gpu",
    ids=("GPU-0",),
    cards=(CardUuid("GPU-0"),),
)
TEXT = grant_text(GRANT, {"A": "1"}, ())
FILE = grant_file_name(GRANT.claim)


def loaded(folder: Path) -> GrantFiles:
    files = GrantFiles(folder)
    assert files.load() == ()
    return files


def test_a_grant_is_found_by_the_next_agent(tmp_path: Path) -> None:
    assert loaded(tmp_path / "made").write(GRANT, TEXT)
    again = loaded(tmp_path / "made")
    assert again.find(GRANT.claim) == GRANT
    assert again.all() == (GRANT,)
    assert again.are_there([GRANT.claim])
    assert not again.write(GRANT, TEXT)


def test_a_name_never_gets_a_second_meaning(tmp_path: Path) -> None:
    files = loaded(tmp_path)
    files.write(GRANT, TEXT)
    other = replace(GRANT, ids=("GPU-1",))
    with pytest.raises(NameTaken):
        files.write(other, grant_text(other, {"A": "2"}, ()))
    assert (tmp_path / FILE).read_text() == TEXT


def test_a_file_that_somebody_removed_is_written_again(tmp_path: Path) -> None:
    files = loaded(tmp_path)
    files.write(GRANT, TEXT)
    (tmp_path / FILE).unlink()
    assert not files.are_there([GRANT.claim])
    assert files.write(GRANT, TEXT)
    assert (tmp_path / FILE).read_text() == TEXT


def test_what_a_crash_left_half_written_is_removed_and_no_runtime_ever_reads_it(tmp_path: Path) -> None:
    half = tmp_path / f".{FILE}.4711.tangram-unfinished"
    half.write_text(TEXT[: len(TEXT) // 2])
    assert not half.name.endswith((".json", ".yaml"))
    assert loaded(tmp_path).all() == ()
    assert names_in(tmp_path) == set()


@given(st.integers(0, len(TEXT) - 1))
def test_a_file_damaged_anywhere_is_told_and_left_alone_until_its_grant_is_given_again(length: int) -> None:
    with short_directory() as folder:
        (folder / FILE).write_text(TEXT[:length])
        files = GrantFiles(folder)
        assert files.load() == (GRANT.claim,)
        assert files.find(GRANT.claim) is None
        assert files.write(GRANT, TEXT)
        assert (folder / FILE).read_text() == TEXT


def test_a_file_under_the_name_of_another_grant_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / grant_file_name("other")).write_text(TEXT)
    files = GrantFiles(tmp_path)
    assert files.load() == ("other",)
    assert files.all() == ()


def test_files_of_others_are_neither_read_nor_removed(tmp_path: Path) -> None:
    foreign = {"nvidia.json": "{}", "tangram.txt": "?", ".hidden.json": "{}"}
    for name, text in foreign.items():
        (tmp_path / name).write_text(text)
    files = loaded(tmp_path)
    files.write(GRANT, TEXT)
    files.remove(GRANT.claim)
    files.remove("never was")
    assert names_in(tmp_path) == set(foreign)
    assert files.all() == ()


def test_a_disk_that_takes_nothing_leaves_nothing_half_done(tmp_path: Path) -> None:
    files = loaded(tmp_path / "cdi")
    (tmp_path / "cdi").rmdir()
    with pytest.raises(OSError, match="No such file"):
        files.write(GRANT, TEXT)
    assert files.find(GRANT.claim) is None
    (tmp_path / "cdi").mkdir()
    assert files.write(GRANT, TEXT)


def test_a_rename_that_fails_leaves_no_unfinished_file(tmp_path: Path) -> None:
    files = loaded(tmp_path)
    (tmp_path / FILE).mkdir()
    with pytest.raises(OSError, match="directory"):
        files.write(GRANT, TEXT)
    assert names_in(tmp_path) == {FILE}

"""The host's paths are followed as the host would follow them, from wherever its root is seen."""

from pathlib import Path

import pytest

from tangram.services.driver_manager.disk import Disk


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    (tmp_path / "data/opt").mkdir(parents=True)
    return Disk(tmp_path)


@pytest.mark.parametrize("target", ["/data/opt", "data/opt", "../data/opt", "/data/./opt/"])
def test_a_folder_that_is_a_link_on_the_host_leads_where_the_host_means(disk: Disk, target: str) -> None:
    (disk.root / "opt").symlink_to(target)
    disk.write("/opt/file", b"x")
    assert (disk.root / "data/opt/file").read_bytes() == b"x"


def test_links_never_lead_out_of_the_root(disk: Disk, tmp_path: Path) -> None:
    (disk.root / "opt").symlink_to("../../../..")
    assert disk.at("/opt/x") == tmp_path / "x"


def test_links_in_a_circle_are_an_error_and_not_a_hang(disk: Disk) -> None:
    (disk.root / "a").symlink_to("b")
    (disk.root / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        disk.at("/a/x")


def test_a_file_is_never_written_through_a_link_that_somebody_laid(disk: Disk) -> None:
    (disk.root / "victim").write_text("safe")
    (disk.root / "file").symlink_to("victim")
    disk.write("/file", b"new")
    assert (disk.root / "victim").read_text() == "safe"
    assert not (disk.root / "file").is_symlink()


def test_the_name_of_a_link_is_the_link(disk: Disk) -> None:
    (disk.root / "link").symlink_to("/data")
    assert disk.link_at("/link") == "/data"
    disk.remove("/link")
    assert not disk.is_there("/link")
    assert disk.is_folder("/data")

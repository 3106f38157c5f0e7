"""Who uses a folder: by mounts and by what processes have mapped; in doubt somebody does."""

import os
import subprocess
from pathlib import Path

import pytest

from tangram.services.driver_manager.in_use import user_of

ROOT = "29 1 8:1 / / rw - ext4 /dev/sda1 rw"


def process(proc: Path, pid: int, *, mounts: str = ROOT, maps: str = "", space: str = "mnt:[1]") -> Path:
    folder = proc / str(pid)
    (folder / "ns").mkdir(parents=True)
    (folder / "ns/mnt").symlink_to(space)
    (folder / "mountinfo").write_text(mounts + "\n")
    (folder / "maps").write_text(maps)
    (folder / "comm").write_text("python\n")
    return folder


def test_nobody_uses_what_nobody_has_mounted_or_mapped(tmp_path: Path) -> None:
    process(tmp_path, 1)
    (tmp_path / "self").mkdir()
    assert user_of(tmp_path, "maca-2.32.0") == ""


@pytest.mark.parametrize(
    "mount",
    [
        "31 29 8:1 /opt/maca-2.32.0 /opt/maca ro - ext4 /dev/sda1 rw",
        "31 29 8:2 /maca-2.32.0 /opt/maca ro - ext4 /dev/sda2 rw",
        "31 29 8:1 /opt/maca-2.32.0/lib /opt/maca/lib ro - ext4 /dev/sda1 rw",
        "31 29 8:1 /opt/.maca-2.32.0.gone /opt/maca ro - ext4 /dev/sda1 rw",
    ],
)
def test_a_container_that_has_it_mounted_uses_it(tmp_path: Path, mount: str) -> None:
    process(tmp_path, 1)
    process(tmp_path, 7, mounts=f"{ROOT}\n{mount}", space="mnt:[2]")
    assert user_of(tmp_path, "maca-2.32.0") == "process 7 (python)"
    assert user_of(tmp_path, "maca-2.32") == ""


def test_a_process_of_the_host_that_has_a_library_of_it_uses_it(tmp_path: Path) -> None:
    process(tmp_path, 1)
    process(tmp_path, 7, maps="7f00-7f01 r-xp 0 08:01 5 /opt/maca-2.32.0/lib/libmaca.so\n")
    assert user_of(tmp_path, "maca-2.32.0") == "process 7 (python)"


def test_we_ourselves_are_nobody(tmp_path: Path) -> None:
    process(tmp_path, 7, maps="7f00-7f01 r-xp 0 08:01 5 /opt/mxdriver-2.32.0/lib/libmxsml.so\n")
    assert user_of(tmp_path, "mxdriver-2.32.0") == "process 7 (python)"
    (tmp_path / "self").symlink_to("7")
    assert user_of(tmp_path, "mxdriver-2.32.0") == ""


def test_a_process_that_ended_meanwhile_is_nobody(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    assert user_of(tmp_path, "maca-2.32.0") == ""


def test_a_process_that_ended_and_was_not_heard_of_by_its_parent_is_nobody(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    try:
        (tmp_path / "7").symlink_to(f"/proc/{ended.pid}")
        assert user_of(tmp_path, "maca-2.32.0") == ""
    finally:
        ended.wait()


def test_in_doubt_somebody_uses_it(tmp_path: Path) -> None:
    assert "somebody perhaps" in user_of(tmp_path / "nowhere", "maca-2.32.0")
    folder = process(tmp_path, 7)
    (folder / "mountinfo").unlink()
    (folder / "mountinfo").mkdir()
    assert "process 7 cannot be looked at" in user_of(tmp_path, "maca-2.32.0")

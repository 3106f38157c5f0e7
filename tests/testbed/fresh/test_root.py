"""A bare Debian is kept in the cache for as long as README says the same."""

import subprocess
from pathlib import Path

import pytest

from testbed.errors import BedError
from testbed.fresh.root import changed_debian, unpacked

LINE = "apt-get install --yes git make"


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TANGRAM_IMAGE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "bare/etc").mkdir(parents=True)
    (tmp_path / "bare/etc/hostname").write_text("bare\n")
    archive = tmp_path / "root.tar"
    subprocess.run(["tar", "-cf", archive, "-C", tmp_path / "bare", "."], check=True)
    return archive


def test_one_line_is_typed_once_and_another_line_is_typed_again(base: Path, tmp_path: Path) -> None:
    typed: list[str] = []

    def typing(line: str) -> Path:
        def change(root: Path) -> None:
            typed.append(line)
            (root / "etc/typed").write_text(line)

        return changed_debian(base, line, change)

    first, again, other = typing(LINE), typing(LINE), typing(LINE.replace("git", "gitt"))
    assert typed == [LINE, LINE.replace("git", "gitt")]
    assert first == again != other
    unpacked(first, tmp_path / "unpacked")
    assert (tmp_path / "unpacked/etc/typed").read_text() == LINE
    assert (tmp_path / "unpacked/etc/hostname").read_text() == "bare\n"


def test_a_line_that_fails_is_typed_again_the_next_time(base: Path) -> None:
    def failing(root: Path) -> None:
        raise BedError(str(root))

    for _ in range(2):
        with pytest.raises(BedError):
            changed_debian(base, LINE, failing)

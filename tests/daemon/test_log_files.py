"""A log file's life: appended to, set aside at its boundary, removed at its age, and never the end of a daemon."""

import json
import logging
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tangram.daemon.log_files import AgingFile
from tangram.daemon.log_options import LogFormat, LogOptions
from tangram.daemon.logs import start_logging

HOUR, DAY, WEEK = 3600, 86_400, 604_800


class Clock:
    def __init__(self, moment: str) -> None:
        self.now = datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.now


def opened(folder: Path, clock: Clock, rotation: int = WEEK, max_age: int = 26 * WEEK) -> AgingFile:
    file = AgingFile(folder, "gpu-label", rotation=rotation, max_age=max_age, clock=clock)
    file.setFormatter(logging.Formatter("%(message)s"))
    return file


def say(file: AgingFile, text: str) -> None:
    file.handle(logging.LogRecord("x", logging.INFO, "", 0, text, (), None))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_week_ends_on_monday_and_the_old_file_is_named_by_when_it_was_closed(tmp_path: Path) -> None:
    clock = Clock("2026-07-10 12:00")  # a Friday
    file = opened(tmp_path / "made" / "by-us", clock)
    say(file, "friday")
    clock.now += 2 * DAY
    say(file, "sunday")
    assert names(file.path.parent) == ["gpu-label.log"]
    clock.now += DAY
    say(file, "monday")
    assert names(file.path.parent) == ["gpu-label.20260713T120000Z.log", "gpu-label.log"]
    assert (file.path.parent / "gpu-label.20260713T120000Z.log").read_text() == "friday\nsunday\n"
    assert file.path.read_text() == "monday\n"
    file.close()


@pytest.mark.parametrize(
    ("rotation", "before", "after"),
    [
        (HOUR, "2026-07-10 12:59:59", "2026-07-10 13:00:00"),
        (DAY, "2026-07-10 23:59:59", "2026-07-11 00:00:00"),
        (WEEK, "2026-07-12 23:59:59", "2026-07-13 00:00:00"),
    ],
)
def test_boundaries_are_full_hours_midnights_and_mondays(
    tmp_path: Path, rotation: int, before: str, after: str
) -> None:
    clock = Clock(before)
    file = opened(tmp_path, clock, rotation)
    say(file, "before")
    clock.now = Clock(after).now
    say(file, "after")
    assert file.path.read_text() == "after\n"
    assert len(names(tmp_path)) == 2
    file.close()


def test_a_restart_goes_on_in_the_same_file_and_sets_aside_one_of_an_earlier_period(tmp_path: Path) -> None:
    clock = Clock("2026-07-10 12:00")
    file = tmp_path / "gpu-label.log"
    file.write_text("earlier\n")
    os.utime(file, (clock.now - HOUR, clock.now - HOUR))
    for text in ("first", "second"):
        handler = opened(tmp_path, clock)
        say(handler, text)
        handler.close()
        os.utime(file, (clock.now, clock.now))
    assert file.read_text() == "earlier\nfirst\nsecond\n"
    clock.now += WEEK
    handler = opened(tmp_path, clock)
    say(handler, "new")
    handler.close()
    assert names(tmp_path) == ["gpu-label.20260717T120000Z.log", "gpu-label.log"]


def test_files_older_than_the_greatest_age_go_and_strangers_stay(tmp_path: Path) -> None:
    clock = Clock("2026-07-10 12:00")
    for name in (
        "gpu-label.20260101T000000Z.log",
        "gpu-label.20260101T000000Z-1.log",
        "gpu-label.20260709T000000Z.log",
        "gpu-label.20269999T000000Z.log",
        "gpu-device.20260101T000000Z.log",
        "gpu-label.log.old",
    ):
        (tmp_path / name).write_text("")
    file = opened(tmp_path, clock, DAY, 4 * WEEK)
    say(file, "x")
    file.close()
    assert names(tmp_path) == [
        "gpu-device.20260101T000000Z.log",
        "gpu-label.20260709T000000Z.log",
        "gpu-label.20269999T000000Z.log",
        "gpu-label.log",
        "gpu-label.log.old",
    ]


def test_two_files_closed_in_the_same_second_are_both_kept(tmp_path: Path) -> None:
    clock = Clock("2026-07-10 12:00")
    (tmp_path / "gpu-label.20260710T120000Z.log").write_text("first\n")
    old = tmp_path / "gpu-label.log"
    old.write_text("second\n")
    os.utime(old, (clock.now - 2 * WEEK, clock.now - 2 * WEEK))
    file = opened(tmp_path, clock)
    say(file, "third")
    file.close()
    assert {path.read_text() for path in tmp_path.iterdir()} == {"first\n", "second\n", "third\n"}


def test_a_file_that_another_process_set_aside_is_not_written_any_more(tmp_path: Path) -> None:
    clock = Clock("2026-07-10 12:00")
    file = opened(tmp_path, clock)
    say(file, "one")
    file.path.rename(tmp_path / "moved")
    say(file, "two")
    assert (tmp_path / "moved").read_text() == "one\n"
    assert file.path.read_text() == "two\n"
    file.close()


def test_a_folder_that_cannot_be_written_is_one_warning_and_a_good_one_is_used_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logs"
    folder.write_text("a file where a folder should be")
    file = opened(folder, Clock("2026-07-10 12:00"))
    file.open()
    for _ in range(3):
        say(file, "lost")
    warning = capsys.readouterr().err
    assert warning.count("\n") == 1
    assert f"{folder}/gpu-label.log cannot be written" in warning
    folder.unlink()
    say(file, "kept")
    assert file.path.read_text() == "kept\n"
    assert capsys.readouterr().err == ""
    file.close()


def test_a_full_disk_is_one_warning(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = opened(tmp_path, Clock("2026-07-10 12:00"))
    file.path.symlink_to("/dev/full")
    for _ in range(3):
        say(file, "lost")
    file.close()
    warning = capsys.readouterr().err
    assert warning.count("\n") == 1
    assert "No space left" in warning


def test_everything_logged_goes_to_standard_error_and_to_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    end = start_logging("gpu-label", LogOptions(directory=tmp_path, level=logging.INFO))
    try:
        logging.getLogger("tangram.test").info("hello", extra={"node": "n1"})
        logging.getLogger("tangram.test").debug("not this")
    finally:
        end()
    logging.getLogger("tangram.test").info("not this either")
    written = (tmp_path / "gpu-label.log").read_text()
    assert written == capsys.readouterr().err
    assert json.loads(written)["node"] == "n1"


def test_without_a_folder_there_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    end = start_logging("gpu-label", LogOptions(directory=None, form=LogFormat.TEXT))
    try:
        logging.getLogger("tangram.test").warning("hello")
    finally:
        end()
    assert capsys.readouterr().err.endswith("WARNING tangram.test: hello\n")
    assert names(tmp_path) == []

"""Cards that somebody is about to use."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tangram.services.docker_host.claims import HOLDS_S, PATIENCE_S, claims_folder, turn


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Another process has taken card a at 100 seconds."""
    monkeypatch.setattr("os.getpid", lambda: 77)
    with turn(tmp_path, clock=lambda: 100.0) as theirs:
        theirs.take(["a"])
    monkeypatch.undo()
    return tmp_path


def test_a_claim_holds_while_its_process_lives(other: Path) -> None:
    with turn(other, clock=lambda: 101.0, alive=lambda _: True) as mine:
        assert dict(mine.held()) == {"a": "a container that is being started (pid 77)"}
        mine.take(["b"])
    with turn(other, clock=lambda: 102.0, alive=lambda pid: pid != 77) as mine:
        assert not mine.held()


def test_a_claim_ends_after_a_minute_and_is_not_believed_from_the_future(other: Path) -> None:
    for now in (100 + HOLDS_S, 99.0):
        with turn(other, clock=lambda now=now: now, alive=lambda _: True) as mine:
            assert not mine.held()


def test_processes_that_have_ended_are_told_from_others(other: Path) -> None:
    (other / "claims.json").write_text(f'[{{"card": "p", "pid": {os.getppid()}, "at": 100.0}}]')
    with turn(other, clock=lambda: 101.0) as mine:
        assert set(mine.held()) == {"p"}


def test_a_file_that_cannot_be_read_claims_nothing(tmp_path: Path) -> None:
    (tmp_path / "claims.json").write_text("{")
    with turn(tmp_path) as mine:
        assert not mine.held()


def test_without_a_folder_one_chooses_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (None, tmp_path / "file" / "below"):
        with turn(folder) as mine:
            mine.take(["a"])
            assert not mine.held()


def test_whoever_waits_too_long_for_the_lock_goes_on_alone(tmp_path: Path) -> None:
    def moments() -> Iterator[float]:
        yield from (0.0, 1.0, PATIENCE_S + 1, PATIENCE_S + 2)

    clock, slept = moments(), list[float]()
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with turn(tmp_path, clock=lambda: next(clock), sleep=slept.append) as mine:
            mine.take(["a"])
    assert len(slept) == 1
    assert not (tmp_path / "claims.json").exists()


def test_the_folder_is_common_to_those_who_use_one_engine() -> None:
    assert claims_folder({}, 0) == Path("/run/metax-docker")
    assert claims_folder({"XDG_RUNTIME_DIR": "/run/user/5"}, 5) == Path("/run/user/5/metax-docker")
    assert claims_folder({}, 5) is None
    assert claims_folder({"METAX_DOCKER_RUN_DIR": "/x"}, 0) == Path("/x")

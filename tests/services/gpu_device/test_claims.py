"""Which name was answered for which ids: kept over a restart, and not longer than needed."""

import json
from pathlib import Path

import pytest

from builders.simulated import ManualClock
from tangram.services.gpu_device.claims import FILE, MOST, NEW_S, Claims

SGPU = "metax-tech.com/sgpu"


def loaded(folder: Path, clock: ManualClock | None = None) -> Claims:
    claims = Claims(folder, clock or ManualClock())
    claims.load()
    return claims


def test_every_call_has_a_name_of_its_own_and_the_newest_is_found(tmp_path: Path) -> None:
    claims = loaded(tmp_path)
    first, second = claims.new(SGPU, ["b", "a"]), claims.new(SGPU, ["a", "b"])
    assert first != second
    assert claims.find(SGPU, ["b", "a"]) == second
    assert claims.find(SGPU, ["a"]) is None
    assert claims.find("other", ["a", "b"]) is None


def test_the_next_agent_finds_what_the_last_answered(tmp_path: Path) -> None:
    claim = loaded(tmp_path / "made").new(SGPU, ["a"])
    assert loaded(tmp_path / "made").find(SGPU, ["a"]) == claim


def test_what_nobody_holds_is_forgotten_once_the_kubelet_has_had_time_to_note_it(tmp_path: Path) -> None:
    clock = ManualClock()
    claims = loaded(tmp_path, clock)
    claims.new(SGPU, ["a"])
    held = claims.new(SGPU, ["b"])
    claims.keep([(SGPU, frozenset("b"))])
    assert claims.find(SGPU, ["a"]) is not None
    clock.seconds += NEW_S
    claims.keep([(SGPU, frozenset("b"))])
    assert claims.find(SGPU, ["a"]) is None
    assert loaded(tmp_path).find(SGPU, ["b"]) == held
    assert loaded(tmp_path).find(SGPU, ["a"]) is None


def test_a_restarted_agent_gives_the_kubelet_the_same_time(tmp_path: Path) -> None:
    claim = loaded(tmp_path).new(SGPU, ["a"])
    again = loaded(tmp_path)
    again.keep([])
    assert again.find(SGPU, ["a"]) == claim


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"v": 2, "claims": []}',
        b'{"claims": []}',
        b'{"v": 1, "claims": [{"claim": 3}]}',
        b"[]",
    ],
)
def test_a_file_nobody_understands_is_passed_over_whole_and_said_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    claims = loaded(tmp_path)
    assert "starts anew" in claims.trouble
    claim = claims.new(SGPU, ["a"])
    assert claims.trouble == ""
    assert loaded(tmp_path).find(SGPU, ["a"]) == claim


def test_a_folder_that_cannot_be_written_costs_nothing_but_memory_of_the_next_agent(tmp_path: Path) -> None:
    claims = loaded(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    claim = claims.new(SGPU, ["a"])
    assert claims.find(SGPU, ["a"]) == claim
    assert "cannot be written" in claims.trouble


def test_there_are_never_more_than_a_bounded_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tangram.services.gpu_device.claims.MOST", 3)
    claims = loaded(tmp_path)
    for number in range(5):
        claims.new(SGPU, [str(number)])
    assert MOST > 3
    assert len(json.loads((tmp_path / FILE).read_bytes())["claims"]) == 3
    assert claims.find(SGPU, ["1"]) is None
    assert claims.find(SGPU, ["4"]) is not None

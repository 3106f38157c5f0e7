"""The history in a file."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders.dashboards import NOW, card, held, node, view
from builders.virtual_time import in_virtual_time
from tangram.reports.view_shape import IdleRoom
from tangram.web.history.filing import HistoryFile, UnusableFileError, tend
from tangram.web.history.keeping import History
from tangram.web.picture import Picture

NO_ROWS: dict[str, object] = {}


def lived(seconds: int = 300, *pods: str) -> tuple[Picture, History]:
    picture, history = Picture(), History()
    picture.listeners.append(history.note)
    go_on(picture, seconds, *pods)
    return picture, history


def go_on(picture: Picture, seconds: int, *pods: str, begin: float = NOW) -> None:
    one = node(
        "gpu-1", *(card(index, held(pod, whole=True)) for index, pod in enumerate(pods or ("a/secret-pod",)))
    )
    room = IdleRoom(at=begin, idle=1.0, fragmented=0.25, shapes=2)
    for second in range(0, seconds + 1, 20):
        picture.take(view(one, version=int(begin + second - NOW) + 1, at=begin + second, room=room))


def file_in(folder: Path) -> HistoryFile:
    return HistoryFile(folder / "history.json", clock=lambda: NOW + 86_400)


def test_what_was_saved_is_there_after_a_restart(tmp_path: Path) -> None:
    _, before = lived(300, "a/x", "b/y")
    assert file_in(tmp_path).save(before)
    after = History()
    assert file_in(tmp_path).load(after) == ""
    assert after.used(0) == before.used(0)
    assert after.hours(0) == before.hours(0)
    assert after.course(0) == before.course(0)


def test_the_state_of_the_last_save_is_held_until_the_first_answer(tmp_path: Path) -> None:
    _, before = lived(300, "a/x")
    file_in(tmp_path).save(before)
    picture, after = Picture(), History()
    file_in(tmp_path).load(after)
    picture.listeners.append(after.note)
    go_on(picture, 60, "a/x", begin=NOW + 900)
    assert sum(each.card_hours for each in after.used(0)) == round(960 / 3600, 6)
    assert {each.pods for each in after.used(0)} == {1}


def test_no_pod_no_node_and_no_person_is_named_in_the_file(tmp_path: Path) -> None:
    _, history = lived()
    file_in(tmp_path).save(history)
    text = (tmp_path / "history.json").read_text()
    assert "secret-pod" not in text
    assert "gpu-1" not in text
    assert json.loads(text)["tangram"] == "history/v1"
    assert stat.S_IMODE((tmp_path / "history.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "truncated", id="empty"),
        pytest.param(b'{"tangram": "history/v1", "at": 1', "truncated", id="half"),
        pytest.param(b"\xff\xfe\x00", "", id="no text"),
        pytest.param(b"[[[[" * 10_000, "", id="deep"),
        pytest.param(b'{"tangram": "history/v2"}', "history/v2", id="newer"),
        pytest.param(b'{"name": "somebody else"}', "history/v1 is what is read", id="foreign"),
    ],
)
def test_a_file_that_cannot_be_understood_is_set_aside_with_a_sentence(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    (tmp_path / "history.json").write_bytes(content)
    history = History()
    sentence = file_in(tmp_path).load(history)
    assert reason in sentence
    assert "kept as history.json.unread-" in sentence
    assert not (tmp_path / "history.json").exists()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [content]
    assert history.used(0) == []


def _saved(folder: Path) -> dict[str, object]:
    _, history = lived(300, "a/x")
    file_in(folder).save(history)
    return json.loads((folder / "history.json").read_text())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"at": 9e15}, "future", id="from the future"),
        pytest.param({"capacity": -1}, "less than nothing", id="negative"),
        pytest.param({"rates": {"=cmd()": [1, 1, 1]}}, "no namespace", id="a name that is none"),
        pytest.param(
            {"hours": [{"hour": 17, "heard_s": 1, "capacity": 1, "rows": NO_ROWS}]},
            "beginning of an hour",
            id="odd hour",
        ),
    ],
)
def test_a_file_that_says_what_cannot_be_is_set_aside(
    tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    (tmp_path / "history.json").write_text(json.dumps({**_saved(tmp_path), **change}))
    assert reason in file_in(tmp_path).load(History())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 400), noise=st.binary(max_size=8))
def test_a_damaged_file_never_stops_a_start(tmp_path: Path, cut: int, noise: bytes) -> None:
    _, history = lived(300, "a/x")
    path = tmp_path / "history.json"
    HistoryFile(path, clock=lambda: NOW).save(history)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut] + noise + whole[cut + len(noise) :])
    HistoryFile(path, clock=lambda: NOW + 86_400).load(History())


def test_what_lies_in_the_way_is_never_written_through(tmp_path: Path) -> None:
    """In a folder that others may write to, it may lead to any file of ours."""
    precious, planted = tmp_path / "precious", tmp_path / ".history.json.new"
    precious.write_text("mine")
    planted.symlink_to(precious)
    _, history = lived()
    assert file_in(tmp_path).save(history)
    assert precious.read_text() == "mine"
    assert not (tmp_path / "history.json").is_symlink()
    assert not planted.is_symlink()


def test_a_folder_that_is_not_there_is_said_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(
        UnusableFileError, match="must be there and be writable; make it, or name another file"
    ):
        HistoryFile(tmp_path / "nowhere" / "history.json").load(History())
    (tmp_path / "folder").mkdir()
    with pytest.raises(UnusableFileError, match="cannot be read"):
        HistoryFile(tmp_path / "folder").load(History())


def test_it_is_saved_every_minute_and_at_the_end(tmp_path: Path) -> None:
    picture, history = lived(20, "a/x")
    file, path = file_in(tmp_path), tmp_path / "history.json"

    async def run() -> None:
        keeping = asyncio.create_task(tend(history, file))
        await asyncio.sleep(59)
        assert not path.exists()
        await asyncio.sleep(2)
        first = path.read_bytes()
        go_on(picture, 60, "a/x", begin=NOW + 40)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        assert path.read_bytes() != first

    in_virtual_time(run())
    assert [each.name for each in tmp_path.iterdir()] == ["history.json"]


def test_a_disk_that_takes_nothing_is_said_once_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, history = lived(20, "a/x")
    path = tmp_path / "sub" / "history.json"
    file = HistoryFile(path)

    async def run() -> None:
        keeping = asyncio.create_task(tend(history, file))
        await asyncio.sleep(200)
        assert len([each for each in caplog.records if "cannot be written" in each.message]) == 1
        path.parent.mkdir()
        await asyncio.sleep(61)
        assert path.exists()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    in_virtual_time(run())

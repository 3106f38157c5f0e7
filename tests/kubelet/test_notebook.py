"""The kubelet's notes: understood once, never out of date, never half."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tangram.kubelet import notebook
from tangram.kubelet.notebook import Notebook, NotebookUnreadable
from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import CHECKPOINT_FILE, Checkpoint, parse_checkpoint

# Both were written, checksums included, by the kubelet's own code.
EMPTY = b'{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}'
OTHER = (
    b'{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"a.b/c":null,"tangram.dev/sgpu":["card0-0","card0-1"],'
    b'"tangram.dev/vgpu":[]}},"Checksum":315932279}'
)


class Parsed:
    """Counts how often the notes are looked through, and can do something each time it was in vain."""

    def __init__(self) -> None:
        self.times = 0
        self.in_vain: Callable[[], object] = lambda: None

    def __call__(self, content: bytes) -> Checkpoint:
        self.times += 1
        try:
            return parse_checkpoint(content)
        except WireError:
            self.in_vain()
            raise


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Parsed:
    counting = Parsed()
    monkeypatch.setattr(notebook, "parse_checkpoint", counting)
    return counting


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / CHECKPOINT_FILE


def rewrite(file: Path, content: bytes, like: os.stat_result | None = None) -> os.stat_result:
    """As no known kubelet does it; like another one from outside, if so wanted."""
    file.write_bytes(content)
    if like is not None:
        os.utime(file, ns=(like.st_atime_ns, like.st_mtime_ns))
    return file.stat()


def replace(file: Path, content: bytes) -> None:
    """As the kubelet does it."""
    new = file.with_name(".new")
    new.write_bytes(content)
    new.replace(file)


def remove(file: Path) -> None:
    file.unlink()


def make_folder(path: Path) -> None:
    path.mkdir()


async def test_notes_are_understood_once_until_they_say_something_else(file: Path, parsed: Parsed) -> None:
    notes = Notebook(file.parent)
    replace(file, EMPTY)
    first = await notes.read()
    assert first.registered == ()
    assert await notes.read() is first
    replace(file, EMPTY)
    assert await notes.read() is first
    assert parsed.times == 1
    replace(file, OTHER)
    assert len((await notes.read()).registered) == 3
    rewrite(file, EMPTY)
    assert await notes.read() == first
    assert parsed.times == 3


async def test_a_change_is_seen_even_if_the_file_looks_the_same_from_outside(file: Path) -> None:
    notes = Notebook(file.parent)
    before = rewrite(file, OTHER)
    await notes.read()
    after = rewrite(file, OTHER.replace(b"a.b/c", b"a.b/d"), like=before)
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (
        before.st_ino,
        before.st_size,
        before.st_mtime_ns,
    )
    with pytest.raises(WireError, match="checksum"):
        await notes.read()


async def test_notes_caught_half_written_are_read_again(file: Path, parsed: Parsed) -> None:
    rewrite(file, OTHER[:50])
    parsed.in_vain = lambda: rewrite(file, OTHER)
    assert len((await Notebook(file.parent).read()).registered) == 3
    assert parsed.times == 2


@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param(b"", "checkpoint-unknown", id="empty"),
        pytest.param(OTHER[:-30], "checkpoint-unknown", id="half"),
        pytest.param(b"{}", "checkpoint-unknown", id="another-form"),
        pytest.param(OTHER.replace(b"card0-1", b"card0-2"), "checkpoint-checksum", id="damaged"),
    ],
)
async def test_damaged_notes_are_refused_whole_also_after_good_ones(
    file: Path, content: bytes, code: str
) -> None:
    notes = Notebook(file.parent)
    replace(file, OTHER)
    good = await notes.read()
    replace(file, content)
    for _ in range(2):
        with pytest.raises(WireError) as caught:
            await notes.read()
        assert caught.value.code == code
    replace(file, OTHER)
    assert await notes.read() == good


async def test_notes_that_are_not_there_are_explained_and_read_once_they_are(file: Path) -> None:
    notes = Notebook(file.parent)
    with pytest.raises(NotebookUnreadable, match=r"cannot be read \(No such file or directory\): it writes"):
        await notes.read()
    replace(file, EMPTY)
    assert (await notes.read()).allocations == ()
    remove(file)
    with pytest.raises(NotebookUnreadable):
        await notes.read()


async def test_a_folder_in_the_place_of_the_notes_is_explained(tmp_path: Path) -> None:
    make_folder(tmp_path / CHECKPOINT_FILE)
    with pytest.raises(NotebookUnreadable, match="Is a directory"):
        await Notebook(tmp_path).read()

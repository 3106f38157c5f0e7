"""Objects that are kept: what was answered is there again, and what cannot be kept is not answered."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.journal import FILE, FileJournal, JournalError
from tangram.sandbox.apiserver.store import Spot, Store

PODS = ("", "pods")


def thing(name: str, size: int = 0) -> Object:
    return {"kind": "Pod", "metadata": {"name": name, "annotations": {"x": "y" * size}}}


async def test_when_the_disk_is_full_nothing_more_is_taken_and_somebody_is_told(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path)
    store = Store(journal)
    told = asyncio.create_task(journal.failing())
    store.put(Spot(PODS, "d", "small"), thing("small"))
    # SQLite says of a file that may not grow what it says of a disk without room.
    journal._file.execute("pragma max_page_count = 8")  # pyright: ignore[reportPrivateUsage] - the only way
    with pytest.raises(JournalError, match=r"cannot be written \(database or disk is full\): make room"):
        store.put(Spot(PODS, "d", "large"), thing("large", 10**6))
    with pytest.raises(JournalError, match="cannot be written"):
        store.put(Spot(PODS, "d", "next"), thing("next"))
    with pytest.raises(JournalError, match="make room"):
        await told
    journal.close()
    again = FileJournal(tmp_path)
    restored = Store(again)
    assert again.load_into(restored) == 1
    again.close()


def test_a_file_that_was_damaged_is_refused_with_a_sentence(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path)
    Store(journal).put(Spot(PODS, "d", "a"), thing("a"))
    journal.close()
    with sqlite3.connect(tmp_path / FILE) as file:
        file.execute("update objects set body = 'half of {'")
    file.close()
    again = FileJournal(tmp_path)
    with pytest.raises(
        JournalError, match=r"cannot be read \(.*\): name another folder with --data, or remove it"
    ):
        again.load_into(Store(again))
    again.close()


def test_a_file_of_another_version_is_refused_with_a_sentence(tmp_path: Path) -> None:
    FileJournal(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE) as file:
        file.execute("update facts set value = '99' where name = 'form'")
    file.close()
    with pytest.raises(JournalError, match="another version"):
        FileJournal(tmp_path)


def test_a_path_that_is_too_long_for_it_is_refused_with_a_sentence(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d" * 100] * 6)
    deep.mkdir(parents=True)
    with pytest.raises(JournalError, match="one whose path has less than 480 letters"):
        FileJournal(deep)

"""Objects that outlive the process, for `--data DIR`: one SQLite file, written before anybody hears of a change.

A crash of the sandbox loses nothing that was answered. SQLite's log is not forced to the disk at every write, so a
power failure may cost the last moments, and never the file. When something cannot be written (the disk is full), no
change is answered any more, and whoever runs the server is told.
"""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.store import Spot, Store

FILE: Final = "objects.sqlite"
LONGEST_PATH: Final = 480
"""SQLite opens no file whose path is longer, for the notes it makes beside it."""
_FORM: Final = 1

_TABLES: Final = """
create table if not exists objects (
  grp text not null, plural text not null, namespace text not null, name text not null, body blob not null,
  primary key (grp, plural, namespace, name)
) without rowid;
create table if not exists facts (name text primary key, value text not null) without rowid;
"""


class JournalError(Exception):
    """The file cannot be used. Its text is one sentence."""


class FileJournal:
    """Raises `JournalError` for a file that is none of ours."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._failure = ""
        self._failed = asyncio.Event()
        try:
            self._file = sqlite3.connect(self._path, isolation_level=None)
            self._file.execute("pragma journal_mode=wal")
            self._file.execute("pragma synchronous=normal")
            self._file.executescript(_TABLES)
            self._file.execute("insert or ignore into facts values ('form', ?)", (str(_FORM),))
            form = self._fact("form")
        except sqlite3.OperationalError as error:
            raise JournalError(
                f"{self._path} cannot be opened ({error}): name another folder with --data, one whose path has less "
                f"than {LONGEST_PATH} letters."
            ) from None
        except sqlite3.Error as error:
            raise JournalError(
                f"{self._path} is no file of a sandbox ({error}): name another folder with --data, or remove it."
            ) from None
        if form != str(_FORM):
            raise JournalError(
                f"{self._path} was written by another version (form {form!r:.20}, this one writes {_FORM}): name "
                "another folder with --data."
            )

    def wrote(self, spot: Spot, thing: Object | None, revision: int) -> None:
        """Raises `JournalError` for what cannot be kept, and for everything after it."""
        if self._failure:
            raise JournalError(self._failure)
        try:
            self._write(spot, thing, revision)
        except sqlite3.Error as error:
            self._failure = f"{self._path} cannot be written ({error}): make room for it, and start again."
            self._failed.set()
            raise JournalError(self._failure) from error

    async def failing(self) -> None:
        """Wait until something cannot be kept. Raises `JournalError` then."""
        await self._failed.wait()
        raise JournalError(self._failure)

    def load_into(self, store: Store) -> int:
        """Fill an empty store with what was kept. How many objects there were. Raises `JournalError`."""
        count = 0
        try:
            for group, plural, namespace, name, body in self._file.execute("select * from objects"):
                store.restore(Spot((group, plural), namespace, name), msgspec.json.decode(body))
                count += 1
            store.revision = int(self._fact("revision") or store.revision)
        except (sqlite3.Error, msgspec.DecodeError, ValueError) as error:
            raise JournalError(
                f"{self._path} cannot be read ({error}): name another folder with --data, or remove it."
            ) from None
        store.compact()
        return count

    def _write(self, spot: Spot, thing: Object | None, revision: int) -> None:
        key = (*spot.resource, spot.namespace, spot.name)
        self._file.execute("begin")
        if thing is None:
            self._file.execute("delete from objects where (grp, plural, namespace, name) = (?, ?, ?, ?)", key)
        else:
            body = msgspec.json.encode(thing)
            self._file.execute("insert or replace into objects values (?, ?, ?, ?, ?)", (*key, body))
        self._file.execute("insert or replace into facts values ('revision', ?)", (str(revision),))
        self._file.execute("commit")

    def close(self) -> None:
        self._file.close()

    def _fact(self, name: str) -> str:
        found = self._file.execute("select value from facts where name = ?", (name,)).fetchone()
        return str(found[0]) if found else ""

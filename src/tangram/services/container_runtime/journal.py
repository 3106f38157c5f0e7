"""What was done to this host's configuration, kept on the host so that it can be finished or undone after any crash.

The original bytes are on the disk before the file is touched. An entry that cannot be read is as good as none: our
lines can be told from all others without it.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Final

import msgspec

from tangram.services.container_runtime.host import CHECKED, UNFINISHED, Host
from tangram.services.container_runtime.settings import EngineKind
from tangram.wire.operator import names
from tangram.wire.runtime_config.docker import Was

FOLDER: Final = names.RUNTIME_JOURNAL
ENTRY: Final = f"{FOLDER}/journal.json"
BACKUP: Final = f"{FOLDER}/config.before"
SETTINGS: Final = f"{FOLDER}/runtime.json"
PROGRAM_BEFORE: Final = f"{FOLDER}/program.before"
FILES: Final = (ENTRY, BACKUP, SETTINGS, PROGRAM_BEFORE)


class Step(StrEnum):
    APPLYING = "applying"
    """The file is being written, or is, and its engine has yet to read it."""
    APPLIED = "applied"
    FAILED = "failed"
    """It was tried, and the old file put back."""
    REMOVING = "removing"
    """The old file is being put back, or is, and the engine has yet to read it."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    engine: EngineKind
    version: str = ""
    path: str
    step: Step
    existed: bool
    """Whether there was a file before."""
    made: str = ""
    """The topmost folder that was made for it."""
    before: str
    """SHA-256 of the file without us, which is kept beside this."""
    after: str
    """SHA-256 of what we wrote."""
    was: Was = Was()
    code: str = ""
    why: str = ""


def digest(content: bytes | None) -> str:
    """The checksum of a content; empty for no file."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


class Journal:
    def __init__(self, host: Host) -> None:
        self._host = host

    def read(self) -> Entry | None:
        """The last entry. Raises `OSError`."""
        try:
            return msgspec.json.decode(self._host.read(ENTRY) or b"", type=Entry)
        except (ValueError, RecursionError):
            return None

    def write(self, entry: Entry) -> None:
        self._host.write(ENTRY, msgspec.json.format(msgspec.json.encode(entry), indent=2) + b"\n", 0o600)

    def keep(self, content: bytes) -> None:
        """Keep the bytes of the file without us."""
        self._host.write(BACKUP, content, 0o600)

    def kept(self, entry: Entry) -> bytes | None:
        """Those bytes; None where they are not what the entry says."""
        content = self._host.read(BACKUP)
        return content if digest(content) == entry.before else None

    def sweep(self) -> None:
        """Remove what a crash left half written here."""
        for path in (
            *self._host.files(f"{FOLDER}/.*{UNFINISHED}"),
            *self._host.files(f"{FOLDER}/crio{CHECKED}/*"),
        ):
            self._host.remove(path)
        self._host.remove_empty(f"{FOLDER}/crio{CHECKED}", f"{FOLDER}/crio{CHECKED}")

    def clear(self) -> None:
        for path in FILES:
            self._host.remove(path)
        self._host.remove_empty(FOLDER, "/var/lib/metax")

"""Which CDI name was answered for which ids: the one thing that neither driver, kubelet nor API server is sure to know.

The kubelet notes the name too, in a file whose form it may change; this is for the day it does. Written without waiting
for the disk: a crash of the agent loses nothing, and a crash of the machine ends every container anyway.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

FILE: Final = "claims.json"
MOST: Final = 4096
NEW_S: Final = 60.0
"""So long an answer is kept though nobody holds its ids: the kubelet notes them only after it was answered."""
_VERSION: Final = 1


class _Claim(msgspec.Struct, frozen=True):
    claim: str
    resource: str
    ids: tuple[str, ...]


class _File(msgspec.Struct, frozen=True, kw_only=True):
    v: int
    claims: tuple[_Claim, ...] = ()


class Claims:
    """The newest answer for each set of ids."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = folder / FILE
        self._clock = clock
        self._since: dict[tuple[str, frozenset[str]], float] = {}
        self._newest: dict[tuple[str, frozenset[str]], _Claim] = {}
        self.trouble = ""
        """Why the file could not be read or written last time; answers go on from memory."""

    def load(self) -> None:
        """Take over what an earlier agent noted; an unknown version is passed over, never half understood."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = msgspec.json.decode(self._path.read_bytes(), type=_File)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            self.trouble = f"{self._path} cannot be read ({error}) and starts anew"
            return
        if file.v != _VERSION:
            self.trouble = (
                f"{self._path} is of version {file.v}, this agent writes {_VERSION}; it starts anew"
            )
            return
        for claim in file.claims:
            key = (claim.resource, frozenset(claim.ids))
            self._newest[key], self._since[key] = claim, self._clock()

    def new(self, resource: str, ids: Sequence[str]) -> str:
        """A name for this call, unlike any before."""
        claim = _Claim(f"c{secrets.token_hex(16)}", resource, tuple(sorted(ids)))
        key = (resource, frozenset(ids))
        self._newest.pop(key, None)
        self._newest[key], self._since[key] = claim, self._clock()
        while len(self._newest) > MOST:
            self._forget(next(iter(self._newest)))
        self._write()
        return claim.claim

    def find(self, resource: str, ids: Collection[str]) -> str | None:
        found = self._newest.get((resource, frozenset(ids)))
        return None if found is None else found.claim

    def keep(self, held: Iterable[tuple[str, frozenset[str]]]) -> None:
        """Forget all but the ids that are held, and those that were answered for just now."""
        staying, new = set(held), self._clock() - NEW_S
        gone = [key for key in self._newest if key not in staying and self._since[key] <= new]
        for key in gone:
            self._forget(key)
        if gone:
            self._write()

    def _forget(self, key: tuple[str, frozenset[str]]) -> None:
        del self._newest[key]
        del self._since[key]

    def _write(self) -> None:
        unfinished = self._path.with_suffix(".new")
        try:
            unfinished.write_bytes(
                msgspec.json.encode(_File(v=_VERSION, claims=tuple(self._newest.values())))
            )
            unfinished.replace(self._path)
            self.trouble = ""
        except OSError as error:
            self.trouble = f"{self._path} cannot be written ({error.strerror})"

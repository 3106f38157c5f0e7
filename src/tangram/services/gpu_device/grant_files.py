"""The grants of this node, as CDI files in the folder that the container runtime reads.

They outlive the agent: a container that restarts while it is away finds its devices, and an agent that comes back finds
who holds what. A name never gets a second content, a file is complete before it has its name, and only files of
ours are ever removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tangram.model.grants import Grant
from tangram.units.ids import PodUid
from tangram.wire.cdi_grants import claim_in_file_name, grant_file_name, read_grant
from tangram.wire.errors import WireError

_UNFINISHED: Final = ".tangram-unfinished"
"""How half-written files end. Runtimes read every file that ends in .json, hidden ones too."""


class NameTaken(Exception):  # noqa: N818 - says what is the case
    """A claim has a file with another content; giving the name a second meaning would be believed by nobody."""


class GrantFiles:
    """Reads are from memory after the first; nobody else writes files of our kind."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}
        self._grants: dict[str, Grant] = {}

    def load(self) -> tuple[str, ...]:
        """Read what is there, remove what a crash left half-written. Returns claims whose file cannot be read."""
        self._folder.mkdir(parents=True, exist_ok=True)
        damaged: list[str] = []
        for path in sorted(self._folder.iterdir()):
            if path.name.endswith(_UNFINISHED):
                path.unlink(missing_ok=True)
                continue
            claim = claim_in_file_name(path.name)
            if claim is None:
                continue
            try:
                text = path.read_text("utf-8")
                grant = read_grant(text)
            except (OSError, ValueError, WireError):
                damaged.append(claim)
                continue
            if grant.claim != claim:
                damaged.append(claim)
                continue
            self._texts[claim], self._grants[claim] = text, grant
        return tuple(damaged)

    def find(self, claim: str) -> Grant | None:
        return self._grants.get(claim)

    def are_there(self, claims: Iterable[str]) -> bool:
        """Whether the files of these claims exist where the runtime looks for them."""
        return all((self._folder / grant_file_name(claim)).exists() for claim in claims)

    def all(self) -> tuple[Grant, ...]:
        return tuple(self._grants.values())

    def pods(self) -> frozenset[PodUid]:
        """The pods for which devices were made."""
        return frozenset(grant.pod.uid for grant in self.all())

    def write(self, grant: Grant, text: str) -> bool:
        """Put the grant where the runtime finds it; False when it is there already. Raises `OSError`, `NameTaken`."""
        path = self._folder / grant_file_name(grant.claim)
        present = self._texts.get(grant.claim)
        if present is not None and path.exists():
            if present != text:
                raise NameTaken(grant.claim)
            return False
        unfinished = self._folder / f".{path.name}.{os.getpid()}{_UNFINISHED}"
        try:
            unfinished.write_text(text, "utf-8")
            unfinished.replace(path)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
        self._texts[grant.claim], self._grants[grant.claim] = text, grant
        return True

    def remove(self, claim: str) -> None:
        """Forget a grant. A file that cannot be removed now is found again at the next start."""
        (self._folder / grant_file_name(claim)).unlink(missing_ok=True)
        self._texts.pop(claim, None)
        self._grants.pop(claim, None)

"""The programs of others that the stories need: which, in which versions, and what is wrong with those named."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from testbed.errors import BedError


class Peer(NamedTuple):
    """One program, the option that names it and what it was tried with."""

    name: str
    option: str
    variable: str
    version: str
    """As far as it matters: the stories were written beside this one."""
    asks: tuple[str, ...]
    """The words after which it prints its version."""
    source: str


HAMI: Final = Peer(
    "HAMi",
    "HAMI",
    "TANGRAM_PEER_HAMI",
    "2.10",
    ("version",),
    "cmd/scheduler of github.com/Project-HAMi/HAMi v2.10.0 (with cgo)",
)
KOORD: Final = Peer(
    "Koordinator",
    "KOORD",
    "TANGRAM_PEER_KOORD",
    "1.8",
    ("--version",),
    "cmd/koord-scheduler of github.com/koordinator-sh/koordinator v1.8.0",
)
PEERS: Final = (HAMI, KOORD)
EXAMPLES: Final = "TANGRAM_PEER_EXAMPLES"
"""Where the folder `examples` of a checkout of HAMi is."""
USAGE: Final = "make peers HAMI=/path/to/hami-scheduler KOORD=/path/to/koord-scheduler"


def expectation() -> str:
    """What to build and what to type, for a person who has neither."""
    lines = [
        f"  {peer.option}: {peer.name}'s scheduler {peer.version}, which you have built from {peer.source}"
        for peer in PEERS
    ]
    more = "One of the two is enough. EXAMPLES=/path/to/HAMi/examples also runs HAMi's example manifests."
    return "\n".join([USAGE, *lines, more])


def named_program(peer: Peer, file: Path) -> str:
    """What the program says of its version. Raises `BedError` for one that cannot be run."""
    if not file.is_file() or not os.access(file, os.X_OK):
        raise BedError(f"{peer.option} is {file}, which is no program that can be run.\n{expectation()}")
    try:
        # What it prints need not be text: a person may have named another file than the one that was meant.
        done = subprocess.run(
            [file.resolve(), *peer.asks],
            capture_output=True,
            check=False,
            text=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BedError(f"{file} cannot be run ({error}).\n{expectation()}") from None
    found = re.search(r"v?\d+\.\d+\.\d+\S*", done.stdout + done.stderr)
    return found[0] if found else "of an unknown version"

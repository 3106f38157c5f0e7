"""What driver-manager did to this host and has begun: written, and on the disk, before each step.

It holds only what the machine itself cannot tell: which driver is of our making, what it replaces, which change is
under way and in which direction, what failed. What is unpacked and where links point is read from the disk each time.
So whoever is killed, at any point, starts again from the truth.

A journal that cannot be read is set aside and made anew from what is loaded and linked; somebody is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from tangram.services.driver_manager.disk import Disk
from tangram.services.driver_manager.problems import problem_of_files
from tangram.wire.operator import names
from tangram.wire.operator.node_states import Source

FILE: Final = f"{names.JOURNAL}/journal.json"
_NEXT: Final = f"{names.JOURNAL}/.journal.json"
UNREADABLE: Final = f"{names.JOURNAL}/journal.unreadable"
STATE: Final = names.JOURNAL.rpartition("/")[0]
"""What is in it belongs to several agents; whoever leaves last takes it along."""
MOST_FAILED: Final = 16


class Target(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A driver that can be loaded: whose, which, and how."""

    source: Source = Source.NONE
    version: str = ""
    digest: str = ""
    """Of the payload's description, which has the checksum of every file."""
    parameters: Mapping[str, str] = {}

    @property
    def key(self) -> str:
        """What tells one attempt from another."""
        words = ",".join(f"{name}={value}" for name, value in sorted(self.parameters.items()))
        return f"{self.source} {self.version} {self.digest} {words}"


NOTHING: Final = Target()


class Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change under way. How far it is can be seen: what is loaded, and where the link points."""

    to: Target
    back: Target = NOTHING
    """What ran, and comes back when this fails."""
    sick: tuple[str, ...] = ()
    """Cards that were not well before, and are not expected to be afterwards."""
    undoing: bool = False
    code: str = ""
    why: str = ""

    @property
    def now(self) -> Target:
        """What is to be loaded in the present direction."""
        return self.back if self.undoing else self.to

    @property
    def only_splits(self) -> bool:
        """Whether the driver stays, and only its virtual functions change."""
        return self.to == self.back


class Failed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An attempt that is not made again while all of this stays the same."""

    key: str
    policy: str
    boot: str
    code: str
    why: str
    turn: str = ""
    """The turn it was made with; emptied when that is taken back, so that a new one counts."""


class Journal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    format: Literal[1] = 1
    loaded: Target = NOTHING
    """What we loaded last, whether or not it still is."""
    boot: str = ""
    """The start of the machine in which we did."""
    change: Change | None = None
    failed: tuple[Failed, ...] = ()
    aside: bool = False
    """The host's own /opt/mxdriver was moved aside by us."""
    host_ran: bool = False
    """The host's own driver ran before ours did."""
    functions: int | None = None
    """Virtual functions of each card that we set; None where we never did."""
    functions_failed: Failed | None = None
    wish_functions: int | None = None
    wish_parameters: Mapping[str, str] = {}
    """What the last configuration that could be read said for this node."""


EMPTY: Final = Journal()


def failed_with(journal: Journal, failed: Failed) -> tuple[Failed, ...]:
    """The failures of a journal with one more; the newest of each attempt, and not without end."""
    others = [each for each in journal.failed if each.key != failed.key]
    return (*others, failed)[-MOST_FAILED:]


def read_journal(disk: Disk) -> Journal | None:
    """The journal; None where there is none or none that can be read. Raises `ProblemError` for a bad disk."""
    try:
        text = disk.read(FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise problem_of_files(error, f"the journal {FILE} cannot be read") from error
    try:
        return msgspec.json.decode(text, type=Journal)
    except (ValueError, RecursionError):
        return None


def is_unreadable(disk: Disk) -> bool:
    """Whether there is a file that is no journal."""
    return disk.is_there(FILE) and read_journal(disk) is None


def set_aside(disk: Disk) -> None:
    """Keep a file that cannot be read for people, out of our way."""
    disk.rename(FILE, UNREADABLE)


def write_journal(disk: Disk, journal: Journal) -> None:
    """On the disk when this returns, whole. Raises `ProblemError`."""
    try:
        disk.make_folder(names.JOURNAL)
        disk.write(_NEXT, msgspec.json.encode(journal))
        disk.rename(_NEXT, FILE)
    except OSError as error:
        raise problem_of_files(error, f"the journal {FILE} cannot be written") from error


def remove_journal(disk: Disk) -> None:
    """The last thing that is taken away."""
    for path in (_NEXT, UNREADABLE, FILE):
        disk.remove(path)
    disk.remove_folder(names.JOURNAL)
    disk.remove_folder(STATE)

"""Who uses a card, and through which slice.

A process in a slice has the slice's number and not its card's, so the list of one card does not have it: that of the
whole machine is asked for, and that of the card only where there is no other. Libraries that have a form may still
answer "not supported" on an older kernel driver, so the answer decides and not the symbol. A list is cut without a word
where it has no room, so its length is asked for first, and a list without room left is asked for again.

A card or slice without a listed process counts as idle only if the kernel driver shows no work there either. Where its
files cannot be read, a list of the whole machine is believed alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml.binding import MOST_RECORDS, Binding, decoded
from tangram.drivers.mxsml.layouts import ProcessOnCard3, ProcessRecord1, ProcessRecord2, ProcessRecord3
from tangram.drivers.mxsml.rings import ProcessSnapshot, Unseen
from tangram.drivers.mxsml.sightings import Sighting
from tangram.model.devices import Process
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe, NotAvailable

_AnyRecord = ProcessRecord1 | ProcessRecord2 | ProcessRecord3

_FORMS: Final[tuple[tuple[str, type[_AnyRecord]], ...]] = (
    ("GetSingleGpuProcess_v3", ProcessRecord3),
    ("GetSingleGpuProcess_v2", ProcessRecord2),
    ("GetSingleGpuProcess", ProcessRecord1),
)
_SPARE: Final = 8
"""Room for those that come between two questions."""
_TRIES: Final = 3
_NO_NUMBER: Final = 0xFFFF_FFFF
_CARDS_PER_PROCESS: Final = 64


class Users(NamedTuple):
    """Of one card and its slices, read once for all of them."""

    processes: Maybe[tuple[Process, ...]]
    """`NA` when the library cannot tell, or cannot tell of all of them."""
    unseen: Unseen = Unseen()
    """Of the whole machine."""
    snapshot: ProcessSnapshot | None = None
    """What the kernel driver shows."""

    @property
    def why_unknown(self) -> str:
        """Why the processes cannot be listed, and what to do about it."""
        if self.unseen.gids or self.unseen.elsewhere:
            return (
                "processes that have no number in this PID namespace use cards of this node; run this program in the "
                "host's PID namespace (in a pod: hostPID: true)"
            )
        return "the library lists no processes; install a driver whose library does, or make this change with mx-smi"


def users_on(binding: Binding, seen: Sighting) -> Users:
    """The processes on a card, and which cards and slices have processes that are not listed."""
    if seen.trouble:
        # Where no card can be used, asking for processes ends the process that asks.
        return Users(NA)
    snapshot = binding.rings.snapshot()
    unseen = Unseen() if snapshot is None else snapshot.unseen()
    if unseen.elsewhere or _has_any(binding, seen, unseen.gids):
        return Users(NA, unseen, snapshot)
    records: list[_AnyRecord] | NotAvailable = _everywhere(binding)
    whole = not isinstance(records, NotAvailable)
    if isinstance(records, NotAvailable):
        records = _on_card(binding, seen.number)
    if isinstance(records, NotAvailable):
        return Users(NA, unseen, snapshot)
    listed = tuple(process for record in records for process in _entries(record, seen.bdf))
    if listed and whole:
        return Users(listed, unseen, snapshot)
    rings = NA if snapshot is None else snapshot.working()
    if not isinstance(rings, NotAvailable):
        return Users(listed + _unlisted(binding, seen, rings, listed), unseen, snapshot)
    return Users(listed if whole or not binding.rings.of_slices(seen.bdf) else NA, unseen, snapshot)


def _unlisted(
    binding: Binding, seen: Sighting, rings: Mapping[int, tuple[int, ...]], listed: tuple[Process, ...]
) -> tuple[Process, ...]:
    """Processes that the kernel driver shows on the card or its slices beside those that the library lists."""
    if not rings:
        return ()
    slices = binding.rings.of_slices(seen.bdf)
    known = {(each.pid, each.slice_id) for each in listed}
    working = (
        (pid, slices.get(gid)) for gid in sorted({seen.gid, *slices} & rings.keys()) for pid in rings[gid]
    )
    return tuple(Process(pid, slice_id=slice_id) for pid, slice_id in working if (pid, slice_id) not in known)


def processes_on(binding: Binding, seen: Sighting) -> Maybe[tuple[Process, ...]]:
    """As `Users.processes`."""
    return users_on(binding, seen).processes


def require_idle(binding: Binding, seen: Sighting) -> None:
    """Refuse what must not happen to a card in use. One whose processes cannot be listed counts as in use."""
    users = users_on(binding, seen)
    if isinstance(users.processes, NotAvailable):
        raise unknown_use(f"card {seen.number}", users)
    if users.processes:
        pids = ", ".join(str(user.pid) for user in users.processes[:8])
        raise DriverError(Kind.BUSY, f"card {seen.number} is in use by process {pids}")


def unknown_use(what: str, users: Users) -> DriverError:
    """For a change that needs an idle card or slice."""
    return DriverError(
        Kind.BUSY, f"whether {what} is in use cannot be read, so it counts as in use: {users.why_unknown}"
    )


def pids_in_slice(binding: Binding, seen: Sighting, users: Users, slice_id: int) -> Maybe[tuple[int, ...]]:
    """The pids inside a slice, 0 for a process without a number in this namespace; `NA` when they are not known."""
    if users.unseen.gids and binding.rings.of_slice(seen.bdf, slice_id) in users.unseen.gids:
        return (0,)
    if isinstance(users.processes, NotAvailable):
        return NA
    listed = tuple(process.pid for process in users.processes if process.slice_id == slice_id)
    rings = NA if listed or users.snapshot is None else users.snapshot.working()
    if isinstance(rings, NotAvailable) or not rings:
        return listed
    gid = binding.rings.of_slice(seen.bdf, slice_id)
    return () if isinstance(gid, NotAvailable) else rings.get(gid, ())


def _has_any(binding: Binding, seen: Sighting, gids: frozenset[int]) -> bool:
    return bool(gids) and (seen.gid in gids or not gids.isdisjoint(binding.rings.of_slices(seen.bdf).keys()))


def _everywhere(binding: Binding) -> list[_AnyRecord] | NotAvailable:
    """Of the whole machine; `NA` where they come faster than they can be listed."""
    for _ in range(_TRIES):
        count = binding.number("GetNumberOfProcess")
        if isinstance(count, NotAvailable) or count > MOST_RECORDS:
            return NA
        records = binding.filled("GetProcessInfo_v3", into=ProcessRecord3, room=count + _SPARE)
        if isinstance(records, NotAvailable):
            return NA
        if not records[-1].pid:
            return [record for record in records if record.pid not in {0, _NO_NUMBER}]
    return NA


def _on_card(binding: Binding, number: int) -> list[_AnyRecord] | NotAvailable:
    for name, form in _FORMS:
        records = binding.counted_records(name, number, into=form, spare=_SPARE, tries=_TRIES)
        if not isinstance(records, NotAvailable):
            return [record for record in records if record.pid not in {0, _NO_NUMBER}]
    return NA


def _entries(record: _AnyRecord, bdf: str) -> list[Process]:
    """One entry per slice of the card that the process is in, or one for the card; none for a process elsewhere."""
    name = decoded(record.name)
    here = [
        card
        for card in (record.cards[at] for at in range(min(record.count, _CARDS_PER_PROCESS)))
        if decoded(card.bdf) == bdf
    ]
    return [
        Process(
            record.pid,
            name,
            Bytes(card.memory),
            card.slice_id if isinstance(card, ProcessOnCard3) and card.slice_id >= 0 else None,
        )
        for card in here
    ]

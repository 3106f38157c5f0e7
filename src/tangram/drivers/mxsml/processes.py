"""Who uses a card, and through which slice.

The newest form of the question is tried first, as only it names the slice. Libraries that have a form may still answer
"not supported" on an older kernel driver, so the answer decides and not the symbol.
"""

from __future__ import annotations

from typing import Final

from tangram.drivers.mxsml.binding import Binding, decoded
from tangram.drivers.mxsml.layouts import ProcessOnCard3, ProcessRecord1, ProcessRecord2, ProcessRecord3
from tangram.model.devices import Process
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe, NotAvailable

_AnyRecord = ProcessRecord1 | ProcessRecord2 | ProcessRecord3

_FORMS: Final[tuple[tuple[str, type[_AnyRecord]], ...]] = (
    ("GetSingleGpuProcess_v3", ProcessRecord3),
    ("GetSingleGpuProcess_v2", ProcessRecord2),
    ("GetSingleGpuProcess", ProcessRecord1),
)
_ROOM: Final = 64
_CARDS_PER_PROCESS: Final = 64


def processes_on(binding: Binding, number: int, bdf: str) -> Maybe[tuple[Process, ...]]:
    """The processes on a card; `NA` when the library cannot tell."""
    for name, form in _FORMS:
        listed = binding.records(name, number, into=form, room=_ROOM)
        if not isinstance(listed, NotAvailable):
            return tuple(process for record in listed for process in _entries(record, bdf))
    return NA


def slice_users(processes: Maybe[tuple[Process, ...]], slice_id: int) -> Maybe[tuple[int, ...]]:
    """The pids inside a slice; `NA` when nobody can tell."""
    if isinstance(processes, NotAvailable):
        return NA
    return tuple(process.pid for process in processes if process.slice_id == slice_id)


def _entries(record: _AnyRecord, bdf: str) -> list[Process]:
    """One entry per slice the process is in, or one for the card."""
    name = decoded(record.name)
    here = [
        card
        for card in (record.cards[at] for at in range(min(record.count, _CARDS_PER_PROCESS)))
        if decoded(card.bdf) == bdf
    ]
    if not here:
        return [Process(record.pid, name)]
    return [
        Process(
            record.pid,
            name,
            Bytes(card.memory),
            card.slice_id if isinstance(card, ProcessOnCard3) and card.slice_id >= 0 else None,
        )
        for card in here
    ]

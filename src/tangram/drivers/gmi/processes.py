"""The table of processes below the summary of `mthreads-gmi`: text in, records or a `ParseError` out.

The library's headers have no such call, and what libmtml 1.5.0 exports beside them is read by the library's driver.
Columns are the card's index, the process id, the command, which may hold blanks, and what it holds on the card.

The tool asks the same kernel driver as the library, so its table is taken to have the same blind spots: processes that
have no number in the PID namespace of the one that asks, and those beyond 80 of a card.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tangram.drivers.gmi.values import ParseError, memory, plain
from tangram.drivers.mtml.processes import why_incomplete
from tangram.model.devices import Process
from tangram.units.na import NA, Maybe

_HEADER = re.compile(r"\bPID\b.*\bProcess\b", re.IGNORECASE)
_ROW = re.compile(
    r"([0-9]{1,4})\s+([0-9]{1,10})\s+(\S.{0,512}?)\s+([0-9]{1,15}\s*[KMG]iB|N/A)", re.IGNORECASE
)
_RULER = re.compile(r"[-+=|\s]*")
_SECOND_HEADER = re.compile(r"Usage", re.IGNORECASE)
_NOBODY = "no running processes found"


def processes_on(
    table: Mapping[int, tuple[Process, ...]], index: int, *, all_seen: bool | None
) -> Maybe[tuple[Process, ...]]:
    """All processes of a card, or `NA` where there may be others. `all_seen` is as the library's driver has it."""
    listed = table.get(index, ())
    return NA if why_incomplete(listed, all_seen=all_seen) else listed


def parse_processes(text: str) -> dict[int, tuple[Process, ...]]:
    """The processes by index of card; cards without any are left out. Raises only `ParseError`.

    A table that is missing or says it is not available is an error, never an empty one: nobody saw that nobody runs.
    """
    lines = [line.strip().strip("|").strip() for line in plain(text).splitlines()]
    header = next((at for at, line in enumerate(lines) if _HEADER.search(line)), None)
    if header is None:
        if any(_NOBODY in line.casefold() for line in lines):
            return {}
        raise ParseError("the answer has no table of processes", text)
    found: dict[int, tuple[Process, ...]] = {}
    for line in lines[header + 1 :]:
        if _RULER.fullmatch(line) or _SECOND_HEADER.fullmatch(line) or _NOBODY in line.casefold():
            continue
        row = _ROW.fullmatch(line)
        if row is None:
            raise ParseError("a line of the table of processes is none", line)
        process = Process(pid=int(row[2]), name=row[3], memory=memory(row[4]))
        found[int(row[1])] = (*found.get(int(row[1]), ()), process)
    return found

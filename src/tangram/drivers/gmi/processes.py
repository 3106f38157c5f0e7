"""The table of processes below the summary of `mthreads-gmi`: text in, records or a `ParseError` out.

It is the only source of memory per process for a card that is not sliced; the library has no such call. Columns are
the card's index, the process id, the command, which may hold blanks, and what it holds on the card.
"""

from __future__ import annotations

import re

from tangram.drivers.gmi.values import ParseError, memory, plain
from tangram.model.devices import Process

_HEADER = re.compile(r"\bPID\b.*\bProcess\b", re.IGNORECASE)
_ROW = re.compile(
    r"([0-9]{1,4})\s+([0-9]{1,10})\s+(\S.{0,512}?)\s+([0-9]{1,15}\s*[KMG]iB|N/A)", re.IGNORECASE
)
_RULER = re.compile(r"[-+=|\s]*")
_SECOND_HEADER = re.compile(r"Usage", re.IGNORECASE)
_NOBODY = "no running processes found"


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

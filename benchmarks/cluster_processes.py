"""What a program inside the box weighs and works, read from outside, where its process has another number."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from testbed.errors import BedError

PROC: Final = Path("/proc")
_FIELD: Final = re.compile(r"^(\w+):\s*(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Process:
    number: int
    parent: int
    inside: int
    """Its number in the innermost process namespace it lives in."""
    peak_kib: int
    cpu_ticks: int


@dataclass(frozen=True, slots=True)
class Weight:
    """Of a program and all it started, as far as they still run."""

    peak_rss_mb: float
    """In 10^6 bytes, each process at its own peak: the sum may be more than was ever held at once."""
    cpu_s: float


def weigh(init: int, inside: int) -> Weight:
    """The program with this number in the box of process `init`."""
    found = family(_processes_beside(init), inside)
    return Weight(
        peak_rss_mb=sum(each.peak_kib for each in found) * 1024 / 1e6,
        cpu_s=sum(each.cpu_ticks for each in found) / os.sysconf("SC_CLK_TCK"),
    )


def family(processes: Iterable[Process], inside: int) -> list[Process]:
    """The process with this number in its box, and all that descend from it."""
    known = list(processes)
    found = [each for each in known if each.inside == inside]
    if not found:
        raise BedError(f"the box has no process {inside} any more")
    for each in found:
        found += [child for child in known if child.parent == each.number]
    return found


def read_process(number: int, status: str, stat: str) -> Process:
    """A process from its two files. Kernel threads and the dead have no peak."""
    fields: Mapping[str, str] = dict(_FIELD.findall(status))
    # After the name, which may contain anything: the state, and eleven fields on the user's and the system's time.
    figures = stat.rpartition(")")[2].split()
    return Process(
        number,
        parent=int(fields["PPid"]),
        inside=int(fields["NSpid"].split()[-1]),
        peak_kib=int(fields.get("VmHWM", "0").split()[0]),
        cpu_ticks=int(figures[11]) + int(figures[12]),
    )


def _processes_beside(init: int) -> list[Process]:
    """Those in the process namespace of that process."""
    wanted = (PROC / str(init) / "ns" / "pid").readlink()
    found: list[Process] = []
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if (entry / "ns" / "pid").readlink() == wanted:
                status, stat = ((entry / file).read_text("utf-8") for file in ("status", "stat"))
                found.append(read_process(int(entry.name), status, stat))
        except OSError:
            continue  # gone meanwhile, or not ours to look at
    return found

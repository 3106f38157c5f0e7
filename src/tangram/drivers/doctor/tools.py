"""The vendors' command line tools: the second best way to cards, and what a person reaches for first."""

from __future__ import annotations

from tangram.drivers.doctor.bus import cards_on_bus
from tangram.drivers.doctor.findings import Findings, ok, warn
from tangram.drivers.doctor.machine import Machine
from tangram.drivers.mxsmi.tool import FOLDERS, NAMES


def metax_tool(machine: Machine) -> Findings:
    """Whether mx-smi is here. It is not run: a tool in front of a hung driver hangs too."""
    yield from _tool(machine, "metax-tool", NAMES, FOLDERS, needed=bool(cards_on_bus(machine).metax))


def mthreads_tool(machine: Machine) -> Findings:
    """Whether mthreads-gmi is here."""
    needed = bool(cards_on_bus(machine).mthreads)
    yield from _tool(machine, "mthreads-tool", ("mthreads-gmi",), (), needed=needed)


def _tool(
    machine: Machine, check: str, names: tuple[str, ...], folders: tuple[str, ...], *, needed: bool
) -> Findings:
    found = ((name, machine.program(name, *folders)) for name in names)
    name, path = next((each for each in found if each[1] is not None), (names[0], None))
    if path is not None:
        yield ok(check, f"{name} is {path}")
    elif needed:
        yield warn(
            check,
            f"{name} was not found",
            "nothing needs it while the library works; install the vendor's tools to have something to compare with",
        )

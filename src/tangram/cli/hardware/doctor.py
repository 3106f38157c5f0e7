"""`tangram doctor`: what keeps this machine from serving cards, and what to do about it."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Final

from tangram.cli.hardware.asking import (
    NOTHING_FOUND,
    DriverOption,
    OutputOption,
    RootOption,
    TimeoutOption,
    give_up,
    read_root,
    read_seconds,
    reader_for,
)
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.plain import clean
from tangram.cli.screen import Screen, output_console
from tangram.drivers.doctor.diagnosis import VERSION, Diagnosis, diagnose
from tangram.drivers.doctor.findings import Outcome
from tangram.drivers.doctor.machine import SYSTEM_PATH, Machine
from tangram.drivers.errors import DriverError

A_CHECK_FAILED: Final = 1
_STYLES: Final = {Outcome.OK: "green", Outcome.WARN: "yellow", Outcome.FAIL: "bold red", Outcome.SKIP: "dim"}


def doctor(
    *,
    driver: DriverOption = "auto",
    root: RootOption = "/",
    output: OutputOption = "table",
    timeout: TimeoutOption = "10s",
) -> int:
    """Check everything between the PCI bus and kubelet, and say what to do."""
    form = read_format(output)
    limit = read_seconds(timeout, "--timeout")
    reader = reader_for(driver, timeout, root)
    try:
        diagnosis = diagnose(driver, reader, _machine(root), limit=limit)
    except DriverError as error:
        return give_up(error, driver, VERSION, form)
    finally:
        reader.close()
    if form is not Format.TABLE:
        write_data(diagnosis, form)
    elif not diagnosis.nothing:
        _show(Screen(output_console()), diagnosis)
    if diagnosis.nothing:
        sys.stderr.write(f"tangram: nothing to check: {clean(diagnosis.nothing.rstrip('.'))}.\n")
        return NOTHING_FOUND
    return A_CHECK_FAILED if diagnosis.failed else 0


def _machine(root: str) -> Machine:
    programs = os.environ.get("PATH", "").split(":") if root == "/" else ()
    return Machine(read_root(root), tuple(dict.fromkeys((*filter(None, programs), *SYSTEM_PATH))))


def _show(screen: Screen, diagnosis: Diagnosis) -> None:
    for finding in diagnosis.findings:
        screen.line(
            f"{finding.outcome.upper():<4}  {finding.check}: {finding.why}", style=_STYLES[finding.outcome]
        )
        if finding.todo:
            screen.line(f"      -> {finding.todo}")
    counts = Counter(finding.outcome for finding in diagnosis.findings)
    screen.gap()
    screen.line(
        f"{counts[Outcome.OK]} ok, {counts[Outcome.WARN]} to look at, {counts[Outcome.FAIL]} failed, "
        f"{counts[Outcome.SKIP]} skipped.",
        style="bold",
    )

"""`tangram devices`: every card of this machine, what it does now and who is on it."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tangram.cli.hardware.asking import (
    DriverOption,
    OutputOption,
    RootOption,
    TimeoutOption,
    give_up,
    read_seconds,
    reader_for,
    status_of,
)
from tangram.cli.hardware.devices_page import show_devices
from tangram.cli.hardware.report import VERSION, DevicesReport, report_of
from tangram.cli.hardware.watching import watch as watch_again
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.screen import Screen, output_console
from tangram.drivers.errors import DriverError
from tangram.drivers.owners import owners_of
from tangram.drivers.snapshot import Reader, Snapshot
from tangram.units.na import NotAvailable

USUAL_PAUSE = "2s"


def devices(
    *,
    driver: DriverOption = "auto",
    watch: Annotated[
        tuple[str, ...] | None,
        Parameter(
            metavar="[SECONDS]",
            consume_multiple=(0, 1),
            negative="",
            show_default=False,
            help="Show it again every 2 seconds, or as often as said, until Ctrl-C.",
        ),
    ] = None,
    output: OutputOption = "table",
    root: RootOption = "/",
    timeout: TimeoutOption = "10s",
) -> int:
    """Show every card of this machine, what it does now and who is on it."""
    form = read_format(output)
    pause = None if watch is None else read_seconds((*watch, USUAL_PAUSE)[0], "--watch")
    reader = reader_for(driver, timeout, root)
    try:
        if pause is None:
            return _answer(reader, root, form, Screen(output_console()))
        console = output_console()
        return watch_again(console, lambda screen: _answer(reader, root, form, screen, again=True), pause)
    except DriverError as error:
        return give_up(error, driver, VERSION, form)
    finally:
        reader.close()


def reading_of(reader: Reader, root: str) -> DevicesReport:
    """One reading as data, with the pods of real processes."""
    snapshot = reader.read()
    return report_of(
        snapshot, {} if snapshot.driver == "simulated" else owners_of(_pids(snapshot), Path(root))
    )


def _answer(reader: Reader, root: str, form: Format, screen: Screen, *, again: bool = False) -> int:
    report = reading_of(reader, root)
    if form is Format.TABLE:
        if again:
            screen.line(datetime.now().astimezone().isoformat(" ", "seconds"), style="dim")
        show_devices(screen, report)
    else:
        if again and form is Format.YAML:
            sys.stdout.write("---\n")
        write_data(report, form)
    return status_of(report.cards, report.troubles)


def _pids(snapshot: Snapshot) -> list[int]:
    return [
        process.pid
        for card in snapshot.cards
        if card.figures is not None and not isinstance(card.figures.processes, NotAvailable)
        for process in card.figures.processes
    ]

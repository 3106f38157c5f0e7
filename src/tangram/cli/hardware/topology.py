"""`tangram topology`: how the cards of this machine are joined, and what that is worth to a request."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import (
    DriverOption,
    OutputOption,
    RootOption,
    TimeoutOption,
    give_up,
    reader_for,
    status_of,
)
from tangram.cli.hardware.neighbours import VERSION, report_of
from tangram.cli.hardware.picture import picture_of
from tangram.cli.hardware.topology_page import show_topology
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.screen import Screen, output_console
from tangram.drivers.errors import DriverError


def topology(
    *,
    driver: DriverOption = "auto",
    svg: Annotated[
        str | None,
        Parameter(
            metavar="FILE",
            allow_leading_hyphen=True,
            help="Draw it into this file too; - draws to standard output, and prints nothing else.",
        ),
    ] = None,
    output: OutputOption = "table",
    root: RootOption = "/",
    timeout: TimeoutOption = "10s",
) -> int:
    """Show how the cards of this machine are joined, and what that is worth to a request."""
    form = read_format(output)
    reader = reader_for(driver, timeout, root)
    try:
        snapshot = reader.read(figures=False, links=True)
    except DriverError as error:
        return give_up(error, driver, VERSION, form)
    finally:
        reader.close()
    report = report_of(snapshot)
    console = output_console()
    if svg == "-":
        console.file.write(picture_of(report))
    else:
        if svg is not None:
            _draw(svg, picture_of(report))
        if form is Format.TABLE:
            show_topology(Screen(console), report)
        else:
            write_data(report, form)
    return status_of(report.cards, report.troubles)


def _draw(path: str, picture: str) -> None:
    try:
        Path(path).write_text(picture, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(
            f"--svg names {path!r:.80}, which cannot be written ({reason}): name a file in a folder of yours."
        ) from None

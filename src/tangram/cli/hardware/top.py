"""`tangram top`: the cards of this machine, live."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from cyclopts import Parameter

from tangram.cli.hardware.asking import (
    DriverOption,
    RootOption,
    TimeoutOption,
    give_up,
    read_seconds,
    reader_for,
    status_of,
)
from tangram.cli.hardware.devices import reading_of
from tangram.cli.hardware.report import VERSION
from tangram.cli.hardware.top_page import Brush, show_frame
from tangram.cli.hardware.watching import watch
from tangram.cli.output import Format
from tangram.cli.screen import Screen, output_console
from tangram.drivers.errors import DriverError


def top(
    *,
    driver: DriverOption = "auto",
    once: Annotated[
        bool, Parameter(negative="", show_default=False, help="Print one frame and end.")
    ] = False,
    interval: Annotated[
        str, Parameter(metavar="DURATION", help="How often to look; a bare number means seconds.")
    ] = "2s",
    root: RootOption = "/",
    timeout: TimeoutOption = "10s",
) -> int:
    """Show the cards of this machine and whoever fills them, live."""
    pause = read_seconds(interval, "--interval")
    reader = reader_for(driver, timeout, root)
    console = output_console()
    brush = Brush(console)

    def draw(screen: Screen, moment: str) -> int:
        report = reading_of(reader, root)
        show_frame(screen, report, brush, moment)
        return status_of(report.cards, report.troubles)

    try:
        if once:
            # A single frame is for keeping and comparing, so it carries no clock.
            return draw(Screen(console), "")
        return watch(console, lambda screen: draw(screen, f"{datetime.now().astimezone():%H:%M:%S}"), pause)
    except DriverError as error:
        return give_up(error, driver, VERSION, Format.TABLE)
    finally:
        reader.close()

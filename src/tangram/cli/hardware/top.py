"""`tangram top`: the cards of this machine, or of a whole cluster, live."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli.agents.options import KubeconfigOption
from tangram.cli.failures import InputError
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

_ANY_DRIVER: Final = "auto"
_HERE: Final = "/"
_USUAL_LIMIT: Final = "10s"


def top(
    *,
    cluster: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="The cards of the kubeconfig's cluster instead of this machine's.",
        ),
    ] = False,
    sort: Annotated[
        str, Parameter(metavar="ORDER", show_default=False, help="With --cluster: by node, or by load.")
    ] = "",
    kubeconfig: KubeconfigOption = None,
    driver: DriverOption = _ANY_DRIVER,
    once: Annotated[
        bool, Parameter(negative="", show_default=False, help="Print one frame and end.")
    ] = False,
    interval: Annotated[
        str, Parameter(metavar="DURATION", help="How often to look; a bare number means seconds.")
    ] = "2s",
    root: RootOption = _HERE,
    timeout: TimeoutOption = _USUAL_LIMIT,
) -> int:
    """Show cards and whoever fills them, live."""
    pause = read_seconds(interval, "--interval")
    if cluster:
        if (driver, root, timeout) != (_ANY_DRIVER, _HERE, _USUAL_LIMIT):
            raise InputError(
                "--cluster asks an API server, and --driver, --root and --timeout are about one machine: leave one of "
                "the two out."
            )
        # Imported here, as everything about clusters: a look at this machine's cards needs neither network nor engine.
        from tangram.cli.cluster_top import cluster_top  # noqa: PLC0415 - see above

        return cluster_top(kubeconfig, sort, None if once else pause)
    if sort or kubeconfig is not None:
        raise InputError(
            "--sort and --kubeconfig are of use with --cluster only: write 'tangram top --cluster'."
        )
    return _of_this_machine(driver, timeout, root, None if once else pause)


def _of_this_machine(driver: str, timeout: str, root: str, pause: float | None) -> int:
    reader = reader_for(driver, timeout, root)
    console = output_console()
    brush = Brush(console)

    def draw(screen: Screen, moment: str) -> int:
        report = reading_of(reader, root)
        show_frame(screen, report, brush, moment)
        return status_of(report.cards, report.troubles)

    try:
        if pause is None:
            # A single frame is for keeping and comparing, so it carries no clock.
            return draw(Screen(console), "")
        return watch(console, lambda screen: draw(screen, f"{datetime.now().astimezone():%H:%M:%S}"), pause)
    except DriverError as error:
        return give_up(error, driver, VERSION, Format.TABLE)
    finally:
        reader.close()

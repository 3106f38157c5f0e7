"""`tangram status`: a cluster on one screen."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import cyclopts
from cyclopts import Parameter
from msgspec.structs import replace

from tangram.cli import candidates, manual
from tangram.cli.agents import operator_manual
from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import OutputOption, read_seconds
from tangram.cli.hardware.top_page import Brush
from tangram.cli.hardware.watching import watch as watch_again
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.screen import Screen, output_console
from tangram.cli.status_page import Room, show_status
from tangram.cli.status_reading import Look, Looker, cluster_reader
from tangram.reports import shape
from tangram.reports.status_shape import StatusReport
from tangram.wire.clusterfile.fields import nearest

USUAL_PAUSE: Final = "2s"
STANDARD_INPUT: Final = "-"
_SOME_NAMES: Final = 8

app = cyclopts.App(name="status", help=manual.STATUS, help_format="plaintext")
app.command("tangram.cli.status_operator:operator", name="operator", help=operator_manual.STATUS)


@app.default
def status(
    *,
    namespace: Annotated[
        str | None,
        Parameter(
            name=["--namespace", "-n"],
            metavar="NAME",
            completer=candidates.namespaces,
            help="Name only pods of this namespace; cards count as used by all. Without: every pod.",
        ),
    ] = None,
    node: Annotated[
        tuple[str, ...],
        Parameter(
            metavar="NAME",
            negative="",
            consume_multiple=False,
            show_default=False,
            completer=candidates.nodes,
            help="Show only this node, card by card; repeatable.",
        ),
    ] = (),
    watch: Annotated[
        tuple[str, ...] | None,
        Parameter(
            name=["--watch", "-w"],
            metavar="[SECONDS]",
            consume_multiple=(0, 1),
            negative="",
            show_default=False,
            help="Show it again every 2 seconds, or as often as said, until Ctrl-C.",
        ),
    ] = None,
    output: OutputOption = "table",
    cluster: Annotated[
        str | None,
        Parameter(
            metavar="FILE",
            allow_leading_hyphen=True,
            help="A kubectl dump or a cluster file; - reads standard input. Without: the live cluster.",
        ),
    ] = None,
    kubeconfig: Annotated[
        Path | None,
        Parameter(metavar="FILE", help="How to reach the live cluster. Without: as kubectl finds it."),
    ] = None,
) -> int:
    """Show a cluster on one screen: nodes, cards, who sits where, and why the others wait."""
    form = read_format(output)
    pause = None if watch is None else read_seconds((*watch, USUAL_PAUSE)[0], "--watch")
    _check_together(cluster, kubeconfig, again=pause is not None)
    source = shape.FROM_API if cluster is None else shape.FROM_FILE
    looker = Looker(cluster_reader(cluster, kubeconfig), source, namespace)
    console = output_console()
    brush = Brush(console)

    def draw(screen: Screen, *, again: bool) -> int:
        look = _only(looker.look(), node)
        if form is not Format.TABLE:
            if again and form is Format.YAML:
                sys.stdout.write("---\n")
            write_data(look.report, form)
            return 0
        if again:
            screen.line(f"{datetime.now().astimezone():%H:%M:%S}", style="dim")
        if look.trouble:
            screen.line(f"As it was last seen: {look.trouble}", style="bold red")
        lines = console.height - 2 if again and console.is_terminal else None
        columns = console.width if console.is_terminal else None
        show_status(screen, look.report, brush, Room(columns=columns, lines=lines, in_full=bool(node)))
        return 0

    if pause is None:
        return draw(Screen(console), again=False)
    return watch_again(console, lambda screen: draw(screen, again=True), pause)


def _check_together(cluster: str | None, kubeconfig: Path | None, *, again: bool) -> None:
    if cluster is not None and kubeconfig is not None:
        raise InputError(
            f"--cluster {cluster!r:.80} and --kubeconfig are both given: look at a file, or at the live cluster."
        )
    if cluster == STANDARD_INPUT and again:
        raise InputError(
            "--watch looks again and again, and standard input can be read once: name a file, or leave one out."
        )


def _only(look: Look, names: tuple[str, ...]) -> Look:
    """The named nodes and no others; all where none is named. Totals stay those of the cluster."""
    if not names:
        return look
    report = look.report
    known = [*(each.node for each in report.nodes), *report.plain_nodes]
    for name in names:
        if name not in known:
            some = f"{', '.join(known[:_SOME_NAMES])}{' and more' if len(known) > _SOME_NAMES else ''}"
            raise InputError(f"--node is {name!r:.80}: the nodes are {some}; {nearest(name, known)}.")
    return look._replace(report=_narrowed(report, names))


def _narrowed(report: StatusReport, names: tuple[str, ...]) -> StatusReport:
    return replace(
        report,
        nodes=[each for each in report.nodes if each.node in names],
        plain_nodes=[each for each in report.plain_nodes if each in names],
    )

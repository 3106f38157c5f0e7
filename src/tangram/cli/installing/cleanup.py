"""`tangram cleanup`: nothing of Tangram's is left on nodes when it is uninstalled, and what stays is told.

A hook of the charts runs it, and Helm shows what it prints. So the answer is short and plain, and says on standard
output what could not be done as well.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli import candidates
from tangram.cli.agents.options import KubeconfigOption, connection_for
from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import OutputOption, read_seconds
from tangram.cli.installing.options import SOMETHING_FAILS, read_namespace
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.plain import clean
from tangram.cli.screen import Screen, output_console
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.services.installation.cleaning import clean_up
from tangram.services.installation.cleaning_agents import CHARTS, TANGRAM
from tangram.services.installation.cleaning_report import Cleanup
from tangram.services.installation.cleaning_waiting import Aim
from tangram.services.installation.created import HOME
from tangram.services.installation.wording import counted, some_of
from tangram.units.ids import IdError, node_name
from tangram.vendors.wording import either

MOST_ROWS: Final = 10

NamespaceOption = Annotated[
    str,
    Parameter(
        name=["--namespace", "-n"],
        metavar="NAMESPACE",
        completer=candidates.namespaces,
        help="Where it was installed.",
    ),
]
ChartOption = Annotated[
    str, Parameter(name="--chart", metavar="CHART", help=f"What was uninstalled: {either(CHARTS)}.")
]
NodesOption = Annotated[
    tuple[str, ...] | None,
    Parameter(
        name="--node",
        metavar="NODE",
        negative="",
        consume_multiple=True,
        show_default=False,
        completer=candidates.nodes,
        help="Only these nodes, and nothing that belongs to the cluster.",
    ),
]
DryOption = Annotated[
    bool,
    Parameter(
        name="--dry-run", negative="", show_default=False, help="Change nothing: all requests are trials."
    ),
]
PatienceOption = Annotated[
    str, Parameter(name="--timeout", metavar="DURATION", help="How long to wait for Tangram's pods to end.")
]


def cleanup(
    *,
    namespace: NamespaceOption = HOME,
    chart: ChartOption = TANGRAM,
    node: NodesOption = None,
    dry_run: DryOption = False,
    timeout: PatienceOption = "2m",
    output: OutputOption = "table",
    kubeconfig: KubeconfigOption = None,
) -> int:
    """Remove what was written to nodes and beside the chart."""
    form, patience = read_format(output), read_seconds(timeout, "--timeout")
    if chart not in CHARTS:
        raise InputError(f"--chart is {chart!r:.80}: it is {either(CHARTS)}; write one of these.")
    aim = Aim(
        namespace=read_namespace(namespace, "-n"),
        chart=chart,
        nodes=_read_nodes(node),
        dry=dry_run,
        patience=patience,
    )
    found = asyncio.run(_cleaned(connection_for(kubeconfig, os.environ), aim))
    if form is Format.TABLE:
        _show(Screen(output_console()), found)
    else:
        write_data(found, form)
    return SOMETHING_FAILS if found.problems else 0


async def _cleaned(connection: Connection, aim: Aim) -> Cleanup:
    async with Api(connection) as api:
        return await clean_up(api, aim, _say)


def _read_nodes(words: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if words is None:
        return None
    if not words:
        raise InputError("--node names no node: name at least one, or leave it out for all of them.")
    try:
        return tuple(dict.fromkeys(node_name(word) for word in words))
    except IdError as error:
        raise InputError(f"--node: {error}.") from None


def _say(sentence: str) -> None:
    sys.stderr.write(f"tangram: {clean(sentence)}\n")
    sys.stderr.flush()


def _show(screen: Screen, found: Cleanup) -> None:
    removed = "Would be removed" if found.dry_run else "Removed"
    if found.nodes:
        screen.line(f"{removed} from {counted(len(found.nodes), 'node')} of {found.looked_at}:")
        _show_nodes(screen, found)
    if found.objects:
        screen.line(f"{removed}: {some_of(found.objects, MOST_ROWS)}.")
    if not found.nodes and not found.objects and not found.problems:
        screen.line(f"Nothing of {found.chart} was found on {counted(found.looked_at, 'node')}.")
    if found.left:
        screen.line("Left, and why:")
        for each in found.left:
            names = f": {some_of(each.names)}" if each.names else ""
            screen.line(f"- {each.what}: {each.why}{names}.")
    if found.problems:
        screen.line("Not done:")
        for problem in found.problems:
            screen.line(f"- {problem}.")


def _show_nodes(screen: Screen, found: Cleanup) -> None:
    shown = found.nodes[:MOST_ROWS]
    rows = [
        (
            each.name,
            *(str(len(part)) for part in (each.labels, each.annotations, each.conditions, each.amounts)),
        )
        for each in shown
    ]
    screen.table(("NODE", "LABELS", "ANNOTATIONS", "CONDITIONS", "AMOUNTS"), rows)
    if len(found.nodes) > len(shown):
        screen.line(f"... and {len(found.nodes) - len(shown)} more: -o json has them all.")

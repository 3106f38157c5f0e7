"""`tangram status operator`: what the GPU Operator has done, and what is in the way."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli.agents.options import KubeconfigOption, connection_for
from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import OutputOption, read_seconds
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.plain import clean
from tangram.cli.screen import Screen, output_console
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.reports.operator import NodeReport, OperatorReport, report_of
from tangram.wire.operator.names import GROUP, OBJECT, PLURAL, VERSION
from tangram.wire.operator.status import State, UpgradeStatus

NOT_READY: Final = 1
BETWEEN_S: Final = 2.0
MOST_ROWS: Final = 40
_PATH: Final = f"/apis/{GROUP}/{VERSION}/{PLURAL}/{OBJECT}"
_STYLES: Final = {State.READY: "bold green", State.ERROR: "bold red"}


def operator(
    *,
    wait: Annotated[
        str,
        Parameter(
            metavar="DURATION",
            show_default=False,
            help="Look again until everything is ready, for so long at most; without, once.",
        ),
    ] = "",
    output: OutputOption = "table",
    kubeconfig: KubeconfigOption = None,
) -> int:
    """Show what the GPU Operator has done, and what is in the way."""
    form = read_format(output)
    patience = read_seconds(wait, "--wait") if wait else 0.0
    connection = connection_for(kubeconfig, os.environ)
    try:
        report = asyncio.run(_look(connection, patience, _say))
    except (ApiError, ApiUnreachable) as error:
        raise InputError(f"the cluster cannot be asked: {str(error).rstrip('.')}.") from None
    if form is not Format.TABLE:
        write_data(report, form)
    else:
        _show(Screen(output_console()), report)
    return 0 if report.ready else NOT_READY


async def _look(
    connection: Connection,
    patience: float,
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> OperatorReport:
    ends, said = clock() + patience, ""
    async with Api(connection) as api:
        while True:
            report = await _report(api)
            if report.ready or clock() + BETWEEN_S > ends:
                return report
            if report.message != said:
                say(f"{report.state}: {report.message}")
                said = report.message
            await asyncio.sleep(BETWEEN_S)


async def _report(api: Api) -> OperatorReport:
    try:
        thing = await api.get(_PATH)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        thing = None
    return report_of(thing, await api.list_all("/api/v1/nodes"))


def _say(sentence: str) -> None:
    sys.stderr.write(f"tangram: {clean(sentence)}\n")
    sys.stderr.flush()


# ---- the page


def _show(screen: Screen, report: OperatorReport) -> None:
    style = _STYLES.get(State(report.state), "bold yellow") if report.state in list(State) else "bold yellow"
    screen.line(f"{report.state}: {report.message}", style=style)
    if report.parts:
        screen.gap()
        rows = [
            (part.name, part.state.value, _counts(part.ready, part.wanted), part.message)
            for part in report.parts
        ]
        screen.table(("PART", "STATE", "NODES", "WHY"), rows)
    if report.upgrade is not None:
        screen.gap()
        screen.line(_upgrade(report.upgrade))
    if report.nodes:
        screen.gap()
        _nodes(screen, report)


def _nodes(screen: Screen, report: OperatorReport) -> None:
    # Those with a problem first: where there are many nodes, the rest is cut off.
    ordered = sorted(report.nodes, key=lambda node: (node.ready and node.phase == "ready", node.name))
    shown = ordered[:MOST_ROWS]
    rows = [
        (node.name, _driver(node), ", ".join(node.maca) or "-", node.runtime or "-", _phase(node), node.why)
        for node in shown
    ]
    screen.table(("NODE", "DRIVER", "MXMACA", "RUNTIME", "PHASE", "WHY"), rows)
    if len(ordered) > len(shown):
        screen.line(f"... and {len(ordered) - len(shown)} more: -o json has them all.")


def _phase(node: NodeReport) -> str:
    return f"{node.phase}, cordoned {node.cordoned}" if node.cordoned else node.phase


def _driver(node: NodeReport) -> str:
    if not node.wanted:
        return node.driver or "-"
    return f"{node.driver or 'none'} -> {node.wanted}"


def _counts(ready: int | None, wanted: int | None) -> str:
    return "" if ready is None and wanted is None else f"{ready or 0}/{wanted or 0}"


def _upgrade(upgrade: UpgradeStatus) -> str:
    paused = " (paused)" if upgrade.paused else ""
    told = f"{upgrade.done} done, {upgrade.updating} under way, {upgrade.waiting} waiting, {upgrade.failed} failed"
    message = f": {upgrade.message}" if upgrade.message else ""
    return f"Driver {upgrade.to or 'of the host'}{paused}: {told}{message}"

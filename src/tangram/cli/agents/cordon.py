"""`tangram cordon` and `tangram uncordon`: cards of a node out of placement, and back.

The change itself is made by `tangram.kube.cordoning`, as the dashboard makes it too.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli import candidates
from tangram.cli.agents.options import KubeconfigOption, connection_for
from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import OutputOption
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.plain import clean
from tangram.cli.screen import Screen, output_console
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.cordoning import Action, CordonReport, NoSuchCard, NothingKnown, change_cordons
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.units.ids import IdError, NodeName, node_name

REFUSED: Final = 1

_Cards = Annotated[str, Parameter(metavar="CARD", help="Cards: uuids, numbers, or numbers as in GPU-3.")]
_Node = Annotated[
    str, Parameter(metavar="NODE", completer=candidates.nodes, help="The node's name in Kubernetes.")
]


def cordon(
    node: _Node, /, *cards: _Cards, output: OutputOption = "table", kubeconfig: KubeconfigOption = None
) -> int:
    """Take cards of a node out of placement."""
    return _run("cordon", node, cards, output, connection_for(kubeconfig, os.environ))


def uncordon(
    node: _Node, /, *cards: _Cards, output: OutputOption = "table", kubeconfig: KubeconfigOption = None
) -> int:
    """Give cards of a node back to placement."""
    return _run("uncordon", node, cards, output, connection_for(kubeconfig, os.environ))


def _run(
    action: Action,
    node: str,
    cards: Sequence[str],
    output: str,
    connection: Connection,
) -> int:
    form = read_format(output)
    try:
        name = node_name(node)
    except IdError as error:
        raise InputError(f"NODE: {error}.") from None
    if not cards:
        raise InputError(f"no card of node {name} is named: name one, as in 'tangram {action} {name} 3'.")
    try:
        report = asyncio.run(_change(connection, name, cards, action))
    except NoSuchCard as error:
        raise InputError(str(error)) from None
    except (ApiError, ApiUnreachable, NothingKnown) as error:
        sys.stderr.write(f"tangram: {clean(str(error).rstrip('.'))}.\n")
        return REFUSED
    if form is Format.TABLE:
        _show(Screen(output_console()), report)
    else:
        write_data(report, form)
    return 0


async def _change(
    connection: Connection, node: NodeName, cards: Sequence[str], action: Action
) -> CordonReport:
    async with Api(connection) as api:
        return await change_cordons(api, node, cards, action)


def _show(screen: Screen, report: CordonReport) -> None:
    out = report.action == "cordon"
    state = "takes no new pods; pods on it keep running" if out else "takes new pods again"
    already = "was cordoned before" if out else "was not cordoned"
    for card in report.changed:
        screen.line(f"node {report.node}: card {card} {state}.")
    for card in report.unchanged:
        screen.line(f"node {report.node}: card {card} {already}; nothing changed.")
    rest = [card for card in report.cordoned if card not in (*report.changed, *report.unchanged)]
    if rest:
        screen.line(f"Cordoned as well: {', '.join(rest)}.")

"""`tangram remove-operator`: the ClusterOperator is deleted, and every node is as it was before when it has gone.

A hook of chart metax-operator runs it before anything else is uninstalled, and Helm shows what it prints.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli import candidates
from tangram.cli.agents.options import KubeconfigOption, connection_for
from tangram.cli.hardware.asking import OutputOption, read_seconds
from tangram.cli.installing.options import SOMETHING_FAILS, read_namespace
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.plain import clean
from tangram.cli.screen import Screen, output_console
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.services.operator.removing_watch import Removal, remove_and_wait
from tangram.wire.operator.names import KIND, OBJECT

USUAL: Final = "metax-operator"
MOST_ROWS: Final = 20

NamespaceOption = Annotated[
    str,
    Parameter(
        name=["--namespace", "-n"],
        metavar="NAMESPACE",
        completer=candidates.namespaces,
        help="Where the operator runs.",
    ),
]
PatienceOption = Annotated[
    str, Parameter(name="--timeout", metavar="DURATION", help="How long to wait for the nodes.")
]


def remove_operator(
    *,
    namespace: NamespaceOption = USUAL,
    timeout: PatienceOption = "10m",
    output: OutputOption = "table",
    kubeconfig: KubeconfigOption = None,
) -> int:
    """Delete the ClusterOperator and wait until every node is clean."""
    form, patience = read_format(output), read_seconds(timeout, "--timeout")
    home = read_namespace(namespace, "-n")
    found = asyncio.run(_removed(connection_for(kubeconfig, os.environ), home, patience))
    if form is Format.TABLE:
        _show(Screen(output_console()), found)
    else:
        write_data(found, form)
    return 0 if found.gone else SOMETHING_FAILS


async def _removed(connection: Connection, namespace: str, patience: float) -> Removal:
    async with Api(connection) as api:
        return await remove_and_wait(api, namespace, patience, _say)


def _say(sentence: str) -> None:
    sys.stderr.write(f"tangram: {clean(sentence)}\n")
    sys.stderr.flush()


def _show(screen: Screen, found: Removal) -> None:
    if found.gone:
        clean_ones = "" if found.passed_over else ", and its nodes are clean"
        screen.line(f"{KIND} {OBJECT} {'is gone' + clean_ones if found.was_there else 'was not there'}.")
    if found.passed_over:
        screen.line(f"Not cleaned: {found.passed_over}.")
    if found.nodes:
        rows = [(each.name, "yes" if each.ready else "no", each.what) for each in found.nodes[:MOST_ROWS]]
        screen.table(("NODE", "READY", "WAITS FOR"), rows)
        if len(found.nodes) > MOST_ROWS:
            screen.line(f"... and {len(found.nodes) - MOST_ROWS} more: -o json has them all.")
    for problem in found.problems:
        screen.line(f"{problem}.")

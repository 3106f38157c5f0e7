"""`tangram preflight`: whether a cluster, or a machine, is ready for Tangram, and what to do where it is not."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli.agents.options import KubeconfigOption, connection_for
from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import (
    DriverOption,
    OutputOption,
    RootOption,
    TimeoutOption,
    read_root,
    read_seconds,
    reader_for,
)
from tangram.cli.hardware.doctor import show_findings
from tangram.cli.installing import neighbours
from tangram.cli.installing.helm_program import find_helm
from tangram.cli.installing.options import (
    SOMETHING_FAILS,
    HomeOption,
    SelectorOption,
    check_selector,
    read_namespace,
)
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.screen import Screen, output_console
from tangram.drivers.doctor.diagnosis import diagnose
from tangram.drivers.doctor.examining import Examination, Probe
from tangram.drivers.doctor.findings import Finding, skip
from tangram.drivers.doctor.machine import SYSTEM_PATH, Machine
from tangram.drivers.errors import DriverError
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.services.installation import machine_checks
from tangram.services.installation.created import HOME
from tangram.services.installation.node_reports import NodeReport
from tangram.services.installation.preflight import Preflight, judge_ground, unreached
from tangram.services.installation.surveying import survey
from tangram.services.scheduler.checkup.seeing import look
from tangram.units.durations import duration_text

MOST_ROWS: Final = 40
_ANY_DRIVER: Final = "auto"
_HERE: Final = "/"
_FOR_PODS: Final = 0.6
"""Of the time there is: a cluster with more pods than can be read in it is told all that does not rest on them."""
_FOR_ONE: Final = 0.25
"""The same of one request: a webhook that hangs costs its own finding, and no other."""

NodeOption = Annotated[
    bool, Parameter(name="--node", negative="", help="Look at this machine instead of a cluster.")
]


def preflight(
    *,
    node: NodeOption = False,
    kubeconfig: KubeconfigOption = None,
    namespace: HomeOption = HOME,
    selector: SelectorOption = "",
    driver: DriverOption = _ANY_DRIVER,
    root: RootOption = _HERE,
    output: OutputOption = "table",
    timeout: TimeoutOption = "30s",
) -> int:
    """Check a cluster, or this machine, against everything that an installation needs."""
    form, limit = read_format(output), read_seconds(timeout, "--timeout")
    if node:
        if kubeconfig is not None or namespace != HOME or selector:
            raise InputError(
                "--node is about this machine, and --kubeconfig, -n and -l are about a cluster: leave one of the two "
                "out."
            )
        found = _machine(driver, root, timeout, limit)
    else:
        if driver != _ANY_DRIVER or root != _HERE:
            raise InputError("--driver and --root are about this machine: write --node beside them.")
        home = read_namespace(namespace, "-n")
        found = _cluster(connection_for(kubeconfig, os.environ), home, selector, limit)
    _told(found, form)
    return SOMETHING_FAILS if found.failed else 0


def _cluster(connection: Connection, namespace: str, selector: str, limit: float) -> Preflight:
    return asyncio.run(_seen(connection, namespace, selector, limit))


async def _seen(connection: Connection, namespace: str, selector: str, limit: float) -> Preflight:
    try:
        async with asyncio.timeout(limit), Api(connection, limit=limit * _FOR_ONE) as api:
            # Side by side, so that a slow server has time to answer all of it.
            ground, scene, helm = await asyncio.gather(
                survey(api, namespace, selector),
                look(api, patience=limit * _FOR_PODS),
                asyncio.to_thread(find_helm, limit * _FOR_ONE),
            )
    except TimeoutError:
        late = f"it has not answered everything within {duration_text(limit)}"
        return Preflight(server=connection.server, findings=[unreached(connection.server, late)])
    check_selector(selector, ground.nodes)
    ground.helm, ground.neighbours = helm, neighbours.neighbours_in(scene)
    return judge_ground(ground, () if scene.unreachable else neighbours.before(scene))


def _machine(driver: str, root: str, timeout: str, limit: float) -> Preflight:
    programs = os.environ.get("PATH", "").split(":") if root == _HERE else ()
    machine = Machine(read_root(root), tuple(dict.fromkeys((*filter(None, programs), *SYSTEM_PATH))))
    own = Examination(
        [Probe("systems", machine_checks.system), Probe("cgroups", machine_checks.cgroups)],
        machine,
        limit=limit,
    )
    reader = reader_for(driver, timeout, root)
    try:
        diagnosis = diagnose(driver, reader, machine, limit=limit)
    except DriverError as error:
        raise InputError(f"--driver: {error.sentence.rstrip('.')}.") from None
    finally:
        reader.close()
    findings: list[Finding] = [*own.findings(), *diagnosis.findings]
    if diagnosis.nothing:
        findings.append(
            skip(
                "cards",
                f"no card of this machine answers: {diagnosis.nothing.rstrip('.')}",
                "install the vendor's driver first if it has cards; without any nothing of Tangram's is needed here",
            )
        )
    return Preflight(findings=findings)


def _told(found: Preflight, form: Format) -> None:
    if form is not Format.TABLE:
        write_data(found, form)
        return
    screen = Screen(output_console())
    if found.nodes:
        _show_nodes(screen, found.nodes)
        screen.gap()
    show_findings(screen, found.findings)


def _show_nodes(screen: Screen, nodes: list[NodeReport]) -> None:
    shown = nodes[:MOST_ROWS]
    screen.table(
        ("NODE", "KUBELET", "RUNTIME", "CDI", "SYSTEM", "KERNEL", "ARCHITECTURE"),
        [
            (each.name, each.kubelet, each.runtime, each.cdi, each.system, each.kernel, each.architecture)
            for each in shown
        ],
    )
    if len(nodes) > len(shown):
        screen.line(f"... and {len(nodes) - len(shown)} more: -o json has them all.")

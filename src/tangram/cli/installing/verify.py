"""`tangram verify`: whether an installation is whole, waited for until it is."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from typing import Annotated, Final

import msgspec
from cyclopts import Parameter

from tangram.cli import candidates
from tangram.cli.agents.options import KubeconfigOption, connection_for
from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import OutputOption, read_seconds
from tangram.cli.hardware.doctor import show_findings
from tangram.cli.installing import neighbours
from tangram.cli.installing.options import SOMETHING_FAILS, SelectorOption, check_selector, read_namespace
from tangram.cli.installing.waiting import until_well
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.plain import clean
from tangram.cli.screen import Screen, output_console
from tangram.drivers.doctor.findings import Finding, skip
from tangram.kube.api import REQUEST_LIMIT_S, Api
from tangram.kube.connection import Connection
from tangram.services.installation.inspecting import inspect
from tangram.services.installation.preflight import unreached
from tangram.services.installation.standing import NodeStanding, Standing
from tangram.services.installation.trial import CHECK, Trial, Wish, try_pod
from tangram.services.installation.trial_pods import OURS_ASLEEP, SLEEP, announced, smallest
from tangram.services.installation.verify import Verification, judge_standing
from tangram.services.installation.workloads import DEVICE
from tangram.services.scheduler.checkup.seeing import look
from tangram.units.durations import duration_text

MOST_ROWS: Final = 40
USUAL_IMAGE: Final = "busybox"
_LEAST_FOR_A_POD_S: Final = 30.0
"""However little of the time is left when everything else is well."""

PodOption = Annotated[
    bool,
    Parameter(name="--pod", negative="", help="Also place a tiny slice, see it run, and delete it again."),
]
ImageOption = Annotated[
    str,
    Parameter(
        name="--image",
        metavar="IMAGE",
        show_default=False,
        help=f"What the pod of --pod runs: anything with 'sleep'. Without: the agent's image, else {USUAL_IMAGE}.",
    ),
]
NamespaceOption = Annotated[
    str,
    Parameter(
        name=["--namespace", "-n"],
        metavar="NAMESPACE",
        show_default=False,
        completer=candidates.namespaces,
        help="Where pods are tried; without, the namespace of the kubeconfig.",
    ),
]
PatienceOption = Annotated[
    str, Parameter(name="--timeout", metavar="DURATION", help="How long to wait for what is not ready yet.")
]


def verify(
    *,
    kubeconfig: KubeconfigOption = None,
    selector: SelectorOption = "",
    namespace: NamespaceOption = "",
    pod: PodOption = False,
    image: ImageOption = "",
    output: OutputOption = "table",
    timeout: PatienceOption = "2m",
) -> int:
    """Check what nodes announce, who answers and what admission does, until all is well or the time is up."""
    form, patience = read_format(output), read_seconds(timeout, "--timeout")
    if image and not pod:
        raise InputError(f"--image {image!r:.80} is what the pod of --pod runs: write both, or neither.")
    connection = connection_for(kubeconfig, os.environ)
    place = read_namespace(namespace or connection.namespace, "-n")
    try:
        found = asyncio.run(_Round(connection, place, selector).verified(patience, pod=pod, image=image))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    _told(found, form)
    return SOMETHING_FAILS if found.failing else 0


class _Round:
    """Looks at one cluster, as often as it is asked to."""

    def __init__(self, connection: Connection, namespace: str, selector: str) -> None:
        self._connection = connection
        self._namespace = namespace
        self._selector = selector
        self._standing: Standing | None = None

    async def verified(self, patience: float, *, pod: bool, image: str) -> Verification:
        _end_when_told()
        async with Api(self._connection, limit=min(patience, REQUEST_LIMIT_S)) as api:
            found, left = await until_well(lambda limit: self._look(api, limit), patience, _say)
            return await self._with_a_pod(api, found, image, left) if pod else found

    async def _look(self, api: Api, limit: float) -> Verification:
        server = self._connection.server
        try:
            async with asyncio.timeout(limit):
                scene = await look(api, patience=limit / 2)
                standing = await inspect(api, self._namespace, self._selector, scene.mutating.items)
        except TimeoutError:
            late = f"it has not answered everything within {duration_text(round(limit))}"
            return Verification(server=server, findings=[unreached(server, late)])
        check_selector(self._selector, standing.nodes)
        standing.served = neighbours.served_names(scene)
        self._standing = standing
        return judge_standing(standing, () if scene.unreachable else neighbours.after(scene))

    async def _with_a_pod(self, api: Api, found: Verification, image: str, left: float) -> Verification:
        standing = self._standing
        if found.failing or standing is None:
            finding: Finding = skip(
                CHECK, "no pod was placed, since other checks fail", "mend them, and ask again"
            )
            return msgspec.structs.replace(found, findings=[*found.findings, finding])
        agents = [each.image for each in standing.workloads if each.role == DEVICE]
        wish = Wish(
            namespace=self._namespace,
            limits=smallest(announced(standing.nodes.items)),
            image=image or next(iter(agents), USUAL_IMAGE),
            command=OURS_ASLEEP if agents and not image else SLEEP,
            patience=max(left, _LEAST_FOR_A_POD_S),
        )
        _say(f"placing a pod in {self._namespace}")
        trial, finding = await try_pod(api, wish, _say)
        return msgspec.structs.replace(found, pod=trial, findings=[*found.findings, finding])


def _end_when_told() -> None:
    """Whoever ends this program by SIGTERM, as CI systems do, wants the pod gone like the one who presses Ctrl-C."""
    task = asyncio.current_task()
    if task is not None and threading.current_thread() is threading.main_thread():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def _say(sentence: str) -> None:
    sys.stderr.write(f"tangram: {clean(sentence)}\n")
    sys.stderr.flush()


def _told(found: Verification, form: Format) -> None:
    if form is not Format.TABLE:
        write_data(found, form)
        return
    screen = Screen(output_console())
    if found.nodes:
        _show_nodes(screen, found.nodes)
        screen.gap()
    show_findings(screen, found.findings)
    if found.pod is not None:
        _show_pod(screen, found.pod)


def _show_nodes(screen: Screen, nodes: list[NodeStanding]) -> None:
    shown = nodes[:MOST_ROWS]
    rows = [
        (
            node.name,
            "cordoned" if node.cordoned else node.agent or "none",
            ", ".join(
                f"{name} {each.allocatable} of {each.capacity}" for name, each in node.resources.items()
            )
            or "none",
            str(len(node.labels)),
        )
        for node in shown
    ]
    screen.table(("NODE", "AGENT", "ALLOCATABLE OF CAPACITY", "LABELS"), rows)
    if len(nodes) > len(shown):
        screen.line(f"... and {len(nodes) - len(shown)} more: -o json has them all.")


def _show_pod(screen: Screen, pod: Trial) -> None:
    screen.gap()
    for device in pod.devices:
        screen.line(f"{pod.name} had {device.kind} {device.card} on {pod.node}.")

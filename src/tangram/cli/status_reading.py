"""A cluster read for a look at all of it: live, or from a file, once or again and again.

While somebody watches, an API server that is away for a moment is no reason to take the picture from them: the last
one stays, with a line that says how old it is. The first reading has nothing to fall back on and fails as any command
does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tangram.cli.clusters import Cluster, read_cluster
from tangram.cli.expectations import learned_demand
from tangram.cli.explaining import asked_of_waiting
from tangram.cli.failures import InputError
from tangram.cli.patience import SILENT_SECONDS, Patience
from tangram.cli.screen import error_console
from tangram.reports import shape
from tangram.reports.asking import Asked
from tangram.reports.status import Scene, status_of
from tangram.reports.status_shape import StatusReport
from tangram.vendors.admission import Admission

_NEVER = float("inf")


class Look(NamedTuple):
    """What was seen, and what kept us from seeing anything newer."""

    report: StatusReport
    trouble: str = ""


def cluster_reader(file: str | None, kubeconfig: Path | None) -> Callable[[Patience], Cluster]:
    """How to read the cluster of a file, or without one the live cluster."""
    if file is not None:
        return lambda patience: read_cluster(file, patience)
    # Imported here, as everything that speaks to a network: a question about files starts in half the time without.
    from tangram.cli.agents.options import connection_for  # noqa: PLC0415 - see above
    from tangram.cli.live import read_live  # noqa: PLC0415 - see above

    connection = connection_for(kubeconfig, os.environ)
    return lambda patience: read_live(connection, patience)


class Looker:
    """Reads the cluster each time it is asked."""

    def __init__(
        self, read: Callable[[Patience], Cluster], source: str, namespace: str | None = None
    ) -> None:
        self._read = read
        self._source = source
        self._namespace = namespace
        self._last: StatusReport | None = None

    def look(self) -> Look:
        """The cluster as it is now, or, when it cannot be read again, as it was last seen."""
        # A bar in the middle of a picture that is drawn again and again would be in its way.
        silent_seconds = SILENT_SECONDS if self._last is None else _NEVER
        try:
            with Patience(error_console(), silent_seconds=silent_seconds) as patience:
                self._last = _report(self._read(patience), self._source, self._namespace)
        except InputError as error:
            if self._last is None:
                raise
            return Look(self._last, str(error))
        return Look(self._last)


def _report(cluster: Cluster, source: str, namespace: str | None) -> StatusReport:
    problems = [shape.Remark(problem.code, problem.sentence) for problem in cluster.problems]
    scene = Scene(
        cluster.ledger,
        _pending(cluster),
        learned_demand(cluster, ()),
        cluster.pods,
        problems,
        source,
    )
    return status_of(scene, namespace=namespace)


def _pending(cluster: Cluster) -> list[Asked]:
    """Those that wait for cards; what other pods wait for is not our business."""
    pods = [asked_of_waiting(pod, cluster) for pod in cluster.waiting_pods]
    of_file = [(each.pod, Admission(ours=True, request=each), ()) for each in cluster.waiting_requests]
    return [*(each for each in pods if each[1].ours), *of_file]

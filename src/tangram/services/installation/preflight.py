"""Every check before an installation, in the order in which one rests upon the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from tangram.drivers.doctor.findings import Finding, Findings, Outcome, fail
from tangram.services.installation import cluster_checks, company_checks, node_checks
from tangram.services.installation.ground import Ground
from tangram.services.installation.node_reports import NodeReport

VERSION: Final = "preflight/v1"

_CHECKS: Final[tuple[Callable[[Ground], Findings], ...]] = (
    cluster_checks.kubernetes,
    node_checks.presence,
    node_checks.kubelets,
    node_checks.runtimes,
    node_checks.cdi,
    node_checks.systems,
    node_checks.architectures,
    cluster_checks.privileged,
    company_checks.neighbours,
    company_checks.installed,
    company_checks.names,
    cluster_checks.rights,
    cluster_checks.helm,
)


class Preflight(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `docs/preflight.md` promises this shape to programs."""

    tangram: str = VERSION
    server: str = ""
    """The API server; empty where a machine was looked at."""
    kubernetes: str = ""
    nodes: list[NodeReport] = []
    findings: list[Finding]

    @property
    def failed(self) -> bool:
        return any(finding.outcome is Outcome.FAIL for finding in self.findings)


def judge_ground(ground: Ground, more: Iterable[Finding] = ()) -> Preflight:
    """All findings about a cluster; `more` are those of others who looked at it."""
    if ground.unreachable:
        return Preflight(server=ground.server, findings=[unreached(ground.server, ground.unreachable)])
    return Preflight(
        server=ground.server,
        kubernetes=ground.spoken_version,
        nodes=ground.described(),
        findings=[*(finding for check in _CHECKS for finding in check(ground)), *more],
    )


def unreached(server: str, why: str) -> Finding:
    """The one finding about a cluster that nothing is known of."""
    return fail(
        "api-server",
        f"{server} cannot be asked ({why})",
        "check the address, the certificate and the account in the kubeconfig",
    )

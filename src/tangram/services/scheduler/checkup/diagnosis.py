"""Every check of a cluster, in the order in which one rests upon the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from tangram.drivers.doctor.findings import Finding, Findings, Outcome, fail
from tangram.services.scheduler.checkup import (
    configuration_checks,
    device_checks,
    device_config_checks,
    kind_checks,
    koordinator_checks,
    lock_checks,
    node_checks,
    operator_checks,
    placers,
    served_checks,
    server_checks,
    webhook_checks,
)
from tangram.services.scheduler.checkup.seeing import Scene

VERSION: Final = "cluster-doctor/v1"

_CHECKS: Final[tuple[Callable[[Scene], Findings], ...]] = (
    server_checks.version,
    node_checks.agents,
    operator_checks.operator,
    operator_checks.operator_nodes,
    operator_checks.operator_holds,
    placers.peers,
    placers.placers,
    placers.contested_names,
    placers.shared_nodes,
    device_checks.reporters,
    lock_checks.locks,
    served_checks.unserved,
    device_config_checks.device_configs,
    configuration_checks.configurations,
    webhook_checks.own_webhook,
    webhook_checks.other_webhooks,
    kind_checks.device_kind,
    device_checks.devices,
    koordinator_checks.amounts,
    koordinator_checks.switches,
    server_checks.admission_policies,
    server_checks.groups_of_pods,
    server_checks.device_classes,
)


class ClusterDiagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `docs/scheduler-config.md` promises this shape to programs."""

    tangram: str = VERSION
    server: str
    findings: list[Finding]

    @property
    def failed(self) -> bool:
        return any(finding.outcome is Outcome.FAIL for finding in self.findings)


def diagnose_cluster(scene: Scene) -> ClusterDiagnosis:
    """All findings about what was seen."""
    if scene.unreachable:
        unreached = fail(
            "api-server",
            f"{scene.server} cannot be asked ({scene.unreachable})",
            "check the address, the certificate and the account in the kubeconfig",
        )
        return ClusterDiagnosis(server=scene.server, findings=[unreached])
    return ClusterDiagnosis(
        server=scene.server, findings=[finding for check in _CHECKS for finding in check(scene)]
    )

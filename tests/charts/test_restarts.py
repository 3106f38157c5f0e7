"""Which pods a changed option starts anew: those that cannot follow it while they run, and no others."""

import json

import pytest

from builders.charts.cases import CHARTS, Case, case_named, cases, leaves
from builders.charts.goldens import Object, objects_of
from builders.charts.reading import labels_of, of_kind, pod_of

EVERYBODY = {"scheduler", "gpu-device", "gpu-label", "gpu-aware", "operator-controller"}
NOBODY: set[str] = set()
NODES = {"gpu-device", "gpu-label", "gpu-aware", "operator-controller"}
CONTROLLER = {"operator-controller"}
SCHEDULER = {"scheduler"}
RESTARTED: dict[str, set[str]] = {
    "registry": EVERYBODY,
    "pullPolicy": EVERYBODY,
    "imagePullSecrets": EVERYBODY,
    "deployExtenderGPUAware": NOBODY,
    "log.dir": NODES,
    "log.level": EVERYBODY,
    "log.format": EVERYBODY,
    "log.rotationTime": NODES,
    "log.maxAge": NODES,
    # Which resources bring a pod to the scheduler stands in a file that kube-scheduler reads once.
    **dict.fromkeys(
        ("devices.metax.enabled", "devices.mthreads.enabled", "device.mthreads.enabled"),
        SCHEDULER | {"gpu-device", "gpu-label"},
    ),
    "the-command-of-hamis-page": SCHEDULER,
    # Whose account is an agent's is an argument of the scheduler's.
    "gpuDevice.enabled": SCHEDULER,
    "gpuDevice.healthyInterval": {"gpu-device"},
    "gpuDevice.driver": {"gpu-device"},
    "gpuDevice.configNamespace": {"gpu-device"},
    "gpuDevice.deviceConfig": NOBODY,
    "gpuDevice.nodeSelector": {"gpu-device"},
    "gpuDevice.mthreadsComputePolicy": {"gpu-device"},
    "gpuDevice.log": {"gpu-device"},
    "gpuDevice.resources": {"gpu-device"},
    "gpuLabel.enabled": NOBODY,
    "gpuLabel.driver": {"gpu-label"},
    "gpuLabel.productNames": {"gpu-label"},
    "gpuLabel.driverMode": {"gpu-label"},
    "gpuLabel.log": {"gpu-label"},
    "gpuLabel.resources": {"gpu-label"},
    "gpuAware.scoreWeight": NOBODY,
    "gpuAware.lossWeight": NOBODY,
    "gpuAware.aliasNamespace": {"gpu-aware"},
    "gpuAware.log": {"gpu-aware"},
    "gpuAware.resources": {"gpu-aware"},
    "cleanup.enabled": NOBODY,
    "scheduler.enabled": NOBODY,
    "scheduler.replicas": NOBODY,
    "scheduler.name": SCHEDULER,
    "scheduler.profiles.hami": SCHEDULER,
    "scheduler.profiles.koordinator": SCHEDULER,
    "scheduler.config": NOBODY,
    "scheduler.deviceConfig": SCHEDULER,
    "scheduler.deviceConfig.memoryPerCard": NOBODY,
    "scheduler.trustedAccounts": NOBODY,
    "scheduler.trustedAgentAccounts": SCHEDULER,
    "scheduler.legacyMetrics": SCHEDULER,
    "scheduler.nodeSelector": SCHEDULER,
    "scheduler.tolerations": SCHEDULER,
    "scheduler.log": SCHEDULER,
    "scheduler.resources": SCHEDULER,
    "scheduler.kubeScheduler.enabled": SCHEDULER,
    "scheduler.kubeScheduler.image": SCHEDULER,
    "scheduler.kubeScheduler.resources": SCHEDULER,
    "scheduler.webhook.failurePolicy": NOBODY,
    "scheduler.webhook.ignoreNamespaces": NOBODY,
    "certificates.cert-manager": SCHEDULER,
    "certificates.secret": SCHEDULER,
    "dashboard": {"dashboard"},
    "dashboard.enabled": NOBODY,
    "dashboard.certificates.secret": SCHEDULER | {"dashboard"},
    "dashboard.with-monitor": NOBODY,
    "monitoring.serviceMonitor.enabled": NOBODY,
    "monitoring.serviceMonitor.labels": NOBODY,
    "monitoring.serviceMonitor.interval": NOBODY,
    "monitoring.serviceMonitor.with-gpu-aware": NOBODY,
    "monitoring.dashboards.enabled": NOBODY,
    "monitoring.dashboards.labels": NOBODY,
    "monitoring.rules.enabled": NOBODY,
    "monitoring.rules.labels": NOBODY,
    "monitoring.rules.runbooks": NOBODY,
    # What the operator is asked for stands in its object, which it follows.
    **dict.fromkeys(("driver", "maca", "runtime", "gpuScheduler"), NOBODY),
    "operator.replicas": NOBODY,
    "operator.nodeSelector": CONTROLLER,
    "operator.tolerations": CONTROLLER,
    "operator.log": CONTROLLER,
    "operator.resources": CONTROLLER,
    "cleanup.timeoutSeconds": NOBODY,
    "release-with-a-generated-name": NOBODY,
}

ELSEWHERE = ("kubernetes-", "namespace-")
"""Cases that are other clusters or other places, to which nobody upgrades."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{case.chart}-{case.name}")
        for chart in CHARTS
        for case in cases(chart)
        if case.on and not case.name.startswith(ELSEWHERE)
    ],
)
def test_a_change_restarts_only_what_cannot_follow_it(case: Case) -> None:
    under = templates(objects_of(case_named(case.chart, case.on)))
    now = templates(objects_of(case))
    changed = {part for part, template in now.items() if part in under and under[part] != template}
    assert changed == expected(case) & now.keys()


def expected(case: Case) -> set[str]:
    """What the table says of the case, or else of the options that it sets."""
    if case.name in RESTARTED:
        return RESTARTED[case.name]
    return {part for path, _ in leaves(case.values) for part in RESTARTED[told_about(path)]}


def told_about(option: str) -> str:
    while option not in RESTARTED:
        option, dot, _ = option.rpartition(".")
        assert dot, f"the table says nothing of {option}"
    return option


def templates(objects: list[Object]) -> dict[str, str]:
    return {
        labels_of(each)["app.kubernetes.io/component"]: json.dumps(pod_of(each), sort_keys=True)
        for each in of_kind(objects, "Deployment", "DaemonSet")
    }

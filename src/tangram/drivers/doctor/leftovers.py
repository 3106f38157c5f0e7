"""Parts of the vendors' own stacks on this node that are no longer needed, or that decide the same things twice.

They are found by the names kubelet gives to pods' log folders and by the names of static pods, so no API server has to
be asked. What runs on other nodes is not seen from here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tangram.drivers.doctor.findings import Findings, ok, skip, warn
from tangram.drivers.doctor.machine import Machine

POD_LOGS: Final = "/var/log/pods"
STATIC_PODS: Final = "/etc/kubernetes/manifests"


class _Part(NamedTuple):
    prefix: str
    why: str
    todo: str


_WEBHOOK = "it rewrites the same pods that Tangram's webhook does"
_SCHEDULER = "it places the same pods that Tangram's scheduler does"
_PARTS: Final = (
    _Part("mt-mutating-webhook", _WEBHOOK, "remove it; Tangram's webhook does its work"),
    _Part("mt-gpu-webhook", _WEBHOOK, "set spec.gpuWebhook.enabled to false in the vendor's ClusterPolicy"),
    _Part(
        "mt-gpu-scheduler", _SCHEDULER, "set spec.gpuScheduler.enabled to false in the vendor's ClusterPolicy"
    ),
    _Part(
        "metax-gpu-aware",
        _SCHEDULER,
        "take the extender out of the scheduler's configuration, then remove it",
    ),
    _Part("metax-gpu-scheduler", _SCHEDULER, "remove it, or do not run Tangram's scheduler"),
    _Part("hami-scheduler", _SCHEDULER, "remove it once no pod names it, or do not run Tangram's scheduler"),
)


def vendor_parts(machine: Machine) -> Findings:
    """Each such part that runs, or has run, on this node."""
    if not machine.exists(POD_LOGS) and not machine.exists(STATIC_PODS):
        yield skip("vendor-components", f"{POD_LOGS} is not here, so pods of this node are not known")
        return
    pods = {name.split("_")[1] for name in machine.names(POD_LOGS) if name.count("_") == 2}
    pods |= {name.rpartition(".")[0] for name in machine.names(STATIC_PODS)}
    found = False
    for part in _PARTS:
        running = sorted(pod for pod in pods if pod.startswith(part.prefix))
        if running:
            found = True
            yield warn(
                "vendor-components",
                f"{running[0]} runs on this node: {part.why}",
                part.todo,
            )
    if not found:
        yield ok("vendor-components", "none of the vendors' webhooks and schedulers runs on this node")

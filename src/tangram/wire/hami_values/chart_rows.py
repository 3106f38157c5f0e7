"""Values of HAMi's chart about what stands around its scheduler: webhook, certificate, Service, names, metrics."""

from __future__ import annotations

from typing import Final

from tangram.wire.hami_values.rows import Kind, Outcome, Row, mapped, not_needed, not_supported
from tangram.wire.hami_values.scheduler_rows import METRICS

_HOOK = "scheduler.admissionWebhook"
_SELECTORS = (
    "The API server asks only about pods that name a resource of cards. Leave namespaces out with "
    "scheduler.webhook.ignoreNamespaces, or namespaces and pods with the label hami.io/webhook: ignore."
)
_SERVICE = "The API server finds the webhook by its Service, and nothing needs a port of the nodes."
_NO_VALUE = "The chart has no value for it."
_NAMED = "Objects are called tangram-..., whatever the release is called."
_NEVER_READ = "HAMi's scheduler never reads it either."

WEBHOOK: Final = (
    not_supported(
        f"{_HOOK}.enabled",
        f"The webhook is what completes and refuses pods, and is always there. {_SELECTORS}",
        usual=(True,),
        kind=Kind.FLAG,
    ),
    not_supported(
        f"{_HOOK}.customURL.enabled",
        "The API server finds the webhook by its Service.",
        usual=(False,),
        kind=Kind.FLAG,
    ),
    *(
        not_needed(f"{_HOOK}.customURL.{word}", "It says nothing without customURL.enabled.", usual=(usual,))
        for word, usual in (("host", "127.0.0.1"), ("port", 31998), ("path", "/webhook"))
    ),
    mapped(f"{_HOOK}.whitelistNamespaces", "scheduler.webhook.ignoreNamespaces", Kind.NAMES),
    not_supported(f"{_HOOK}.manageNamespaceSelector", _SELECTORS, usual=(True,), kind=Kind.FLAG),
    *(
        not_supported(f"{_HOOK}.{selector}.{word}", _SELECTORS)
        for selector in ("namespaceSelector", "objectSelector")
        for word in ("matchLabels", "matchExpressions")
    ),
    not_needed(
        f"{_HOOK}.reinvocationPolicy",
        "The webhook is always asked again after others have changed a pod.",
        usual=("Never",),
    ),
    mapped(
        f"{_HOOK}.failurePolicy",
        "scheduler.webhook.failurePolicy",
        Kind.TEXT,
        usual=("Ignore",),
        if_usual="Ignore is HAMi's usual word, since its webhook is asked about every pod. From Kubernetes 1.30 on "
        "ours is asked about pods with cards alone, and Fail keeps them from being placed unseen. Write "
        "scheduler.webhook.failurePolicy: Ignore if you want that.",
    ),
    Row(
        key="scheduler.certManager.enabled",
        way=Outcome.MAPPED,
        here="certificates.source",
        kind=Kind.FLAG,
        usual=(False,),
        becomes="cert-manager",
        remark="Say with certificates.issuerRef which Issuer signs; HAMi's chart makes one of its own.",
    ),
    not_needed("scheduler.patch", "The scheduler makes and renews its own certificate; no Job has to."),
)
AROUND: Final = (
    not_needed("scheduler.service.type", _SERVICE, usual=("NodePort", "ClusterIP")),
    not_needed("scheduler.service.httpPort", _SERVICE, usual=(443,)),
    not_needed("scheduler.service.httpTargetPort", _SERVICE, usual=(443, 9443)),
    not_needed("scheduler.service.schedulerPort", _SERVICE, usual=(31998,)),
    not_supported("scheduler.service.monitorPort", METRICS, usual=(31993,)),
    not_supported("scheduler.service.monitorTargetPort", METRICS, usual=(9395, "metrics")),
    not_supported("scheduler.service.labels", _NO_VALUE),
    not_supported("scheduler.service.annotations", _NO_VALUE),
    not_supported(
        "scheduler.networkPolicy.enabled",
        "docs/security.md has a NetworkPolicy to apply.",
        usual=(False,),
        kind=Kind.FLAG,
    ),
    mapped("legacyMetrics", "scheduler.legacyMetrics", Kind.FLAG, usual=(False,)),
    mapped("prometheus.enabled", "monitoring.serviceMonitor.enabled", Kind.FLAG, usual=(False,)),
    not_supported("global.labels", _NO_VALUE),
    not_supported("global.annotations", _NO_VALUE),
    not_needed("global.managedNodeSelectorEnable", _NEVER_READ, usual=(False,)),
    not_needed("global.managedNodeSelector", _NEVER_READ, usual=({"usage": "gpu"},)),
    not_needed("nameOverride", _NAMED),
    not_needed("fullnameOverride", _NAMED),
    not_needed("namespaceOverride", "Everything is in the release's namespace: helm's -n."),
    not_needed("podSecurityPolicy", "Kubernetes has it no more.", usual=({"enabled": False},)),
    not_supported(
        "platform.openshift",
        "The chart makes no SecurityContextConstraints; grant the account tangram-gpu-device the privileged ones.",
        usual=(False,),
        kind=Kind.FLAG,
    ),
)

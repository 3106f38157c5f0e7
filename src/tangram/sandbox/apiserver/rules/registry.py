"""Which rules hold for which kind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.rules import (
    cluster,
    config,
    cronjobs,
    events,
    extending,
    jobs,
    policy,
    quotas,
    services,
    storage,
    workloads,
)
from tangram.sandbox.apiserver.rules.cluster import NamespaceRules
from tangram.sandbox.apiserver.rules.pod_rules import PodRules
from tangram.sandbox.apiserver.rules.ruling import KindRules, Rules, Ruling

_CORE: Final[Mapping[str, Ruling]] = {
    "Node": cluster.NODE,
    "Binding": cluster.BINDING,
    "ConfigMap": config.CONFIG_MAP,
    "Secret": config.SECRET,
    "Service": services.SERVICE,
    "Endpoints": services.ENDPOINTS,
    "Event": events.EVENT,
    "LimitRange": quotas.LIMITS,
    "ResourceQuota": quotas.QUOTA,
    "PersistentVolume": storage.VOLUME,
    "PersistentVolumeClaim": storage.CLAIM,
    **workloads.RULINGS,
}
_OTHERS: Final[Mapping[str, Ruling]] = {
    **workloads.RULINGS,
    "Job": jobs.JOB,
    "CronJob": cronjobs.CRON_JOB,
    "Lease": cluster.LEASE,
    "Event": events.NEWER_EVENT,
    "EndpointSlice": services.SLICE,
    "PodDisruptionBudget": policy.BUDGET,
    "PriorityClass": policy.PRIORITY,
    "RuntimeClass": policy.RUNTIME,
    "Role": policy.ROLE,
    "ClusterRole": policy.CLUSTER_ROLE,
    "RoleBinding": policy.ROLE_BINDING,
    "ClusterRoleBinding": policy.CLUSTER_ROLE_BINDING,
    "StorageClass": storage.CLASS,
    "MutatingWebhookConfiguration": extending.MUTATING,
    "ValidatingWebhookConfiguration": extending.VALIDATING,
    "CustomResourceDefinition": extending.DEFINITION,
}


@cache
def rules_of(kind: Kind) -> Rules:
    """The rules of a kind; one that is not known by name has a name, labels and little else to be wrong about."""
    if not kind.group and kind.kind == "Pod":
        return PodRules(kind)
    if not kind.group and kind.kind == "Namespace":
        return NamespaceRules(kind)
    known = _OTHERS if kind.group else _CORE
    return KindRules(kind, known.get(kind.kind, Ruling()))

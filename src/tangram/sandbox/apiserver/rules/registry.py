"""Which rules hold for which kind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.rules.cluster import BINDING, LEASE, NODE, NamespaceRules
from tangram.sandbox.apiserver.rules.config import CONFIG_MAP, SECRET
from tangram.sandbox.apiserver.rules.cronjobs import CRON_JOB
from tangram.sandbox.apiserver.rules.daemonsets import DAEMON_SET
from tangram.sandbox.apiserver.rules.definitions import DEFINITION
from tangram.sandbox.apiserver.rules.deployments import DEPLOYMENT, REPLICA_SET, REPLICATION_CONTROLLER
from tangram.sandbox.apiserver.rules.endpoints import ENDPOINTS, SLICE
from tangram.sandbox.apiserver.rules.events import EVENT, NEWER_EVENT
from tangram.sandbox.apiserver.rules.jobs import JOB
from tangram.sandbox.apiserver.rules.pod_rules import PodRules
from tangram.sandbox.apiserver.rules.policy import BUDGET, PRIORITY, RUNTIME
from tangram.sandbox.apiserver.rules.quotas import LIMITS, QUOTA
from tangram.sandbox.apiserver.rules.rights import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from tangram.sandbox.apiserver.rules.ruling import KindRules, Rules, Ruling
from tangram.sandbox.apiserver.rules.services import SERVICE
from tangram.sandbox.apiserver.rules.statefulsets import POD_TEMPLATE, REVISION, STATEFUL_SET
from tangram.sandbox.apiserver.rules.storage import CLAIM, CLASS, VOLUME
from tangram.sandbox.apiserver.rules.webhooks import MUTATING, VALIDATING

_CORE: Final[Mapping[str, Ruling]] = {
    "Node": NODE,
    "Binding": BINDING,
    "ConfigMap": CONFIG_MAP,
    "Secret": SECRET,
    "Service": SERVICE,
    "Endpoints": ENDPOINTS,
    "Event": EVENT,
    "LimitRange": LIMITS,
    "ResourceQuota": QUOTA,
    "PersistentVolume": VOLUME,
    "PersistentVolumeClaim": CLAIM,
    "PodTemplate": POD_TEMPLATE,
    "ReplicationController": REPLICATION_CONTROLLER,
}
_OTHERS: Final[Mapping[str, Ruling]] = {
    "Deployment": DEPLOYMENT,
    "ReplicaSet": REPLICA_SET,
    "DaemonSet": DAEMON_SET,
    "StatefulSet": STATEFUL_SET,
    "ControllerRevision": REVISION,
    "Job": JOB,
    "CronJob": CRON_JOB,
    "Lease": LEASE,
    "Event": NEWER_EVENT,
    "EndpointSlice": SLICE,
    "PodDisruptionBudget": BUDGET,
    "PriorityClass": PRIORITY,
    "RuntimeClass": RUNTIME,
    "Role": ROLE,
    "ClusterRole": CLUSTER_ROLE,
    "RoleBinding": ROLE_BINDING,
    "ClusterRoleBinding": CLUSTER_ROLE_BINDING,
    "StorageClass": CLASS,
    "MutatingWebhookConfiguration": MUTATING,
    "ValidatingWebhookConfiguration": VALIDATING,
    "CustomResourceDefinition": DEFINITION,
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

"""Where objects of each kind live on an API server: the one table from which every address here is made."""

from __future__ import annotations

from typing import Final, NamedTuple

from tangram.kube.objects import Key, Object


class Resource(NamedTuple):
    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    def collection(self, namespace: str = "") -> str:
        """The address of all objects, or of those in one namespace."""
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"

    def path(self, key: Key) -> str:
        return f"{self.collection(key.namespace)}/{key.name}"

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    def reference(self, owner: Object) -> Object:
        """The reference by which a controller marks what it made."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }


PODS: Final = Resource("v1", "Pod", "pods")
NODES: Final = Resource("v1", "Node", "nodes", namespaced=False)
NAMESPACES: Final = Resource("v1", "Namespace", "namespaces", namespaced=False)
CONFIG_MAPS: Final = Resource("v1", "ConfigMap", "configmaps")
SERVICE_ACCOUNTS: Final = Resource("v1", "ServiceAccount", "serviceaccounts")
VOLUME_CLAIMS: Final = Resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
RESOURCE_QUOTAS: Final = Resource("v1", "ResourceQuota", "resourcequotas")
REPLICATION_CONTROLLERS: Final = Resource("v1", "ReplicationController", "replicationcontrollers")
DEPLOYMENTS: Final = Resource("apps/v1", "Deployment", "deployments")
REPLICA_SETS: Final = Resource("apps/v1", "ReplicaSet", "replicasets")
DAEMON_SETS: Final = Resource("apps/v1", "DaemonSet", "daemonsets")
STATEFUL_SETS: Final = Resource("apps/v1", "StatefulSet", "statefulsets")
REVISIONS: Final = Resource("apps/v1", "ControllerRevision", "controllerrevisions")
JOBS: Final = Resource("batch/v1", "Job", "jobs")
CRON_JOBS: Final = Resource("batch/v1", "CronJob", "cronjobs")
BUDGETS: Final = Resource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
LEASES: Final = Resource("coordination.k8s.io/v1", "Lease", "leases")
CLUSTER_ROLES: Final = Resource(
    "rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False
)
DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)

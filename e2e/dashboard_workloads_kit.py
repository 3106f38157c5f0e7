"""Pods, and one object of every kind that makes some, each asking for cards in one container."""

from collections.abc import Mapping

from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, pod

KINDS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
MADE_BY = "made-by"


def card_pod(name: str, namespace: str, limits: Mapping[str, str | int]) -> Object:
    made = pod(name, container(limits=limits))
    made["metadata"]["namespace"] = namespace
    return made


def workload(kind: str, namespace: str, limits: Mapping[str, str | int]) -> Object:
    """It is called like its kind. A CronJob is not due: somebody has to start it."""
    labels = {MADE_BY: kind.lower()}
    own = {"restartPolicy": "Never"} if kind in ("Job", "CronJob") else {}
    template: Object = {
        "metadata": {"labels": labels},
        "spec": {"containers": [container(limits=limits)], "terminationGracePeriodSeconds": 1, **own},
    }
    chosen = {"selector": {"matchLabels": labels}, "template": template}
    specs: Mapping[str, Object] = {
        "Deployment": {**chosen, "replicas": 1},
        "StatefulSet": {**chosen, "replicas": 1, "serviceName": "none"},
        "DaemonSet": chosen,
        "Job": {"template": template},
        "CronJob": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": template}}},
    }
    return {
        "apiVersion": "batch/v1" if kind in ("Job", "CronJob") else "apps/v1",
        "kind": kind,
        "metadata": {"name": kind.lower(), "namespace": namespace},
        "spec": specs[kind],
    }


async def pods_made_by(cluster: Cluster, kind: str, namespace: str) -> list[str]:
    """Once there are some."""
    chosen = f"{MADE_BY}={kind.lower()}"
    await cluster.kubectl("wait", "--for=create", "pods", "-l", chosen, "-n", namespace, "--timeout=30s")
    found = await cluster.api.list(path_of("Pod", namespace=namespace), labelSelector=chosen)
    return [one["metadata"]["name"] for one in found if "deletionTimestamp" not in one["metadata"]]

"""A namespace in which a test may register webhooks and policies that refuse everything, and hurt nobody else."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from e2e.scheduling_kit import NOBODY, fleet_pod, poll_until, remove
from testbed.api import Api, ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.webhook import ScriptedWebhook

ADMISSION = "admissionregistration.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Court:
    """A namespace of its own and a webhook that may be registered for it."""

    cluster: Cluster
    webhook: ScriptedWebhook
    namespace: str

    @property
    def api(self) -> Api:
        return self.cluster.api

    def path(self, name: str) -> str:
        return path_of("Pod", name, namespace=self.namespace)

    async def create(self, name: str, **query: str) -> Object:
        made = fleet_pod(name, scheduler=NOBODY)
        made["metadata"]["namespace"] = self.namespace
        return await self.api.create(made, **query)

    def rule(self, *resources: str) -> Object:
        return {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": list(resources),
        }

    def hook(self, name: str, *resources: str, only: str = "", **more: object) -> Object:
        """One webhook of a configuration: it sees these resources in this namespace, or one object of them."""
        condition = {"name": "only", "expression": f"object.metadata.name == '{only}'"}
        return {
            "name": f"{name}.example.com",
            "clientConfig": self.webhook.client(name),
            "rules": [self.rule(*(resources or ("pods",)))],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "matchConditions": [condition] if only else [],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 30,
            "failurePolicy": "Fail",
            **more,
        }

    @asynccontextmanager
    async def registered(self, kind: str, *hooks: Object) -> AsyncGenerator[None]:
        """The webhooks in force. Once in a test: nothing tells when a configuration has ceased to be in force."""
        probe = f"{self.namespace}-probe"
        metadata = {"name": self.namespace}
        await self.api.create(
            {
                "apiVersion": ADMISSION,
                "kind": kind,
                "metadata": metadata,
                "webhooks": [self.hook(probe, only="probe"), *hooks],
            }
        )

        async def asked() -> bool:
            await self.create("probe", dryRun="All")
            return bool(self.webhook.reviews(probe))

        try:
            await poll_until(asked, what="the webhook's being asked")
            yield
        finally:
            await self.api.delete(path_of(kind, self.namespace, version=ADMISSION))


@asynccontextmanager
async def own_court(cluster: Cluster, webhook: ScriptedWebhook, name: str) -> AsyncGenerator[Court]:
    """A new namespace, emptied and deleted afterwards."""
    api = cluster.api
    await api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    metadata = {"name": "default", "namespace": name}
    try:
        await api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    except ApiRefused as refused:
        # The controllers make it too.
        if refused.reason != "AlreadyExists":
            raise
    try:
        yield Court(cluster, webhook, name)
    finally:
        left = await api.list(path_of("Pod", namespace=name))
        await remove(cluster, [one["metadata"]["name"] for one in left], namespace=name)
        # Its end takes seconds, and nobody needs to wait for it.
        await api.delete(path_of("Namespace", name))

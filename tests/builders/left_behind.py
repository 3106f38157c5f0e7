"""A cluster after an uninstallation: nodes as our services leave them, on an API server that keeps who wrote what."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tangram.kube.api import STRATEGIC_PATCH, Api
from tangram.kube.connection import Connection
from tangram.sandbox.apiserver.server import Running, serving_api
from tangram.wire.koordinator.definition import device_definition

Object = dict[str, Any]
NODES = "/api/v1/nodes"
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
SECRET = "/api/v1/namespaces/kube-system/secrets/tangram-scheduler-tls"  # noqa: S105 - where it is
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/tangram-scheduler"
LABELS = {"metax-tech.com/gpu.installed": "true", "metax-tech.com/driver.ready": "true"}
ANNOTATIONS = {
    "tangram.dev/agent": "stopping",
    "tangram.dev/node-inventory": "{}",
    "metax-tech.com/node-gpu-devices": "[]",
}
AMOUNTS = {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu.shared": "16"}
CONDITION = {"type": "GpuModeChangePending", "status": "False", "reason": "ModesInForce"}


class LeftBehind:
    """Hands on that API server: the administrator's, and those of whoever is named."""

    def __init__(self, running: Running, api: Api) -> None:
        self.running = running
        self.api = api

    @property
    def connection(self) -> Connection:
        return self.running.connection()

    def kubeconfig(self, folder: Path) -> Path:
        """A file by which a command finds the server."""
        authority = base64.b64encode(self.running.issued.authority).decode()
        config = {
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [
                {
                    "name": "it",
                    "cluster": {"server": self.running.address, "certificate-authority-data": authority},
                }
            ],
            "users": [{"name": "it", "user": {"token": self.running.token}}],
        }
        file = folder / "kubeconfig"
        file.write_text(json.dumps(config), "utf-8")
        return file

    async def node(self, name: str = "gpu-1", labels: Mapping[str, str] | None = None) -> Object:
        """A machine that nobody of ours has been at."""
        said = {"kubernetes.io/hostname": name, **(labels or {})}
        return await self.api.create(
            NODES,
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": name,
                    "labels": said,
                    "annotations": {"volumes.kubernetes.io/x": "true"},
                },
            },
        )

    async def writes(self, who: str, node: str, **metadata: Mapping[str, str | None]) -> Object:
        """Somebody changes labels or annotations of a node."""
        return await self.api.merge(f"{NODES}/{node}", {"metadata": metadata}, fieldManager=who)

    async def states(self, who: str, node: str, amounts: Mapping[str, str]) -> Object:
        """Somebody says how much there is of something."""
        said = {"status": {"capacity": dict(amounts), "allocatable": dict(amounts)}}
        return await self.api.merge(f"{NODES}/{node}/status", said, fieldManager=who)

    async def served(self, name: str = "gpu-1") -> Object:
        """A node as our services leave it."""
        await self.node(name)
        await self.writes("tangram-gpu-label", name, labels=LABELS)
        await self.writes("tangram-gpu-device", name, annotations=ANNOTATIONS)
        await self.states("kubelet", name, {"metax-tech.com/sgpu": "0", "cpu": "4"})
        applied = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"capacity": AMOUNTS, "allocatable": AMOUNTS},
        }
        await self.api.apply(f"{NODES}/{name}/status", applied, "tangram-gpu-device")
        return await self.api.call(
            "PATCH",
            f"{NODES}/{name}/status",
            {"status": {"conditions": [CONDITION]}},
            content=STRATEGIC_PATCH,
            query={"fieldManager": "tangram-gpu-device"},
        )

    async def describes(self, who: str, node: str, card: str = "") -> Object:
        """Somebody describes a node's cards to Koordinator."""
        device = {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "Device",
            "metadata": {"name": node},
            "spec": {"devices": [{"type": "gpu", "id": card or who, "minor": 0, "health": True}]},
        }
        return await self.api.apply(f"{DEVICES}/{node}", device, who)

    async def knows_devices(self) -> None:
        await self.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", device_definition())

    async def keeps(self, who: str = "tangram-scheduler") -> None:
        """The Secret and the Lease of a scheduler."""
        home = SECRET.rpartition("/")[0]
        secret = {"metadata": {"name": "tangram-scheduler-tls"}, "data": {"ca.crt": "Q0E="}}
        await self.api.create(home, {"apiVersion": "v1", "kind": "Secret", **secret}, fieldManager=who)
        lease = {"metadata": {"name": "tangram-scheduler"}, "spec": {"holderIdentity": "one"}}
        await self.api.create(
            LEASE.rpartition("/")[0], {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **lease}
        )

    async def agent(
        self,
        role: str = "gpu-device",
        node: str = "gpu-1",
        *,
        chart: str = "",
        namespace: str = "kube-system",
    ) -> Object:
        """A pod of ours that runs, of a chart or of nobody's."""
        labels = {"app.kubernetes.io/name": chart} if chart else {}
        return await self.pod(f"{role}-{node}", namespace, node, labels=labels, command=["tangram", role])

    async def pod(
        self,
        name: str,
        namespace: str,
        node: str,
        *,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        command: list[str] | None = None,
        image: str = "tangram:1",
    ) -> Object:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})},
            "spec": {
                "nodeName": node,
                "containers": [{"name": "it", "image": image, "command": command or ["sleep", "1"]}],
            },
        }
        return await self.api.create(f"/api/v1/namespaces/{namespace}/pods", pod)

    async def get(self, node: str = "gpu-1") -> Object:
        return await self.api.get(f"{NODES}/{node}")


@asynccontextmanager
async def left_behind() -> AsyncGenerator[LeftBehind]:
    async with serving_api() as running, Api(running.connection(), agent="administrator") as api:
        for name in ("kube-system", "default", "metax"):
            if not [
                each for each in await api.list_all("/api/v1/namespaces") if each["metadata"]["name"] == name
            ]:
                await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        yield LeftBehind(running, api)

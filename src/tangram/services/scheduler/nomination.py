"""A nomination: the hint by which kube-scheduler tries one node before all others."""

from __future__ import annotations

from tangram.kube.api import Api
from tangram.model.pods import PodRef
from tangram.units.ids import NodeName


async def nominate(api: Api, pod: PodRef, node: NodeName) -> None:
    """Name the node on the pod, and on no other pod of its name. Raises `ApiError` and `ApiUnreachable`."""
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
    await api.merge(path, {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node}})

"""What making room asks of the API server: that a pod goes, that it could go, that another is expected on a node.

Only the eviction API is used, never a deletion: it respects every budget, gives a pod its time to end, and marks it as
disrupted, so that a Job does not count it as failed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Literal

from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, TOO_MANY_REQUESTS, ApiError, ApiUnreachable
from tangram.model.pods import PodRef
from tangram.services.scheduler.nomination import nominate
from tangram.units.ids import NodeName

_log = logging.getLogger(__name__)

Counted = Callable[[Literal["done", "budget", "gone", "failed"]], None]
Wrote = Callable[[Literal["eviction", "nomination"]], None]


class Orders:
    def __init__(self, api: Api, counted: Counted, wrote: Wrote) -> None:
        self._api = api
        self._counted = counted
        self._wrote = wrote

    async def all_may_go(self, pods: Iterable[PodRef]) -> bool:
        """Ask for every eviction without meaning it: one that would be refused stops all."""
        for pod in pods:
            if await self._ask_to_go(pod, dry_run=True) == "budget":
                return False
        return True

    async def evict(self, pod: PodRef) -> bool:
        """Whether the pod goes, or is gone. Raises `ApiError` and `ApiUnreachable`."""
        self._wrote("eviction")
        try:
            outcome = await self._ask_to_go(pod)
        except (ApiError, ApiUnreachable):
            self._counted("failed")
            raise
        self._counted(outcome)
        return outcome != "budget"

    async def nominate(self, pod: PodRef, node: NodeName) -> None:
        """A hint to kube-scheduler and to people; that it could not be written changes nothing."""
        self._wrote("nomination")
        try:
            await nominate(self._api, pod, node)
        except (ApiError, ApiUnreachable) as error:
            _log.info("pod %s could not be nominated: %s", pod, error)

    async def _ask_to_go(self, pod: PodRef, *, dry_run: bool = False) -> Literal["done", "budget", "gone"]:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}, **({"dryRun": ["All"]} if dry_run else {})},
        }
        query = {"dryRun": "All"} if dry_run else {}
        try:
            await self._api.create(
                f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction", body, **query
            )
        except ApiError as error:
            if error.status == TOO_MANY_REQUESTS:
                return "budget"
            if error.status != NOT_FOUND:
                raise
            return "gone"
        return "done"

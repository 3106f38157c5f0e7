"""What making room asks of the API server: that a pod goes, that it could go, that another is expected on a node.

How a pod is asked to go is `kube.eviction`'s; here is what the scheduler counts and tries before it means it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Literal

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.eviction import Going, ask_to_go
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
            if (await ask_to_go(self._api, pod, dry_run=True)).outcome is Going.BUDGET:
                return False
        return True

    async def evict(self, pod: PodRef) -> bool:
        """Whether the pod goes, or is gone. Raises `ApiError` and `ApiUnreachable`."""
        self._wrote("eviction")
        try:
            outcome = (await ask_to_go(self._api, pod)).outcome
        except (ApiError, ApiUnreachable):
            self._counted("failed")
            raise
        self._counted(outcome.value)
        return outcome is not Going.BUDGET

    async def nominate(self, pod: PodRef, node: NodeName) -> None:
        """A hint to kube-scheduler and to people; that it could not be written changes nothing."""
        self._wrote("nomination")
        try:
            await nominate(self._api, pod, node)
        except (ApiError, ApiUnreachable) as error:
            _log.info("pod %s could not be nominated: %s", pod, error)

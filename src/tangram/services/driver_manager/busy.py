"""Who holds cards of this node: asked of the kubelet, which alone knows, and of the API server about the ended.

The kubelet lists what a pod was given until it has tidied up after it, which for one that has ended may take until
another pod asks. So whoever it names is looked up: a pod that has ended, by its phase, holds nothing any more. One that
the API server does not know may still be ending, and counts. No answer, from either, counts as held by somebody.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Protocol

from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.kubelet.podresources import KubeletSilent, PodResourcesClient
from tangram.services.driver_manager.facts import Busy
from tangram.wire import loose

DOMAIN: Final = "metax-tech.com/"
SOCKET: Final = "/var/lib/kubelet/pod-resources/kubelet.sock"
ANSWER_S: Final = 5.0
_ENDED: Final = ("Succeeded", "Failed")


class AsksBusy(Protocol):
    async def __call__(self) -> Busy: ...


class Holders:
    """Asks both. `close` it in the end."""

    def __init__(self, api: Api, socket: Path) -> None:
        self._api = api
        self._client = PodResourcesClient(socket)

    async def __call__(self) -> Busy:
        try:
            held = await self._client.held(ANSWER_S)
        except KubeletSilent as error:
            return Busy(trouble=str(error))
        pods = sorted({(each.namespace, each.pod) for each in held if each.resource.startswith(DOMAIN)})
        found: list[str] = []
        for namespace, pod in pods:
            try:
                ended = await self._has_ended(namespace, pod)
            except (ApiError, ApiUnreachable) as error:
                return Busy(trouble=f"pod {namespace}/{pod} cannot be looked up: {error}")
            if not ended:
                found.append(f"{namespace}/{pod}")
        return Busy(pods=tuple(found))

    async def close(self) -> None:
        await self._client.close()

    async def _has_ended(self, namespace: str, pod: str) -> bool:
        try:
            thing = await self._api.get(f"/api/v1/namespaces/{namespace}/pods/{pod}")
        except ApiError as error:
            if error.status == NOT_FOUND:
                return False
            raise
        status = loose.members(thing.get("status"))
        states = (
            loose.members(loose.members(each).get("state"))
            for each in loose.elements(status.get("containerStatuses"))
        )
        # Kubelets before 1.27 call a pod failed that they evict, while its containers are still ending.
        return loose.text(status.get("phase")) in _ENDED and not any("running" in each for each in states)

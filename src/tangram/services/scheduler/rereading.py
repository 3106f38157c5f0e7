"""The pods of one node, asked for again: what the copy of all pods does not know yet, or read against other cards."""

from __future__ import annotations

from typing import Final

from tangram.kube.api import Api
from tangram.kube.informer import Change, Key
from tangram.services.scheduler.state import State
from tangram.units.ids import NodeName
from tangram.wire import loose

PODS: Final = "/api/v1/pods"
PAGE: Final = 500


async def read_pods_of(api: Api, state: State, node: NodeName) -> None:
    """Let the state know every pod that is bound to the node now. Raises `ApiError` and `ApiUnreachable`.

    Pods that are gone stay known until their own events, which errs on the safe side.
    """
    async for page in api.pages(PODS, {"fieldSelector": f"spec.nodeName={node}"}, PAGE):
        for pod in loose.elements(page.get("items")):
            seen = state.read_pod(loose.members(pod))
            key = Key(str(seen.ref.namespace), str(seen.ref.name))
            state.pod_changed(Change(key, None, seen))

"""The pods of one node, asked for again: what the copy of all pods does not know yet, or read against other cards."""

from __future__ import annotations

import asyncio
from typing import Final

from tangram.kube.api import Api
from tangram.kube.informer import Change, Key
from tangram.kube.objects import older, version_of
from tangram.services.scheduler.state import State
from tangram.units.ids import NodeName
from tangram.wire import loose

PODS: Final = "/api/v1/pods"
PAGE: Final = 500
PART: Final = 50
"""Pods read at once, in a few milliseconds; then whoever else has something to do has a turn."""


async def read_pods_of(api: Api, state: State, node: NodeName) -> None:
    """Let the state know every pod that is bound to the node now. Raises `ApiError` and `ApiUnreachable`.

    Pods that are gone stay known until their own events, which errs on the safe side. A list may have been overtaken
    by such an event on its way; nothing would ever end a pod again that it brought back.
    """
    async for page in api.pages(PODS, {"fieldSelector": f"spec.nodeName={node}"}, PAGE):
        for at, pod in enumerate(loose.elements(page.get("items")), 1):
            seen = state.read_pod(loose.members(pod))
            key = Key(str(seen.ref.namespace), str(seen.ref.name))
            known = state.known(*key)
            overtaken = older(version_of(page), state.heard())
            # Of such a list all was heard by now, and the end of a pod that is not known after that.
            if not overtaken or (known is not None and known.ref.uid == seen.ref.uid):
                state.pod_changed(Change(key, None, seen))
            if at % PART == 0:
                await asyncio.sleep(0)

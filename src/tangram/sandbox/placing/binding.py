"""Who binds a pod: the extender that minds it and can, else the API server is asked for it directly."""

from __future__ import annotations

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.objects import Object
from tangram.sandbox.placing.extenders import ExtenderFailed, Extenders
from tangram.sandbox.placing.pods import Pod


class BindFailed(Exception):  # noqa: N818 - says what happened
    """The pod is not bound, or nobody said that it is. Its text stands in the pod's condition."""


class Binding:
    def __init__(self, api: Api, extenders: Extenders) -> None:
        self._api = api
        self._extenders = extenders

    async def bind(self, pod: Pod, node: str) -> None:
        """Raises `BindFailed`."""
        for extender in self._extenders.minding(pod):
            if not extender.bind:
                continue
            try:
                await self._extenders.bind(extender, pod, node)
            except ExtenderFailed as error:
                if not extender.ignorable:
                    raise BindFailed(str(error)) from None
            else:
                return
        await self._ask_for_it(pod, node)

    async def _ask_for_it(self, pod: Pod, node: str) -> None:
        metadata = {"name": pod.key.name, "namespace": pod.key.namespace, "uid": pod.uid}
        body: Object = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata}
        body["target"] = {"kind": "Node", "name": node}
        try:
            await self._api.create(f"{pod.path}/binding", body)
        except (ApiError, ApiUnreachable) as error:
            told = error.message if isinstance(error, ApiError) else str(error)
            raise BindFailed(f'running Bind plugin "DefaultBinder": {told}') from None

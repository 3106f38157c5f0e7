"""Logs of containers: the server asks the node's kubelet, at the address its status names, and passes them on."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import aiohttp

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import Ask
from tangram.sandbox.apiserver.refusals import Refused, bad_request, not_found
from tangram.sandbox.apiserver.store import Spot, Store
from tangram.wire import loose

PODS: Final = ("", "pods")
NODES: Final = ("", "nodes")
_PASSED_ON: Final = (
    "follow", "previous", "sinceSeconds", "sinceTime", "timestamps", "tailLines", "limitBytes", "stream",
)  # fmt: skip


class KubeletDoor:
    """`authority` is the PEM of whoever vouches for the kubelets' certificates."""

    def __init__(self, store: Store, authority: bytes) -> None:
        self._store = store
        self._tls = ssl.create_default_context(cadata=authority.decode())
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def logs(self, ask: Ask) -> AsyncGenerator[aiohttp.ClientResponse]:
        """The kubelet's answer, while it is read. Raises `Refused`."""
        pod = self._store.get(Spot(PODS, ask.target.namespace, ask.target.name))
        if pod is None:
            raise not_found("", "pods", ask.target.name)
        container = _container(pod, ask.query.get("container", ""))
        address = self._address(pod, container)
        metadata = pod["metadata"]
        url = f"{address}/containerLogs/{metadata['namespace']}/{metadata['name']}/{container}"
        query = {key: ask.query[key] for key in _PASSED_ON if key in ask.query}
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None, sock_connect=5))
        try:
            response = await self._session.get(url, params=query, ssl=self._tls)
        except (aiohttp.ClientError, OSError) as error:
            raise Refused(
                500, "InternalError", f"Internal error occurred: Get {url!r}: {error!s:.200}"
            ) from None
        async with response:
            if response.status >= 400:
                raise bad_request((await response.text())[:500].strip())
            yield response

    def _address(self, pod: Object, container: str) -> str:
        name = pod.get("spec", {}).get("nodeName", "")
        if not name:
            raise bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
        node = self._store.get(Spot(NODES, "", name))
        status = (node or {}).get("status", {})
        port = loose.members(loose.members(status.get("daemonEndpoints")).get("kubeletEndpoint")).get("Port")
        addresses = [
            each["address"] for each in status.get("addresses", ()) if each.get("type") == "InternalIP"
        ]
        if not port or not addresses:
            raise bad_request(
                f'container "{container}" in pod "{pod["metadata"]["name"]}" is waiting to start: node {name} '
                "says nothing of where its kubelet is"
            )
        return f"https://{addresses[0]}:{port}"


def _container(pod: Object, wanted: str) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    containers = [each["name"] for each in spec["containers"]]
    others = [
        each["name"] for part in ("initContainers", "ephemeralContainers") for each in spec.get(part, ())
    ]
    if not wanted and len(containers) == 1:
        return containers[0]
    if not wanted:
        both = f" or one of the init containers: [{' '.join(others)}]" if others else ""
        raise bad_request(
            f"a container name must be specified for pod {name}, choose one of: [{' '.join(containers)}]{both}"
        )
    if wanted not in (*containers, *others):
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    return wanted

"""The Service under which MetaX's manual looks for gpu-aware, in a namespace of its own, kept pointing at these pods.

A Service selects pods of its own namespace alone, so that one has no selector, and its EndpointSlices are written here:
they are what Kubernetes keeps of the real Service, renewed whenever that changes. Every gpu-aware does so and all write
the same, so the copy is true as long as one of them runs; when none runs, the real Service has no endpoint either.

The real slices are read again before each write, not taken from the informer: a process that is behind must not undo
what another has just written. The copies belong to the alias Service, and Kubernetes deletes them with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from tangram.kube.api import Api, Object
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.informer import Change, Informer
from tangram.wire import loose
from tangram.wire.gpu_aware_weights import ALIAS

SERVICE: Final = "gpu-aware-service"
"""The real one."""
MANAGER: Final = "tangram-gpu-aware"
FAMILIES: Final = {"IPv4": f"{ALIAS}-ipv4", "IPv6": f"{ALIAS}-ipv6"}
"""The names of the copies: a role can name them."""
LOOK_AGAIN_S: Final = 15.0
_SLICES: Final = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices"
_OF_SERVICE: Final = "kubernetes.io/service-name"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_KEPT: Final = ("addresses", "conditions", "nodeName", "zone")
_COMPARED: Final = ("addressType", "endpoints", "ports")

_log = logging.getLogger("tangram.gpu_aware")


class AliasService:
    """`run` until cancelled. Nothing of gpu-aware waits for it."""

    def __init__(self, api: Api, home: str, alias: str, *, look_again: float = LOOK_AGAIN_S) -> None:
        self._api = api
        self._source = _SLICES.format(home)
        self._copies = _SLICES.format(alias)
        self._service = f"/api/v1/namespaces/{alias}/services/{ALIAS}"
        self._namespace = alias
        self._look_again = look_again
        self._due = asyncio.Event()
        self._trouble = ""
        self._informer: Informer[None] = Informer(
            api, self._source, self._changed, keep=lambda _thing: None, query=_query()
        )

    async def run(self) -> None:
        async with asyncio.TaskGroup() as running:
            running.create_task(self._informer.run())
            running.create_task(self._keep())

    def _changed(self, change: Change[None]) -> None:
        del change
        self._due.set()

    async def _keep(self) -> None:
        while True:
            self._due.clear()
            try:
                await self.reconcile()
            except (ApiError, ApiUnreachable) as error:
                self._report(str(error))
            else:
                self._report("")
            with suppress(TimeoutError):
                async with asyncio.timeout(self._look_again):
                    await self._due.wait()

    async def reconcile(self) -> None:
        """Make the copies what they should be now. Raises `ApiError` and `ApiUnreachable`."""
        owner = await self._found(self._service)
        if owner is None:
            return
        slices = await self._api.list_all(self._source, _query())
        for family, name in FAMILIES.items():
            path = f"{self._copies}/{name}"
            present = await self._found(path)
            originals = [each for each in slices if each.get("addressType") == family]
            if not originals and present is None:
                continue
            wanted = _copy(name, self._namespace, family, originals, owner)
            if present is None or not _same(present, wanted):
                await self._api.apply(path, wanted, MANAGER)
                _log.info(
                    "the endpoints of the alias Service are renewed",
                    extra={"slice": f"{self._namespace}/{name}", "endpoints": len(wanted["endpoints"])},
                )

    async def _found(self, path: str) -> Object | None:
        try:
            return await self._api.get(path)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    def _report(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            _log.warning("the alias Service %s/%s is not kept: %s", self._namespace, ALIAS, trouble)
        self._trouble = trouble


def _query() -> dict[str, str]:
    return {"labelSelector": f"{_OF_SERVICE}={SERVICE}"}


def _copy(
    name: str, namespace: str, family: str, originals: list[Object], owner: Mapping[str, Any]
) -> Object:
    """The slice of the alias for one address family, with the endpoints of all real slices of it."""
    endpoints = [
        {key: each[key] for key in _KEPT if key in each}
        for slice_ in originals
        for each in map(loose.members, loose.elements(slice_.get("endpoints")))
    ]
    uid = loose.text(loose.members(owner.get("metadata")).get("uid"))
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {_OF_SERVICE: ALIAS, _MANAGED_BY: MANAGER},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": ALIAS, "uid": uid}],
        },
        "addressType": family,
        "endpoints": sorted(endpoints, key=lambda each: str(each.get("addresses"))),
        "ports": loose.elements(originals[0].get("ports")) if originals else [],
    }


def _same(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether what is there is what would be written; what others add to its metadata is theirs.

    An API server gives back an empty list as null.
    """
    metadata, meant = loose.members(present.get("metadata")), wanted["metadata"]
    return (
        all((present.get(key) or []) == wanted[key] for key in _COMPARED)
        and meant["labels"].items() <= loose.text_map(metadata.get("labels")).items()
        and any(
            loose.members(each).get("uid") == meant["ownerReferences"][0]["uid"]
            for each in loose.elements(metadata.get("ownerReferences"))
        )
    )

"""Holding a Lease as kube-scheduler does, so that whoever goes by it can tell who decides.

Clocks of others are never compared: a Lease of somebody else has run out when it was not seen to change for its
duration. One of ours that could not be renewed for the deadline is given up before anybody else may take it, and one
that is held at the end is handed back.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

from tangram.kube.api import Api
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.leases import Lease, read_lease
from tangram.kube.objects import Object
from tangram.sandbox.placing.configuration import LeaseTerms
from tangram.wire.timestamps import to_microsecond

HAND_BACK_S: Final = 2.0
_log = logging.getLogger(__name__)


class LeaseHolder:
    """`run()` until cancelled; `held` is set while the Lease is ours."""

    def __init__(
        self, api: Api, terms: LeaseTerms, identity: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.holder: Final = f"{identity}_{uuid.uuid4()}"
        self.held: Final = asyncio.Event()
        self._api = api
        self._terms = terms
        self._clock = clock
        self._collection: Final = f"/apis/coordination.k8s.io/v1/namespaces/{terms.namespace}/leases"
        self._seen = Lease()
        self._seen_at = float("-inf")
        self._renewed_at = float("-inf")

    async def run(self) -> None:
        try:
            while True:
                try:
                    async with asyncio.timeout(self._terms.deadline):
                        await self._try()
                except (ApiError, ApiUnreachable, TimeoutError) as error:
                    _log.info("the Lease %s could not be renewed: %s", self._terms.name, error)
                if self._clock() - self._renewed_at > self._terms.deadline:
                    self.held.clear()
                await asyncio.sleep(self._terms.pause)
        finally:
            if self.held.is_set():
                self.held.clear()
                await self._hand_back()

    async def _try(self) -> None:
        try:
            found = await self._api.get(f"{self._collection}/{self._terms.name}")
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            await self._write(None, self._ours(Lease()))
            return
        lease = read_lease(found)
        if lease != self._seen:
            self._seen, self._seen_at = lease, self._clock()
        running = lease.holder and self._seen_at + lease.duration > self._clock()
        if running and lease.holder != self.holder:
            self.held.clear()
            return
        spec: Object = found.get("spec") or {}
        await self._write(found, {**spec, **self._ours(lease, spec.get("leaseTransitions"))})

    def _ours(self, before: Lease, transitions: Any = None) -> Object:  # noqa: ANN401 - JSON
        moment = to_microsecond(dt.datetime.now(dt.UTC))
        kept = before.holder == self.holder
        changes = transitions if isinstance(transitions, int) else 0
        return {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": int(self._terms.duration),
            "acquireTime": before.acquired if kept and before.acquired else moment,
            "renewTime": moment,
            "leaseTransitions": changes if kept or not before.holder else changes + 1,
        }

    async def _write(self, found: Object | None, spec: Object) -> None:
        began = self._clock()
        name, namespace = self._terms.name, self._terms.namespace
        metadata = {"name": name, "namespace": namespace} if found is None else found["metadata"]
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        try:
            if found is None:
                await self._api.create(self._collection, body)
            else:
                await self._api.call("PUT", f"{self._collection}/{name}", body)
        except ApiError as error:
            if error.status == CONFLICT:
                # Somebody was faster; the next look tells who.
                return
            raise
        self._renewed_at = began
        self.held.set()

    async def _hand_back(self) -> None:
        try:
            async with asyncio.timeout(HAND_BACK_S):
                found = await self._api.get(f"{self._collection}/{self._terms.name}")
                spec: Object = found.get("spec") or {}
                if spec.get("holderIdentity") == self.holder:
                    await self._write_end(found, spec)
        except (ApiError, ApiUnreachable, TimeoutError) as error:
            _log.info("the Lease %s could not be handed back: %s", self._terms.name, error)

    async def _write_end(self, found: Object, spec: Object) -> None:
        ended = {**found, "spec": {**spec, "holderIdentity": "", "leaseDurationSeconds": 1}}
        await self._api.call("PUT", f"{self._collection}/{self._terms.name}", ended)

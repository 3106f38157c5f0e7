"""Annotations of pods that the agent owes: phases that peers wait for, and the cards the kubelet really gave.

They wait here while the API server is away, the latest value of each key; a pod that was made again under its name is
never written to.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kubelet.news import News
from tangram.model.pods import PodRef

log = logging.getLogger("tangram.gpu-device")

MOST: Final = 1024
RETRY_S: Final = 2.0


class PodWrites:
    """`owe` never waits; `run` writes until cancelled; `flush` waits until nothing is owed."""

    def __init__(self, api: Api, counted: Callable[[str], None] = lambda _outcome: None) -> None:
        self._api = api
        self._counted = counted
        self._owed: dict[PodRef, dict[str, str]] = {}
        self._news = News()
        self._writing = False

    def owe(self, pod: PodRef, annotations: Mapping[str, str]) -> None:
        self._owed.setdefault(pod, {}).update(annotations)
        while len(self._owed) > MOST:
            del self._owed[next(iter(self._owed))]
        self._news.announce()

    async def flush(self, within: float) -> None:
        edition = self._news.edition
        while (self._owed or self._writing) and within > 0:
            await self._news.after(edition, within)
            edition = self._news.edition
            within -= 0.1

    async def run(self) -> None:
        while True:
            edition = self._news.edition
            if not self._owed:
                await self._news.after(edition)
                continue
            pod = next(iter(self._owed))
            self._writing = True
            try:
                written = await self._write(pod, self._owed.pop(pod))
            finally:
                self._writing = False
                self._news.announce()
            if not written:
                await asyncio.sleep(RETRY_S)

    async def _write(self, pod: PodRef, annotations: dict[str, str]) -> bool:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        change = {"metadata": {"uid": pod.uid, "annotations": annotations}}
        try:
            await self._api.merge(path, change)
        except ApiError as error:
            if error.may_pass:
                self._owed[pod] = {**annotations, **self._owed.get(pod, {})}
                return False
            # Gone, made again, or not ours to write: nothing that waiting would change.
            log.info("a pod was not written", extra={"pod": str(pod), "error": str(error)})
            return True
        except ApiUnreachable:
            self._owed[pod] = {**annotations, **self._owed.get(pod, {})}
            return False
        self._counted("pod")
        return True

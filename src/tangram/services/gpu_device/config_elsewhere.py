"""A device ConfigMap that was applied without a namespace, and so went to `default`, where no agent looks.

It is followed only so that its author learns that it is not read; it never counts. Other namespaces are not looked at,
because that would need the right to list ConfigMaps everywhere: `tangram doctor --cluster` does it with the rights of
the person who asks. An agent without the right on this one looks again every hour and is as good without it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.informer import Change, Informer
from tangram.kube.recorder import About
from tangram.services.gpu_device.config_maps import read_config_map
from tangram.services.gpu_device.config_written import Written
from tangram.wire.device_config import CONFIG_MAPS

log = logging.getLogger("tangram.gpu-device")

PLACE: Final = "default"
"""Where kubectl puts what names no namespace."""
REFUSED_PAUSE_S: Final = 3600.0
UNREACHED_PAUSE_S: Final = 30.0
_PATH: Final = f"/api/v1/namespaces/{PLACE}/configmaps"
_QUERY: Final = {"fieldSelector": f"metadata.name={CONFIG_MAPS[0]}"}


class Listener(Protocol):
    def in_another_namespace(self, about: About, followed: str) -> None: ...


class MisplacedConfig:
    """`run` until cancelled; the listener is called once for each such ConfigMap, however often it is edited."""

    def __init__(
        self, api: Api, followed: str, listener: Listener, *, refused_pause: float = REFUSED_PAUSE_S
    ) -> None:
        self._api = api
        self._followed = followed
        self._listener = listener
        self._refused_pause = refused_pause
        self._reported: About | None = None
        self._informer = Informer(api, _PATH, self._changed, keep=read_config_map, query=_QUERY)

    async def run(self) -> None:
        while True:
            pause = await self._refusal()
            if not pause:
                break
            await asyncio.sleep(pause)
        await self._informer.run()

    async def _refusal(self) -> float:
        """Seconds until it is worth asking again; 0 where the ConfigMap may be listed."""
        try:
            await self._api.list_all(_PATH, _QUERY)
        except ApiUnreachable:
            return UNREACHED_PAUSE_S
        except ApiError as error:
            log.info(
                "namespace %s is not looked at for a device ConfigMap", PLACE, extra={"error": str(error)}
            )
            return self._refused_pause
        return 0.0

    def _changed(self, change: Change[Written]) -> None:
        new = change.new
        if new is None or new.about is None or not new.says_something:
            self._reported = None
        elif new.about != self._reported:
            self._reported = new.about
            self._listener.in_another_namespace(new.about, self._followed)

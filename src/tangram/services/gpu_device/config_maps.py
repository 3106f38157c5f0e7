"""The device ConfigMap followed through the API server, under either of its names.

It takes over what the two objects say and knows no more than that: which of them counts, and what it means, is decided
elsewhere. Nothing is said before both names were looked up once, because half of the answer would be a wrong one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from tangram.kube.api import Api, Object
from tangram.kube.informer import Change, Informer
from tangram.kube.objects import Key
from tangram.kube.recorder import About
from tangram.services.gpu_device.config_written import Written
from tangram.wire import loose
from tangram.wire.device_config import CONFIG_MAPS, KEYS
from tangram.wire.errors import shown

log = logging.getLogger("tangram.gpu-device")

KIND: Final = "ConfigMap"


class ConfigMaps:
    """`run` until cancelled; `changed` is called whenever `written` may have another answer."""

    def __init__(self, api: Api, namespace: str, changed: Callable[[], None]) -> None:
        self.namespace: Final = namespace
        self._changed = changed
        self.trouble = ""
        """Why the API server was last asked in vain; empty once it has told something since."""
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        # By name, so that a role which names the two is right enough.
        self._informers = {
            name: Informer(
                api,
                path,
                self._told,
                keep=read_config_map,
                query={"fieldSelector": f"metadata.name={name}"},
                troubled=self._troubled,
            )
            for name in CONFIG_MAPS
        }

    @property
    def known(self) -> bool:
        """Whether both names were looked up once."""
        return all(informer.synced.is_set() for informer in self._informers.values())

    def written(self) -> tuple[Written, ...]:
        """Those that are there and say something, the one that counts first."""
        found = (
            informer.objects.get(Key(self.namespace, name)) for name, informer in self._informers.items()
        )
        return tuple(each for each in found if each is not None and each.says_something)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as running:
            for informer in self._informers.values():
                running.create_task(informer.run())
            for informer in self._informers.values():
                await informer.synced.wait()
            # That there is none is news too, and no object brings it.
            self._changed()

    def _told(self, change: Change[Written]) -> None:
        del change
        self.trouble = ""
        self._changed()

    def _troubled(self, sentence: str) -> None:
        if sentence != self.trouble:
            log.warning("the device ConfigMap cannot be followed", extra={"error": sentence})
        self.trouble = sentence


def read_config_map(thing: Object) -> Written:
    """The texts of one ConfigMap; keys that are not ours are left alone. Never raises."""
    metadata = loose.members(thing.get("metadata"))
    name, namespace = loose.text(metadata.get("name")), loose.text(metadata.get("namespace"))
    data, binary = loose.members(thing.get("data")), loose.members(thing.get("binaryData"))
    texts = {key: value for key in KEYS if isinstance(value := data.get(key), str)}
    return Written(
        source=f"{KIND} {namespace}/{name}",
        texts=texts,
        trouble=_trouble(data, binary),
        about=About(KIND, name, namespace, loose.text(metadata.get("uid"))),
    )


def _trouble(data: Mapping[str, object], binary: Mapping[str, object]) -> str:
    for key in KEYS:
        if key in binary:
            return (
                f"{key} is under binaryData, where kubectl puts a file that is no text in UTF-8; "
                "write it as text under data"
            )
        if key in data and data[key] is not None and not isinstance(data[key], str):
            return f"{key} is {shown(data[key])}: it is a text; write it as in docs/device-config.md"
    return ""

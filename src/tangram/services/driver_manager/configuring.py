"""ConfigMap `driver-config`, followed live: what it says for this node, or what it last said legibly.

A text that cannot be read changes nothing on the node. It is refused with an event where its author looks, on the
ConfigMap, and on the node that goes on as before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from tangram.daemon.driver_config_texts import read_driver_config_texts
from tangram.kube.api import Api, Object
from tangram.kube.informer import Change, Informer, whole
from tangram.kube.recorder import About, Event
from tangram.services.driver_manager.facts import Wish
from tangram.units.ids import NodeName
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.operator.names import DRIVER_CONFIG

REASON: Final = "DriverConfigRefused"
log = logging.getLogger("tangram.driver-manager")


class Configuration:
    """`run` until cancelled. `wish` is None until something legible is known."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        node: NodeName,
        changed: Callable[[], None],
        say: Callable[[Event], None],
    ) -> None:
        self._node = node
        self._namespace = namespace
        self._changed = changed
        self._say = say
        self.wish: Wish | None = None
        self.refused = ""
        """Why what stands there now does not count."""
        self._informer = Informer(
            api,
            f"/api/v1/namespaces/{namespace}/configmaps",
            self.told,
            keep=whole,
            query={"fieldSelector": f"metadata.name={DRIVER_CONFIG}"},
            troubled=lambda sentence: log.warning("driver-config cannot be followed: %s", sentence),
        )

    async def run(self) -> None:
        async with asyncio.TaskGroup() as running:
            running.create_task(self._informer.run())
            await self._informer.synced.wait()
            if not self._informer.objects:
                # That there is none is news too, and no object brings it.
                self.read(None)
                self._changed()

    def told(self, change: Change[Object]) -> None:
        if change.key.name != DRIVER_CONFIG:
            return
        self.read(change.new)
        self._changed()

    def read(self, thing: Object | None) -> None:
        """Take over what the object says; None where it is gone, which says nothing of any node."""
        texts = {} if thing is None else loose.text_map(thing.get("data"))
        binary = () if thing is None else tuple(loose.members(thing.get("binaryData")))
        if binary:
            self._refuse(
                f"{binary[0]} is under binaryData, where kubectl puts a file that is no text in UTF-8; write it as "
                "text under data",
                thing,
            )
            return
        try:
            config = read_driver_config_texts(texts, self._node)
        except WireError as error:
            self._refuse(error.sentence, thing)
            return
        self.refused = ""
        self.wish = Wish(
            functions=config.functions_for(self._node), parameters=config.parameters_for(self._node)
        )

    def _refuse(self, sentence: str, thing: Object | None) -> None:
        if sentence == self.refused:
            return
        self.refused = sentence
        log.warning("driver-config is refused: %s", sentence)
        uid = loose.text(loose.members((thing or {}).get("metadata")).get("uid"))
        message = f"{sentence}. Node {self._node} goes on with what was last said legibly"
        self._say(Event(About("ConfigMap", DRIVER_CONFIG, self._namespace, uid), REASON, message))
        self._say(Event(About("Node", self._node), REASON, f"ConfigMap {DRIVER_CONFIG}: {message}"))

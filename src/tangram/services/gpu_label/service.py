"""The labeller as a process: looks at the machine from time to time, follows its node, and writes."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

import msgspec

from tangram.daemon.background import in_background
from tangram.daemon.endpoints import Address, serving
from tangram.daemon.running import Supervisor
from tangram.drivers.errors import DriverError, Kind
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.informer import Informer, whole
from tangram.services.gpu_label.labeller import MANAGER, Labeller, node_path, write_labels
from tangram.services.gpu_label.looking import PATIENCE, Looker, Sight, Unsure
from tangram.services.gpu_label.metrics import Metrics
from tangram.services.gpu_label.wanting import Wish, wish_for
from tangram.units.ids import NodeName
from tangram.wire.metax_labels import Choices

NODES = "/api/v1/nodes"

_USUAL: Final = Choices()

_log = logging.getLogger("tangram.gpu_label")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    node: NodeName
    interval: float = 30.0
    """Seconds between two looks at the machine."""
    address: Address | None = None
    choices: Choices = Choices()


async def serve(supervisor: Supervisor, settings: Settings, connection: Connection, looker: Looker) -> int:
    """Keep the labels true until stopped. Raises `SettingError`, and `DriverError` for a driver nobody can mean."""
    metrics = Metrics()
    try:
        async with Api(connection, agent=MANAGER) as api:
            labeller = Labeller(api, settings.node, metrics, settings.choices)
            looking = _Looking(looker, labeller, metrics)
            informer = Informer(
                api,
                NODES,
                labeller.told,
                keep=whole,
                query={"fieldSelector": f"metadata.name={settings.node}"},
                troubled=_say_trouble,
            )

            def unready() -> list[str]:
                lost = [] if informer.fresh else ["the API server does not answer, or not yet"]
                return lost + labeller.unready()

            async with serving(
                settings.address, metrics.registry, unhealthy=supervisor.unhealthy, unready=unready
            ):
                # A driver that cannot be meant is found before anything runs.
                await looking.look()
                _log.info("the labels of node %s are kept", settings.node)
                supervisor.vital("following the node", informer.run())
                supervisor.vital("writing labels", labeller.run())
                supervisor.vital("looking at the cards", looking.keep_on(settings.interval))
                # The labels stay: whoever starts next must find what is true, and gpu-device must not leave meanwhile.
                return await supervisor.until_stopped()
    finally:
        looker.close()


async def label_once(api: Api, node: NodeName, looker: Looker, choices: Choices = _USUAL) -> Wish:
    """Look once, write once. Raises what the API server and the driver say no with."""
    sight = await in_background(lambda: _sure(looker), "looking-at-cards")
    wish = wish_for(await api.get(node_path(node)), sight, choices)
    if wish.changes:
        await write_labels(api, node, wish)
    return wish


def _sure(looker: Looker) -> Sight:
    for _ in range(PATIENCE - 1):
        try:
            return looker.look()
        except Unsure:
            continue
    return looker.look()


class _Looking:
    """One look after another, each on a thread of its own; the same trouble is said once, not at every turn."""

    def __init__(self, looker: Looker, labeller: Labeller, metrics: Metrics) -> None:
        self._looker = looker
        self._labeller = labeller
        self._metrics = metrics
        self._said = ""

    async def keep_on(self, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            try:
                await self.look()
            except DriverError as error:
                if error.kind is Kind.OUTDATED:
                    # Kubernetes starts a process that sees the cards.
                    raise
                # What the driver's name says was fine at the start; a file named there may be broken by now.
                self._metrics.reads_failed.inc()
                self._say(f"the cards could not be read: {error.sentence}")

    async def look(self) -> None:
        begun = time.monotonic()
        self._metrics.reads.inc()
        try:
            sight = await in_background(self._looker.look, "looking-at-cards")
        except Unsure as error:
            self._metrics.reads_failed.inc()
            self._say(f"the cards could not be read: {error}")
            return
        finally:
            self._metrics.read_seconds.set(time.monotonic() - begun)
        # Most nodes have no card, and that is no reason to warn.
        level = logging.WARNING if sight.on_bus else logging.INFO
        self._say(f"no driver answers: {sight.remark}" if sight.remark else "", level)
        self._labeller.saw(sight)

    def _say(self, sentence: str, level: int = logging.WARNING) -> None:
        if sentence and sentence != self._said:
            _log.log(level, "%s", sentence)
        self._said = sentence


def _say_trouble(sentence: str) -> None:
    _log.warning("the API server cannot be followed: %s", sentence)

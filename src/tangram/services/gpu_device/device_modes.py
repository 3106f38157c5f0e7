"""How the cards of this node are to be offered: which configuration counts, and what is in force.

A ConfigMap counts before the mounted folder, and of two ConfigMaps the one with the operator's name. What counts and
has no meaning changes nothing: what was in force stays, over restarts too. Until the API server has told once what
there is, nothing is decided anew, because to take its silence for an empty cluster would switch cards for no reason.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from tangram.kube.recorder import About
from tangram.model.devices import Device
from tangram.services.gpu_device.config_folder import read_folder
from tangram.services.gpu_device.config_kept import KeptConfig
from tangram.services.gpu_device.config_texts import read_config_texts
from tangram.services.gpu_device.config_written import Written
from tangram.units.ids import NodeName
from tangram.wire.device_config import DeviceConfig
from tangram.wire.errors import WireError

log = logging.getLogger("tangram.gpu-device")

_NOBODY: Final = Written(source="nobody")


class Maps(Protocol):
    """The ConfigMaps of one namespace, as far as they have been heard of."""

    @property
    def namespace(self) -> str: ...
    @property
    def known(self) -> bool: ...
    @property
    def trouble(self) -> str: ...
    def written(self) -> Sequence[Written]: ...


class Hearer(Protocol):
    """Who is told what people should know."""

    def misconfigured(self, trouble: str, about: About | None) -> None: ...
    def not_read(self, about: About, instead: str) -> None: ...
    def unconfigured(self, place: str) -> None: ...


class DeviceModes:
    """`load` once, `refresh` whenever something may have changed."""

    def __init__(
        self, node: NodeName, *, maps: Maps | None, folder: Path | None, kept: KeptConfig, heard: Hearer
    ) -> None:
        self._node = node
        self._maps = maps
        self._folder = folder
        self._kept = kept
        self._heard = heard
        self._seen: Written | None = None
        self._passed_over: frozenset[About] = frozenset()
        self._missing: tuple[str, ...] = ()
        self.config: DeviceConfig | None = None
        """What is wanted; None while nobody knows, and every card stays what it is."""
        self.trouble = ""
        """Why what is written is not in force; empty when it is."""

    def load(self) -> None:
        """Take over what was in force when the last agent ended."""
        last = self._kept.load()
        if last is None:
            return
        try:
            self.config = read_config_texts(last.texts, self._node)
        except WireError as error:
            log.warning("the last configuration has no meaning any more", extra={"error": error.sentence})

    def refresh(self) -> bool:
        """Look at what is written. Returns whether the configuration or the trouble is another one. Never raises."""
        if self._maps is not None and not self._maps.known:
            return False
        before = (self.config, self.trouble)
        standing = self._standing()
        counts = standing[0] if standing else _NOBODY
        self._pass_over(standing[1:], counts)
        if counts != self._seen:
            self._seen = counts
            self._take(counts)
        return (self.config, self.trouble) != before

    def unready(self) -> list[str]:
        if self._maps is None or self._maps.known:
            return []
        why = f": {self._maps.trouble}" if self._maps.trouble else ""
        return [f"the device ConfigMap in {self._maps.namespace} is not known yet{why}"]

    def compare(self, devices: Sequence[Device]) -> None:
        """Note which cards the configuration names that are not there; told in the log, once."""
        missing = () if self.config is None else self.config.unmatched(devices)
        if missing and missing != self._missing:
            log.warning("the configuration names cards that are not here", extra={"cards": list(missing)})
        self._missing = missing

    def _standing(self) -> list[Written]:
        found = [] if self._maps is None else list(self._maps.written())
        if self._folder is not None:
            found.append(read_folder(self._folder))
        return [each for each in found if each.says_something]

    def _take(self, counts: Written) -> None:
        try:
            config = self._read(counts)
        except WireError as error:
            self._refuse(counts, error.sentence)
            return
        self.config, self.trouble = config, ""
        ended = self._kept.texts and not counts.texts
        self._kept.keep(counts)
        log.info("the configuration is in force", extra={"source": counts.source, "mode": config.mode})
        if ended:
            self._heard.unconfigured("" if self._maps is None else self._maps.namespace)

    def _read(self, counts: Written) -> DeviceConfig:
        if counts.trouble:
            raise WireError("config-unread", counts.trouble)
        return read_config_texts(counts.texts, self._node)

    def _refuse(self, counts: Written, sentence: str) -> None:
        stays = "what was in force stays in force" if self.config else "until then every card stays as it is"
        trouble = f"{counts.source} is refused, and {stays}: {sentence}"
        if trouble != self.trouble:
            self.trouble = trouble
            self._heard.misconfigured(trouble, counts.about)

    def _pass_over(self, others: list[Written], counts: Written) -> None:
        """Say once to each ConfigMap that nobody reads that it is not read."""
        passed = frozenset(each.about for each in others if each.about is not None)
        for about in sorted(passed - self._passed_over, key=lambda each: each.name):
            self._heard.not_read(about, counts.source)
        self._passed_over = passed

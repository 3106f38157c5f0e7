"""Finding out how devices reach containers on this node."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from tangram.model.cards import QosPolicy
from tangram.services.gpu_device.delivery import Delivery
from tangram.services.gpu_device.giving import Way
from tangram.services.gpu_device.settings import AgentSettings
from tangram.wire.cdi_support import cdi_passing

log = logging.getLogger("tangram.gpu-device")

_RUNTIME_SILENT: Final = "://Unknown"


class Probing:
    """Until the node says what it runs, CDI is taken to be there."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._found = Delivery.FIELD

    def way(self) -> Way:
        return Way(
            delivery=self._settings.delivery or self._found,
            device_root=self._settings.device_root,
            injection=self._settings.injection,
            limited=self._settings.compute_policy is QosPolicy.FIXED_SHARE,
        )

    def look(self, info: Mapping[str, str]) -> None:
        """Go by what the node reports of itself, and by the runtime's own file where it can be read."""
        runtime = info.get("containerRuntimeVersion", "")
        # The kubelet writes this of a runtime that does not answer just now; what was known stays true.
        if not runtime or runtime.endswith(_RUNTIME_SILENT) or self._settings.delivery is not None:
            return
        try:
            text = self._settings.runtime_file.read_text("utf-8", "replace")
        except OSError:
            text = None
        found = Delivery(cdi_passing(info.get("kubeletVersion", ""), runtime, text))
        if found is not self._found:
            log.info("devices reach containers otherwise than assumed", extra={"cdi": found})
        self._found = found

"""The weights in force, and what becomes of an edit that cannot be used.

A slip in a ConfigMap must not change where a cluster's jobs go: the last good pair stays, the log says what is wrong,
and so does a metric. Nobody is refused for it, and the process stays ready. Both weights change together or not at all.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tangram.services.gpu_aware.metrics import Metrics
from tangram.wire.errors import WireError
from tangram.wire.gpu_aware_weights import KEYS, Weights, read_weights

_LARGEST_FILE: Final = 1024

_log = logging.getLogger("tangram.gpu_aware")


class Scale:
    """Takes over what somebody wrote, if it can be used."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self.weights = Weights()
        self.trouble = ""
        """Why what is written is not in force; empty when it is."""
        metrics.weights_are(self.weights)

    def take(self, data: Mapping[str, object], sources: Mapping[str, str] | None = None) -> None:
        """Take over a ConfigMap's data; no data means the usual weights. `sources` are as in `read_weights`."""
        try:
            weights = read_weights(data, sources)
        except WireError as error:
            self.refuse(error.sentence)
            return
        self._settle("")
        if weights != self.weights:
            _log.info("the weights are now %s", weights, extra={"before": str(self.weights)})
            self.weights = weights
            self._metrics.weights_changed.inc()
            self._metrics.weights_are(weights)

    def refuse(self, sentence: str) -> None:
        """Keep what is in force, and say why."""
        if sentence != self.trouble:
            _log.warning("the weights stay %s: %s", self.weights, sentence)
        self._settle(sentence)

    def _settle(self, trouble: str) -> None:
        self.trouble = trouble
        self._metrics.weights_refused.set(1 if trouble else 0)


def read_folder(folder: Path, scale: Scale) -> None:
    """Take over the files of a folder where the ConfigMap is mounted."""
    data: dict[str, object] = {}
    try:
        if not folder.is_dir():
            scale.refuse(f"{folder} is no folder: mount the ConfigMap there")
            return
        for key in KEYS:
            try:
                with (folder / key).open("rb") as file:
                    data[key] = file.read(_LARGEST_FILE).decode("utf-8", "replace")
            except FileNotFoundError:
                continue
    except OSError as error:
        scale.refuse(f"{folder} cannot be read ({error.strerror})")
        return
    scale.take(data)

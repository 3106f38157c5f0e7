"""The configuration that was in force last, in a file: what an agent goes by before it has heard the API server.

Without it a restart during an outage would have to guess, and a card would change its mode because of a guess. The
texts are kept and not what they meant, so that a later agent reads them by its own rules.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from tangram.services.gpu_device.config_written import Written

log = logging.getLogger("tangram.gpu-device")

FILE: Final = "device-config.json"
_VERSION: Final = 1


class _File(msgspec.Struct, frozen=True, kw_only=True):
    v: int
    source: str
    texts: Mapping[str, str]


class KeptConfig:
    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._file: _File | None = None

    @property
    def texts(self) -> Mapping[str, str]:
        """Those of the configuration that was in force last; none where nobody had written one."""
        return {} if self._file is None else self._file.texts

    def load(self) -> Written | None:
        """What an earlier agent noted; None where there is nothing that can be understood."""
        try:
            file = msgspec.json.decode(self._path.read_bytes(), type=_File)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            log.warning("the last configuration cannot be read", extra={"file": self._path, "error": error})
            return None
        if file.v != _VERSION:
            log.warning(
                "the last configuration was noted by another release",
                extra={"file": self._path, "version": file.v},
            )
            return None
        self._file = file
        return Written(source=file.source, texts=file.texts)

    def keep(self, written: Written) -> None:
        """Note what is in force now. A disk that is full costs only the next restart its memory."""
        file = _File(v=_VERSION, source=written.source, texts=written.texts)
        if file == self._file:
            return
        self._file = file
        unfinished = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(msgspec.json.encode(file))
            unfinished.replace(self._path)
        except OSError as error:
            log.warning("the configuration cannot be noted", extra={"file": self._path, "error": error})

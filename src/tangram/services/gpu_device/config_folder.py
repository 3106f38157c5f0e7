"""The device ConfigMap as a folder of files, as Kubernetes mounts it, read again whenever it changes."""

from __future__ import annotations

from pathlib import Path

import yaml

from tangram.units.ids import NodeName
from tangram.wire.device_config import KEYS, DeviceConfig, read_device_config
from tangram.wire.errors import WireError

_LARGEST = 1 << 20


class ConfigFolder:
    """Keeps the last good reading: a slip in a ConfigMap must not change how the cards of a cluster are offered."""

    def __init__(self, folder: Path | None, node: NodeName) -> None:
        self._folder = folder
        self._node = node
        self._texts: dict[str, str] | None = None
        self.config = DeviceConfig()
        self.trouble = ""
        """What is wrong with the present files; empty when they are in force."""

    def refresh(self) -> bool:
        """Read the files if they changed. Returns whether the configuration or the trouble is another one now."""
        before = (self.config, self.trouble)
        try:
            # Forgotten first: files that cannot be read are no files that were read before.
            known, self._texts = self._texts, None
            self._texts = texts = self._read()
            if texts == known:
                return False
            data = {
                key: yaml.safe_load(text) if key != KEYS[0] else text.strip() for key, text in texts.items()
            }
            self.config, self.trouble = read_device_config(data, self._node), ""
        except WireError as error:
            self.trouble = f"the device configuration is refused: {error.sentence}"
        except yaml.YAMLError as error:
            self.trouble = (
                f"the device configuration is no YAML: {' '.join(str(error).split()):.300}; correct it"
            )
        except (OSError, ValueError, RecursionError) as error:
            self.trouble = f"the device configuration cannot be read: {error}"
        return (self.config, self.trouble) != before

    def _read(self) -> dict[str, str]:
        texts: dict[str, str] = {}
        for key in KEYS if self._folder is not None else ():
            path = Path(self._folder or "", key)
            try:
                with path.open("rb") as file:
                    content = file.read(_LARGEST + 1)
            except FileNotFoundError:
                continue
            if len(content) > _LARGEST:
                raise WireError("config-large", f"{key} has more than 1 MiB; a configuration is far smaller")
            texts[key] = content.decode("utf-8")
        return texts

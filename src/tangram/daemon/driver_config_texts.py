"""The texts of ConfigMap `driver-config`, read into what is wanted; what is wrong is said with its key and line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.daemon.placed_yaml import PlacedDocument, with_line
from tangram.units.ids import NodeName
from tangram.wire.device_config import ConfigError
from tangram.wire.driver_config import KEYS, NODES_KEY, VERSION_KEY, DriverConfig, read_driver_config

_NAME: Final = "nodeName"


def read_driver_config_texts(texts: Mapping[str, str], node: NodeName | None = None) -> DriverConfig:
    """What the ConfigMap's `data` says; of one node, or of all where none is named.

    No data at all says nothing of any node. Raises `ConfigError`, whose sentence begins with key and line.
    """
    documents = {
        key: PlacedDocument(key, text) for key, text in texts.items() if key in KEYS and key != VERSION_KEY
    }
    data: dict[str, object] = {
        key: document.rows(_NAME, node) if key == NODES_KEY and node is not None else document.value()
        for key, document in documents.items()
    }
    # Texts under a key that nobody knows are not read; that they are there is refused.
    data |= {key: text.strip() for key, text in texts.items() if key not in documents}
    try:
        return read_driver_config(data, node)
    except ConfigError as error:
        raise with_line(error, documents) from None

"""The texts of a device configuration, as a ConfigMap or a mounted folder has them, read into what is wanted here.

Whatever is wrong is said with the key and the line, because the person who must mend it looks at a text. An entry of
`nodes-config` that cannot be read and names another node is that node's trouble alone; only what breaks the document
itself is everybody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.daemon.placed_yaml import PlacedDocument, with_line
from tangram.units.ids import NodeName
from tangram.wire.device_config import NODES_KEY, VERSION_KEY, ConfigError, DeviceConfig, read_device_config

_NAME: Final = "nodeName"


def read_config_texts(texts: Mapping[str, str], node: NodeName) -> DeviceConfig:
    """What the texts say about a node. Raises `ConfigError`, whose sentence begins with key and line."""
    documents = {key: PlacedDocument(key, text) for key, text in texts.items() if key != VERSION_KEY}
    data: dict[str, object] = {
        key: document.rows(_NAME, node) if key == NODES_KEY else document.value()
        for key, document in documents.items()
    }
    if VERSION_KEY in texts:
        data[VERSION_KEY] = texts[VERSION_KEY].strip()
    try:
        return read_device_config(data, node)
    except ConfigError as error:
        raise with_line(error, documents) from None

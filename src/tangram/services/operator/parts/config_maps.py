"""The two ConfigMaps: `driver-config`, which is the administrator's, and `metax-device-config`, if the spec gives it.

`driver-config` is made with the manual's sample where it is missing and never written again, as people edit it. It is
sample text: no node is called like that, so nothing follows from it. `metax-device-config` is made only if its content
is in the spec, and then it is ours: a cluster that had MetaX's components may have one, and nobody takes that over.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.services.operator.parts import pods
from tangram.services.operator.parts.pods import Object, Site
from tangram.wire.device_config import CONFIG_MAPS
from tangram.wire.driver_config import sample_data
from tangram.wire.operator.names import DRIVER_CONFIG
from tangram.wire.operator.spec import Spec

DRIVER_CONFIG_NAME: Final = "driver-config"
DEVICE_CONFIG_NAME: Final = "device-config"


def driver_config(spec: Spec, site: Site) -> tuple[Object, ...]:  # noqa: ARG001 - as every part
    """The ConfigMap of virtual functions and module parameters, as it is made once."""
    return (_config_map(DRIVER_CONFIG, site.namespace, DRIVER_CONFIG_NAME, sample_data(), site),)


def device_config(spec: Spec, site: Site) -> tuple[Object, ...]:
    """The ConfigMap of device modes; every key's value as text, which is JSON where it was a structure."""
    plugin = spec.device_plugin
    texts = {
        key: value
        if isinstance(value, str)
        else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
        for key, value in plugin.device_config.items()
    }
    namespace = plugin.config_namespace or site.namespace
    return (_config_map(CONFIG_MAPS[0], namespace, DEVICE_CONFIG_NAME, texts, site),)


def _config_map(name: str, namespace: str, part: str, data: dict[str, str], site: Site) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": pods.labels(part, site)},
        "data": data,
    }

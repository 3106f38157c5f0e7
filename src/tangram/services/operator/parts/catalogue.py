"""All parts in the order in which a node comes to life, and what each waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from tangram.services.operator.parts import (
    config_maps,
    container_runtime,
    driver_manager,
    gpu_device,
    gpu_label,
    payloads,
    runtime_class,
)
from tangram.services.operator.parts.pods import Object, Site
from tangram.wire.operator.spec import Spec


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A state object: what is wanted of it, and when."""

    name: str
    make: Callable[[Spec, Site], tuple[Object, ...]]
    wanted: Callable[[Spec], bool]
    unwanted: str = ""
    """Why, where it is not."""
    after: tuple[str, ...] = ()
    """Parts that must be ready on a node before this one can be."""
    once: bool = False
    """Made where it is missing, and never written again."""


GPU_LABEL: Final = Part(
    name=gpu_label.NAME,
    make=gpu_label.manifests,
    wanted=lambda spec: spec.labelgen.deploy,
    unwanted="labelgen.deploy is false",
)
DRIVER_CONFIG: Final = Part(
    name=config_maps.DRIVER_CONFIG_NAME,
    make=config_maps.driver_config,
    wanted=lambda spec: spec.driver.deploy,
    unwanted="driver.deploy is false",
    once=True,
)
DEVICE_CONFIG: Final = Part(
    name=config_maps.DEVICE_CONFIG_NAME,
    make=config_maps.device_config,
    wanted=lambda spec: bool(spec.device_plugin.device_config),
    unwanted="devicePlugin.deviceConfig is empty",
)
RUNTIME_CLASS: Final = Part(
    name=runtime_class.NAME,
    make=runtime_class.manifests,
    wanted=lambda spec: spec.runtime.deploy,
    unwanted="runtime.deploy is false",
)
CONTAINER_RUNTIME: Final = Part(
    name=container_runtime.NAME,
    make=container_runtime.manifests,
    wanted=lambda spec: spec.runtime.deploy,
    unwanted="runtime.deploy is false",
    after=(gpu_label.NAME,),
)
PAYLOADS: Final = Part(
    name=payloads.NAME,
    make=payloads.manifests,
    wanted=lambda spec: bool(payloads.images(spec)),
    unwanted="the spec names no payload",
    after=(gpu_label.NAME,),
)
DRIVER_MANAGER: Final = Part(
    name=driver_manager.NAME,
    make=driver_manager.manifests,
    wanted=lambda spec: spec.driver.deploy,
    unwanted="driver.deploy is false",
    after=(gpu_label.NAME, container_runtime.NAME, payloads.NAME),
)
GPU_DEVICE: Final = Part(
    name=gpu_device.NAME,
    make=gpu_device.manifests,
    wanted=lambda spec: spec.device_plugin.deploy,
    unwanted="devicePlugin.deploy is false",
    after=(gpu_label.NAME, container_runtime.NAME, driver_manager.NAME),
)

PARTS: Final = (
    GPU_LABEL,
    DRIVER_CONFIG,
    DEVICE_CONFIG,
    RUNTIME_CLASS,
    CONTAINER_RUNTIME,
    PAYLOADS,
    DRIVER_MANAGER,
    GPU_DEVICE,
)

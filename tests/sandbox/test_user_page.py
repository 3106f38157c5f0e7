"""Koordinator's user page for MetaX in a sandbox, field by field; `e2e` holds a real cluster to the same fields."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import yaml

from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Object
from tangram.sandbox.starting import Sandbox
from tour.playing import playground
from tour.records import EXAMPLES
from tour.user_page import PageCard, page_differences

EXAMPLE = EXAMPLES / "35-koordinator-user-page"
CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
DEVICE = "/apis/scheduling.koordinator.sh/v1alpha1/devices/gpu-1"


async def until(found: Callable[[], Awaitable[list[str]]]) -> list[str]:
    """What is left of the differences when there are none, or when they have had their time."""
    left = await found()
    for _ in range(400):
        if not left:
            break
        await asyncio.sleep(0.05)
        left = await found()
    return left


async def differences(box: Sandbox) -> list[str]:
    world = box.machines.machine("gpu-1").world
    assert world is not None
    (card,) = world.devices()
    try:
        device = await box.api.get(DEVICE)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return ["there is no Device"]
    node = await box.api.get("/api/v1/nodes/gpu-1")
    return page_differences(device, node, PageCard(card.uuid, card.bdf, 0))


async def test_a_config_map_makes_device_and_node_what_the_user_page_shows(tmp_path: Path) -> None:
    config: Object = yaml.safe_load((EXAMPLE / "device-config.yaml").read_text("utf-8"))
    async with playground(tmp_path, EXAMPLE / "cluster.yaml") as box:
        assert await differences(box) != []
        await box.api.create(CONFIG_MAPS, config)
        assert await until(lambda: differences(box)) == []

"""The ConfigMap of device modes: made where agents follow it, changed with the spec, and never taken from others."""

from typing import Any

import pytest
import yaml

from builders.controlled import Controlled, eventually
from builders.operated import NEVER, Operated, operated, operator_on
from tangram.services.operator import applying, service
from tangram.units.ids import NodeName
from tangram.wire.device_config import DeviceConfig, NodeMode, read_device_config
from tangram.wire.operator.status import State

NODE = NodeName("n1")
ELSEWHERE = "gpu-settings"
DEVICE_CONFIG = "metax-device-config"
SLICES = {"version": "v1", "cluster-config": {"mode": "sgpu"}}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PACE_S", 0.02)
    monkeypatch.setattr(service, "EVERY_S", 0.5)
    monkeypatch.setattr(applying, "FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(applying, "LONGEST_PAUSE_S", 0.1)


async def until_gone(place: Controlled, plural: str, name: str) -> None:
    async def look() -> bool | None:
        there = [each["metadata"]["name"] for each in await place.all(plural)]
        return None if name in there else True

    await eventually(look)


async def let_go(scene: Operated) -> None:
    async def look() -> bool | None:
        return None if await scene.object() else True

    await eventually(look)


def modes(config: dict[str, Any], namespace: str = ELSEWHERE) -> dict[str, Any]:
    return {**NEVER, "devicePlugin": {"deviceConfig": config, "configNamespace": namespace}}


async def test_the_device_config_lies_where_agents_follow_it_and_an_edit_of_the_spec_changes_it() -> None:
    async with operated() as scene:
        settings = await scene.cluster.elsewhere(ELSEWHERE)
        await scene.ask_for(modes(SLICES))
        async with operator_on(scene):
            made = await settings.until("configmaps", DEVICE_CONFIG, bool)
            assert read_device_config(
                {key: yaml.safe_load(text) for key, text in made["data"].items()}, NODE
            ) == (DeviceConfig(mode=NodeMode.SGPU))
            agents = await scene.daemon_set("gpu-device")
            (container,) = agents["spec"]["template"]["spec"]["containers"]
            words = container["args"]
            assert words[words.index("--config-namespace") + 1] == ELSEWHERE
            await scene.edit({"devicePlugin": {"deviceConfig": {"cluster-config": {"mode": "native"}}}})
            await settings.until(
                "configmaps", DEVICE_CONFIG, lambda seen: "native" in seen["data"]["cluster-config"]
            )
            await scene.edit({"devicePlugin": {"deviceConfig": None}})
            await until_gone(settings, "configmaps", DEVICE_CONFIG)


async def test_a_device_config_of_somebody_else_is_neither_written_nor_removed() -> None:
    async with operated() as scene:
        settings = await scene.cluster.elsewhere(ELSEWHERE)
        theirs = {"version": "v1", "cluster-config": "mode: native\n"}
        await settings.create("configmaps", {"metadata": {"name": DEVICE_CONFIG}, "data": theirs})
        await scene.ask_for(modes(SLICES))
        async with operator_on(scene):
            status = await scene.status(lambda status: status.state is State.ERROR)
            assert status.message == (
                "device-config: ConfigMap metax-device-config in namespace gpu-settings belongs to somebody else and "
                "is not taken over: remove it, or uninstall what made it"
            )
            await scene.delete()
            await let_go(scene)
            assert (await settings.get("configmaps", DEVICE_CONFIG))["data"] == theirs


async def test_our_device_config_goes_at_the_end_also_by_an_operator_that_never_read_the_spec() -> None:
    async with operated() as scene:
        settings = await scene.cluster.elsewhere(ELSEWHERE)
        await scene.ask_for(modes(SLICES))
        async with operator_on(scene):
            await settings.until("configmaps", DEVICE_CONFIG, bool)
        await scene.delete()
        async with operator_on(scene, "operator_2"):
            await let_go(scene)
            await until_gone(settings, "configmaps", DEVICE_CONFIG)


async def test_a_device_config_is_moved_when_the_spec_names_another_namespace() -> None:
    async with operated() as scene:
        first = await scene.cluster.elsewhere(ELSEWHERE)
        second = await scene.cluster.elsewhere("other-settings")
        await scene.ask_for(modes(SLICES))
        async with operator_on(scene):
            await first.until("configmaps", DEVICE_CONFIG, bool)
            await scene.edit({"devicePlugin": {"configNamespace": "other-settings"}})
            await second.until("configmaps", DEVICE_CONFIG, bool)
            await until_gone(first, "configmaps", DEVICE_CONFIG)


async def test_the_device_config_of_the_spec_is_the_operators() -> None:
    async with operated() as scene:
        config = {"version": "v1", "cluster-config": {"mode": "sgpu"}}
        await scene.ask_for({**NEVER, "devicePlugin": {"deviceConfig": config}})
        async with operator_on(scene):
            made = await scene.cluster.until("configmaps", "metax-device-config", bool)
            assert made["data"]["version"] == "v1"
            await scene.cluster.change("configmaps", "metax-device-config", {"data": {"version": "v2"}})
            await scene.cluster.until(
                "configmaps", "metax-device-config", lambda seen: seen["data"]["version"] == "v1"
            )

"""Nodes that are set up otherwise: a container runtime without CDI, and a kubelet that aligns by NUMA node."""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from e2e.nodes_kit import (
    ALLOWED,
    DEVICES,
    FORBIDDEN,
    devices_in,
    granting_names,
    looking_at_devices,
    make_devices,
    openings_in,
    spec_of,
    start_pod,
    until_refused,
    words_of,
    write,
)
from e2e.restarts_kit import NODE, PATIENCE, calls_of, plugin_of, room_of, until_offered
from testbed.cluster import Cluster
from testbed.manifests import container, is_running, pod
from testbed.options import Options
from testbed.plugin import PluginOptions, ScriptedPlugin
from testbed.plugin_behaviours import granting
from testbed.plugin_records import Call, DeviceFile, HostMount, PluginDevice

SAY = 'echo "meaning=$MEANING"'


@pytest_asyncio.fixture(scope="module")
async def without_cdi() -> AsyncIterator[Cluster]:
    """One node whose containerd has CDI switched off and whose kubelet aligns devices by NUMA node."""
    options = Options(cdi=False, kubelet={"topologyManagerPolicy": "best-effort"})
    async with Cluster.open(options) as running:
        yield running


@pytest.fixture
def resource(unique: Callable[[str], str]) -> str:
    return f"tangram.dev/{unique('settings')}"


async def test_without_cdi_a_name_in_its_field_keeps_the_container_from_starting(
    without_cdi: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    """The pod waits for ever, although the spec is there; nobody tells before."""
    name, cdi = unique("field"), f"tangram.dev/off={unique('field')}"
    write(without_cdi, spec_of(cdi, {"MEANING": "there"}))
    async with plugin_of(without_cdi, resource, ["a"]) as plugin:
        plugin.script.allocate = granting_names(cdi)
        await until_offered(without_cdi, plugin)
        await start_pod(without_cdi, name, resource, script=SAY)
        message = await until_refused(without_cdi, name, "CreateContainerError")
        assert "CDI support is explicitly disabled" in message
        assert cdi in message


async def test_without_cdi_a_name_in_an_annotation_is_silently_ignored(
    without_cdi: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    """The container starts with nothing of its own, and nothing says so."""
    name, cdi = unique("annotation"), f"tangram.dev/off={unique('annotation')}"
    write(without_cdi, spec_of(cdi, {"MEANING": "there"}))
    async with plugin_of(without_cdi, resource, ["a"]) as plugin:
        plugin.script.allocate = granting(annotations={"cdi.k8s.io/tangram": cdi}, cdi=False)
        await until_offered(without_cdi, plugin)
        await start_pod(without_cdi, name, resource, script=SAY)
        assert await words_of(without_cdi, name) == "meaning="


async def test_without_cdi_variables_device_files_and_mounts_of_the_answer_arrive_and_nothing_else(
    without_cdi: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    name = unique("plain")
    wanted = ("/dev/mxcd", "/dev/dri/renderD128")
    await make_devices(without_cdi)
    (room_of(without_cdi).lib / name).write_text("about the card", encoding="utf-8")
    async with plugin_of(without_cdi, resource, ["a"]) as plugin:
        plugin.script.allocate = granting(
            {"MEANING": "plain"},
            device_files=tuple(DeviceFile(path, path) for path in wanted),
            mounts=(HostMount(f"/var/lib/{name}", "/card"),),
            cdi=False,
        )
        await until_offered(without_cdi, plugin)
        script = f"{SAY}; cat /card; echo; {looking_at_devices()}"
        await start_pod(without_cdi, name, resource, script=script)
        words = await words_of(without_cdi, name)
    assert words.splitlines()[:2] == ["meaning=plain", "about the card"]
    assert devices_in(words) == {path: DEVICES[path] for path in wanted}
    assert openings_in(words) == {path: ALLOWED if path in wanted else FORBIDDEN for path in DEVICES}


async def test_numa_alignment_comes_before_the_plugins_preference(
    without_cdi: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    """The plugin chooses among the aligned devices only, and is not even asked when there is nothing to choose."""
    devices = (PluginDevice("near-1", numa=(0,)), PluginDevice("near-2", numa=(0,)), PluginDevice("far"))
    directory = room_of(without_cdi).device_plugins
    options = PluginOptions(preferences=True)

    async def prefer(_call: Call) -> tuple[tuple[str, ...], ...]:
        return (("far",),)

    async with ScriptedPlugin(directory, resource, devices, options=options) as plugin:
        plugin.script.allocate = granting(cdi=False)
        plugin.script.prefer = prefer
        await until_offered(without_cdi, plugin)
        for word in ("asked", "unasked"):
            made = container(limits={resource: 1})
            await without_cdi.api.create(pod(unique(word), made, node=NODE))
            await without_cdi.until_pod(unique(word), is_running, within=PATIENCE)
        (asked,) = calls_of(plugin, "GetPreferredAllocation")
        assert sorted(asked.preferences[0].available) == ["near-1", "near-2"]
        given = [call.ids[0] for call in calls_of(plugin, "Allocate")]
        assert sorted(given) == [("near-1",), ("near-2",)]

"""From bare nodes to GPU nodes and back, by `helm install` and `helm uninstall` of the operator.

The tests of a cluster share one release; the one that removes it is the last of them.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from e2e.helm_kit import Shipped
from e2e.operator_kit import (
    CHART,
    CONTROLLER,
    MACA,
    NAMESPACE,
    OBJECT,
    OLD,
    PARTS,
    Operated,
    looking_pod,
    operated,
    values,
)
from e2e.operator_view_kit import (
    INSTALLED,
    OFFER,
    Timeline,
    differences,
    hosts,
    runtime_state,
    watching_nodes,
)
from e2e.release_kit import NodeLook, nodes_look
from e2e.scheduling_kit import poll_until
from tangram.wire.operator import names
from testbed.api import path_of
from testbed.node import CONTAINERD_FILE
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("operator-install")

ORDER = [INSTALLED, names.RUNTIME_READY, names.DRIVER_READY, names.MACA_READY, OFFER]
WITH_A_CARD = f"/dev/mxcd\n/opt/maca\n/opt/mxdriver\n{MACA}\n{OLD}\n"
ODD = (
    "# this node is kept by hand, see the wiki\n\n"
    'imports = [\n  "/etc/containerd/conf.d/*.toml", # one per team\n]\n'
)


def dressed(text: str) -> str:
    """A configuration as people leave it: comments, tabs, blank lines, quotes of the other kind, no last line end."""
    return (
        text.replace("version = 2\n", f"version   =    2 # do not raise\n{ODD}")
        .replace('snapshotter = "overlayfs"', "\t\tsnapshotter='overlayfs'   # measured: faster")
        .replace("\n[plugins.", "\n\n\n   [plugins.")
        .rstrip("\n")
    )


@dataclass
class Story:
    """A release, with everything that must be as it was when it is gone."""

    ready: Operated
    chosen: Mapping[str, object]
    nodes: Mapping[str, NodeLook]
    hosts: Mapping[str, Mapping[str, str]]
    configurations: Mapping[str, bytes]
    timeline: Timeline = field(default_factory=Timeline)


async def begun(ready: Operated, chosen: Mapping[str, object]) -> Story:
    """Note how everything is, and install."""
    story = Story(
        ready,
        chosen,
        await nodes_look(ready.cluster),
        await hosts(ready.cluster),
        configurations(ready),
    )
    async with watching_nodes(ready.cluster) as story.timeline:
        await ready.install(chosen)
        await ready.until_ready()
    return story


def configurations(ready: Operated) -> dict[str, bytes]:
    return {
        node.name: (ready.cluster.room(node).containerd / CONTAINERD_FILE.name).read_bytes()
        for node in ready.cluster.nodes
    }


@pytest_asyncio.fixture(scope="module")
async def story(operator_release: Shipped) -> AsyncIterator[Story]:
    """Three nodes that resolve CDI names."""
    async with operated(operator_release) as ready:
        yield await begun(ready, values())


@pytest_asyncio.fixture(scope="module")
async def plain(operator_release: Shipped) -> AsyncIterator[Story]:
    """A node whose container runtime knows nothing of CDI, with a configuration that somebody keeps by hand."""
    options = Options(nodes=1, cdi=False, containerd_version=2, containerd_dress=dressed)
    async with operated(operator_release, options) as ready:
        yield await begun(ready, values())


# ---- three nodes


async def test_bare_nodes_become_gpu_nodes_in_the_right_order(story: Story) -> None:
    for node in story.ready.cluster.nodes:
        assert story.timeline.order(node.name, ORDER) == ORDER, story.timeline.told()
    said = await story.ready.status()
    assert said.status == 0, said.output + said.errors
    for node in story.ready.cluster.nodes:
        assert node.name in said.output
    assert OLD in said.output


async def test_a_container_with_a_card_sees_maca_and_the_driver_and_others_see_neither(story: Story) -> None:
    assert await story.ready.seen_by(looking_pod("with-a-card", cards=1)) == WITH_A_CARD
    assert await story.ready.seen_by(looking_pod("without")) == ""


async def test_a_part_that_somebody_edits_or_deletes_is_as_wanted_again(story: Story) -> None:
    api, ready = story.ready.cluster.api, story.ready

    def place(part: str) -> str:
        return path_of("DaemonSet", f"metax-{part}", namespace=NAMESPACE, version="apps/v1")

    edited = place("gpu-device")
    before = (await api.get(edited))["spec"]["template"]["spec"]["containers"][0]
    change = {
        "spec": {"template": {"spec": {"containers": [{**before, "args": ["gpu-device", "--broken"]}]}}}
    }
    await api.patch(edited, change)
    await api.until(
        edited,
        lambda seen: seen["spec"]["template"]["spec"]["containers"][0]["args"] == before["args"],
        what="the arguments as they were",
    )
    gone = place("driver-manager")
    uid = (await api.get(gone))["metadata"]["uid"]
    await api.delete(gone)
    await api.until(gone, lambda seen: seen.get("metadata", {}).get("uid", uid) != uid, what="a new one")
    await ready.until_ready()
    said = await ready.events()
    assert any("metax-gpu-device" in line for line in said), said
    assert any("metax-driver-manager" in line for line in said), said


async def test_a_deleted_object_is_a_removal_and_a_new_one_an_installation(story: Story) -> None:
    """What people do who do not know helm: the hosts are as before then, and everything comes back with the object."""
    ready = story.ready
    api = ready.cluster.api
    kept = await api.get(OBJECT)
    await api.delete(OBJECT)
    await api.until(OBJECT, lambda seen: not seen, within=150, what="the object let go")
    for part in PARTS:
        path = path_of("DaemonSet", f"metax-{part}", namespace=NAMESPACE, version="apps/v1")
        assert not await api.exists(path), part
    await hosts_are_as_before(story)
    fresh = {key: kept["metadata"].get(key, {}) for key in ("labels", "annotations")}
    again = {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "metadata": {"name": names.OBJECT, **fresh},
        "spec": kept["spec"],
    }
    await api.call("POST", OBJECT.rpartition("/")[0], again)
    await ready.until_ready()


async def test_uninstalling_leaves_hosts_and_nodes_as_they_were(story: Story) -> None:
    await story.ready.until_ready()
    await story.ready.helm.uninstall()
    await hosts_are_as_before(story)
    await nodes_are_as_before(story)


# ---- one node without CDI


@pytest.mark.smoke
async def test_without_cdi_the_runtime_metax_shows_maca_to_containers_with_cards(plain: Story) -> None:
    ready = plain.ready
    state = runtime_state((await ready.nodes())["n1"])
    assert state is not None
    assert state.way == "wrapper"
    assert await ready.seen_by(looking_pod("with-a-card", cards=1)) == WITH_A_CARD
    assert await ready.seen_by(looking_pod("without")) == ""
    text = configurations(ready)["n1"].decode()
    for line in plain.configurations["n1"].decode().splitlines():
        if "default_runtime_name" not in line:
            assert line in text
    assert plain.timeline.order("n1", ORDER) == ORDER, plain.timeline.told()


async def test_uninstalling_restores_a_configuration_that_is_kept_by_hand(plain: Story) -> None:
    """Containers that the program of runtime metax has started need it to end, the one that uninstalls among them."""
    ready = plain.ready
    await ready.helm.uninstall()
    await hosts_are_as_before(plain, beside=(names.RUNTIME_JOURNAL, "/var/lib/metax/tools"))
    told = await ready.events("GpuOperatorNodeLeftovers")
    assert any(names.RUNTIME_PROGRAM in line for line in told), told
    await nodes_are_as_before(plain)


async def hosts_are_as_before(story: Story, beside: tuple[str, ...] = ()) -> None:
    """But for what is below these folders."""
    ready = story.ready
    assert configurations(ready) == story.configurations
    for node, files in (await hosts(ready.cluster)).items():
        changed = differences(story.hosts[node], files)
        if beside:
            changed.pop("/var/lib/metax", None)
        assert {path: was for path, was in changed.items() if not path.startswith(beside)} == {}, node
        assert await ready.loaded(node) == ""


async def nodes_are_as_before(story: Story) -> None:
    ready = story.ready
    assert await nodes_look(ready.cluster) == story.nodes

    async def gone() -> bool:
        return not await ready.cluster.api.list(path_of("Pod", namespace=NAMESPACE))

    await poll_until(gone, what=f"the end of all pods of {CHART}, {CONTROLLER} among them")

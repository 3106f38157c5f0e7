"""The agent tells Koordinator of its cards, on a real API server and a real kubelet, with koordlet and without."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode, agent_node
from e2e.agent_view_kit import SGPU, metax, tell
from e2e.agent_watch_kit import events_about, until, until_counts
from e2e.restarts_kit import restart_kubelet
from e2e.scheduler_kit import apply
from tangram.wire.koordinator.definition import NAME, device_definition
from testbed.api import ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.koordlet import Koordlet
from testbed.manifests import SLEEP, container, is_gone, is_running, pod

pytestmark = pytest.mark.xdist_group("reporting to koordinator")

CARDS = "tangram: cards/v1\ncards:\n- {server: c500-8-two-groups, sliced: true}\n"
MODE = "mode: sgpu\n"
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
WITHIN = 90.0
CORE = "koordinator.sh/gpu-core"


def amounts(cards: int) -> dict[str, str]:
    """What a node with so many healthy cards states."""
    if not cards:
        return {}
    return {
        CORE: str(100 * cards),
        "koordinator.sh/gpu-memory": f"{63 * cards}Gi",
        "koordinator.sh/gpu-memory-ratio": str(100 * cards),
        "koordinator.sh/gpu.shared": str(100 * cards),
    }


def states(cards: int) -> Callable[[Object], bool]:
    return lambda seen: all(
        {name: value for name, value in seen["status"][side].items() if name.startswith("koordinator.sh/")}
        == amounts(cards)
        for side in ("capacity", "allocatable")
    )


@pytest_asyncio.fixture(scope="module")
async def node(bed: Cluster) -> AsyncIterator[AgentNode]:
    """A node with eight sliced cards; the kind `Device` is known."""
    await apply(bed, device_definition())
    await bed.kubectl("wait", "--for=condition=established", f"crd/{NAME}")
    async with agent_node(bed, CARDS, mode=MODE) as standing:
        await until_counts(standing, SGPU, 128, 128, fresh=True)
        yield standing
        print(standing.log())  # noqa: T201 - pytest shows it when a test failed


async def device_of(node: AgentNode) -> Object | None:
    try:
        return await node.cluster.api.get(f"{DEVICES}/{node.name}")
    except ApiRefused as refused:
        if refused.status == 404:
            return None
        raise


async def until_device(node: AgentNode, true: Callable[[Object], bool], what: str) -> Object:
    found: list[Object] = []

    async def so() -> bool:
        seen = await device_of(node)
        found[:] = [] if seen is None else [seen]
        return seen is not None and true(seen)

    await until(so, what, within=WITHIN)
    return found[0]


async def until_states(node: AgentNode, cards: int) -> Object:
    return await node.cluster.until_node(
        str(node.name), states(cards), within=WITHIN, what=f"the amounts of {cards} cards"
    )


@pytest.mark.smoke
async def test_a_real_api_server_takes_the_device_and_the_node_states_its_amounts(node: AgentNode) -> None:
    seen = await until_states(node, 8)
    assert seen["metadata"]["labels"]["node.koordinator.sh/gpu-vendor"] == "metax"
    assert seen["metadata"]["labels"]["node.koordinator.sh/gpu-model"] == "C500"
    shown = await node.cluster.kubectl("get", "device", str(node.name), "-o", "json")
    device = json.loads(shown.output)
    cards = metax(node)
    assert [entry["id"] for entry in device["spec"]["devices"]] == [card.uuid for card in cards]
    assert [entry["minor"] for entry in device["spec"]["devices"]] == list(range(8))
    for entry, card in zip(device["spec"]["devices"], cards, strict=True):
        assert entry["topology"] == {
            "socketID": -1,
            "nodeID": card.numa,
            "pcieID": f"pci{card.pcie_path[0].rpartition(':')[0]}",
            "busID": card.bdf,
        }
    groups = json.loads(device["metadata"]["annotations"]["scheduling.koordinator.sh/gpu-partitions"])
    assert {size: [each["minors"] for each in found] for size, found in groups.items()} == {
        "2": [[0, 1], [2, 3], [4, 5], [6, 7]],
        "4": [[0, 1, 2, 3], [4, 5, 6, 7]],
    }


async def test_a_sick_card_is_reported_with_a_reason_that_a_real_api_server_takes(node: AgentNode) -> None:
    await until_states(node, 8)
    tell(node, "fail GPU-3 ecc")
    try:
        device = await until_device(
            node, lambda seen: not seen["spec"]["devices"][3]["health"], "the card is reported sick"
        )
        (condition,) = device["spec"]["devices"][3]["conditions"]
        assert (condition["status"], condition["reason"]) == ("False", "ECCError")
        assert condition["message"]
        await until_states(node, 7)
        await until_counts(node, SGPU, 128, 112)
    finally:
        tell(node, "recover GPU-3")
    await until_states(node, 8)
    await until_counts(node, SGPU, 128, 128)


async def test_amounts_that_are_set_to_nothing_come_back_before_they_cost_many_pods(node: AgentNode) -> None:
    await until_states(node, 8)
    # As a kubelet does that registers with an empty folder; whether a real one gets to it is a race.
    nothing = dict.fromkeys(amounts(8), "0")
    await node.cluster.api.patch(
        f"{path_of('Node', str(node.name))}/status",
        {"status": {"capacity": nothing, "allocatable": nothing}},
        fieldManager="kubelet",
    )
    await until_states(node, 8)
    await counted_pod_runs(node)


async def test_a_kubelet_that_starts_again_keeps_the_amounts_and_counts_by_them(node: AgentNode) -> None:
    await until_states(node, 8)
    await restart_kubelet(node.cluster)
    await until_counts(node, SGPU, 128, 128, fresh=True)
    await until_states(node, 8)
    await counted_pod_runs(node)


async def counted_pod_runs(node: AgentNode) -> None:
    """A pod that asks for one of the amounts, and that the kubelet would refuse if there were too little."""
    asks = container(script=SLEEP, limits={CORE: "800"})
    await node.cluster.api.create(pod("counted", asks, node=str(node.name)))
    await node.cluster.until_pod("counted", is_running)
    await node.cluster.api.delete(path_of("Pod", "counted"), grace=0)
    await node.cluster.until_pod("counted", is_gone)


async def test_at_rest_the_reports_cost_no_write_and_after_a_restart_none_either(node: AgentNode) -> None:
    await until_states(node, 8)
    before = await until_device(node, lambda _seen: True, "there is a Device")
    await node.stop_agent()
    assert await device_of(node) == before
    assert states(8)(await node.cluster.api.get(path_of("Node", str(node.name))))
    await node.start_agent()
    await until_counts(node, SGPU, 128, 128, fresh=True)
    await asyncio.sleep(3)
    assert await device_of(node) == before
    counted = [line for line in (await node.metrics()).splitlines() if "api_writes_total{" in line]
    assert not [line for line in counted if '"device"' in line or '"node-amounts"' in line]


async def test_a_node_that_is_deleted_takes_its_device_along_and_a_new_one_gets_a_new_device(
    node: AgentNode,
) -> None:
    before = await until_device(node, lambda _seen: True, "there is a Device")
    cluster, names = node.cluster, node.names
    await cluster.stop_kubelet(names)
    await cluster.api.delete(path_of("Node", str(node.name)))

    async def gone() -> bool:
        return await device_of(node) is None

    await until(gone, "the Device is collected with its node", within=WITHIN)
    await cluster.start_kubelet(names)
    device = await until_device(node, lambda _seen: True, "there is a Device again")
    own = await until_states(node, 8)
    assert device["metadata"]["uid"] != before["metadata"]["uid"]
    assert device["metadata"]["ownerReferences"][0]["uid"] == own["metadata"]["uid"]


def health(device: Object) -> list[bool]:
    return [entry["health"] for entry in device["spec"]["devices"]]


ON_HOST = [{"name": "run", "hostPath": {"path": "/var/run"}}]
"""Folders of the host, as the real ones mount; without them a pod is only called koordlet."""


@asynccontextmanager
async def koordlet_on(node: AgentNode) -> AsyncGenerator[Path]:
    """A pod of the node that is koordlet, its directory, and somebody who does its work."""
    folder = node.cluster.room(node.names).run / "koordlet" / "xpu-device-infos"
    folder.mkdir(parents=True, exist_ok=True)
    api = node.cluster.api
    made = pod("koordlet", container("koordlet", script=SLEEP), node=str(node.name))
    made["metadata"]["labels"] = {"koord-app": "koordlet"}
    made["spec"]["volumes"] = ON_HOST
    await api.create(made)
    try:
        async with Koordlet(api, str(node.name), folder, every=0.2).serve():
            yield folder
    finally:
        await api.delete(path_of("Pod", "koordlet"), grace=0)


async def test_beside_a_scripted_koordlet_the_agents_file_is_what_it_reports(node: AgentNode) -> None:
    ours = await until_device(node, lambda seen: len(seen["spec"]["devices"]) == 8, "our own Device")
    async with koordlet_on(node) as folder:
        await until((folder / "tangram").exists, "the file is there", within=WITHIN)
        tell(node, "fail GPU-0 ecc")
        device = await until_device(node, lambda seen: health(seen).count(False) == 1, "one sick card")
        tell(node, "recover GPU-0")
        well = await until_device(node, lambda seen: health(seen) == [True] * 8, "eight that are well")
        assert device["metadata"]["labels"] == well["metadata"]["labels"] == ours["metadata"]["labels"]
        assert well["metadata"]["annotations"] == ours["metadata"]["annotations"]
        told = [
            [
                {**entry, "conditions": [{**entry["conditions"][0], "lastTransitionTime": ""}]}
                for entry in each
            ]
            for each in (well["spec"]["devices"], ours["spec"]["devices"])
        ]
        assert told[0] == told[1]
        daemon = pod("daemon", container("koord-device-daemon", script=SLEEP), node=str(node.name))
        daemon["metadata"]["labels"] = {"koord-app": "koordlet"}
        daemon["spec"]["volumes"] = ON_HOST
        await node.cluster.api.create(daemon)
        await until(lambda: not (folder / "tangram").exists(), "our file is gone", within=WITHIN)
        await node.cluster.api.delete(path_of("Pod", "daemon"), grace=0)
        await until((folder / "tangram").exists, "our file is back", within=WITHIN)
    assert [
        one for one in await events_about(node, str(node.name)) if one["reason"] == "GpuNotReported"
    ] == []


async def test_a_device_signed_by_koordlet_is_left_alone_with_an_event_until_it_is_deleted(
    node: AgentNode,
) -> None:
    await node.stop_agent()
    theirs = await until_device(node, lambda _seen: True, "there is a Device")
    theirs["spec"]["devices"] = theirs["spec"]["devices"][:1]
    path = f"{DEVICES}/{node.name}"
    theirs = await node.cluster.api.call("PUT", path, theirs, fieldManager="koordlet")
    folder = node.cluster.room(node.names).run / "koordlet" / "xpu-device-infos"
    (folder / "tangram").unlink(missing_ok=True)
    await node.start_agent()

    async def told() -> bool:
        events = await events_about(node, str(node.name))
        return any(one["reason"] == "GpuNotReported" and "koordlet" in one["message"] for one in events)

    await until(told, "an event says whose the Device is", within=WITHIN)
    assert await device_of(node) == theirs
    await node.cluster.api.delete(path)
    await until_device(node, lambda seen: len(seen["spec"]["devices"]) == 8, "our Device")
    await until_states(node, 8)

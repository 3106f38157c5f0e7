"""The kind `Device` on a real API server, and what `tangram doctor --cluster` says of who places and reports cards."""

import json
from collections.abc import AsyncGenerator, Callable

import pytest
import pytest_asyncio

from e2e.agent_kit import TANGRAM
from e2e.card_nodes_kit import agent_node, closed_node
from e2e.koordinator_kit import DEFINITIONS, install_definition
from tangram.wire.koordinator.definition import NAME
from testbed.api import MERGE_PATCH, ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, pod, tolerates_kwok

pytestmark = pytest.mark.xdist_group("fleet")

DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
NOW = "2026-11-15T21:15:10Z"


@pytest_asyncio.fixture
async def kind(fleet: Cluster) -> AsyncGenerator[Cluster]:
    """The fleet with our definition, which is gone afterwards, and every Device with it."""
    await install_definition(fleet)
    yield fleet
    await fleet.api.delete(f"{DEFINITIONS}/{NAME}")
    await fleet.kubectl("wait", "--for=delete", f"crd/{NAME}", "--timeout=60s")


async def findings(cluster: Cluster, check: str) -> list[tuple[str, str]]:
    """Outcome and sentence of everything that a check found."""
    done = await cluster.command([TANGRAM, "doctor", "--cluster", "-o", "json", "--timeout", "60s"])
    assert done.errors == ""
    return [
        (each["outcome"], each["why"])
        for each in json.loads(done.output)["findings"]
        if each["check"] == check
    ]


def device(name: str, *entries: Object) -> Object:
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": name},
        "spec": {"devices": list(entries)},
    }


def entry(**more: object) -> Object:
    return {"id": "GPU-0", "minor": 0, "type": "gpu", "health": True, **more}


def condition(**changes: object) -> Object:
    told = {
        "type": "Healthy",
        "status": "False",
        "reason": "ECCError",
        "message": "",
        "lastTransitionTime": NOW,
    }
    return {**told, **changes}


async def test_the_definition_is_accepted_without_a_complaint(kind: Cluster) -> None:
    seen = await kind.api.get(f"{DEFINITIONS}/{NAME}")
    conditions = {each["type"]: each["status"] for each in seen["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert conditions["NamesAccepted"] == "True"
    assert "NonStructuralSchema" not in conditions
    assert await findings(kind, "device-kind") == [("ok", f"{NAME} is Tangram's")]


async def test_a_device_gets_its_default_and_loses_what_nobody_knows(kind: Cluster) -> None:
    made = device(
        "d1", {"id": "GPU-0", "minor": 0, "colour": "red", "resources": {"koordinator.sh/gpu-core": 100}}
    )
    await kind.api.call("POST", DEVICES, made)
    seen = await kind.api.get(f"{DEVICES}/d1")
    assert seen["spec"]["devices"] == [
        {"id": "GPU-0", "minor": 0, "health": False, "resources": {"koordinator.sh/gpu-core": 100}}
    ]


async def test_one_faulty_card_makes_the_whole_device_refused(kind: Cluster) -> None:
    faults = {
        "conditions[0].reason": entry(conditions=[condition(reason="ECC error")]),
        "conditions[0].status": entry(conditions=[condition(status="Sick")]),
        "topology.socketID": entry(topology={"nodeID": 0, "pcieID": ""}),
        "devices[1].minor": entry(minor="1"),
        "gpu-memory": entry(resources={"koordinator.sh/gpu-memory": "64 GB"}),
    }
    for where, faulty in faults.items():
        with pytest.raises(ApiRefused) as refused:
            await kind.api.call("POST", DEVICES, device("d1", entry(id="GPU-1"), faulty))
        assert refused.value.status == 422
        assert where in refused.value.message
    await kind.api.call("POST", DEVICES, device("d1", entry(conditions=[condition()])))


async def test_a_definition_of_koordinators_is_left_alone_and_said_so(kind: Cluster) -> None:
    helm = {"meta.helm.sh/release-name": "koordinator", "meta.helm.sh/release-namespace": "default"}
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    change = {"metadata": {"annotations": helm, "labels": labels}}
    await kind.api.call("PATCH", f"{DEFINITIONS}/{NAME}", change, content=MERGE_PATCH)
    assert await findings(kind, "device-kind") == [
        ("ok", f"{NAME} belongs to Helm release default/koordinator, and Tangram leaves it alone")
    ]


async def test_who_places_where_is_told_and_what_protects_a_node_that_two_fill(
    kind: Cluster, unique: Callable[[str], str]
) -> None:
    with_agent, closed = unique("agent"), unique("closed")
    nodes = [agent_node(with_agent), closed_node(closed)]
    pods = [
        pod(
            unique(f"{word}-{number}"),
            container(limits={"metax-tech.com/sgpu": 1}),
            node=node,
            scheduler=f"{word}-scheduler",
            tolerations=tolerates_kwok(),
        )
        for number, node in enumerate((with_agent, closed))
        for word in ("koord", "tangram")
    ]
    told = json.dumps(device(with_agent, entry()))
    try:
        for thing in (*nodes, *pods):
            await kind.api.create(thing)
        applied = await kind.kubectl(
            "apply", "--server-side", "--field-manager=koordlet", "-f", "-", stdin=told
        )
        assert applied.status == 0, applied.errors
        shared = await findings(kind, "shared-nodes")
        placed = await findings(kind, "placers")
        devices = await findings(kind, "devices")
    finally:
        for made in pods:
            await kind.api.delete(path_of("Pod", made["metadata"]["name"]))
        for made in nodes:
            await kind.api.delete(path_of("Node", made["metadata"]["name"]))
    assert [outcome for outcome, why in shared if f"Koordinator and Tangram fill {with_agent}" in why] == [
        "warn"
    ]
    assert [outcome for outcome, why in shared if f"Koordinator and Tangram fill {closed}" in why] == ["fail"]
    assert any(why.startswith("Koordinator (koord-scheduler) has placed 2 pods") for _, why in placed)
    assert [outcome for outcome, why in devices if f"koordlet wrote the Device of {with_agent}" in why] == [
        "warn"
    ]

"""Koordinator's user page for MetaX on a real cluster without Koordinator: from the ConfigMap to the device file."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import yaml

from e2e.agent_kit import AgentNode, agent_node
from e2e.agent_view_kit import SGPU, all_slices, empty, metax, running
from e2e.agent_watch_kit import until_counts
from e2e.scheduler_kit import PORT, annotations_of, apply, placing
from tangram.kube.objects import Object
from tangram.wire.extender_config import extender_entry, profiles
from tangram.wire.koordinator.definition import NAME, device_definition
from testbed.box import REPOSITORY
from testbed.cluster import Cluster
from testbed.manifests import BUSYBOX
from tour.user_page import PageCard, page_differences

pytestmark = pytest.mark.xdist_group("koordinator's user page")

EXAMPLE = REPOSITORY / "examples" / "35-koordinator-user-page"
KOORDINATOR = "koord-scheduler"
DEVICE = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
ONE_CARD = "tangram: cards/v1\ncards:\n- {product: C500, numa: 0}\n"


@pytest_asyncio.fixture(scope="module")
async def node(bed: Cluster) -> AsyncIterator[AgentNode]:
    """The Device's kind, our scheduler under Koordinator's name, and one card that is handed out whole."""
    await apply(bed, device_definition())
    async with placing(bed, "--also-serve", KOORDINATOR):
        await bed.restart_scheduler(
            {
                "profiles": [{"schedulerName": "default-scheduler"}, *profiles([KOORDINATOR])],
                "extenders": [extender_entry(f"http://127.0.0.1:{PORT}")],
            }
        )
        async with agent_node(bed, ONE_CARD, extra=("--config-namespace", "kube-system")) as standing:
            await until_counts(standing, "metax-tech.com/gpu", 1, 1, fresh=True)
            yield standing
            print(standing.log())  # noqa: T201 - pytest shows it when a test failed
            await empty(standing)
    await bed.kubectl("delete", "crd", NAME)


def _manifest(name: str) -> Object:
    return yaml.safe_load((EXAMPLE / name).read_text("utf-8"))


@pytest.mark.smoke
async def test_the_user_page_of_koordinator_holds_from_the_config_map_to_the_device_file(
    node: AgentNode,
) -> None:
    cluster = node.cluster
    await apply(cluster, _manifest("device-config.yaml"))
    await until_counts(node, SGPU, 16, 16)
    (card,) = metax(node)
    await cluster.until_node(
        str(node.name),
        lambda seen: seen["status"]["allocatable"].get("koordinator.sh/gpu.shared") == "100",
        within=30,
        what="Koordinator's resources on the node",
    )
    seen = yaml.safe_load((await cluster.kubectl("get", "device", str(node.name), "-o", "yaml")).output)
    there = await cluster.api.get(f"/api/v1/nodes/{node.name}")
    assert page_differences(seen, there, PageCard(card.uuid, card.bdf, 0)) == []

    vgpu = _manifest("pod.yaml")
    vgpu["spec"] |= {"schedulerName": KOORDINATOR, "terminationGracePeriodSeconds": 1}
    vgpu["spec"]["containers"][0] |= {"image": BUSYBOX, "imagePullPolicy": "Never"}
    await apply(cluster, vgpu)
    ran = await running(node, "vgpu")
    (part,) = all_slices(node)
    assert (part.card, part.memory >> 20, part.cores) == (card.uuid, 1024, 10)
    written = annotations_of(ran)
    assert written["scheduling.koordinator.sh/device-allocated"] == (
        '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"10","koordinator.sh/gpu-memory":"1Gi",'
        f'"koordinator.sh/gpu-memory-ratio":"1"}},"id":"{card.uuid}"}}]}}'
    )
    assert (
        written["metax-tech.com/gpu-devices-allocated"]
        == f'[[{{"uuid":"{card.uuid}","compute":10,"vRam":1024}}]]'
    )
    assert written["scheduling.koordinator.sh/gpu-minors"] == "0"
    assert "/dev/mxcd" in (await cluster.pod_log("vgpu", "main")).split()

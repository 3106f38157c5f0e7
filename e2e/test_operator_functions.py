"""`driver-config`: the cards of one node are split and joined again while the others notice nothing."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.helm_kit import Shipped
from e2e.operator_kit import NAMESPACE, Operated, gpu_pod, operated, removed, runs, values
from e2e.operator_view_kit import CARDS_OF_A_NODE, condition_of, offered
from e2e.release_kit import Life, life_of
from e2e.scheduling_kit import poll_until
from tangram.wire.operator import names
from testbed.api import path_of
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("operator-functions")

CONFIG = path_of("ConfigMap", names.DRIVER_CONFIG, namespace=NAMESPACE)
MINUTE = 60.0
NODE = "n1"


@pytest_asyncio.fixture(scope="module")
async def ready(operator_release: Shipped) -> AsyncIterator[Operated]:
    async with operated(operator_release, Options(nodes=2)) as made:
        await made.install(values())
        await made.until_ready()
        yield made


async def ask(ready: Operated, **data: str | None) -> None:
    await ready.cluster.api.patch(CONFIG, {"data": data})


def split(count: int) -> str:
    return f"nodes:\n  {NODE}:\n    vfnum: {count}\n"


async def until_offered(ready: Operated, count: int) -> None:
    await ready.cluster.until_node(
        NODE, lambda node: offered(node) == count, within=MINUTE, what=f"{count} cards offered"
    )


async def device_lives(ready: Operated) -> dict[str, Life]:
    return {one["spec"]["nodeName"]: life_of(one) for one in await ready.pods("gpu-device")}


async def test_the_sample_is_there_and_says_nothing_of_any_node(ready: Operated) -> None:
    data = (await ready.cluster.api.get(CONFIG))["data"]
    assert "node-vfnums" in data


async def test_cards_of_a_node_are_split_and_joined_and_only_its_gpu_device_is_new(ready: Operated) -> None:
    before = await device_lives(ready)
    await ask(ready, **{"node-vfnums": split(2)})
    await until_offered(ready, 2 * CARDS_OF_A_NODE)
    after = await device_lives(ready)
    assert after[NODE] != before[NODE]
    assert after["n2"] == before["n2"]
    assert offered((await ready.nodes())["n2"]) == CARDS_OF_A_NODE
    await runs(ready.cluster, gpu_pod("on-functions", cards=3, node=NODE))
    await removed(ready.cluster, "on-functions")

    await ask(ready, **{"node-vfnums": split(0)})
    await until_offered(ready, CARDS_OF_A_NODE)
    assert (await device_lives(ready))["n2"] == before["n2"]


async def test_a_change_waits_for_pods_that_hold_cards_and_says_so(ready: Operated) -> None:
    await runs(ready.cluster, gpu_pod("busy", node=NODE))
    await ask(ready, **{"node-vfnums": split(2)})

    def pending(node: dict[str, object]) -> bool:
        return condition_of(node, names.DRIVER_CHANGE_PENDING).get("status") == "True"

    seen = await ready.cluster.until_node(NODE, pending, within=MINUTE, what="a change that waits")
    assert "default/busy" in condition_of(seen, names.DRIVER_CHANGE_PENDING)["message"]
    assert offered(seen) == CARDS_OF_A_NODE

    async def told() -> bool:
        return any("default/busy" in line for line in await ready.events("DriverChangePending"))

    await poll_until(told, what="an event about the pod")
    await removed(ready.cluster, "busy")
    await until_offered(ready, 2 * CARDS_OF_A_NODE)
    await ready.cluster.until_node(NODE, lambda node: not pending(node), what="nothing that waits")
    await ask(ready, **{"node-vfnums": split(0)})
    await until_offered(ready, CARDS_OF_A_NODE)


async def test_a_value_that_no_card_takes_is_refused_and_the_last_good_one_stays(ready: Operated) -> None:
    await ask(ready, **{"node-vfnums": split(2)})
    await until_offered(ready, 2 * CARDS_OF_A_NODE)
    before = await device_lives(ready)
    await ask(ready, **{"node-vfnums": split(3)})

    async def refused() -> bool:
        return any("vfnum" in line and "3" in line for line in await ready.events())

    await poll_until(refused, within=MINUTE, what="a refusal of 3 functions")
    assert offered((await ready.nodes())[NODE]) == 2 * CARDS_OF_A_NODE
    assert await device_lives(ready) == before
    await ask(ready, **{"node-vfnums": split(0)})
    await until_offered(ready, CARDS_OF_A_NODE)


async def test_the_newer_form_means_the_same(ready: Operated) -> None:
    await ask(ready, **{"node-vfnums": None, "nodes-config": f"- nodeName: {NODE}\n  vfNum: 4\n"})
    await until_offered(ready, 4 * CARDS_OF_A_NODE)
    await ask(ready, **{"nodes-config": f"- nodeName: {NODE}\n  vfNum: 0\n"})
    await until_offered(ready, CARDS_OF_A_NODE)

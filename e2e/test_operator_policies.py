"""`driver.deployPolicy` on a node whose host has a driver and on one that has none: what each of the manual's three
values makes of them, one after the other in one release, and what is left when it goes.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from e2e.helm_kit import Shipped
from e2e.operator_kit import BARE, OLD, Operated, gpu_pod, looking_pod, operated, removed, runs, values
from e2e.operator_view_kit import CARDS_OF_A_NODE, cordoned, driver_state, labels, offered, serves
from e2e.scheduling_kit import poll_until
from tangram.wire.operator import names
from testbed.api import Object
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("operator-policies")

HOST = "2.30.0"
"""The version of the driver that an administrator has installed."""
WITH, WITHOUT = "n1", "n2"
CARDS = {
    WITH: f"tangram: cards/v1\ncards: [{{product: C500, count: 2, sriov: on, driver_version: {HOST}}}]\n",
    WITHOUT: BARE,
}
PATIENCE = 120.0


@pytest_asyncio.fixture(scope="module")
async def ready(operator_release: Shipped) -> AsyncIterator[Operated]:
    async with operated(operator_release, Options(nodes=2, hurry=True), cards=CARDS, drivers=(OLD,)) as made:
        assert await made.loaded(WITH) == HOST
        yield made


async def until(ready: Operated, node: str, true: Callable[[Object], bool], what: str) -> Object:
    return await ready.cluster.until_node(node, true, within=PATIENCE, what=f"{node}: {what}")


def runs_driver(version: str, mode: str) -> Callable[[Object], bool]:
    """Verified, in service, and whose it is."""
    return lambda node: serves(node, version) and labels(node).get(names.DRIVER_MODE) == mode


def has_none(node: Object) -> bool:
    state = driver_state(node)
    return state is not None and state.code == "no-driver"


def chosen(policy: str) -> dict[str, Any]:
    return values(driver__deployPolicy=policy)


async def test_never_brings_none_and_the_driver_of_the_host_serves(ready: Operated) -> None:
    """No payload is named: the manual asks for its tag only where the policy is another one."""
    made = chosen("Never")
    del made["driver"]["payload"]
    await ready.begin(made)
    await until(ready, WITH, runs_driver(HOST, "native"), "the host's driver in service")
    await until(ready, WITHOUT, has_none, "no driver, and said so")
    assert offered((await ready.nodes())[WITHOUT]) == 0
    assert (await ready.loaded(WITH), await ready.loaded(WITHOUT)) == (HOST, "")
    said = await ready.tangram("status", "operator", "-o", "json")
    assert said.status == 1
    assert "driver.deployPolicy Never brings none" in said.output


async def test_if_not_present_brings_one_where_the_host_has_none_and_leaves_the_other(
    ready: Operated,
) -> None:
    await runs(ready.cluster, gpu_pod("at-work", node=WITH))
    await ready.upgrade(chosen("IfNotPresent"))
    await until(ready, WITHOUT, runs_driver(OLD, "cloud"), "the payload's driver in service")
    await until(ready, WITH, runs_driver(HOST, "native"), "the host's driver in service")
    assert (await ready.loaded(WITH), await ready.loaded(WITHOUT)) == (HOST, OLD)
    for node in (WITH, WITHOUT):
        seen = await ready.seen_by(looking_pod(f"look-{node}", cards=1, node=node))
        assert "/opt/maca\n" in seen, seen
    await removed(ready.cluster, "at-work")


async def test_always_replaces_the_driver_of_the_host_once_no_pod_uses_it(ready: Operated) -> None:
    await runs(ready.cluster, gpu_pod("at-work", node=WITH))
    await ready.upgrade(chosen("Always"))

    async def waits() -> bool:
        return "default/at-work" in (await ready.tangram("status", "operator", "-o", "json")).output

    await poll_until(waits, within=PATIENCE, what="a change that waits for the pod")
    assert cordoned((await ready.nodes())[WITH])
    assert await ready.loaded(WITH) == HOST
    await removed(ready.cluster, "at-work")
    await until(ready, WITH, runs_driver(OLD, "cloud"), "the payload's driver in service")
    assert await ready.loaded(WITH) == OLD
    await until(ready, WITHOUT, runs_driver(OLD, "cloud"), "the same as before")


async def test_at_the_end_the_host_has_its_own_driver_again_and_the_other_none(ready: Operated) -> None:
    await ready.helm.uninstall()
    assert (await ready.loaded(WITH), await ready.loaded(WITHOUT)) == (HOST, "")
    for node in (await ready.nodes()).values():
        assert offered(node) in (0, CARDS_OF_A_NODE)
        assert names.DRIVER_MODE not in labels(node)

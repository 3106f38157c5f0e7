"""A driver is changed across three nodes while jobs run: within the budget, and back where it fails."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from e2e.helm_kit import Shipped
from e2e.operator_kit import (
    NAMESPACE,
    NEW,
    OLD,
    Operated,
    driver_name,
    gpu_pod,
    operated,
    removed,
    runs,
    values,
)
from e2e.operator_view_kit import cordoned, driver_state, is_held, offered, serves, upgrade_of, watching_nodes
from e2e.release_kit import pods_of
from e2e.scheduling_kit import poll_until
from tangram.wire.operator.node_states import Phase, UpgradePhase
from testbed.api import Object, path_of
from testbed.images.payloads import driver_image
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("operator-upgrade")

THIRD = "2.34.0"
JOB_S = 8
PATIENCE = 240.0


@pytest_asyncio.fixture(scope="module")
async def ready(operator_release: Shipped) -> AsyncIterator[Operated]:
    async with operated(operator_release, Options(nodes=3, hurry=True)) as made:
        await made.cluster.load_image(driver_image(driver_name(THIRD)))
        await made.install(values())
        await made.until_ready()
        yield made


@asynccontextmanager
async def jobs(ready: Operated) -> AsyncGenerator[list[str]]:
    """Pods with a card that end by themselves, made one after the other as long as the block lasts."""
    made: list[str] = []

    async def flow() -> None:
        for number in itertools.count():
            name = f"job-{number}"
            await ready.cluster.api.create(gpu_pod(name, seconds=JOB_S))
            made.append(name)
            await asyncio.sleep(JOB_S / 3)

    flowing = asyncio.create_task(flow())
    try:
        yield made
    finally:
        flowing.cancel()
        await asyncio.gather(flowing, return_exceptions=True)


async def none_was_pulled(ready: Operated, names: list[str]) -> None:
    """Every job has ended well, however its node was worked on."""

    async def over() -> bool:
        return all(
            one["status"]["phase"] in {"Succeeded", "Failed"}
            for one in (await pods_of(ready.cluster)).values()
        )

    await poll_until(over, within=90, what="the end of all jobs")
    ends = {
        name: one["status"]["phase"] for name, one in (await pods_of(ready.cluster)).items() if name in names
    }
    assert set(ends.values()) == {"Succeeded"}, ends
    await removed(ready.cluster, *names)


def given_up(node: Object, to: str) -> bool:
    upgrade = upgrade_of(node)
    return upgrade is not None and (upgrade.phase, upgrade.to) == (UpgradePhase.FAILED, to)


async def kill_controllers(ready: Operated) -> None:
    for one in await ready.pods("operator-controller"):
        await ready.cluster.api.delete(path_of("Pod", one["metadata"]["name"], namespace=NAMESPACE), grace=0)


async def test_one_node_fails_and_is_taken_back_and_the_others_have_the_new_driver(ready: Operated) -> None:
    await ready.ctl("n2", "module", "fail", "verify", NEW)
    async with watching_nodes(ready.cluster) as timeline, jobs(ready) as made:
        await ready.want_driver(NEW)
        # The controller is gone while a node is out of service, and another one goes on.
        await ready.until_any(is_held, within=PATIENCE, what="is worked on")
        await kill_controllers(ready)
        for name in ("n1", "n3"):
            await ready.cluster.until_node(name, lambda node: serves(node, NEW), within=PATIENCE)
        failed = await ready.cluster.until_node(
            "n2", lambda node: given_up(node, NEW) and offered(node) > 0, within=PATIENCE
        )
    assert timeline.most_held() == 1, timeline.out_of_service
    assert not cordoned(failed)
    state = driver_state(failed)
    assert state is not None
    assert (state.phase, state.running) == (Phase.FAILED, OLD)
    assert [await ready.loaded(node) for node in ("n1", "n2", "n3")] == [NEW, OLD, NEW]
    assert any("n2" in line for line in await ready.events("GpuDriverUpgradeFailed")), await ready.events()
    said = (await ready.status()).output
    assert "n2" in said
    assert state.why in said or state.code in said
    await none_was_pulled(ready, made)

    # Mended, and the note taken off: it is tried again.
    await ready.ctl("n2", "module", "heal")
    await ready.cluster.kubectl("annotate", "node", "n2", "tangram.dev/driver.upgrade-")
    await ready.cluster.until_node("n2", lambda node: serves(node, NEW), within=PATIENCE)


async def test_a_node_that_a_person_cordoned_is_left_alone(ready: Operated) -> None:
    await ready.until_ready(NEW, within=PATIENCE)
    await ready.cluster.kubectl("cordon", "n1")
    try:
        await ready.want_driver(OLD)
        for name in ("n2", "n3"):
            await ready.cluster.until_node(name, lambda node: serves(node, OLD), within=PATIENCE)
        left = (await ready.nodes())["n1"]
        assert cordoned(left)
        assert upgrade_of(left) is None
        assert await ready.loaded("n1") == NEW
    finally:
        await ready.cluster.kubectl("uncordon", "n1")
    await ready.until_ready(OLD, within=PATIENCE)


async def test_nothing_is_begun_while_upgrades_are_paused(ready: Operated) -> None:
    await ready.until_ready(OLD, within=PATIENCE)
    await ready.ask({"driver": {"upgradePolicy": {"paused": True}}})
    await ready.want_driver(THIRD)
    async with watching_nodes(ready.cluster) as timeline:
        for name in ("n1", "n2", "n3"):
            await ready.cluster.until_node(
                name, _waits_for(THIRD), within=PATIENCE, what=f"{name} wants {THIRD}"
            )
        await asyncio.sleep(5)
    assert timeline.most_held() == 0
    said = (await ready.status()).output
    assert "paused" in said
    await ready.ask({"driver": {"upgradePolicy": {"paused": False, "maxUnavailable": 2}}})
    async with watching_nodes(ready.cluster) as timeline:
        await ready.until_ready(THIRD, within=PATIENCE)
    assert timeline.most_held() <= 2


async def test_pods_that_stay_are_evicted_where_the_policy_says_so(ready: Operated) -> None:
    await ready.until_ready(THIRD, within=PATIENCE)
    await runs(ready.cluster, gpu_pod("stays", node="n3"))
    await runs(ready.cluster, gpu_pod("others", cards=0, node="n3"))
    await ready.ask({"driver": {"upgradePolicy": {"whenBusy": "Evict", "evictTimeout": "1m"}}})
    await ready.want_driver(NEW)
    await ready.until_ready(NEW, within=PATIENCE)
    left = await pods_of(ready.cluster)
    assert "stays" not in left
    assert left["others"]["status"]["phase"] == "Running"
    await removed(ready.cluster, "others")


def _waits_for(version: str) -> Callable[[Object], bool]:
    def true(node: Object) -> bool:
        state = driver_state(node)
        return state is not None and state.needs_turn and state.wanted == version

    return true

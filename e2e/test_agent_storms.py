"""Forty pods at once, and an agent that is killed again and again while they start.

Every pod has other amounts than all others, so a mix-up of any two shows: in what a container was told, in the nodes it
found, and on the cards.
"""

import asyncio
import os
import random
import secrets
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import suppress

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode
from e2e.nodes_kit import touch
from e2e.restarts_kit import PATIENCE, checkpointed
from e2e.slice_pods_kit import SLICE, Part, place_slice, until_running
from e2e.storm_kit import (
    Given,
    assert_has,
    assert_nobody_shares,
    emptied,
    given_to,
    parts_of,
    registrations,
    sliced_node,
    until,
    uuids,
)
from testbed.api import ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import is_over, is_running
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("agent storms")

Unique = Callable[[str], str]
SEED = "TANGRAM_STORM_SEED"
"""In the environment, to see a storm again."""
CARDS = 8


@pytest_asyncio.fixture(scope="module")
async def serving() -> AsyncGenerator[AgentNode]:
    async with Cluster.open(Options(nodes=1)) as cluster, sliced_node(cluster, CARDS) as node:
        yield node


@pytest_asyncio.fixture
async def node(serving: AgentNode) -> AsyncGenerator[AgentNode]:
    """The module's node, which every test finds and leaves without pods, slices and CDI files."""
    yield serving
    await emptied(serving)


def distinct(node: AgentNode, unique: Unique, count: int) -> dict[str, Part]:
    """So many pods over all cards, no two of them with the same memory."""
    cards = uuids(node)
    return {
        unique(f"storm-{number}"): Part(cards[number % CARDS], 128 * (number + 1), 1 + number // 2)
        for number in range(count)
    }


def check_books(node: AgentNode, promised: Iterable[Part]) -> None:
    """Whatever exists was promised to somebody, and to one only."""
    wrong = Counter(parts_of(node)) - Counter(promised)
    assert not wrong, f"nobody was promised {dict(wrong)}"


async def check_ends(node: AgentNode, wanted: Mapping[str, Part]) -> dict[str, Part]:
    """Every pod runs with exactly its slice or failed with a reason. Returns those that run."""
    running: dict[str, Part] = {}
    found: list[Given] = []
    for name, part in wanted.items():
        seen = await node.cluster.api.get(path_of("Pod", name))
        if is_running(seen):
            running[name] = part
            found.append(await given_to(node, name))
            assert_has(node, found[-1], part)
        else:
            assert seen["status"]["phase"] == "Failed", seen["status"]
            assert seen["status"].get("reason"), seen["status"]
    assert_nobody_shares(found)
    await until(
        lambda: parts_of(node) == sorted(running.values()),
        lambda: f"{parts_of(node)} exist and {sorted(running.values())} should",
    )
    return running


async def test_forty_pods_bound_at_once_all_run_with_their_own_slices(
    node: AgentNode, unique: Unique
) -> None:
    wanted = distinct(node, unique, 40)
    await asyncio.gather(*(place_slice(node, name, part) for name, part in wanted.items()))
    await asyncio.gather(*(until_running(node, name) for name in wanted))
    assert len(await check_ends(node, wanted)) == 40


@pytest.mark.parametrize(
    ("pods", "kills"), [pytest.param(16, 10, id="short"), pytest.param(40, 30, id="long")]
)
async def test_an_agent_killed_at_random_while_pods_start_mixes_up_and_leaks_nothing(
    node: AgentNode, unique: Unique, pods: int, kills: int
) -> None:
    seed = os.environ.get(SEED) or secrets.token_hex(4)
    print(f"{SEED}={seed}")  # noqa: T201 - shown when it fails
    chance = random.Random(seed)  # noqa: S311 - a storm, not a secret
    wanted = distinct(node, unique, pods)
    names = list(wanted)
    chance.shuffle(names)
    first, late = names[: pods // 2], names[pods // 2 :]
    await asyncio.gather(*(place_slice(node, name, wanted[name]) for name in first))
    await until(lambda: len(checkpointed(node.cluster, SLICE)) >= pods // 4, "no pod is admitted")
    for number in range(kills):
        await asyncio.sleep(chance.uniform(0, 0.8))
        await node.stop_agent(by=signal.SIGKILL)
        check_books(node, wanted.values())
        before = registrations(node)
        await node.start_agent()
        if chance.random() < 0.5:
            # Else it is killed before it has come to serve anybody.
            await until(lambda known=before: registrations(node) > known, "the agent does not register")
            await wake(node, names)
        while late and len(late) * kills > (kills - number - 1) * (pods - pods // 2):
            name = late.pop()
            await place_slice(node, name, wanted[name])
    await node.until_allocatable(SLICE, CARDS * 16, within=PATIENCE)
    await until_decided(node, wanted)
    running = await check_ends(node, wanted)
    print(f"{len(running)} of {pods} run")  # noqa: T201 - shown when it fails
    assert len(running) >= pods // 4, "those that were admitted before the storm outlive it"


async def wake(node: AgentNode, names: Iterable[str]) -> None:
    """Have the kubelet try at once what it would try again in ten seconds."""
    for name in names:
        with suppress(ApiRefused):
            await touch(node.cluster, name)


async def until_decided(node: AgentNode, wanted: Iterable[str]) -> None:
    undecided = set(wanted)
    async with asyncio.timeout(PATIENCE):
        while undecided:
            await wake(node, undecided)
            await asyncio.sleep(1)
            pods: list[Object] = await node.cluster.api.list(path_of("Pod"))
            undecided -= {one["metadata"]["name"] for one in pods if is_running(one) or is_over(one)}

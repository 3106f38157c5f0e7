"""The API server goes away for a while: whoever runs keeps what it has, also under an agent that has never seen it."""

import asyncio
import json
import re
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode
from e2e.restarts_kit import API_SERVER, PATIENCE
from e2e.slice_pods_kit import (
    TOLD_VOLUME,
    Part,
    ending_on_request,
    promise,
    request_end,
    slice_pod,
    until_running,
)
from e2e.storm_kit import (
    assert_has,
    emptied,
    given_by_file,
    given_to,
    parts_of,
    sliced_node,
    start_agent_anew,
    until,
    until_event,
    uuids,
)
from testbed import controlplane
from testbed.api import ApiRefused
from testbed.cluster import Cluster
from testbed.manifests import pod
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("agent without the API server")

Unique = Callable[[str], str]
ANEW = "-anew"


@pytest_asyncio.fixture(scope="module")
async def serving() -> AsyncGenerator[AgentNode]:
    async with Cluster.open(Options(nodes=1)) as cluster, sliced_node(cluster) as node:
        yield node


@pytest_asyncio.fixture
async def node(serving: AgentNode) -> AsyncGenerator[AgentNode]:
    """The module's node, which every test finds and leaves without pods, slices and CDI files."""
    yield serving
    await emptied(serving)


@asynccontextmanager
async def api_server_gone(node: AgentNode) -> AsyncGenerator[None]:
    cluster = node.cluster
    await cluster.box.stop(API_SERVER, by=signal.SIGKILL)
    try:
        yield
    finally:
        command = controlplane.api_server(cluster.programs, cluster.credentials, cluster.options)
        await cluster.box.start(API_SERVER, command)
        await until_answers(cluster)


async def until_answers(cluster: Cluster) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await cluster.api.get("/readyz")
            except (aiohttp.ClientError, ApiRefused):
                await asyncio.sleep(0.1)
            else:
                return


async def writes_of(node: AgentNode) -> float:
    """How often the agent has written to the API server, or tried to."""
    answer = await node.metrics()
    found = re.findall(r"^tangram_agent_api_writes_total\{.*\} (\S+)$", answer, re.MULTILINE)
    return sum(map(float, found))


async def test_an_outage_of_the_api_server_takes_nothing_from_anybody_and_is_told_of_afterwards(
    node: AgentNode, unique: Unique
) -> None:
    """Containers restart with their slices, also under an agent that has never seen the API server.

    A static pod starts meanwhile, whose allocation nobody can look up: it waits, the node is told once that is
    possible, and it starts by itself.
    """
    name, part = unique("outage"), Part(uuids(node)[0], 1024, 10)
    static, other = unique("static"), Part(uuids(node)[1], 2048, 20)
    mirror = f"{static}-{node.names.name}"
    made = pod(name, ending_on_request(part), restartPolicy="Always", volumes=[TOLD_VOLUME])
    await node.place(made, promise(part))
    seen = await until_running(node, name)
    before = await given_to(node, name)
    file = node.cluster.room(node.names).static_pods / f"{static}.json"
    described = slice_pod(static, other)
    described["metadata"]["annotations"] = promise(other)
    try:
        async with api_server_gone(node):
            request_end(node, seen)
            assert await given_by_file(node, seen, restart=1) == before
            await node.stop_agent(by=signal.SIGKILL)
            await node.start_agent(suffix=ANEW)
            await until(lambda: "registered with" in node.log(ANEW), "the new agent has not registered")
            file.write_text(json.dumps(described), encoding="utf-8")
            request_end(node, seen)
            assert await given_by_file(node, seen, restart=2) == before
            await until(lambda: "code=pod-unknown" in node.log(ANEW), "nothing was refused")
        assert mirror in await until_event(node.cluster, node.names.name, "[pod-unknown]", kind="Node")
        await until_running(node, mirror)
        assert_has(node, await given_to(node, mirror), other)
        assert parts_of(node) == sorted([part, other])
        assert await writes_of(node) <= 5, "what was not said during the outage is said once"
    finally:
        file.unlink(missing_ok=True)
        await node.stop_agent(suffix=ANEW)
        await start_agent_anew(node, 32)

"""Clusters for the end-to-end tests: started once for each worker, shared by the tests that can share them.

A test that changes something others would notice (the scheduler's configuration, a running plugin, a webhook) puts
it back. Names are made unique by the `unique` fixture, so tests of one worker never meet each other's objects.
"""

import itertools
import re
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from testbed.api import ApiRefused, path_of
from testbed.cluster import Cluster
from testbed.manifests import is_gone
from testbed.options import Options

_counter = itertools.count(1)


@pytest_asyncio.fixture(scope="session")
async def one_node() -> AsyncIterator[Cluster]:
    """A cluster with one real node."""
    async with Cluster.open(Options(nodes=1)) as running:
        yield running


@pytest_asyncio.fixture(scope="session")
async def fleet() -> AsyncIterator[Cluster]:
    """A cluster for the scheduler alone: 300 nodes that exist only as objects."""
    async with Cluster.open(Options(nodes=0, kwok_nodes=300)) as running:
        yield running


@pytest_asyncio.fixture
async def cluster(one_node: Cluster) -> AsyncIterator[Cluster]:
    """The shared cluster with one node, emptied of the test's pods afterwards; logs are kept where a test failed."""
    yield one_node
    await remove_pods(one_node)


async def remove_pods(cluster: Cluster) -> None:
    """Delete every pod of the default namespace and wait until the last is gone."""
    pods = await cluster.api.list(path_of("Pod"))
    for pod in pods:
        try:
            await cluster.api.delete(path_of("Pod", pod["metadata"]["name"]), grace=0)
        except ApiRefused as refused:
            if refused.status != 404:
                raise
    for pod in pods:
        await cluster.until_pod(pod["metadata"]["name"], is_gone)


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Makes a name no other test of this run uses, fit for pods and resources."""
    number = next(_counter)
    return lambda word: re.sub(r"[^a-z0-9-]", "-", f"{word}-{number}".lower())

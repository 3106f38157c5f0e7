"""A cluster with three nodes for each file of stories; what its components printed is kept where one fails."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Generator

import pytest
import pytest_asyncio

from e2e.logs_kit import keep_logs
from peers.hami import Hami, hami_on
from peers.koord import Koord, install_kinds, koord_on, until_counted
from peers.programs import HAMI, KOORD, PEERS
from peers.table import peer_of
from peers.world import World, world_on
from testbed.binaries import find_binaries
from testbed.box import refuse_unfit_machine
from testbed.cluster import Cluster
from testbed.errors import BedError
from testbed.options import Options

_running: list[Cluster] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A story whose program was not named is left out: this folder may be collected, and runs nothing then."""
    named = {peer.name for peer in PEERS if os.environ.get(peer.variable)}
    for item in items:
        if peer_of(item.nodeid) not in named:
            item.add_marker(
                pytest.mark.skip(reason=f"{peer_of(item.nodeid)}'s program was not named (make peers)")
            )


def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.option.collectonly or not any(os.environ.get(peer.variable) for peer in PEERS):
        return
    try:
        refuse_unfit_machine()
        find_binaries()
    except BedError as error:
        pytest.exit(f"The stories cannot be played: {error}", returncode=1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for cluster in _running:
            kept = keep_logs(cluster, item.nodeid)
            report.sections.append(("logs", f"What the components printed is kept in {kept}."))
    return report


@pytest_asyncio.fixture(scope="module")
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster.open(Options(nodes=3)) as running:
        _running.append(running)
        yield running
        _running.remove(running)


@pytest_asyncio.fixture(scope="module")
async def world(cluster: Cluster) -> AsyncIterator[World]:
    """Nodes with cards and agents, and no kind of Koordinator's."""
    async with world_on(cluster) as ready:
        yield ready


@pytest_asyncio.fixture(scope="module")
async def hami(world: World) -> AsyncIterator[Hami]:
    """HAMi runs, and places pods that name no scheduler too."""
    async with hami_on(world, os.environ[HAMI.variable]) as running:
        yield running


@pytest_asyncio.fixture(scope="module")
async def koord_world(cluster: Cluster) -> AsyncIterator[World]:
    """Nodes with cards, agents that describe them to Koordinator."""
    await install_kinds(cluster)
    async with world_on(cluster) as ready:
        await until_counted(ready)
        yield ready


@pytest_asyncio.fixture(scope="module")
async def koord(koord_world: World) -> AsyncIterator[Koord]:
    """koord-scheduler runs."""
    async with koord_on(koord_world, os.environ[KOORD.variable]) as running:
        yield running

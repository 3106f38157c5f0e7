"""Clusters for the end-to-end tests: started once for each file, shared by its tests.

A cluster that stays beyond its file costs a quarter of a core at idle (300 nodes that report every few seconds), which
the other workers' tests then miss; starting one takes five seconds.

A test that changes something others would notice (the scheduler's configuration, a running plugin, a webhook) puts
it back. Names are made unique by the `unique` fixture, so tests of one worker never meet each other's objects.
"""

import itertools
import re
from collections.abc import AsyncIterator, Callable, Generator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from e2e import operator_kit
from e2e.agent_kit import AgentNode
from e2e.agent_view_kit import empty, kept
from e2e.browser_kit import browsing
from e2e.helm_kit import Shipped, ship
from e2e.logs_kit import keep_logs
from e2e.manual_kit import Released, release
from e2e.metax_host_kit import left_out, refuse_missing_library
from e2e.scheduler_kit import Placement, placing
from e2e.scheduling_kit import Scheduling, extended
from testbed.api import ApiRefused, path_of
from testbed.binaries import find_binaries
from testbed.box import refuse_unfit_machine
from testbed.cluster import Cluster
from testbed.errors import BedError
from testbed.manifests import is_gone
from testbed.options import Options

_counter = itertools.count(1)
_running: list[Cluster] = []
"""The clusters of this worker."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """What no test could run without is said once, in a sentence, and not once for every test.

    Listing the tests needs none of it, so that any machine can compare two lists.
    """
    if session.config.option.collectonly:
        return
    try:
        refuse_unfit_machine()
        refuse_missing_library()
        find_binaries()
    except BedError as error:
        pytest.exit(f"The end-to-end tests cannot run: {error}", returncode=1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A cluster is gone minutes before a person reads why a test failed, so what its components printed is kept."""
    report = yield
    if report.failed:
        for cluster in (*_running, *operator_kit.OPEN):
            kept = keep_logs(cluster, item.nodeid)
            report.sections.append(("logs", f"What the components printed is kept in {kept}."))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed, failed = (terminalreporter.getreports(kind) for kind in ("passed", "failed"))
    if sentence := left_out((*passed, *failed)):
        terminalreporter.line(sentence)


@pytest.fixture(scope="session")
def operator_release(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shipped]:
    """Image and charts of the sources as they are, for the files that install the operator."""
    with pytest.MonkeyPatch.context() as patch:
        yield ship(tmp_path_factory.mktemp("operator-release"), patch)


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Generator[Released]:
    """The bundle of the sources as they are, for the files that follow MetaX's manual."""
    with pytest.MonkeyPatch.context() as patch:
        yield release(tmp_path_factory.mktemp("released"), patch)


@pytest_asyncio.fixture(scope="module")
async def one_node() -> AsyncIterator[Cluster]:
    """A cluster with one real node, for the tests of one file."""
    async with Cluster.open(Options(nodes=1)) as running:
        _running.append(running)
        yield running
        _running.remove(running)


@pytest_asyncio.fixture(scope="module")
async def fleet() -> AsyncIterator[Cluster]:
    """A cluster for the scheduler alone: 300 nodes that exist only as objects."""
    async with Cluster.open(Options(nodes=0, kwok_nodes=300)) as running:
        _running.append(running)
        yield running
        _running.remove(running)


@pytest_asyncio.fixture(scope="module")
async def scheduling(fleet: Cluster) -> AsyncIterator[Scheduling]:
    """The fleet, its kube-scheduler configured with scripted extenders."""
    async with extended(fleet) as ready:
        yield ready


@pytest_asyncio.fixture(scope="module")
async def fleet_placement() -> AsyncIterator[Placement]:
    """A cluster whose nodes exist only as objects, made by each test, and whose pods our scheduler places."""
    async with Cluster.open(Options(nodes=0, kwok_nodes=1)) as running:
        _running.append(running)
        async with placing(running) as placement:
            yield placement
        _running.remove(running)


@pytest.fixture
def object_fleet(fleet_placement: Placement) -> Cluster:
    """The cluster alone."""
    return fleet_placement.cluster


@pytest_asyncio.fixture
async def cluster(one_node: Cluster) -> AsyncIterator[Cluster]:
    """The shared cluster with one node, emptied of the test's pods afterwards."""
    yield one_node
    await remove_pods(one_node)


@pytest_asyncio.fixture(scope="module")
async def bed() -> AsyncIterator[Cluster]:
    """A cluster with one node for the tests of one file, which put an agent on it."""
    async with Cluster.open(Options(nodes=1)) as running:
        _running.append(running)
        yield running
        _running.remove(running)


@pytest_asyncio.fixture(scope="module")
async def standing(bed: Cluster, request: pytest.FixtureRequest) -> AsyncIterator[AgentNode]:
    """Its node with the cards and the agent of a `Setup`, which tests name with `on`."""
    async with kept(bed, request.param) as ready:
        yield ready


@pytest_asyncio.fixture
async def node(standing: AgentNode) -> AsyncIterator[AgentNode]:
    """The same, left without pods and slices."""
    yield standing
    await empty(standing)


@pytest_asyncio.fixture(scope="module")
async def chromium() -> AsyncIterator[Browser]:
    """For the files that look at the dashboard."""
    async with browsing() as browser:
        yield browser


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

"""What the agent leans on on its node goes away for a while: the kubelet's word and notes, the disk, the driver.

Whoever runs keeps what it has, whoever starts waits with a reason, and nothing has to be repaired by hand afterwards.
"""

import asyncio
import json
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from e2e.agent_kit import CARDS, AgentNode
from e2e.nodes_kit import touch, until_refused
from e2e.restarts_kit import PATIENCE, container_status, end_container, get_pod, restarted
from e2e.slice_pods_kit import (
    SLICE,
    Part,
    asking,
    let_go,
    limits_of,
    place_slice,
    promise,
    until_running,
    waiting_for_a_word,
)
from e2e.storm_kit import (
    assert_has,
    assert_never_started,
    control,
    emptied,
    given_to,
    sliced_node,
    start_agent_anew,
    until_event,
    uuids,
)
from testbed import node as machine
from testbed.cluster import Cluster
from testbed.manifests import pod
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("agent outages")

Unique = Callable[[str], str]
BAD_CARD = (
    "errors:\n- {call: create_slice, kind: failed, card: 2, until: 1h, text: the firmware does not answer}\n"
)


@pytest_asyncio.fixture(scope="module")
async def serving() -> AsyncGenerator[AgentNode]:
    """Three cards; the driver fails to make slices of the last for the simulation's first hour."""
    async with Cluster.open(Options(nodes=1)) as cluster, sliced_node(cluster, 3, more=BAD_CARD) as node:
        yield node


@pytest_asyncio.fixture
async def node(serving: AgentNode) -> AsyncGenerator[AgentNode]:
    """The module's node, which every test finds and leaves without pods, slices and CDI files."""
    yield serving
    await emptied(serving)


@asynccontextmanager
async def agent_with(node: AgentNode, *options: str) -> AsyncGenerator[None]:
    """In this block another agent serves, with these options."""
    await node.stop_agent()
    try:
        await start_agent_anew(node, 48, *options)
        yield
    finally:
        await node.stop_agent()
        await start_agent_anew(node, 48)


# ---- the kubelet


@contextmanager
def silent_socket(path: Path) -> Generator[None]:
    """A socket that takes every connection and never says a word."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen(64)
        try:
            yield
        finally:
            path.unlink()


async def test_while_pod_resources_are_silent_the_kubelets_notes_suffice(
    node: AgentNode, unique: Unique
) -> None:
    first, second, _ = uuids(node)
    parts = {unique("one"): Part(first, 1024, 10), unique("two"): Part(second, 2048, 20)}
    with silent_socket(node.cluster.room(node.names).run / "silent.sock"):
        async with agent_with(node, "--pod-resources", "/run/silent.sock"):
            await asyncio.gather(*(place_slice(node, name, part) for name, part in parts.items()))
            for name, part in parts.items():
                await until_running(node, name)
                assert_has(node, await given_to(node, name), part)
    for name in parts:
        now = await get_pod(node.cluster, name)
        assert container_status(now)["restartCount"] == 0, "the agents' coming and going hurt nobody"


def make_unreadable(node: AgentNode) -> None:
    """Give the kubelet's notes a form that no release of Kubernetes has; it reads them only when it starts."""
    file = node.cluster.room(node.names).device_plugins / "kubelet_internal_checkpoint"
    unfinished = file.with_suffix(".new")
    unfinished.write_text(json.dumps({"Version": 9, "Entries": []}), encoding="utf-8")
    unfinished.replace(file)


async def test_notes_of_an_unknown_form_refuse_only_starts_that_nobody_else_can_tell_apart(
    node: AgentNode, unique: Unique
) -> None:
    """A container that comes back is known by PodResources; one after a GPU init container could be either."""
    plain, twofold, part = unique("plain"), unique("twofold"), Part(uuids(node)[0], 1024, 10)
    await place_slice(node, plain, part)
    seen = await until_running(node, plain)
    before = await given_to(node, plain)
    made = pod(
        twofold, asking(part), inits=[waiting_for_a_word(limits=limits_of(part))], restartPolicy="Always"
    )
    await node.place(made, promise(part, part))
    assert_has(node, await given_to(node, twofold, "wait"), part)
    make_unreadable(node)
    await end_container(node.cluster, seen)
    await node.cluster.until_pod(plain, restarted(1), within=PATIENCE)
    assert await given_to(node, plain) == before
    await let_go(node, twofold)
    message = await until_refused(node.cluster, twofold, "CreateContainerConfigError", "[notes-unreadable]")
    assert await until_event(node.cluster, twofold, "[notes-unreadable]") in message
    assert_never_started(await get_pod(node.cluster, twofold))
    # The kubelet writes its notes anew with the next pod that it admits.
    other = unique("other")
    await place_slice(node, other, part)
    await until_running(node, other)
    await touch(node.cluster, twofold)
    await until_running(node, twofold)
    assert_has(node, await given_to(node, twofold), part)


# ---- the disk


async def run_inside(node: AgentNode, *words: str) -> None:
    await node.cluster.box.start("inside", ["/usr/bin/env", *words], room=node.names.name)
    status = await node.cluster.box.wait("inside")
    assert status == 0, node.cluster.box.log("inside")


@asynccontextmanager
async def small_cdi_folder(node: AgentNode) -> AsyncGenerator[None]:
    """In this block the node's /run/cdi is a file system of 16 pages, and containerd reads it."""
    await node.stop_agent()
    await restart_containerd(node, "mount", "-t", "tmpfs", "-o", "size=64k", "small", "/run/cdi")
    try:
        await start_agent_anew(node, 48)
        yield
    finally:
        await node.stop_agent()
        await restart_containerd(node, "umount", "-l", "/run/cdi")
        await start_agent_anew(node, 48)


async def restart_containerd(node: AgentNode, *between: str) -> None:
    """Containerd watches the folder it found when it started."""
    cluster, names = node.cluster, node.names
    await cluster.box.stop(names.containerd)
    await run_inside(node, *between)
    command = machine.containerd(
        cluster.programs, cluster.room(names), names, cluster.options, cluster.programs.cni_folder
    )
    environment = machine.containerd_environment(cluster.programs)
    await cluster.box.start(names.containerd, command, room=names.name, env=environment)


async def test_a_full_disk_for_cdi_files_delays_a_start_until_there_is_room(
    node: AgentNode, unique: Unique
) -> None:
    name, part = unique("full"), Part(uuids(node)[0], 1024, 10)
    async with small_cdi_folder(node):
        await run_inside(node, "sh", "-c", "dd if=/dev/zero of=/run/cdi/ballast bs=4k || true")
        await place_slice(node, name, part)
        message = await until_refused(node.cluster, name, "CreateContainerConfigError", "[cdi-unwritable]")
        assert "No space left on device" in message
        assert await until_event(node.cluster, name, "[cdi-unwritable]") in message
        assert_never_started(await get_pod(node.cluster, name))
        await run_inside(node, "rm", "/run/cdi/ballast")
        await touch(node.cluster, name)
        await until_running(node, name)
        assert_has(node, await given_to(node, name), part)
        await emptied(node)


# ---- the driver


async def test_a_driver_that_fails_to_make_a_slice_delays_the_start_until_it_can(
    node: AgentNode, unique: Unique
) -> None:
    name, part = unique("failing"), Part(uuids(node)[2], 1024, 10)
    await place_slice(node, name, part)
    message = await until_refused(node.cluster, name, "CreateContainerConfigError", "[driver-failed]")
    assert "the firmware does not answer" in message
    assert await until_event(node.cluster, name, "[driver-failed]") in message
    assert_never_started(await get_pod(node.cluster, name))
    control(node, "advance 2h")
    await touch(node.cluster, name)
    await until_running(node, name)
    assert_has(node, await given_to(node, name), part)


async def test_without_its_driver_the_agent_starts_nothing_and_goes_on_when_it_is_back(
    node: AgentNode, unique: Unique
) -> None:
    name, part = unique("gone"), Part(uuids(node)[0], 1024, 10)
    made = pod(name, asking(part), inits=[waiting_for_a_word()], restartPolicy="Always")
    await node.place(made, promise(None, part))
    cards = (node.cluster.room(node.names).run / "cards.yaml").read_text(encoding="utf-8")
    await node.cluster.box.stop(node.program(CARDS), by=signal.SIGKILL)
    node.socket.unlink()
    try:
        await let_go(node, name)
        message = await until_event(node.cluster, name, "[")
        assert message.endswith(("[driver-no-driver]", "[card-unhealthy]")), message
        assert_never_started(await get_pod(node.cluster, name))
        await node.until_allocatable(SLICE, 0, within=PATIENCE)
    finally:
        await node.start_cards(cards)
    await node.until_allocatable(SLICE, 48, within=PATIENCE)
    await touch(node.cluster, name)
    await until_running(node, name)
    assert_has(node, await given_to(node, name), part)

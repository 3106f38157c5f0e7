"""Which container gets which slice, on the real kubelet: init containers, sidecars, restarts, successors, and whatever
else starts in an order of its own.
"""

import signal
from collections.abc import AsyncGenerator, Callable

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode
from e2e.restarts_kit import (
    PATIENCE,
    api_server_held,
    container_status,
    end_container,
    get_pod,
    kubelet_socket,
    restarted,
    until_kubelet_listens,
)
from e2e.slice_pods_kit import (
    LOOK,
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
    assert_nobody_shares,
    emptied,
    given_to,
    grant_files,
    parts_of,
    registrations,
    sliced_node,
    start_agent_anew,
    until,
    uuids,
)
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_gone, pod, sidecar
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("agent containers")

Unique = Callable[[str], str]


@pytest_asyncio.fixture(scope="module")
async def serving() -> AsyncGenerator[AgentNode]:
    async with Cluster.open(Options(nodes=1)) as cluster, sliced_node(cluster) as node:
        yield node


@pytest_asyncio.fixture
async def node(serving: AgentNode) -> AsyncGenerator[AgentNode]:
    """The module's node, which every test finds and leaves without pods, slices and CDI files."""
    yield serving
    await emptied(serving)


# ---- init containers and sidecars


async def test_an_init_container_with_ids_of_its_own_has_its_own_slice_which_goes_with_it(
    node: AgentNode, unique: Unique
) -> None:
    """Two slots for the init container and one for the main one: their ids are not the same."""
    name, (first, second) = unique("own"), uuids(node)
    before, after = [Part(first, 1024, 10), Part(second, 1024, 10)], Part(second, 4096, 40)
    init = waiting_for_a_word(limits=limits_of(before[0], count=2))
    await node.place(pod(name, asking(after), inits=[init], restartPolicy="Always"), promise(before, after))
    assert_has(node, await given_to(node, name, "wait"), *before)
    assert parts_of(node) == sorted(before)
    await let_go(node, name)
    await until_running(node, name)
    assert_has(node, await given_to(node, name), after)
    await until(lambda: parts_of(node) == [after], lambda: f"there are {parts_of(node)}")


async def test_an_init_container_whose_ids_go_to_the_main_container_shares_one_slice_with_it(
    node: AgentNode, unique: Unique
) -> None:
    """The slice is as large as either needs; each is told of as much of it as it was promised."""
    name, card = unique("shared"), uuids(node)[0]
    before, after = Part(card, 2048, 10), Part(card, 1024, 30)
    init = waiting_for_a_word(limits=limits_of(before))
    await node.place(pod(name, asking(after), inits=[init], restartPolicy="Always"), promise(before, after))
    (early,) = (await given_to(node, name, "wait")).slices
    assert parts_of(node) == [Part(card, 2048, 30)]
    await let_go(node, name)
    await until_running(node, name)
    (late,) = (await given_to(node, name)).slices
    # It may shrink once the init container is known to be over, which the API server tells when it likes.
    assert parts_of(node) in ([Part(card, 2048, 30)], [after])
    assert (early.memory, early.cores) == (before.memory, before.cores)
    assert (late.memory, late.cores) == (after.memory, after.cores)
    assert (early.bus, early.number, early.alias) == (late.bus, late.number, late.alias)


async def test_an_init_container_that_fails_once_gets_the_same_slice_again(
    node: AgentNode, unique: Unique
) -> None:
    name, (first, second) = unique("again"), uuids(node)
    before, after = Part(first, 1024, 10), Part(second, 2048, 20)
    script = f"{LOOK} if test -e /kept/seen; then exit 0; fi; touch /kept/seen; exit 1"
    kept: Object = {"name": "kept", "emptyDir": {}}
    init = {
        **asking(before, "once", script=script),
        "volumeMounts": [{"name": "kept", "mountPath": "/kept"}],
    }
    made = pod(name, asking(after), inits=[init], restartPolicy="Always", volumes=[kept])
    await node.place(made, promise(before, after))
    seen = await until_running(node, name)
    assert container_status(seen, "once")["restartCount"] == 1
    assert_has(node, await given_to(node, name), after)
    told = await given_to(node, name, "once")
    assert [(one.memory, one.cores) for one in told.slices] == [(before.memory, before.cores)]


async def test_an_init_container_a_sidecar_and_two_containers_each_have_what_they_were_promised(
    node: AgentNode, unique: Unique
) -> None:
    """The sidecar takes over the init container's ids, so those two share; the others have their own."""
    name, (first, second) = unique("four"), uuids(node)
    init, side = Part(first, 1024, 5), Part(first, 1024, 5)
    one, two = Part(second, 2048, 20), Part(first, 3072, 30)
    made = pod(
        name,
        asking(one, "one"),
        asking(two, "two"),
        inits=[
            container("before", script=LOOK, limits=limits_of(init)),
            sidecar(asking(side, "side")),
        ],
        restartPolicy="Always",
    )
    await node.place(made, promise(init, side, one, two))
    seen = await until_running(node, name)
    given = {each: await given_to(node, name, each) for each in ("before", "side", "one", "two")}
    for container_name, part in (("side", side), ("one", one), ("two", two)):
        assert_has(node, given[container_name], part)
    assert_nobody_shares(given[each] for each in ("side", "one", "two"))
    assert given["before"].slices == given["side"].slices
    await until(lambda: parts_of(node) == sorted([side, one, two]), lambda: f"there are {parts_of(node)}")
    for container_name in ("side", "two"):
        await end_container(node.cluster, seen, container_name)
        await node.cluster.until_pod(name, restarted(1, container_name), within=PATIENCE)
        assert await given_to(node, name, container_name) == given[container_name], (
            "it comes back to its slice"
        )


async def test_a_kubelet_restart_spares_a_pod_whose_gpu_init_container_is_over(
    node: AgentNode, unique: Unique
) -> None:
    """The new kubelet learns of its pods only after the agent has registered, as it does on an idle machine."""
    name, card = unique("spared"), uuids(node)[0]
    before, after = Part(card, 1024, 10), Part(card, 2048, 20)
    init = container("before", script=LOOK, limits=limits_of(before))
    await node.place(pod(name, asking(after), inits=[init], restartPolicy="Always"), promise(before, after))
    seen = await until_running(node, name)
    first = await given_to(node, name)
    known, old = registrations(node), kubelet_socket(node.cluster)
    async with api_server_held(node.cluster):
        await node.cluster.restart_kubelet(node.names)
        await until_kubelet_listens(node.cluster, other_than=old)
        await until(lambda: registrations(node) > known, "the agent does not register again")
    await node.until_allocatable(SLICE, 32, within=PATIENCE)
    await end_container(node.cluster, seen)
    again = await node.cluster.until_pod(name, restarted(1), within=PATIENCE)
    assert again["metadata"]["uid"] == seen["metadata"]["uid"]
    assert await given_to(node, name) == first
    await until(lambda: len(parts_of(node)) == 1, lambda: f"there are {parts_of(node)}")


# ---- successors and remains


async def test_a_pod_made_again_under_its_name_never_gets_the_slice_of_its_predecessor(
    node: AgentNode, unique: Unique
) -> None:
    """The old one is deleted by force while its container still runs and refuses to go."""
    name, (first, second) = unique("heir"), uuids(node)
    old, new = Part(first, 1024, 10), Part(second, 2048, 20)
    stubborn = pod(name, asking(old, script=f"{LOOK} trap '' TERM; while :; do sleep 0.2; done"))
    stubborn["spec"]["terminationGracePeriodSeconds"] = 5
    await node.place(stubborn, promise(old))
    await until_running(node, name)
    predecessor = await given_to(node, name)
    await node.cluster.api.delete(path_of("Pod", name), grace=0)
    await node.cluster.until_pod(name, is_gone)
    await place_slice(node, name, new)
    await until_running(node, name)
    successor = await given_to(node, name)
    assert_has(node, successor, new)
    assert predecessor.slices[0].alias not in {one.alias for one in successor.slices}
    await until(lambda: parts_of(node) == [new], lambda: f"there are {parts_of(node)}")


async def test_stale_and_damaged_cdi_files_do_no_harm_and_a_dead_claims_file_goes(
    node: AgentNode, unique: Unique
) -> None:
    name, part = unique("fresh"), Part(uuids(node)[0], 1024, 10)
    dead = unique("dead")
    await place_slice(node, dead, part)
    await until_running(node, dead)
    folder = node.cluster.room(node.names).cdi
    (stale,) = grant_files(node)
    kept = (folder / stale).read_text(encoding="utf-8")
    await emptied(node)
    await node.stop_agent(by=signal.SIGKILL)
    (folder / stale).write_text(kept, encoding="utf-8")
    damaged = folder / stale.replace(stale[-10:-5], "00000")
    damaged.write_text(kept[: len(kept) // 2], encoding="utf-8")
    foreign = folder / "vendor.json"
    foreign.write_text('{"cdiVersion": "0.5.0", "kind": "vendor.com/gpu", "devices": []}', encoding="utf-8")
    await start_agent_anew(node, 32)
    await place_slice(node, name, part)
    await until_running(node, name)
    assert_has(node, await given_to(node, name), part)
    await until(lambda: not (folder / stale).exists(), "the dead claim's file is still there")
    assert damaged.exists(), "what cannot be read is left for people"
    assert foreign.exists()
    damaged.unlink()
    foreign.unlink()


# ---- two agents


async def test_a_second_agent_waits_at_the_door_and_takes_over_when_the_first_dies(
    node: AgentNode, unique: Unique
) -> None:
    card = uuids(node)[0]
    old, new = (unique("before"), Part(card, 1024, 10)), (unique("after"), Part(card, 2048, 20))
    await place_slice(node, *old)
    seen = await until_running(node, old[0])
    first = await given_to(node, old[0])
    await node.start_agent("--metrics-address", "", suffix="-second")
    try:
        await until(lambda: "another agent runs" in node.log("-second"), "the second agent does not wait")
        assert "registered" not in node.log("-second")
        await node.stop_agent(by=signal.SIGKILL)
        await until(lambda: "registered with" in node.log("-second"), "the second agent does not take over")
        await node.until_allocatable(SLICE, 32, within=PATIENCE)
        await end_container(node.cluster, seen)
        await node.cluster.until_pod(old[0], restarted(1), within=PATIENCE)
        assert await given_to(node, old[0]) == first
        await place_slice(node, *new)
        await until_running(node, new[0])
        assert_has(node, await given_to(node, new[0]), new[1])
        assert parts_of(node) == sorted([old[1], new[1]])
        now = await get_pod(node.cluster, old[0])
        assert now["metadata"]["uid"] == seen["metadata"]["uid"]
    finally:
        await node.stop_agent(suffix="-second")
        await start_agent_anew(node, 32)

"""Nodes of a vendor's closed plugin: HAMi's annotations and its lock, taken for one pod at a time and given back."""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from e2e.agent_view_kit import GPU, NODE_LOCK, SGPU, VCORE, VMEMORY, WHOLE_GIVEN, cards_in
from e2e.agent_watch_kit import until
from e2e.card_nodes_kit import Pool, closed_node, pooled
from e2e.closed_plugin_kit import lock_of, plugin
from e2e.restarts_kit import PATIENCE
from e2e.scheduler_kit import HAMI, annotations_of, events_of, only_card, until_bound
from e2e.scheduling_kit import poll_until
from testbed.api import ApiRefused, Object, path_of
from testbed.box import REPOSITORY
from testbed.cluster import Cluster
from testbed.manifests import is_bound

pytestmark = pytest.mark.xdist_group("scheduler over object nodes")

Unique = Callable[[str], str]
OWNER = "tangram.dev/lock-owner"
CAPTURES = REPOSITORY / "tests" / "data" / "captures"
TEN: dict[str, str | int] = {SGPU: 1, VCORE: 10, VMEMORY: 4}


@pytest_asyncio.fixture
async def closed(object_fleet: Cluster, unique: Unique) -> AsyncIterator[Pool]:
    """One node of a closed plugin, called as its pool."""
    name = unique("closed")
    async with pooled(object_fleet, name, [closed_node(name)]) as pool:
        yield pool


def now(minutes_ago: int = 0) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60 * minutes_ago))


@asynccontextmanager
async def refusing_binds(cluster: Cluster, word: str) -> AsyncGenerator[None]:
    """The API server refuses every Binding of a pod whose name has this word in it."""
    version = "admissionregistration.k8s.io/v1"
    policy: Object = {
        "apiVersion": version,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": word},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods/binding"],
                    }
                ]
            },
            "validations": [
                {"expression": f"!object.metadata.name.contains('{word}')", "message": "not this one"}
            ],
        },
    }
    binding: Object = {
        "apiVersion": version,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": word},
        "spec": {"policyName": word, "validationActions": ["Deny"]},
    }
    paths = [path_of(each["kind"], word, version=version) for each in (policy, binding)]
    for each in (policy, binding):
        await cluster.api.create(each)
    try:
        await poll_until(lambda: _refuses(cluster, word), within=PATIENCE, what="the refusal of binds")
        yield
    finally:
        for path in paths:
            await cluster.api.delete(path)


async def _refuses(cluster: Cluster, word: str) -> bool:
    """Whether a Binding of a pod that does not exist is refused by the policy, and not for the pod's sake."""
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": word},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "nowhere"},
    }
    try:
        await cluster.api.call("POST", path_of("Pod", word) + "/binding", body)
    except ApiRefused as refused:
        return "not this one" in refused.message
    return False


# ---- what is written


@pytest.mark.parametrize("scheduler", ["tangram-scheduler", HAMI])
async def test_the_plugin_finds_every_word_that_hami_writes_and_the_lock(
    closed: Pool, scheduler: str
) -> None:
    recorded = json.loads((CAPTURES / "hami.json").read_text("utf-8"))["placement"][0]
    assert recorded["limits"] == [{SGPU: "1", VCORE: "10", VMEMORY: "4"}]
    seen = await closed.bound(closed.pod("one", TEN, scheduler=scheduler))
    card, name = only_card(seen), seen["metadata"]["name"]
    written = annotations_of(seen)
    assert written.keys() == recorded["annotations"].keys()
    (theirs,) = {
        each["uuid"]
        for each in json.loads(recorded["annotations"]["metax-tech.com/gpu-devices-allocated"])[0]
    }
    for key, value in recorded["annotations"].items():
        if "time" in key:
            # Seconds or nanoseconds, as theirs are.
            assert re.fullmatch(r"[0-9]+", written[key])
            assert len(written[key]) == len(value)
        else:
            assert written[key] == value.replace(theirs, card).replace(recorded["node"], closed.name)
    assert seen["metadata"]["labels"]["hami.io/vgpu-node"] == closed.name
    lock = await lock_of(closed.cluster, closed.name)
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ,default,{name}", lock)
    node = await closed.cluster.api.get(path_of("Node", closed.name))
    assert annotations_of(node)[OWNER].startswith(seen["metadata"]["uid"] + ",")


async def test_whole_cards_of_a_closed_plugin_are_counted_and_need_no_lock(
    object_fleet: Cluster, unique: Unique
) -> None:
    name = unique("whole")
    nodes = json.loads((CAPTURES / "hami.json").read_text("utf-8"))["nodes"]
    made = closed_node(name)
    del made["metadata"]["annotations"]["metax-tech.com/node-gpu-devices"]
    made["metadata"]["annotations"] |= nodes["gpu-a"]["metadata.annotations"]
    for part in ("capacity", "allocatable"):
        made["status"][part] |= nodes["gpu-a"]["status.capacity"]
    async with pooled(object_fleet, name, [made]) as pool:
        (first,) = cards_in(annotations_of(await pool.bound(pool.pod("four", {GPU: 4})))[WHOLE_GIVEN])
        (second,) = cards_in(annotations_of(await pool.bound(pool.pod("three", {GPU: 3})))[WHOLE_GIVEN])
        assert {*first, *second} <= {f"{name}-metax-{number}" for number in range(8)}
        assert len({*first, *second}) == 7
        assert not await lock_of(pool.cluster, pool.name)


# ---- one at a time


async def test_pods_are_bound_one_at_a_time_each_when_the_plugin_has_served_the_one_before(
    closed: Pool,
) -> None:
    async with plugin(closed.cluster, closed.name) as served:
        pods = [closed.pod(f"{n}", TEN) for n in range(6)]
        await asyncio.gather(*(closed.cluster.api.create(each) for each in pods))
        for each in pods:
            await until_bound(closed.cluster, each["metadata"]["name"])

        async def all_served() -> bool:
            return len(served) == len(pods) and not await lock_of(closed.cluster, closed.name)

        await until(all_served, "the plugin has served every pod")
    assert sorted(served) == [each["metadata"]["name"] for each in pods]


async def test_a_pod_waits_for_somebody_elses_lock_and_goes_when_it_is_given_back(closed: Pool) -> None:
    held = await closed.bound(closed.pod("held", TEN))
    waiting = closed.pod("waiting", TEN)
    await closed.cluster.api.create(waiting)

    async def chosen() -> bool:
        told = await events_of(closed.cluster, waiting["metadata"]["name"])
        return any(event["reason"] == "FilteringSucceed" for event in told)

    await until(chosen, "a node was found for the pod")
    node = await closed.cluster.api.get(path_of("Node", closed.name))
    assert annotations_of(node)[NODE_LOCK].endswith(held["metadata"]["name"])
    assert not is_bound(await closed.cluster.api.get(path_of("Pod", waiting["metadata"]["name"])))
    await closed.annotate(closed.name, {NODE_LOCK: None})
    await until_bound(closed.cluster, waiting["metadata"]["name"])
    assert (await lock_of(closed.cluster, closed.name)).endswith(waiting["metadata"]["name"])


# ---- nobody waits for ever


async def test_the_lock_is_given_back_when_the_bind_fails_and_the_next_pod_has_it(
    closed: Pool, unique: Unique
) -> None:
    word = unique("unwelcome")
    async with refusing_binds(closed.cluster, word):
        refused = closed.pod(word, TEN)
        name = refused["metadata"]["name"]
        await closed.cluster.api.create(refused)

        async def told() -> bool:
            return any(
                event["reason"] == "BindingFailed" and "not this one" in event["message"]
                for event in await events_of(closed.cluster, name)
            )

        await until(told, "the refusal is told on the pod")
        seen = await closed.cluster.api.get(path_of("Pod", name))
        assert not annotations_of(seen)
        assert not is_bound(seen)
        bound = await closed.bound(closed.pod("next", TEN))
        assert (await lock_of(closed.cluster, closed.name)).endswith(bound["metadata"]["name"])
        await closed.annotate(closed.name, {NODE_LOCK: None})
    # Its own attempts left nothing that would keep it out now.
    await until_bound(closed.cluster, name)


@pytest.mark.parametrize(
    "lock",
    [
        pytest.param("{now},default,{pool}-next", id="its-own-from-before"),
        pytest.param("{now},default,{pool}-gone", id="of-a-pod-that-is-gone"),
        pytest.param("{old},default,{pool}-held", id="of-long-ago"),
        pytest.param("{old}", id="without-a-name-and-old"),
        pytest.param("rubbish", id="unreadable"),
    ],
)
async def test_a_lock_that_nobody_will_give_back_keeps_nobody_out(closed: Pool, lock: str) -> None:
    await closed.bound(closed.pod("held", TEN))
    value = lock.format(now=now(), old=now(minutes_ago=6), pool=closed.name)
    await closed.annotate(closed.name, {NODE_LOCK: value, OWNER: None})
    await closed.bound(closed.pod("next", TEN))
    assert (await lock_of(closed.cluster, closed.name)).endswith(f"{closed.name}-next")


async def test_a_pod_that_is_deleted_while_it_holds_the_lock_takes_the_lock_with_it(closed: Pool) -> None:
    held = await closed.bound(closed.pod("held", TEN))
    await closed.end(held)
    made: Object = closed.pod("held", TEN)
    again = await closed.bound(made)
    assert again["metadata"]["uid"] != held["metadata"]["uid"]
    node = await closed.cluster.api.get(path_of("Node", closed.name))
    assert annotations_of(node)[OWNER].startswith(again["metadata"]["uid"] + ",")

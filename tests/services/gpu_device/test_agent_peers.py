"""What HAMi's and Koordinator's schedulers read of a node, written by an agent that runs, ends and starts again."""

import json

import msgspec

from builders.agent_api import NODE, pod
from builders.agent_runs import GPU, MT_GPU, SGPU, AgentRun, agent_on, allocated, slice_limits
from builders.api_server import Object
from builders.waiting import until
from tangram.model.cards import Vendor
from tangram.units.ids import CardUuid
from tangram.wire.agent_state import AGENT
from tangram.wire.metax_listing import NODE_DEVICES
from tangram.wire.nodelock import NODE_LOCK

SLICED = {"product": "C500", "count": 2, "sliced": True}
MODE = "mode: sgpu"
QOS = "metax-tech.com/sgpu-qos-policy"
PHASE = "hami.io/bind-phase"


async def served(run: AgentRun, name: str, policy: str, at: int = 0, cores: int = 10) -> Object:
    made = pod(name, slice_limits(4, cores), annotations={QOS: policy})
    made = run.api.bind(made, allocated([(run.uuids[at], 4096, cores)]))
    await run.pods.run(made)
    return run.api.set_pod(name, {"status": {"phase": "Running"}})


def policies(run: AgentRun) -> list[str]:
    listed = json.loads(run.api.node_annotations.get(NODE_DEVICES, "[]"))
    return [each.get("qosPolicy", "") for each in listed]


async def test_a_card_is_listed_with_the_policy_that_it_runs_until_its_last_slice_is_gone() -> None:
    """HAMi goes by it after a restart, and mixes policies on a card that says nothing."""
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        await until(lambda: policies(run) == ["", ""])
        made = await served(run, "one", "fixed-share")
        await until(lambda: policies(run) == ["fixed-share", ""])
        await served(run, "alone", "burst-share", at=1, cores=100)
        await run.kill()
        run.start()
        await run.offered(SGPU, 32)
        await until(lambda: policies(run) == ["fixed-share", ""])
        run.api.delete_pod("one")
        run.pods.forget(made)
        await until(lambda: policies(run) == ["", ""])


async def test_an_agent_that_ends_holds_its_node_and_the_next_gives_it_back() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        await served(run, "one", "best-effort")
        await until(lambda: policies(run) == ["best-effort", ""])
        for _ in range(3):
            # The news that the pod runs came before these.
            asked = run.pods.resources.questions
            run.api.set_node({"metadata": {"annotations": {"example.com/moved": str(asked)}}})
            await until(lambda asked=asked: run.pods.resources.questions > asked)
        assert await run.stop() == 0
        lock = run.api.node_annotations[NODE_LOCK]
        assert lock.endswith(",default,one")
        listed = json.loads(run.api.node_annotations[NODE_DEVICES])
        assert ["healthy" in each for each in listed] == [False, False]
        run.start()
        await run.offered(SGPU, 32)
        await until(lambda: NODE_LOCK not in run.api.node_annotations)
        await until(
            lambda: all(each.get("healthy") for each in json.loads(run.api.node_annotations[NODE_DEVICES]))
        )


async def test_an_agent_that_is_killed_leaves_no_lock_and_one_that_starts_leaves_those_of_peers_alone() -> (
    None
):
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        await until(lambda: len(policies(run)) == 2)
        await run.kill()
        assert NODE_LOCK not in run.api.node_annotations
        theirs = "2026-01-01T00:00:00Z,default,coming"
        run.api.set_node({"metadata": {"annotations": {NODE_LOCK: theirs}}})
        run.start()
        await run.offered(SGPU, 32)
        await run.published(NODE_DEVICES)
        assert run.api.node_annotations[NODE_LOCK] == theirs


async def test_an_agent_without_cards_that_the_lock_is_for_takes_none() -> None:
    """Neither peer asks the lock about Moore Threads' cards; MetaX's may be served by others here."""
    async with agent_on({"product": "S4000", "sliced": False}) as run:
        await run.offered(MT_GPU, 1)
        await until(lambda: run.api.node_annotations.get(AGENT) == "serving")
        assert await run.stop() == 0
        assert run.api.node_annotations[AGENT] == "stopping"
        assert NODE_LOCK not in run.api.node_annotations


async def test_the_pods_and_the_lock_of_a_vendor_that_is_left_to_others_are_theirs() -> None:
    async with agent_on({"product": "S4000", "sliced": False}, begin=False) as run:
        run.settings = msgspec.structs.replace(run.settings, vendors=(Vendor.MTHREADS,))
        theirs = "2099-01-01T00:00:00Z,default,theirs"
        run.api.set_node({"metadata": {"annotations": {NODE_LOCK: theirs}}})
        made = pod("theirs", slice_limits(), annotations={PHASE: "allocating"})
        run.api.bind(made, allocated([(CardUuid("GPU-of-others"), 1024, 10)]))
        run.api.set_pod("theirs", {"status": {"phase": "Running"}})
        run.start()
        await run.offered(MT_GPU, 1)
        await until(lambda: run.api.node_annotations.get(AGENT) == "serving")
        asked = run.pods.resources.questions
        run.api.set_node({"metadata": {"annotations": {"example.com/moved": "x"}}})
        await until(lambda: run.pods.resources.questions > asked + 1)
        assert run.api.node_annotations[NODE_LOCK] == theirs
        assert run.api.pod("theirs")["metadata"]["annotations"][PHASE] == "allocating"
        assert run.api.events("theirs") == []


async def test_a_slice_sent_to_a_whole_card_is_told_and_takes_the_card_from_no_other_pod() -> None:
    """The kubelet leaves a resource out that its node lacks, and starts the pod without a card."""
    async with agent_on({"product": "C500", "count": 1}) as run:
        await run.offered(GPU, 1)
        astray = pod("astray", slice_limits(), annotations={PHASE: "allocating"})
        run.api.bind(astray, allocated([(run.uuids[0], 1024, 10)]))
        run.api.set_pod("astray", {"status": {"phase": "Running"}})
        await until(lambda: run.api.pod("astray")["metadata"]["annotations"][PHASE] == "failed")
        for about in ("astray", NODE):
            await until(lambda about=about: bool(run.api.events(about)))
            (event,) = run.api.events(about)
            assert event["reason"] == "GpuNotGiven"
            assert event["message"].endswith("[runs-without-cards]")
        honest = run.api.bind(pod("honest", {GPU: 1}))
        await run.pods.run(honest)
        assert run.grant_of(honest).cards == (run.uuids[0],)
        assert NODE_DEVICES not in run.api.node_annotations

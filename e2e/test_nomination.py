"""`status.nominatedNodeName` written by others than kube-scheduler: a proposal that is tried first and alone."""

import asyncio
from collections.abc import Callable

import pytest

from e2e.scheduling_kit import NOBODY, Scheduling, cleaned, fleet_pod, is_refused, scheduled
from testbed.api import Object, path_of
from testbed.extender import Answer
from testbed.extender_answers import accept_only, fail, refuse_all
from testbed.manifests import is_bound

pytestmark = pytest.mark.xdist_group("fleet")
Unique = Callable[[str], str]
NODE = "kwok-00061"
OTHER = "kwok-00062"
GATE = [{"name": "example.com/not-yet"}]


async def create_nominated(scheduling: Scheduling, made: Object, node: str) -> Object:
    """A pod that is nominated before kube-scheduler may look at it: a gate holds it until then."""
    path = path_of("Pod", made["metadata"]["name"])
    made["spec"]["schedulingGates"] = GATE
    await scheduling.api.create(made)
    await scheduling.api.patch(path + "/status", {"status": {"nominatedNodeName": node}})
    return await scheduling.api.patch(path, {"spec": {"schedulingGates": None}})


@pytest.mark.smoke
async def test_a_nominated_node_is_tried_first_and_alone_and_taken_if_it_will_do(
    scheduling: Scheduling, unique: Unique
) -> None:
    name = unique("nominated")
    async with cleaned(scheduling.cluster, name):
        await create_nominated(scheduling, fleet_pod(name, extender="plain", scheduler="all-nodes"), NODE)
        seen = await scheduling.cluster.until_pod(name, is_bound)
    (call,) = scheduling.extender.calls(name)
    assert call.offered == (NODE,)
    assert seen["spec"]["nodeName"] == NODE
    assert "nominatedNodeName" not in seen["status"], "the binding clears it"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(refuse_all("no card is free"), id="refused"),
        pytest.param(fail("no card could be read"), id="an error"),
    ],
)
async def test_a_nominated_node_that_will_not_do_leads_to_a_second_call_with_all_nodes_in_the_same_cycle(
    scheduling: Scheduling, unique: Unique, answer: Answer
) -> None:
    """Even an error, which would otherwise end the cycle, is passed over on the way."""
    name = unique("second")
    scheduling.extender.script(name, "filter", answer, accept_only(OTHER))
    async with cleaned(scheduling.cluster, name):
        made = await create_nominated(
            scheduling, fleet_pod(name, extender="plain", scheduler="all-nodes"), NODE
        )
        states: list[Object] = []
        async with asyncio.timeout(60):
            async for _, state in scheduling.api.watch(
                path_of("Pod"),
                fieldSelector=f"metadata.name={name}",
                resourceVersion=made["metadata"]["resourceVersion"],
            ):
                states.append(state)
                if is_bound(state):
                    break
    first, second = scheduling.extender.calls(name)
    assert (first.offered, len(second.offered)) == ((NODE,), 300)
    assert NODE in second.offered, "offered once more"
    assert states[-1]["spec"]["nodeName"] == OTHER
    told = [scheduled(state).get("reason") for state in states]
    assert not {"Unschedulable", "SchedulerError"} & set(told), "a cycle that fails says so on the pod"


async def test_a_nomination_of_a_node_that_does_not_exist_is_passed_over(
    scheduling: Scheduling, unique: Unique
) -> None:
    name = unique("nowhere")
    async with cleaned(scheduling.cluster, name):
        made = fleet_pod(name, extender="plain", scheduler="all-nodes")
        await create_nominated(scheduling, made, "no-such-node")
        await scheduling.cluster.until_pod(name, is_bound)
    (call,) = scheduling.extender.calls(name)
    assert len(call.offered) == 300


async def test_a_cycle_without_success_takes_a_foreign_nomination_away(
    scheduling: Scheduling, unique: Unique
) -> None:
    name = unique("taken-away")
    scheduling.extender.script(name, "filter", refuse_all("no card is free"))
    async with cleaned(scheduling.cluster, name):
        await create_nominated(scheduling, fleet_pod(name, extender="plain", scheduler="all-nodes"), NODE)
        seen = await scheduling.cluster.until_pod(name, is_refused)
    assert "nominatedNodeName" not in seen["status"]


async def test_a_nominated_pod_holds_its_place_against_pods_of_the_same_priority(
    scheduling: Scheduling, unique: Unique
) -> None:
    """The place is what the scheduler itself counts (here: cpu), never a resource it is told to ignore."""
    holder, rival = unique("holder"), unique("rival")
    async with cleaned(scheduling.cluster, holder, rival):
        # Held by its gate, so that it stays nominated.
        held = fleet_pod(holder, cpu="40", more={"schedulingGates": GATE})
        await scheduling.api.create(held)
        path = path_of("Pod", holder)
        await scheduling.api.patch(path + "/status", {"status": {"nominatedNodeName": NODE}})
        await scheduling.api.create(fleet_pod(rival, on=NODE, cpu="40"))
        refused = await scheduling.cluster.until_pod(rival, is_refused)
        assert "Insufficient cpu" in scheduled(refused)["message"]
        await scheduling.api.patch(path + "/status", {"status": {"nominatedNodeName": OTHER}})
        await scheduling.cluster.until_pod(rival, is_bound)


async def test_a_nomination_by_itself_binds_nothing(scheduling: Scheduling, unique: Unique) -> None:
    name, marker = unique("alone"), unique("marker")
    path = path_of("Pod", name)
    async with cleaned(scheduling.cluster, name, marker):
        await scheduling.api.create(fleet_pod(name, scheduler=NOBODY))
        await scheduling.api.patch(path + "/status", {"status": {"nominatedNodeName": NODE}})
        await scheduling.api.create(fleet_pod(marker))
        await scheduling.cluster.until_pod(marker, is_bound)
        seen = await scheduling.api.get(path)
    assert not is_bound(seen)
    assert seen["status"]["nominatedNodeName"] == NODE

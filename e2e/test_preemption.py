"""When kube-scheduler asks an extender about victims, and when it does not."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from e2e.scheduling_kit import Scheduling, cleaned, fleet_pod, is_refused, scheduled
from testbed.api import Object, path_of
from testbed.extender import ExtenderCall
from testbed.extender_answers import refuse_all, say
from testbed.manifests import is_bound, is_gone, is_running

pytestmark = pytest.mark.xdist_group("fleet")
Unique = Callable[[str], str]
NODE = "kwok-00081"
SCHEDULING = "scheduling.k8s.io/v1"


@asynccontextmanager
async def urgency(scheduling: Scheduling, name: str) -> AsyncGenerator[None]:
    """A priority class above the ordinary."""
    await scheduling.api.create(
        {"apiVersion": SCHEDULING, "kind": "PriorityClass", "metadata": {"name": name}, "value": 1000}
    )
    try:
        yield
    finally:
        await scheduling.api.delete(path_of("PriorityClass", name, version=SCHEDULING))


async def running_victim(scheduling: Scheduling, name: str, *, cpu: str) -> Object:
    """An ordinary pod on the node, which holds a slot of the extender's resource."""
    await scheduling.api.create(fleet_pod(name, extender="preempting", on=NODE, cpu=cpu))
    return await scheduling.cluster.until_pod(name, is_running)


def urgent_pod(name: str, priority: str, *, cpu: str) -> Object:
    return fleet_pod(name, extender="preempting", on=NODE, cpu=cpu, more={"priorityClassName": priority})


@pytest.mark.smoke
async def test_a_shortage_that_only_the_extender_sees_never_leads_to_a_question_about_victims(
    scheduling: Scheduling, unique: Unique
) -> None:
    victim, name, priority = unique("victim"), unique("urgent"), unique("priority")
    scheduling.extender.script(name, "filter", refuse_all("every card is taken"))
    async with urgency(scheduling, priority), cleaned(scheduling.cluster, victim, name):
        await running_victim(scheduling, victim, cpu="1")
        await scheduling.api.create(urgent_pod(name, priority, cpu="1"))
        # Written after victims were looked for.
        refused = await scheduling.cluster.until_pod(name, is_refused)
        lives = await scheduling.api.get(path_of("Pod", victim))
    assert "every card is taken" in scheduled(refused)["message"]
    assert not scheduling.extender.calls(name, "preempt")
    assert "deletionTimestamp" not in lives["metadata"]


async def test_a_shortage_that_the_scheduler_counts_leads_to_a_question_about_victims_and_the_answer_is_done(
    scheduling: Scheduling, unique: Unique
) -> None:
    victim, name, priority = unique("victim"), unique("urgent"), unique("priority")
    async with urgency(scheduling, priority), cleaned(scheduling.cluster, victim, name):
        held = await running_victim(scheduling, victim, cpu="40")
        await scheduling.api.create(urgent_pod(name, priority, cpu="40"))
        await scheduling.cluster.until_pod(victim, is_gone)
        seen = await scheduling.cluster.until_pod(name, is_bound)
    assert seen["spec"]["nodeName"] == NODE
    calls = scheduling.extender.calls(name)
    assert calls[0].verb == "preempt", "no node was left to filter"
    assert set(calls[0].body) == {"Pod", "NodeNameToVictims", "NodeNameToMetaVictims"}
    victims = {"Pods": [{"UID": held["metadata"]["uid"]}], "NumPDBViolations": 0}
    assert calls[0].body["NodeNameToMetaVictims"] == {NODE: victims}
    # The nominated node, alone.
    assert calls[-1].verb == "filter"
    assert calls[-1].offered == (NODE,)


async def test_an_extender_can_spare_all_victims_and_can_name_others_than_the_scheduler_did(
    scheduling: Scheduling, unique: Unique
) -> None:
    proposed, other, priority = unique("proposed"), unique("other"), unique("priority")
    patient, urgent = unique("patient"), unique("urgent")
    api, extender = scheduling.api, scheduling.extender
    everyone: list[str] = []

    async def both(call: ExtenderCall) -> Object:
        del call
        pods = [{"UID": uid} for uid in everyone]
        return {"NodeNameToMetaVictims": {NODE: {"Pods": pods, "NumPDBViolations": 0}}}

    extender.script(patient, "preempt", say("{}"))
    extender.script(urgent, "preempt", both)
    async with (
        urgency(scheduling, priority),
        cleaned(scheduling.cluster, proposed, other, patient, urgent),
    ):
        for name, cpu in ((proposed, "40"), (other, "1")):
            everyone.append((await running_victim(scheduling, name, cpu=cpu))["metadata"]["uid"])

        await api.create(urgent_pod(patient, priority, cpu="40"))
        await scheduling.cluster.until_pod(patient, is_refused)
        assert extender.calls(patient, "preempt")
        for name in (proposed, other):
            assert "deletionTimestamp" not in (await api.get(path_of("Pod", name)))["metadata"]
        await api.delete(path_of("Pod", patient), grace=0)
        await scheduling.cluster.until_pod(patient, is_gone)

        await api.create(urgent_pod(urgent, priority, cpu="40"))
        await scheduling.cluster.until_pod(proposed, is_gone)
        await scheduling.cluster.until_pod(other, is_gone)
        await scheduling.cluster.until_pod(urgent, is_bound)
    (asked, *_) = extender.calls(urgent, "preempt")
    assert asked.body["NodeNameToMetaVictims"][NODE]["Pods"] == [{"UID": everyone[0]}]

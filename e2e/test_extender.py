"""What kube-scheduler sends an extender to filter nodes, and what it makes of slow, broken and missing answers."""

import asyncio
import itertools
from collections.abc import Callable

import pytest

from e2e.scheduling_kit import (
    Scheduling,
    cleaned,
    fleet_pod,
    has_failed,
    is_refused,
    scheduled,
)
from testbed.api import Object, path_of
from testbed.extender import Answer, ExtenderCall, accept_all
from testbed.extender_answers import accept_only, fail, hold, refuse_all, say
from testbed.manifests import is_bound

pytestmark = pytest.mark.xdist_group("fleet")
Unique = Callable[[str], str]
NODE = "kwok-00021"


async def pod_error(scheduling: Scheduling, name: str) -> str:
    """The sentence kube-scheduler writes on the pod when something went wrong."""
    return scheduled(await scheduling.cluster.until_pod(name, has_failed))["message"]


@pytest.mark.smoke
async def test_an_extender_with_a_node_cache_is_sent_the_pod_and_node_names_and_no_attempt_number(
    scheduling: Scheduling, unique: Unique
) -> None:
    name = unique("shape")
    scheduling.extender.script(name, "filter", fail("not yet"), accept_only(NODE))
    async with cleaned(scheduling.cluster, name):
        await scheduling.api.create(fleet_pod(name, extender="plain", scheduler="all-nodes"))
        seen = await scheduling.cluster.until_pod(name, is_bound)
    assert seen["spec"]["nodeName"] == NODE
    first, second = scheduling.extender.calls(name)
    for call in (first, second):
        assert set(call.body) == {"Pod", "Nodes", "NodeNames"}
        assert call.body["Nodes"] is None
        assert len(call.offered) == 300
    # What differs is what the failure of the first left in the pod's status, not a count.
    pods = [call.body["Pod"] for call in (first, second)]
    for part in ("spec", "apiVersion", "kind"):
        assert pods[0].get(part) == pods[1].get(part)
    ours = [{key: one["metadata"].get(key) for key in ("name", "uid", "annotations")} for one in pods]
    assert ours[0] == ours[1]


async def test_an_extender_without_a_node_cache_is_sent_whole_node_objects(
    scheduling: Scheduling, unique: Unique
) -> None:
    name = unique("objects")
    async with cleaned(scheduling.cluster, name):
        await scheduling.api.create(fleet_pod(name, extender="objects", on=NODE))
        seen = await scheduling.cluster.until_pod(name, is_bound)
    (call,) = scheduling.extender.calls(name)
    assert seen["spec"]["nodeName"] == NODE
    assert call.body["NodeNames"] is None
    (node,) = call.body["Nodes"]["items"]
    assert (node["metadata"]["name"], node["status"]["capacity"]["cpu"]) == (NODE, "64")


async def test_an_extender_is_asked_only_about_pods_with_its_resources(
    scheduling: Scheduling, unique: Unique
) -> None:
    name = unique("stranger")
    async with cleaned(scheduling.cluster, name):
        await scheduling.api.create(fleet_pod(name))
        await scheduling.cluster.until_pod(name, is_bound)
    assert not scheduling.extender.calls(name)


async def test_an_extender_is_not_asked_when_the_scheduler_itself_finds_no_node(
    scheduling: Scheduling, unique: Unique
) -> None:
    name = unique("nowhere")
    async with cleaned(scheduling.cluster, name):
        await scheduling.api.create(fleet_pod(name, extender="plain", on="no-such-node"))
        await scheduling.cluster.until_pod(name, is_refused)
    assert not scheduling.extender.calls(name)


async def test_a_managed_resource_is_counted_by_the_scheduler_unless_it_is_told_to_ignore_it(
    scheduling: Scheduling, unique: Unique
) -> None:
    """No node has either resource."""
    ignored, counted = unique("ignored"), unique("counted")
    async with cleaned(scheduling.cluster, ignored, counted):
        await scheduling.api.create(fleet_pod(ignored, extender="plain"))
        await scheduling.api.create(fleet_pod(counted, extender="counted"))
        await scheduling.cluster.until_pod(ignored, is_bound)
        refused = await scheduling.cluster.until_pod(counted, is_refused)
    assert len(scheduling.extender.calls(ignored)) == 1
    assert not scheduling.extender.calls(counted)
    assert "Insufficient counted.example.com/slot" in scheduled(refused)["message"]


@pytest.mark.smoke
async def test_failed_nodes_park_a_pod_until_something_changes_while_an_error_is_tried_again_by_itself(
    scheduling: Scheduling, unique: Unique
) -> None:
    """The first change comes at once: kube-scheduler's own report on the pod. Its second report says the same."""
    parked, gone_wrong = unique("parked"), unique("wrong")
    extender, api = scheduling.extender, scheduling.api
    extender.script(parked, "filter", refuse_all("no card is free"))
    extender.script(gone_wrong, "filter", fail("no card could be read"))
    async with cleaned(scheduling.cluster, parked, gone_wrong):
        await api.create(fleet_pod(parked, extender="plain", scheduler="all-nodes"))
        await extender.wait_for_call(parked, "filter", count=2)
        refused = await scheduling.cluster.until_pod(parked, is_refused)
        assert "300 no card is free" in scheduled(refused)["message"]

        await api.create(fleet_pod(gone_wrong, extender="plain", on=NODE))
        tries = await extender.wait_for_call(gone_wrong, "filter", count=3)
        assert await pod_error(scheduling, gone_wrong) == "no card could be read"
        waits = [later.moment - earlier.moment for earlier, later in itertools.pairwise(tries)]
        assert waits[0] > 0.9, "one second first"
        assert waits[1] > 1.9, "then twice as long"
        assert len(extender.calls(parked)) == 2, "in all that time nobody asked again"

        # Any change of a node, even one that has nothing to do with the refusal, and any change of the pod itself.
        await api.patch(path_of("Node", NODE), {"metadata": {"labels": {"example.com/touched": "yes"}}})
        await extender.wait_for_call(parked, "filter", count=3)
        await api.patch(path_of("Node", NODE), {"metadata": {"labels": {"example.com/touched": None}}})
        await extender.wait_for_call(parked, "filter", count=4)
        await api.patch(path_of("Pod", parked), {"metadata": {"annotations": {"example.com/again": "yes"}}})
        await extender.wait_for_call(parked, "filter", count=5)


async def test_a_refusal_in_ever_new_words_is_never_parked_but_tried_again_without_a_pause(
    scheduling: Scheduling, unique: Unique
) -> None:
    """Each report on the pod differs from the last, is thereby a change of the pod, and calls for another try."""
    name = unique("restless")
    tries = 12
    words = itertools.count(1)

    async def refuse_anew(call: ExtenderCall) -> Object:
        return {"NodeNames": [], "FailedNodes": dict.fromkeys(call.offered, f"reason {next(words)}")}

    scheduling.extender.script(name, "filter", refuse_anew)
    async with cleaned(scheduling.cluster, name):
        await scheduling.api.create(fleet_pod(name, extender="plain", on=NODE))
        calls = await scheduling.extender.wait_for_call(name, "filter", count=tries)
    with_back_off = sum(min(2**number, 10) for number in range(tries - 1))
    assert calls[-1].moment - calls[0].moment < with_back_off / 2


BROKEN = {
    "status 500": (say("", status=500), "code 500"),
    "another status than 200": (say('{"NodeNames": []}', status=202), "code 202"),
    "error field": (fail("the driver is away"), "the driver is away"),
    "not JSON": (say("certainly!"), "invalid character"),
    "nothing": (say(""), "EOF"),
    "a list": (say("[]"), "cannot unmarshal array"),
    "one name in place of names": (say(f'{{"NodeNames": "{NODE}"}}'), "cannot unmarshal string"),
    "a node it was not offered": (
        say(f'{{"NodeNames": ["{NODE}", "elsewhere"]}}'),
        "not found in the input node list",
    ),
}


async def test_an_answer_that_is_broken_is_an_error_which_is_tried_again(
    scheduling: Scheduling, unique: Unique
) -> None:
    """All at once: each waits out its own second of back-off."""

    async def sentence_for(name: str, answer: Answer) -> str:
        scheduling.extender.script(name, "filter", answer, accept_only(NODE))
        await scheduling.api.create(fleet_pod(name, extender="plain", on=NODE))
        message = await pod_error(scheduling, name)
        await scheduling.cluster.until_pod(name, is_bound)
        return message

    names = {case: unique(f"broken-{number}") for number, case in enumerate(BROKEN)}
    async with cleaned(scheduling.cluster, *names.values()):
        said = await asyncio.gather(*(sentence_for(names[case], BROKEN[case][0]) for case in BROKEN))
    told = {case: BROKEN[case][1] in sentence for case, sentence in zip(BROKEN, said, strict=True)}
    assert told == dict.fromkeys(BROKEN, True), said
    tries = {case: len(scheduling.extender.calls(name, "filter")) for case, name in names.items()}
    assert tries == dict.fromkeys(BROKEN, 2)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(say("{}"), id="empty object"),
        pytest.param(say('{"nodes_that_fit": ["kwok-00021"]}'), id="a field nobody knows"),
        pytest.param(say("null"), id="null"),
    ],
)
async def test_an_answer_that_names_no_nodes_at_all_is_taken_as_a_refusal_of_all_and_parks_the_pod(
    scheduling: Scheduling, unique: Unique, answer: Answer
) -> None:
    """No error: a misspelt field silently means that no node will do."""
    name = unique("nameless")
    scheduling.extender.script(name, "filter", answer)
    async with cleaned(scheduling.cluster, name):
        await scheduling.api.create(fleet_pod(name, extender="plain"))
        await scheduling.cluster.until_pod(name, is_refused)


async def test_field_names_of_an_answer_may_be_written_in_lower_case_and_text_after_it_is_not_read(
    scheduling: Scheduling, unique: Unique
) -> None:
    name = unique("lower")
    scheduling.extender.script(name, "filter", say(f'{{"nodenames": ["{NODE}"]}} and more'))
    async with cleaned(scheduling.cluster, name):
        await scheduling.api.create(fleet_pod(name, extender="plain", on=NODE))
        seen = await scheduling.cluster.until_pod(name, is_bound)
    assert seen["spec"]["nodeName"] == NODE


async def test_an_answer_later_than_the_time_limit_is_an_error_and_all_other_pods_wait_for_it(
    scheduling: Scheduling, unique: Unique
) -> None:
    slow, other = unique("slow"), unique("other")
    extender, released = scheduling.extender, asyncio.Event()
    slow_had_failed: list[bool] = []

    async def look_at_the_slow_one(call: ExtenderCall) -> Object:
        slow_had_failed.append(has_failed(await scheduling.api.get(path_of("Pod", slow))))
        return await accept_all(call)

    extender.script(slow, "filter", hold(released, accept_all), accept_all)
    extender.script(other, "filter", look_at_the_slow_one)
    async with cleaned(scheduling.cluster, slow, other):
        try:
            await scheduling.api.create(fleet_pod(slow, extender="hasty", on=NODE))
            await extender.wait_for_call(slow, "filter")
            await scheduling.api.create(fleet_pod(other, extender="plain", on=NODE))
            await scheduling.cluster.until_pod(other, is_bound)
            message = await pod_error(scheduling, slow)
        finally:
            released.set()
        await scheduling.cluster.until_pod(slow, is_bound)
    assert "Client.Timeout exceeded" in message
    assert slow_had_failed == [True], "pods are decided one after the other"


async def test_calls_one_after_the_other_share_a_connection(scheduling: Scheduling, unique: Unique) -> None:
    names = [unique(f"in-line-{number}") for number in range(4)]
    async with cleaned(scheduling.cluster, *names):
        for name in names:
            await scheduling.api.create(fleet_pod(name, extender="plain", on=NODE))
            await scheduling.cluster.until_pod(name, is_bound)
    assert len({scheduling.extender.calls(name)[0].port for name in names}) == 1


async def test_an_extender_that_is_away_stops_its_pods_and_no_others(
    scheduling: Scheduling, unique: Unique
) -> None:
    stopped, other = unique("stopped"), unique("other")
    async with cleaned(scheduling.cluster, stopped, other):
        await scheduling.api.create(fleet_pod(stopped, extender="away"))
        assert "connection refused" in await pod_error(scheduling, stopped)
        await scheduling.api.create(fleet_pod(other))
        await scheduling.cluster.until_pod(other, is_bound)
        assert not is_bound(await scheduling.api.get(path_of("Pod", stopped)))


@pytest.mark.smoke
async def test_an_ignorable_extender_that_is_away_or_broken_is_passed_over_and_its_pods_are_bound_unchecked(
    scheduling: Scheduling, unique: Unique
) -> None:
    away, wrong, refused = unique("away"), unique("wrong"), unique("refused")
    scheduling.extender.script(wrong, "filter", fail("no card could be read"))
    scheduling.extender.script(refused, "filter", refuse_all("no card is free"))
    async with cleaned(scheduling.cluster, away, wrong, refused):
        await asyncio.gather(
            scheduling.api.create(fleet_pod(away, extender="away-optional")),
            scheduling.api.create(fleet_pod(wrong, extender="optional")),
            scheduling.api.create(fleet_pod(refused, extender="optional")),
        )
        await scheduling.cluster.until_pod(away, is_bound)
        await scheduling.cluster.until_pod(wrong, is_bound)
        # Only errors are ignored: a refusal is a decision.
        await scheduling.cluster.until_pod(refused, is_refused)
    assert len(scheduling.extender.calls(wrong, "filter")) == 1


async def test_scores_are_asked_only_for_several_nodes_and_a_failure_to_score_is_passed_over(
    scheduling: Scheduling, unique: Unique
) -> None:
    alone, best, broken = unique("alone"), unique("best"), unique("broken")
    extender = scheduling.extender
    two = accept_only("kwok-00031", "kwok-00032")
    extender.script(alone, "filter", accept_only(NODE))
    extender.script(best, "filter", two)
    extender.script(best, "prioritize", say('[{"Host": "kwok-00032", "Score": 10}]'))
    extender.script(broken, "filter", two)
    extender.script(broken, "prioritize", say("", status=500))
    names = (alone, best, broken)
    async with cleaned(scheduling.cluster, *names):
        for name in names:
            await scheduling.api.create(fleet_pod(name, extender="scoring", scheduler="all-nodes"))
        bound = [await scheduling.cluster.until_pod(name, is_bound) for name in names]
    nodes = [seen["spec"]["nodeName"] for seen in bound]
    assert nodes[:2] == [NODE, "kwok-00032"]
    assert nodes[2] in {"kwok-00031", "kwok-00032"}
    asked = [len(extender.calls(name, "prioritize")) for name in names]
    assert asked == [0, 1, 1]

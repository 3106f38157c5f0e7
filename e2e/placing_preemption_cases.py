"""Cases for two schedulers: who has to go for a more important pod, and who is asked about it."""

import asyncio
from collections.abc import Mapping

from e2e.placing_kit import CARDS, MEEK, PATIENT, SHARES, URGENT, Turn, node
from e2e.placing_words import Case, end
from testbed.api import Object, path_of
from testbed.extender import ExtenderCall
from testbed.extender_answers import refuse_all, say


def urgent(turn: Turn, limits: Mapping[str, str | int], name: str = "asks", **more: object) -> Object:
    return turn.pod(name, limits, priorityClassName=URGENT, **more)


async def one_victim(turn: Turn) -> object:
    await turn.has(node("only"))
    await turn.running("small", "only", {"cpu": "2"})
    await turn.running("large", "only", {"cpu": "6"}, priorityClassName=MEEK)
    await turn.create(urgent(turn, {"cpu": "6"}))
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return await end(turn)


async def least_harm(turn: Turn) -> object:
    await turn.has(node("important"), node("unimportant"), node("several"))
    await turn.running("meek", "important", {"cpu": "8"}, priorityClassName=MEEK)
    await turn.running("nobody", "unimportant", {"cpu": "8"})
    for number in range(2):
        await turn.running(f"one-of-{number}", "several", {"cpu": "4"})
    await turn.create(urgent(turn, {"cpu": "8"}))
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return await end(turn)


async def budgets(turn: Turn) -> object:
    await turn.has(node("guarded"), node("open"))
    await turn.running("guarded-one", "guarded", {"cpu": "8"}, labels={"app": "guarded"})
    await turn.running("open-one", "open", {"cpu": "8"}, priorityClassName=MEEK, labels={"app": "open"})
    policy = "policy/v1"
    await turn.cluster.api.create(
        {
            "apiVersion": policy,
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "guard"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
        }
    )
    try:
        await asyncio.sleep(0.3)
        await turn.create(urgent(turn, {"cpu": "8"}))
        await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
        return await end(turn)
    finally:
        await turn.cluster.api.delete(path_of("PodDisruptionBudget", "guard", version=policy))


async def lingering_victim(turn: Turn) -> object:
    """A victim that takes its time: the pod is nominated, and says what it waits for when it is tried again."""
    await turn.has(node("only"))
    await turn.running("lingers", "only", {"cpu": "8"}, terminationGracePeriodSeconds=30)
    await turn.create(urgent(turn, {"cpu": "8"}))
    await turn.settled()
    before = await turn.seen()
    await turn.cluster.api.patch(
        path_of("Node", "only") + "/status", {"status": {"allocatable": {"cpu": "9"}}}
    )
    return before, await end(turn)


async def nobody_less_important(turn: Turn) -> object:
    await turn.has(node("only"), node("other", cpu="1"))
    await turn.running("equal", "only", {"cpu": "8"}, priorityClassName=URGENT)
    await turn.create(urgent(turn, {"cpu": "4"}))
    return await end(turn)


async def patient(turn: Turn) -> object:
    await turn.has(node("only"))
    await turn.running("first", "only", {"cpu": "8"})
    await turn.create(turn.pod("asks", {"cpu": "4"}, priorityClassName=PATIENT))
    return await end(turn)


async def only_the_extender_sees(turn: Turn) -> object:
    turn.script("asks", "filter", refuse_all("every share is taken"))
    await turn.has(node("only"))
    await turn.running("first", "only", {SHARES: 1})
    await turn.create(urgent(turn, {SHARES: 1}))
    return await end(turn)


async def extender_agrees(turn: Turn) -> object:
    await turn.has(node("only"))
    await turn.running("first", "only", {CARDS: 4})
    await turn.create(urgent(turn, {CARDS: 2}))
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return await end(turn)


async def extender_spares(turn: Turn) -> object:
    turn.script("asks", "preempt", say("{}"))
    await turn.has(node("only"))
    await turn.running("first", "only", {CARDS: 4})
    await turn.create(urgent(turn, {CARDS: 2}))
    return await end(turn)


async def extender_adds(turn: Turn) -> object:
    everybody: list[str] = []

    async def both(_call: ExtenderCall) -> Object:
        pods = [{"UID": uid} for uid in everybody]
        return {"NodeNameToMetaVictims": {"only": {"Pods": pods, "NumPDBViolations": 0}}}

    turn.script("asks", "preempt", both)
    await turn.has(node("only"))
    everybody.append(await turn.running("first", "only", {CARDS: 4}))
    everybody.append(await turn.running("second", "only", {"cpu": "1"}))
    await turn.create(urgent(turn, {CARDS: 2}))
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return await end(turn)


async def extender_fails_to_agree(turn: Turn) -> object:
    turn.script("asks", "preempt", say("no", status=500))
    await turn.has(node("only"))
    await turn.running("first", "only", {CARDS: 4})
    await turn.create(urgent(turn, {CARDS: 2}))
    return await end(turn)


PREEMPTION: Mapping[str, Case] = {
    "one victim of two pods": one_victim,
    "the least harmful victims": least_harm,
    "disruption budgets": budgets,
    "a victim that lingers": lingering_victim,
    "nobody less important": nobody_less_important,
    "preemptionPolicy Never": patient,
    "a shortage that only the extender sees": only_the_extender_sees,
    "an extender that agrees to victims": extender_agrees,
    "an extender that spares victims": extender_spares,
    "an extender that adds victims": extender_adds,
    "an extender that fails over victims": extender_fails_to_agree,
}

"""Cases for two schedulers: every way an extender can answer, binds and nominations."""

import asyncio
from collections.abc import Mapping

from e2e.placing_kit import AWAY, AWAY_OPTIONAL, BOUND, CARDS, HASTY, OBJECTS, OPTIONAL, SHARES, Turn, node
from e2e.placing_words import Case, alone, asking, end, three_nodes
from e2e.scheduling_kit import bind_for
from testbed.api import Object, path_of
from testbed.extender import ExtenderCall, Raw
from testbed.extender_answers import accept_only, fail, hold, refuse_all, say


async def scored(turn: Turn) -> object:
    async def second_best(call: ExtenderCall) -> list[Object]:
        return [{"Host": name, "Score": 10 if name == "wanted" else 0} for name in call.offered]

    turn.script("asks", "prioritize", second_best)
    await turn.has(node("empty"), node("wanted"))
    await turn.running("filler", "wanted", {"cpu": "4", "memory": "8Gi"})
    await turn.create(turn.pod("asks", {CARDS: 1}))
    return await end(turn)


async def too_slow(turn: Turn) -> object:
    released = asyncio.Event()
    turn.script("asks", "filter", hold(released, accept_only("large")))
    try:
        return await alone({HASTY: 1, "cpu": "4"})(turn)
    finally:
        released.set()


async def bound_by_extender(turn: Turn) -> object:
    turn.script("asks", "bind", bind_for(turn.cluster.api))
    return await alone({BOUND: 1, "cpu": "4"})(turn)


async def bound_at_second_try(turn: Turn) -> object:
    turn.script("asks", "bind", fail("the card is taken"), bind_for(turn.cluster.api))
    await three_nodes(turn)
    await turn.create(turn.pod("asks", {BOUND: 1, "cpu": "4"}))
    await turn.settled()
    before = await turn.seen()
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return before, await end(turn)


async def nominated(turn: Turn) -> object:
    return await _nominated(turn, "second")


async def nominated_in_vain(turn: Turn) -> object:
    async def not_second(call: ExtenderCall) -> Object | list[Object] | Raw:
        return await accept_only(*(name for name in call.offered if name != "second"))(call)

    turn.script("asks", "filter", not_second)
    return await _nominated(turn, "second")


async def nominated_nowhere(turn: Turn) -> object:
    return await _nominated(turn, "unknown")


async def _nominated(turn: Turn, name: str) -> object:
    await turn.has(node("first"), node("second"))
    await turn.running("filler", "second", {"cpu": "3", "memory": "12Gi"})
    await turn.create(turn.pod("asks", {SHARES: 1}, schedulingGates=[{"name": "example.com/wait"}]))
    await turn.cluster.api.patch(path_of("Pod", "asks") + "/status", {"status": {"nominatedNodeName": name}})
    await turn.cluster.api.patch(path_of("Pod", "asks"), {"spec": {"schedulingGates": None}})
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return await end(turn)


async def place_is_held(turn: Turn) -> object:
    await turn.has(node("only"))
    await turn.create(turn.pod("holds", {"cpu": "6"}, schedulingGates=[{"name": "example.com/wait"}]))
    await turn.cluster.api.patch(
        path_of("Pod", "holds") + "/status", {"status": {"nominatedNodeName": "only"}}
    )
    await turn.settled()
    await turn.create(turn.pod("asks", {"cpu": "6"}))
    return await end(turn)


async def refusal_is_asked_twice(turn: Turn) -> object:
    """How often: the report of the first refusal is news of the pod, that of the second changes nothing."""
    turn.script("asks", "filter", refuse_all("no card"))
    await turn.has(node("only"))
    await turn.create(turn.pod("asks", {SHARES: 1}))
    await turn.settled()
    first = len(turn.extender.calls("asks", "filter"))
    await turn.cluster.api.patch(path_of("Node", "only"), {"metadata": {"labels": {"unrelated": "yes"}}})
    await turn.settled()
    second = len(turn.extender.calls("asks", "filter"))
    await turn.cluster.api.patch(path_of("Pod", "asks"), {"metadata": {"annotations": {"wake": "up"}}})
    await turn.settled()
    third = len(turn.extender.calls("asks", "filter"))
    before = turn.first_filters("asks")
    return first - before, second - first, third - second


async def errors_back_off(turn: Turn) -> object:
    """An error is tried again within two seconds by itself."""
    turn.script("asks", "filter", fail("not now"), accept_only("only"))
    await turn.has(node("only"))
    await turn.create(turn.pod("asks", {SHARES: 1}))
    await turn.settled()
    before = await turn.seen()
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")), within=10)
    return before, await end(turn)


EXTENDERS: Mapping[str, Case] = {
    "an extender that refuses all": asking({SHARES: 1, "cpu": "4"}, refuse_all("no share")),
    "an extender that refuses all for good": asking({SHARES: 1}, refuse_all("no share", for_good=True)),
    "an extender that leaves one": asking({SHARES: 1}, accept_only("small")),
    "an extender that leaves one it was not offered": asking({SHARES: 1}, say('{"NodeNames": ["moon"]}')),
    "an extender that says nothing": asking({SHARES: 1}, say("{}")),
    "an extender with small letters": asking({SHARES: 1}, say('{"nodenames": ["small"]} and more')),
    "an extender with an error": asking({SHARES: 1}, fail("cannot decide")),
    "an extender with status 500": asking({SHARES: 1}, say("oh", status=500)),
    "an extender without an answer": asking({SHARES: 1}, say("")),
    "an extender that is not asked": asking({SHARES: 1, "cpu": "20"}, refuse_all("never said")),
    "an extender that gets whole nodes": alone({OBJECTS: 1, "cpu": "4"}),
    "an extender that is away": alone({AWAY: 1, "cpu": "4"}),
    "an extender that is away and may be": alone({AWAY_OPTIONAL: 1, "cpu": "4"}),
    "an extender that fails and may": asking({OPTIONAL: 1, "cpu": "4"}, fail("cannot decide")),
    "an extender that may fail and refuses": asking({OPTIONAL: 1, "cpu": "4"}, refuse_all("no slot")),
    "an extender that scores": scored,
    "an extender that cannot score": asking({CARDS: 1, "cpu": "4"}, say("oh", status=500), verb="prioritize"),
    "an extender that binds": bound_by_extender,
    "an extender that binds at the second try": bound_at_second_try,
    "an extender that is too slow": too_slow,
    "a nominated node": nominated,
    "a nominated node that will not do": nominated_in_vain,
    "a nominated node that is not there": nominated_nowhere,
    "a nominated place is held": place_is_held,
    "how often a refusal is asked again": refusal_is_asked_twice,
    "an error is tried again": errors_back_off,
}

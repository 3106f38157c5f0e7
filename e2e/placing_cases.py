"""Cases for two schedulers: each makes nodes and pods, waits until nothing changes, and returns what is to be seen."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from e2e.placing_kit import (
    AWAY,
    AWAY_OPTIONAL,
    BOUND,
    CARDS,
    HASTY,
    MEEK,
    OBJECTS,
    OPTIONAL,
    PATIENT,
    SHARES,
    URGENT,
    Turn,
    node,
)
from e2e.scheduling_kit import bind_for
from testbed.api import Object, path_of
from testbed.extender import Answer, ExtenderCall, Raw, Verb
from testbed.extender_answers import accept_only, fail, hold, refuse_all, say
from testbed.manifests import container, is_gone, sidecar

Case = Callable[[Turn], Awaitable[Any]]
ZONE = "zone"
TAINTED = {"key": "busy", "value": "yes", "effect": "NoSchedule"}


def alone(limits: Mapping[str, str | int] | None = None, **spec: object) -> Case:
    """One pod and three nodes, of which the second is small and the third is full of others."""

    async def case(turn: Turn) -> Any:  # noqa: ANN401 - what is seen
        await three_nodes(turn)
        await turn.create(turn.pod("asks", limits, **spec))
        return await end(turn)

    return case


def asking(limits: Mapping[str, str | int], *answers: Answer, verb: Verb = "filter", **spec: object) -> Case:
    """The same with an extender that answers so."""

    async def case(turn: Turn) -> Any:  # noqa: ANN401 - the same
        turn.script("asks", verb, *answers)
        return await alone(limits, **spec)(turn)

    return case


async def three_nodes(turn: Turn) -> None:
    await turn.has(
        node("large", labels={ZONE: "east"}),
        node("small", labels={ZONE: "west"}, cpu="2", memory="1Gi"),
        node("full"),
    )
    for number in range(4):
        await turn.running(f"holder-{number}", "full", {"cpu": "2", CARDS: 1})


async def end(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.settled()
    return await turn.seen()


def node_affinity(*terms: Object) -> Object:
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    }


def rule(key: str, operator: str, *values: str) -> Object:
    return {
        "matchExpressions": [
            {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
        ]
    }


def by_name(*names: str) -> Object:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [one]} for one in names]}


def pods_near(kind: str, labels: Mapping[str, str], key: str = "kubernetes.io/hostname") -> Object:
    term = {"labelSelector": {"matchLabels": dict(labels)}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def with_port(turn: Turn, name: str) -> Object:
    made = turn.pod(name)
    made["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    return made


# --- its own rules ---------------------------------------------------------------------------------------------------


async def no_nodes(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.create(turn.pod("asks"))
    return await end(turn)


async def six_reasons(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(
        node("tainted-1", taints=[TAINTED]),
        node("tainted-2", taints=[TAINTED]),
        node("elsewhere", labels={ZONE: "west"}),
        node("small", labels={ZONE: "east"}, cpu="1"),
        node("tight", labels={ZONE: "east"}, cpu="1", memory="1Gi"),
        node("cordoned", labels={ZONE: "east"}),
    )
    await turn.cluster.api.patch(path_of("Node", "cordoned"), {"spec": {"unschedulable": True}})
    await turn.create(turn.pod("asks", {"cpu": "2", "memory": "2Gi"}, nodeSelector={ZONE: "east"}))
    return await end(turn)


async def too_many_pods(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("one-only", pods="1"))
    await turn.running("first", "one-only")
    await turn.create(turn.pod("asks"))
    return await end(turn)


async def cordoned(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("cordoned"))
    await turn.cluster.api.patch(path_of("Node", "cordoned"), {"spec": {"unschedulable": True}})
    await turn.create(turn.pod("asks"))
    tolerant = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]
    await turn.create(turn.pod("tolerates", tolerations=tolerant))
    return await end(turn)


async def taints(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(
        node("stays", taints=[TAINTED]), node("leaves", taints=[{"key": "gone", "effect": "NoExecute"}])
    )
    await turn.create(
        turn.pod("plain"),
        turn.pod("tolerates", tolerations=[{"key": "busy", "value": "yes", "effect": "NoSchedule"}]),
        turn.pod("other-value", tolerations=[{"key": "busy", "value": "no", "effect": "NoSchedule"}]),
        turn.pod("everything", {"cpu": "8"}, tolerations=[{"operator": "Exists"}]),
    )
    return await end(turn)


async def host_ports(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("only"))
    await turn.create(with_port(turn, "first"))
    await turn.settled()
    await turn.create(with_port(turn, "second"))
    return await end(turn)


async def init_containers(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("only"))
    inits = [sidecar(container("side", limits={"cpu": "3"})), container("first", limits={"cpu": "5"})]
    fits = turn.pod("fits", {"cpu": "4"})
    fits["spec"]["initContainers"] = inits
    await turn.create(fits)
    await turn.settled()
    before = await turn.seen()
    await turn.cluster.api.delete(path_of("Pod", "fits"), grace=0)
    await turn.cluster.until_pod("fits", is_gone)
    tight = turn.pod("tight", {"cpu": "4"})
    tight["spec"]["initContainers"] = [*inits, sidecar(container("side-2", limits={"cpu": "2"}))]
    await turn.create(tight)
    return before, await end(turn)


async def affinity_to_pods(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("with", labels={ZONE: "east"}), node("without", labels={ZONE: "west"}))
    await turn.running("friend", "with", labels={"app": "friend"})
    await turn.create(
        turn.pod("near", affinity=pods_near("podAffinity", {"app": "friend"}, ZONE)),
        turn.pod("away", affinity=pods_near("podAntiAffinity", {"app": "friend"}, ZONE)),
        turn.pod("nobody", affinity=pods_near("podAffinity", {"app": "unknown"})),
    )
    return await end(turn)


async def first_of_its_kind(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("only"))
    made = turn.pod("first", affinity=pods_near("podAffinity", {"app": "kind"}))
    made["metadata"]["labels"] = {"app": "kind"}
    await turn.create(made)
    return await end(turn)


async def unwelcome(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("only"))
    await turn.running("loner", "only", affinity=pods_near("podAntiAffinity", {"app": "web"}))
    made = turn.pod("web")
    made["metadata"]["labels"] = {"app": "web"}
    away = turn.pod("shy", affinity=pods_near("podAntiAffinity", {"app": "loner"}))
    await turn.create(made, away)
    return await end(turn)


async def spreading(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(
        node("east", labels={ZONE: "east"}), node("west", labels={ZONE: "west"}, cpu="1"), node("nowhere")
    )
    for number in range(2):
        await turn.running(f"web-{number}", "east", labels={"app": "web"})
    await turn.running("filler", "west", {"cpu": "1"})
    made = turn.pod(
        "web-2",
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ],
    )
    made["metadata"]["labels"] = {"app": "web"}
    await turn.create(made)
    return await end(turn)


async def gated(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("only"))
    await turn.create(turn.pod("asks", schedulingGates=[{"name": "example.com/wait"}]))
    await turn.settled()
    before = await turn.seen()
    await turn.cluster.api.patch(path_of("Pod", "asks"), {"spec": {"schedulingGates": None}})
    return before, await end(turn)


async def preferences(turn: Turn) -> Any:  # noqa: ANN401 - the same
    shunned = [{"key": "old", "effect": "PreferNoSchedule"}]
    await turn.has(node("shunned", taints=shunned), node("liked", labels={ZONE: "east"}), node("other"))
    liked = {"weight": 100, "preference": rule(ZONE, "In", "east")}
    preferred = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [liked]}}
    await turn.create(turn.pod("asks", affinity=preferred))
    return await end(turn)


async def emptiest(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("busy"), node("empty"))
    await turn.running("filler", "busy", {"cpu": "5", "memory": "10Gi"})
    await turn.create(turn.pod("asks", {"cpu": "2", "memory": "4Gi"}))
    return await end(turn)


async def woken_by_room(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("only"))
    await turn.running("first", "only", {"cpu": "6"})
    await turn.create(turn.pod("asks", {"cpu": "6"}))
    await turn.settled()
    before = await turn.seen()
    await turn.cluster.api.delete(path_of("Pod", "first"), grace=0)
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return before, await end(turn)


async def woken_by_node(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("tainted", taints=[TAINTED]))
    await turn.create(turn.pod("asks"))
    await turn.settled()
    await turn.cluster.api.patch(path_of("Node", "tainted"), {"spec": {"taints": None}})
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return await end(turn)


# --- extenders -------------------------------------------------------------------------------------------------------


async def scored(turn: Turn) -> Any:  # noqa: ANN401 - the same
    async def second_best(call: ExtenderCall) -> list[Object]:
        return [{"Host": name, "Score": 10 if name == "wanted" else 0} for name in call.offered]

    turn.script("asks", "prioritize", second_best)
    await turn.has(node("empty"), node("wanted"))
    await turn.running("filler", "wanted", {"cpu": "4", "memory": "8Gi"})
    await turn.create(turn.pod("asks", {CARDS: 1}))
    return await end(turn)


async def too_slow(turn: Turn) -> Any:  # noqa: ANN401 - the same
    released = asyncio.Event()
    turn.script("asks", "filter", hold(released, accept_only("large")))
    try:
        return await alone({HASTY: 1, "cpu": "4"})(turn)
    finally:
        released.set()


async def bound_by_extender(turn: Turn) -> Any:  # noqa: ANN401 - the same
    turn.script("asks", "bind", bind_for(turn.cluster.api))
    return await alone({BOUND: 1, "cpu": "4"})(turn)


async def bound_at_second_try(turn: Turn) -> Any:  # noqa: ANN401 - the same
    turn.script("asks", "bind", fail("the card is taken"), bind_for(turn.cluster.api))
    await three_nodes(turn)
    await turn.create(turn.pod("asks", {BOUND: 1, "cpu": "4"}))
    await turn.settled()
    before = await turn.seen()
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return before, await end(turn)


async def nominated(turn: Turn) -> Any:  # noqa: ANN401 - the same
    return await _nominated(turn, "second")


async def nominated_in_vain(turn: Turn) -> Any:  # noqa: ANN401 - the same
    async def not_second(call: ExtenderCall) -> Object | list[Object] | Raw:
        return await accept_only(*(name for name in call.offered if name != "second"))(call)

    turn.script("asks", "filter", not_second)
    return await _nominated(turn, "second")


async def nominated_nowhere(turn: Turn) -> Any:  # noqa: ANN401 - the same
    return await _nominated(turn, "unknown")


async def _nominated(turn: Turn, name: str) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("first"), node("second"))
    await turn.running("filler", "second", {"cpu": "3", "memory": "12Gi"})
    await turn.create(turn.pod("asks", {SHARES: 1}, schedulingGates=[{"name": "example.com/wait"}]))
    await turn.cluster.api.patch(path_of("Pod", "asks") + "/status", {"status": {"nominatedNodeName": name}})
    await turn.cluster.api.patch(path_of("Pod", "asks"), {"spec": {"schedulingGates": None}})
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return await end(turn)


async def place_is_held(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("only"))
    await turn.create(turn.pod("holds", {"cpu": "6"}, schedulingGates=[{"name": "example.com/wait"}]))
    await turn.cluster.api.patch(
        path_of("Pod", "holds") + "/status", {"status": {"nominatedNodeName": "only"}}
    )
    await turn.settled()
    await turn.create(turn.pod("asks", {"cpu": "6"}))
    return await end(turn)


async def refusal_is_asked_twice(turn: Turn) -> Any:  # noqa: ANN401 - the same
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


async def errors_back_off(turn: Turn) -> Any:  # noqa: ANN401 - the same
    """An error is tried again within two seconds by itself."""
    turn.script("asks", "filter", fail("not now"), accept_only("only"))
    await turn.has(node("only"))
    await turn.create(turn.pod("asks", {SHARES: 1}))
    await turn.settled()
    before = await turn.seen()
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")), within=10)
    return before, await end(turn)


# --- preemption ------------------------------------------------------------------------------------------------------


def urgent(turn: Turn, limits: Mapping[str, str | int], name: str = "asks", **more: object) -> Object:
    return turn.pod(name, limits, priorityClassName=URGENT, **more)


async def one_victim(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("only"))
    await turn.running("small", "only", {"cpu": "2"})
    await turn.running("large", "only", {"cpu": "6"}, priorityClassName=MEEK)
    await turn.create(urgent(turn, {"cpu": "6"}))
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return await end(turn)


async def least_harm(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("important"), node("unimportant"), node("several"))
    await turn.running("meek", "important", {"cpu": "8"}, priorityClassName=MEEK)
    await turn.running("nobody", "unimportant", {"cpu": "8"})
    for number in range(2):
        await turn.running(f"one-of-{number}", "several", {"cpu": "4"})
    await turn.create(urgent(turn, {"cpu": "8"}))
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return await end(turn)


async def budgets(turn: Turn) -> Any:  # noqa: ANN401 - the same
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


async def lingering_victim(turn: Turn) -> Any:  # noqa: ANN401 - the same
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


async def nobody_less_important(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("only"), node("other", cpu="1"))
    await turn.running("equal", "only", {"cpu": "8"}, priorityClassName=URGENT)
    await turn.create(urgent(turn, {"cpu": "4"}))
    return await end(turn)


async def patient(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("only"))
    await turn.running("first", "only", {"cpu": "8"})
    await turn.create(turn.pod("asks", {"cpu": "4"}, priorityClassName=PATIENT))
    return await end(turn)


async def only_the_extender_sees(turn: Turn) -> Any:  # noqa: ANN401 - the same
    turn.script("asks", "filter", refuse_all("every share is taken"))
    await turn.has(node("only"))
    await turn.running("first", "only", {SHARES: 1})
    await turn.create(urgent(turn, {SHARES: 1}))
    return await end(turn)


async def extender_agrees(turn: Turn) -> Any:  # noqa: ANN401 - the same
    await turn.has(node("only"))
    await turn.running("first", "only", {CARDS: 4})
    await turn.create(urgent(turn, {CARDS: 2}))
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return await end(turn)


async def extender_spares(turn: Turn) -> Any:  # noqa: ANN401 - the same
    turn.script("asks", "preempt", say("{}"))
    await turn.has(node("only"))
    await turn.running("first", "only", {CARDS: 4})
    await turn.create(urgent(turn, {CARDS: 2}))
    return await end(turn)


async def extender_adds(turn: Turn) -> Any:  # noqa: ANN401 - the same
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


async def extender_fails_to_agree(turn: Turn) -> Any:  # noqa: ANN401 - the same
    turn.script("asks", "preempt", say("no", status=500))
    await turn.has(node("only"))
    await turn.running("first", "only", {CARDS: 4})
    await turn.create(urgent(turn, {CARDS: 2}))
    return await end(turn)


CASES: Mapping[str, Case] = {
    "fits on one node": alone({"cpu": "4"}),
    "cpu is short everywhere": alone({"cpu": "20"}),
    "memory is short, and cpu too": alone({"cpu": "7", "memory": "20Gi"}),
    "ephemeral storage is short": alone({"ephemeral-storage": "200Gi"}),
    "a card is short": alone({CARDS: 5}),
    "a resource that no node has": alone({"nobody.example.com/has": 1}),
    "a resource that is not counted": alone({SHARES: 100, "cpu": "4"}),
    "no nodes at all": no_nodes,
    "six nodes and five reasons": six_reasons,
    "too many pods": too_many_pods,
    "cordons": cordoned,
    "taints and tolerations": taints,
    "a node selector": alone(nodeSelector={ZONE: "north"}),
    "affinity with In": alone(affinity=node_affinity(rule(ZONE, "In", "east"))),
    "affinity with NotIn and Exists": alone(
        affinity=node_affinity(rule(ZONE, "Exists") | {"matchFields": []}, rule("absent", "Exists"))
    ),
    "affinity to a node by name": alone(affinity=node_affinity(by_name("small"))),
    "affinity to a full node by name": alone(affinity=node_affinity(by_name("full"))),
    "affinity to a node that is not there": alone(affinity=node_affinity(by_name("missing"))),
    "affinity to two names at once": alone(affinity=node_affinity(by_name("large", "small"))),
    "host ports": host_ports,
    "init containers and sidecars": init_containers,
    "pod affinity": affinity_to_pods,
    "the first of its kind": first_of_its_kind,
    "anti-affinity of others": unwelcome,
    "spreading": spreading,
    "a gate": gated,
    "preferred and shunned nodes": preferences,
    "the emptier node": emptiest,
    "room that appears": woken_by_room,
    "a taint that goes": woken_by_node,
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

"""Cases for two schedulers: what kube-scheduler decides by itself."""

from collections.abc import Mapping

from e2e.placing_kit import CARDS, SHARES, Turn, node
from e2e.placing_words import ZONE, Case, alone, end
from testbed.api import Object, path_of
from testbed.manifests import container, is_gone, sidecar

TAINTED = {"key": "busy", "value": "yes", "effect": "NoSchedule"}


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


async def no_nodes(turn: Turn) -> object:
    await turn.create(turn.pod("asks"))
    return await end(turn)


async def six_reasons(turn: Turn) -> object:
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


async def too_many_pods(turn: Turn) -> object:
    await turn.has(node("one-only", pods="1"))
    await turn.running("first", "one-only")
    await turn.create(turn.pod("asks"))
    return await end(turn)


async def cordoned(turn: Turn) -> object:
    await turn.has(node("cordoned"))
    await turn.cluster.api.patch(path_of("Node", "cordoned"), {"spec": {"unschedulable": True}})
    await turn.create(turn.pod("asks"))
    tolerant = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]
    await turn.create(turn.pod("tolerates", tolerations=tolerant))
    return await end(turn)


async def taints(turn: Turn) -> object:
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


async def host_ports(turn: Turn) -> object:
    await turn.has(node("only"))
    await turn.create(with_port(turn, "first"))
    await turn.settled()
    await turn.create(with_port(turn, "second"))
    return await end(turn)


async def init_containers(turn: Turn) -> object:
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


async def affinity_to_pods(turn: Turn) -> object:
    await turn.has(node("with", labels={ZONE: "east"}), node("without", labels={ZONE: "west"}))
    await turn.running("friend", "with", labels={"app": "friend"})
    await turn.create(
        turn.pod("near", affinity=pods_near("podAffinity", {"app": "friend"}, ZONE)),
        turn.pod("away", affinity=pods_near("podAntiAffinity", {"app": "friend"}, ZONE)),
        turn.pod("nobody", affinity=pods_near("podAffinity", {"app": "unknown"})),
    )
    return await end(turn)


async def first_of_its_kind(turn: Turn) -> object:
    await turn.has(node("only"))
    made = turn.pod("first", affinity=pods_near("podAffinity", {"app": "kind"}))
    made["metadata"]["labels"] = {"app": "kind"}
    await turn.create(made)
    return await end(turn)


async def unwelcome(turn: Turn) -> object:
    await turn.has(node("only"))
    await turn.running("loner", "only", affinity=pods_near("podAntiAffinity", {"app": "web"}))
    made = turn.pod("web")
    made["metadata"]["labels"] = {"app": "web"}
    away = turn.pod("shy", affinity=pods_near("podAntiAffinity", {"app": "loner"}))
    await turn.create(made, away)
    return await end(turn)


async def spreading(turn: Turn) -> object:
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


async def gated(turn: Turn) -> object:
    await turn.has(node("only"))
    await turn.create(turn.pod("asks", schedulingGates=[{"name": "example.com/wait"}]))
    await turn.settled()
    before = await turn.seen()
    await turn.cluster.api.patch(path_of("Pod", "asks"), {"spec": {"schedulingGates": None}})
    return before, await end(turn)


async def preferences(turn: Turn) -> object:
    shunned = [{"key": "old", "effect": "PreferNoSchedule"}]
    await turn.has(node("shunned", taints=shunned), node("liked", labels={ZONE: "east"}), node("other"))
    liked = {"weight": 100, "preference": rule(ZONE, "In", "east")}
    preferred = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [liked]}}
    await turn.create(turn.pod("asks", affinity=preferred))
    return await end(turn)


async def emptiest(turn: Turn) -> object:
    await turn.has(node("busy"), node("empty"))
    await turn.running("filler", "busy", {"cpu": "5", "memory": "10Gi"})
    await turn.create(turn.pod("asks", {"cpu": "2", "memory": "4Gi"}))
    return await end(turn)


async def woken_by_room(turn: Turn) -> object:
    await turn.has(node("only"))
    await turn.running("first", "only", {"cpu": "6"})
    await turn.create(turn.pod("asks", {"cpu": "6"}))
    await turn.settled()
    before = await turn.seen()
    await turn.cluster.api.delete(path_of("Pod", "first"), grace=0)
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return before, await end(turn)


async def woken_by_node(turn: Turn) -> object:
    await turn.has(node("tainted", taints=[TAINTED]))
    await turn.create(turn.pod("asks"))
    await turn.settled()
    await turn.cluster.api.patch(path_of("Node", "tainted"), {"spec": {"taints": None}})
    await turn.cluster.until_pod("asks", lambda seen: bool(seen["spec"].get("nodeName")))
    return await end(turn)


RULES: Mapping[str, Case] = {
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
}

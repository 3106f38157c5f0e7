"""The scripted koord-scheduler, koord-manager and koordlet against what the real ones of 1.8.0 did."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from testbed.koord_adapters import BIND_TIMESTAMP, LOCK, BindError, annotations_for, lock_over
from testbed.koord_devices import ALLOCATED, VENDOR, Given, given_to
from testbed.koord_manager import amounts_of, mutated
from testbed.koord_requests import Unschedulable
from testbed.koord_state import Beliefs, Chosen
from testbed.koordlet import device_of

Json = dict[str, Any]

FILE = Path(__file__).parent.parent / "data" / "captures" / "koordinator-1.8.0.json"
CAPTURE: Json = json.loads(FILE.read_text("utf-8"))
DEVICES: dict[str, Json] = CAPTURE["devices"]
REQUESTS: dict[str, Json] = CAPTURE["requests"]
HINTS: dict[str, Json] = CAPTURE["hints"]
MINORS = "scheduling.koordinator.sh/gpu-minors"
BESIDE = {"metax": "metax-tech.com/sgpu", "mthreads": "mthreads.com/vgpu"}
WORDS = {
    "shared": "koordinator.sh/gpu.shared",
    "core": "koordinator.sh/gpu-core",
    "memory": "koordinator.sh/gpu-memory",
    "ratio": "koordinator.sh/gpu-memory-ratio",
}
LEFT_OUT = ("nvidia", "amd", "dcu", "rdma", "fpga", "npu")
"""Requests for what the script has no cards of."""


def vendor_of(node: str) -> str:
    return str(DEVICES[node]["metadata"]["labels"][VENDOR])


def node_object(name: str) -> Json:
    """The node as it was in the run: our device, its amounts, and sixteen slices of each card."""
    amounts = amounts_of(DEVICES[name], shares=True)
    slices = {BESIDE[vendor_of(name)]: str(16 * len(DEVICES[name]["spec"]["devices"]))}
    return {"metadata": {"name": name}, "spec": {}, "status": {"allocatable": {**amounts, **slices}}}


def pod_object(limits: Json, name: str = "demo", **metadata: object) -> Json:
    return {
        "metadata": {"name": name, "namespace": "default", "annotations": {}, "labels": {}, **metadata},
        "spec": {"containers": [{"name": "main", "resources": {"limits": dict(limits)}}]},
    }


def asking(node: str, case: Json, *, limits: Json | None = None) -> Json:
    beside = {BESIDE[vendor_of(node)]: str(case["cards"])} if case["cards"] else {}
    return pod_object({**(limits or case["limits"]), **beside}, annotations=case.get("annotations", {}))


def believing(node: str) -> Beliefs:
    beliefs = Beliefs()
    beliefs.device(None, DEVICES[node])
    return beliefs


def bind(beliefs: Beliefs, node: str, pod: Json) -> dict[str, str]:
    """What the script writes on the pod. Raises what the real one said instead."""
    chosen: Chosen = beliefs.place(pod, [node_object(node)])
    beliefs.assume(pod, chosen)
    if not chosen.given:
        return {}
    ids = {card["minor"]: card["id"] for card in DEVICES[node]["spec"]["devices"]}
    given = [Given(each.minor, each.amounts, ids[each.minor]) for each in chosen.given]
    written = annotations_for(vendor_of(node), given, 0)
    return {key: text for key, text in written.items() if key != BIND_TIMESTAMP}


def outcome(node: str, pod: Json) -> dict[str, str] | str:
    try:
        return bind(believing(node), node, pod)
    except (Unschedulable, BindError) as error:
        return str(error).removeprefix("0/1 nodes are available: ").rstrip(".")


def same(ours: dict[str, str] | str, theirs: Json) -> bool:
    if "written" in theirs:
        return ours == theirs["written"]
    # The real one names all amounts that are short, and which plugin spoke.
    return isinstance(ours, str) and ours in theirs["message"]


def placements(part: str) -> list[Any]:
    return [
        pytest.param(case, node, theirs, id=f"{name} on {node}")
        for name, case in REQUESTS.items()
        if name.split(maxsplit=1)[0] not in LEFT_OUT
        for node in ("mx64", "mx48", "mt48")
        if (theirs := case.get(part, {}).get(node, case.get(part, {}).get("any node"))) is not None
    ]


@pytest.mark.parametrize(("case", "node", "theirs"), placements("results"))
def test_the_script_places_what_koord_scheduler_places_and_where(case: Json, node: str, theirs: Json) -> None:
    assert same(outcome(node, asking(node, case)), theirs)


@pytest.mark.parametrize(("case", "node", "theirs"), placements("results_after_webhook"))
def test_so_it_does_with_what_the_webhook_makes_of_a_pod(case: Json, node: str, theirs: Json) -> None:
    assert same(outcome(node, asking(node, case, limits=case.get("after_webhook"))), theirs)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=name) for name, case in REQUESTS.items() if "server" not in case],
)
def test_the_scripted_webhook_changes_what_koord_managers_changes(case: Json) -> None:
    changed = mutated(pod_object(case["limits"]))["spec"]["containers"][0]["resources"]["limits"]
    expected = case.get("after_webhook", case["limits"])
    # The API server writes 5000k as 5M.
    assert {**changed, **{key: text for key, text in expected.items() if text == "5M"}} == expected


@pytest.mark.parametrize(
    ("case", "node", "theirs"),
    [
        pytest.param(case, node, theirs, id=f"{name} on {node}")
        for name, case in HINTS.items()
        # It reads no selectors, no joint allocation, no bandwidth and no providers, and is given nothing malformed.
        if not any(word in name for word in ("malformed", "empty", "elector", "bandwidth", "provider"))
        for node in ("mx8", "mxp", "mx64", "mt48")
        for theirs in [case["results"].get(node, case["results"].get("any node"))]
    ],
)
def test_the_script_reads_hints_as_koord_scheduler_does(case: Json, node: str, theirs: Json) -> None:
    ours = outcome(node, asking(node, case))
    if "minors" in theirs:
        assert isinstance(ours, dict)
        assert ours[MINORS] == theirs["minors"]
    else:
        assert isinstance(ours, str)
        assert ours in theirs["message"]


def ask(**words: object) -> Json:
    return {WORDS[word]: str(amount) for word, amount in words.items()}


SLICE = ask(shared=1, core=10, memory="1Gi")
TINY = ask(shared=1, core=5, memory="1Gi")
ONE = ask(shared=1, core=100, ratio=100)
TWO, FOUR = ask(shared=2, core=200, ratio=200), ask(shared=4, core=400, ratio=400)
THREE, EIGHT = ask(shared=3, core=300, ratio=300), ask(shared=8, core=800, ratio=800)
REQUIRED = {"scheduling.koordinator.sh/gpu-partition-spec": '{"allocatePolicy":"Restricted"}'}


@pytest.mark.parametrize(
    ("story", "node", "pods"),
    [
        ("pairs, Prefer", "mxp", [SLICE, TWO, TWO, TWO, TWO]),
        ("pairs after one whole card", "mxp", [ONE, TWO, TWO, TWO]),
        ("groups of four", "mx8", [FOUR, TWO, TWO, TWO]),
        ("groups of four, a slice first", "mx8", [SLICE, FOUR, FOUR, TWO]),
        ("groups of four, one card busy", "mx8", [ONE, TWO, FOUR, TWO]),
        ("groups of four, one card busy, partitions required", "mx8", [ONE, TWO, FOUR, TWO]),
        ("groups of four, pairs", "mx8", [TWO] * 4),
        ("links across roots", "mxx", [TWO, TWO, FOUR, TWO]),
        ("links across roots, one card busy", "mxx", [ONE, TWO, FOUR, TWO]),
        ("links across roots, a slice first", "mxx", [SLICE, TWO, FOUR, TWO]),
        ("links across roots, partitions required", "mxx", [ONE, TWO, FOUR, TWO]),
        ("sixteen linked", "mx16", [ONE, TWO, FOUR, EIGHT]),
        ("sixteen linked, partitions required", "mx16", [TWO, EIGHT, FOUR, TWO, TWO]),
        ("complete sets only", "odd", [TWO, TWO]),
        ("complete sets only, three", "odd", [THREE]),
        ("six slices on two cards, each on a root of its own", "mx64", [SLICE] * 6),
        ("eight slices on two cards on one root", "bare", [SLICE] * 8),
        ("slices of 5 % on two cards of sixteen slices each", "mx64", [TINY] * 33),
    ],
)
def test_pod_after_pod_the_script_takes_the_cards_that_koord_scheduler_took(
    story: str, node: str, pods: list[Json]
) -> None:
    theirs: list[Any] = CAPTURE["order"][story]
    beliefs = believing(node)
    for number, (limits, expected) in enumerate(zip(pods, theirs, strict=True)):
        count = int(limits["koordinator.sh/gpu.shared"])
        insists = limits is not ONE and ("required" in story or "complete sets" in story)
        hints = REQUIRED if insists else {}
        pod = pod_object({**limits, "metax-tech.com/sgpu": str(count)}, f"p{number}", annotations=hints)
        if isinstance(expected, str):
            assert bind(beliefs, node, pod)[MINORS] == expected
        else:
            with pytest.raises(Unschedulable, match="Insufficient"):
                bind(beliefs, node, pod)


@pytest.mark.parametrize(
    ("story", "lock"),
    [
        ("locked by a living pod", "2026-11-16T15:00:00Z,default,alive"),
        ("locked by itself", "2026-11-16T15:00:00Z,default,demo"),
        ("locked 400 s ago", "2026-11-16T14:53:20Z,default,alive"),
        ("locked by a pod that is gone", "2026-11-16T15:00:00Z,default,gone"),
        ("lock with nanoseconds and a zone", "2026-11-16T15:00:00.123456789+08:00,default,gone"),
        ("lock malformed", "garbage"),
    ],
)
def test_the_script_minds_the_lock_as_koord_scheduler_does(story: str, lock: str) -> None:
    now = 1794841200.0
    theirs = CAPTURE["locks"][story]

    def known(_namespace: str, name: str) -> bool:
        return name in {"alive", "demo"}

    pod = pod_object({})
    if isinstance(theirs, str):
        assert lock_over(lock, pod, "mx48", now, known) == "2026-11-16T15:00:00Z,default,demo"
    else:
        with pytest.raises(BindError) as refused:
            lock_over(lock, pod, "mx48", now, known)
        assert str(refused.value) in theirs["message"]


@pytest.mark.parametrize("gate", ["false", "true"])
@pytest.mark.parametrize("node", ["mx64", "mt48", "mx8"])
def test_the_scripted_manager_adds_up_what_koord_manager_adds_up(gate: str, node: str) -> None:
    theirs = CAPTURE["amounts"][f"EnableSyncGPUSharedResource={gate}"][node]
    shares = gate == "true"
    assert amounts_of(None, shares=shares) == theirs["no Device"] == theirs["Device deleted"] == {}
    for story, sick in (("all healthy", ()), ("card 0 unhealthy", (0,)), ("none healthy", range(8))):
        device = copy.deepcopy(DEVICES[node])
        for card in device["spec"]["devices"]:
            card["health"] = card["minor"] not in sick
        assert amounts_of(device, shares=shares) == theirs[story]
    assert (
        theirs["zeroed by a node that registers again"] == theirs["removed by hand"] == theirs["all healthy"]
    )


@pytest.mark.parametrize(
    "story", ["mx64", "mt48", "mx8", "mxp", "mx16", "odd", "bare", "mx64 card 0 unhealthy"]
)
def test_the_scripted_koordlet_makes_the_device_that_koordlet_makes(story: str) -> None:
    theirs = CAPTURE["koordlet"][story]
    node = {"metadata": {"name": story.split(maxsplit=1)[0], "uid": "node-uid"}}
    ours = device_of(node, theirs["file"], "2026-11-16T00:00:00Z")
    stored = theirs["stored"]
    for part in ("labels", "annotations", "ownerReferences"):
        assert ours["metadata"].get(part, {}) == stored["metadata"].get(part, {})
    assert ours["spec"]["devices"] == stored["spec"]["devices"]


@pytest.mark.parametrize("story", ["not json", "empty object", "null", "only ratio", "unknown minor"])
def test_the_script_counts_an_annotation_as_koord_scheduler_does(story: str) -> None:
    written = {
        "not json": "{",
        "empty object": "{}",
        "null": "null",
        "only ratio": '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-memory-ratio":"50"}}]}',
        "unknown minor": '{"gpu":[{"minor":7,"resources":{"koordinator.sh/gpu-core":"10",'
        '"koordinator.sh/gpu-memory":"1Gi","koordinator.sh/gpu-memory-ratio":"1"}}]}',
    }[story]
    found = given_to(pod_object({}, annotations={ALLOCATED: written}))
    ours = {str(each.minor): each.written()["resources"] for each in found}
    assert ours == CAPTURE["odd_allocations"][story].get("gpu", {})


@pytest.mark.parametrize("story", list(CAPTURE["containers"]))
def test_the_script_adds_up_containers_as_koord_scheduler_does(story: str) -> None:
    sliced = {"metax-tech.com/sgpu": "1"}
    pod = pod_object({**SLICE, **sliced})
    larger = {"resources": {"limits": {**ask(shared=1, core=20, memory="2Gi"), **sliced}}}
    if story == "two containers with a slice each":
        pod["spec"]["containers"].append(larger)
    elif story == "a slice in the second container":
        pod["spec"]["containers"] = [{"resources": {}}, larger]
    else:
        limits = {**ask(shared=1, core=40, memory="4Gi"), **sliced}
        pod["spec"]["initContainers"] = [{"resources": {"limits": limits}}]
    assert outcome("mx64", pod) == CAPTURE["containers"][story]


def test_a_pod_counts_once_it_is_bound_and_as_long_as_it_runs() -> None:
    """With the annotation on a pod that is not bound nothing is held, by the script as by koord-scheduler."""
    counted = CAPTURE["counted"]
    assert counted["annotated, not bound"] == {"gpu": {}}
    beliefs = believing("mx64")
    held = counted["annotated, then bound"]["gpu"]["default/q1"]["0"]
    text = json.dumps({"gpu": [{"minor": 0, "resources": held}]})
    waiting = pod_object({}, "q1", annotations={ALLOCATED: text})
    beliefs.pod(None, waiting)
    assert beliefs.cards["mx64"].used == {}
    bound = {**waiting, "spec": {**waiting["spec"], "nodeName": "mx64"}}
    beliefs.pod(waiting, bound)
    assert set(beliefs.cards["mx64"].used) == {0}
    ended = {**bound, "status": {"phase": "Succeeded"}}
    beliefs.pod(bound, ended)
    assert beliefs.cards["mx64"].used == {}
    assert "default/q1" not in counted["ended"]["gpu"]


def test_a_node_without_a_device_gets_the_pod_and_no_cards_are_chosen() -> None:
    assert bind(Beliefs(), "mx64", asking("mx64", REQUESTS["shared core memory"])) == {}
    assert CAPTURE["node_without_device"] == {}


def beside_ours(node: str, story: str) -> Beliefs:
    beliefs = believing(node)
    for each in CAPTURE["ours"][story]["pods"]:
        pod = pod_object(each["limits"], each["name"], annotations=each["annotations"])
        beliefs.pod(None, {**pod, "spec": {**pod["spec"], "nodeName": node}})
    return beliefs


def test_pods_that_we_bound_are_counted_by_the_script_as_by_koord_scheduler() -> None:
    after = CAPTURE["after_ours"]
    half = pod_object({**ask(shared=1, core=50, memory="1Gi"), "metax-tech.com/sgpu": "1"}, "half")
    on_metax = beside_ours("mx64", "bytes that are no MiB")
    assert bind(on_metax, "mx64", half)[MINORS] == after["a slice of 50 % beside 60+30 %"]
    nearly_all = pod_object({**ask(shared=1, core=90, ratio=90), "mthreads.com/vgpu": "1"}, "most")
    on_mthreads = beside_ours("mt48", "one in Koordinator's on Moore Threads")
    with pytest.raises(Unschedulable, match="Insufficient GPU Devices"):
        bind(on_mthreads, "mt48", nearly_all)
    assert after["nine tenths of a card of mt48"]["message"] == "1 Insufficient GPU Devices"
    pair = pod_object({**TWO, "metax-tech.com/sgpu": "2"}, "pair")
    on_pairs = beside_ours("mxp", "and a slice of koord-scheduler's own")
    assert bind(on_pairs, "mxp", pair)[MINORS] == after["two cards"]


def test_the_lock_is_the_key_that_was_seen() -> None:
    assert LOCK == "hami.io/mutex.lock"
    locked = {node for case in REQUESTS.values() for node, each in case["results"].items() if "lock" in each}
    assert locked == {"mx64", "mx48"}

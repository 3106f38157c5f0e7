"""The two answers of gpu-aware, to what kube-scheduler sends and to what it never would."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.gpu_aware import GPU, Object, asking_pod, names_call, offering_node, whole_call
from tangram.services.gpu_aware.desk import Desk, Refused
from tangram.services.gpu_aware.metrics import Metrics
from tangram.services.gpu_aware.occupancy import NodeUse
from tangram.services.gpu_aware.weighing import Scale

GOOD = offering_node("good", scores={2: 200}, losses={2: 100})
MILD = offering_node("mild", scores={2: 110}, losses={2: 0})
PLAIN = offering_node("plain")
SMALL = offering_node("small", 1)
FULL = offering_node("full", scores={1: 0}, losses={1: 0})
NODES = (GOOD, MILD, PLAIN, SMALL, FULL)


class KnownCluster:
    def __init__(self, *nodes: Object, reasons: Sequence[str] = ()) -> None:
        self.nodes = {node["metadata"]["name"]: node for node in nodes}
        self.reasons = reasons

    def unready(self) -> Sequence[str]:
        return self.reasons

    def node(self, name: str) -> Object | None:
        return self.nodes.get(name)

    def use(self, name: str) -> NodeUse | None:
        return NodeUse() if name in self.nodes else None


class Counter:
    """A desk with what it counted."""

    def __init__(self, cluster: KnownCluster | None = None) -> None:
        self.metrics = Metrics()
        self.scale = Scale(self.metrics)
        self.desk = Desk(self.scale, self.metrics, cluster)

    def filter(self, body: bytes) -> Object:
        return json.loads(self.desk.filter(body))

    def prioritize(self, body: bytes) -> dict[str, int]:
        return {each["Host"]: each["Score"] for each in json.loads(self.desk.prioritize(body))}

    def counted(self, verb: str, outcome: str) -> float | None:
        labels = {"verb": verb, "outcome": outcome}
        return self.metrics.registry.get_sample_value("tangram_gpu_aware_calls_total", labels)


@pytest.fixture
def counter() -> Counter:
    return Counter()


def test_nodes_that_cannot_serve_the_count_are_dropped_with_a_reason(counter: Counter) -> None:
    answer = counter.filter(whole_call(asking_pod(2), NODES))
    assert answer["Nodes"]["items"] == [GOOD, MILD, PLAIN]
    assert answer["FailedNodes"] == {"full": f"fewer than 2 {GPU} free on it"}
    assert answer["FailedAndUnresolvableNodes"] == {"small": f"fewer than 2 {GPU} on it"}
    assert answer["Error"] == ""
    assert counter.counted("filter", "judged") == 1


def test_nodes_are_scored_by_the_weights_in_force_and_a_change_turns_them_round(counter: Counter) -> None:
    body = whole_call(asking_pod(2), NODES)
    assert counter.prioritize(body) == {"good": 10, "mild": 9, "plain": 0, "small": 0, "full": 0}
    counter.scale.take({"score": "1.0", "loss": "5"})
    assert counter.prioritize(body) == {"good": 9, "mild": 10, "plain": 0, "small": 0, "full": 0}
    counter.scale.take({"score": "1.0", "loss": "five"})
    assert counter.prioritize(body)["mild"] == 10
    sampled = counter.metrics.registry.get_sample_value
    assert sampled("tangram_gpu_aware_weights_refused") == 1
    assert sampled("tangram_gpu_aware_weight", {"weight": "loss"}) == 5
    counter.scale.take({})
    assert counter.prioritize(body)["good"] == 10
    assert sampled("tangram_gpu_aware_weights_refused") == 0
    assert sampled("tangram_gpu_aware_weights_changed_total") == 2


@pytest.mark.parametrize("count", [None, 0])
def test_a_pod_without_cards_passes_unchanged(counter: Counter, count: int | None) -> None:
    body = whole_call(asking_pod(count), NODES)
    assert counter.filter(body)["Nodes"]["items"] == list(NODES)
    assert set(counter.prioritize(body).values()) == {0}
    by_name = names_call(asking_pod(count), ["good", "nobody-knows"])
    assert counter.filter(by_name)["NodeNames"] == ["good", "nobody-knows"]
    assert counter.prioritize(by_name) == {"good": 0, "nobody-knows": 0}
    assert counter.counted("filter", "passed") == 2


def test_an_amount_that_cannot_be_read_is_told_and_not_passed(counter: Counter) -> None:
    body = whole_call(asking_pod("1.5"), NODES)
    assert "whole cards are counted in whole numbers" in counter.filter(body)["Error"]
    with pytest.raises(Refused, match="whole cards are counted"):
        counter.prioritize(body)
    assert counter.counted("filter", "refused") == counter.counted("prioritize", "refused") == 1


def test_names_alone_need_somebody_who_knows_the_nodes(counter: Counter) -> None:
    body = names_call(asking_pod(2), ["good", "mild"])
    assert "nodeCacheCapable: false" in counter.filter(body)["Error"]
    following = Counter(KnownCluster(*NODES))
    everyone = names_call(asking_pod(2), ["good", "mild", "small", "stranger"])
    assert following.filter(everyone)["NodeNames"] == ["good", "mild", "stranger"]
    assert following.prioritize(everyone) == {"good": 10, "mild": 9, "small": 0, "stranger": 0}


def test_names_are_not_judged_from_a_copy_that_is_not_complete() -> None:
    waiting = Counter(KnownCluster(*NODES, reasons=["nodes are not there yet"]))
    assert "nodes are not there yet" in waiting.filter(names_call(asking_pod(2), ["good"]))["Error"]
    # What comes whole needs no copy.
    assert waiting.filter(whole_call(asking_pod(2), [GOOD]))["Error"] == ""


def test_the_reasons_stay_the_same_from_call_to_call(counter: Counter) -> None:
    """kube-scheduler never parks a pod whose refusal has new words each time."""
    body = whole_call(asking_pod(4), [SMALL, FULL, offering_node("other", 3)])
    answers = [counter.filter(body) for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[0]["Nodes"]["items"] == []
    assert len(set(answers[0]["FailedAndUnresolvableNodes"].values())) == 1


def check_filter_answer(answer: Object) -> None:
    assert set(answer) >= {"Nodes", "NodeNames", "FailedNodes", "Error"}
    assert answer["Nodes"] is None or isinstance(answer["Nodes"]["items"], list)
    assert answer["NodeNames"] is None or all(isinstance(name, str) for name in answer["NodeNames"])
    assert isinstance(answer["FailedNodes"], dict)
    assert isinstance(answer["Error"], str)
    assert answer["Error"] or answer["Nodes"] is not None or answer["NodeNames"] is not None


def check_answers(counter: Counter, body: bytes) -> None:
    check_filter_answer(json.loads(counter.desk.filter(body)))
    try:
        scored: list[Object] = json.loads(counter.desk.prioritize(body))
    except Refused as refused:
        scored = []
        sentence = str(refused)
    else:
        sentence = "a list"
    assert sentence
    for each in scored:
        assert set(each) == {"Host", "Score"}
        assert 0 <= each["Score"] <= 10


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
amounts = st.dictionaries(
    st.sampled_from([GPU, "cpu"]), json_values | st.sampled_from(["1", "4", "1e3", "-1"])
)
odd_nodes = st.fixed_dictionaries(
    {},
    optional={
        "metadata": json_values
        | st.fixed_dictionaries(
            {},
            optional={
                "name": st.text(max_size=3) | json_values,
                "annotations": json_values
                | st.dictionaries(st.sampled_from([*GOOD["metadata"]["annotations"], "x"]), json_values),
            },
        ),
        "spec": json_values,
        "status": json_values
        | st.fixed_dictionaries({}, optional={"capacity": amounts, "allocatable": amounts}),
    },
)
odd_pods = st.fixed_dictionaries(
    {},
    optional={
        "metadata": json_values,
        "spec": json_values
        | st.fixed_dictionaries(
            {
                "containers": st.lists(
                    st.fixed_dictionaries(
                        {}, optional={"name": st.text(max_size=3), "resources": json_values}
                    )
                    | st.fixed_dictionaries({"resources": st.fixed_dictionaries({"limits": amounts})}),
                    max_size=3,
                )
            }
        ),
    },
)
calls = st.fixed_dictionaries(
    {},
    optional={
        "Pod": odd_pods | json_values,
        "Nodes": json_values
        | st.fixed_dictionaries({"items": st.lists(odd_nodes | json_values, max_size=4)}),
        "NodeNames": json_values | st.lists(st.text(max_size=4), max_size=3),
    },
)


@given(calls)
def test_any_call_gets_a_well_formed_answer(call: Object) -> None:
    check_answers(Counter(KnownCluster(GOOD)), json.dumps(call).encode())


@given(st.binary(max_size=64))
def test_any_bytes_get_a_well_formed_answer(body: bytes) -> None:
    check_answers(Counter(), body)


@pytest.mark.parametrize("opening", [b"[", b'{"Pod":', b'{"Pod":{},"Nodes":{"items":['])
def test_nesting_without_end_gets_a_well_formed_answer(opening: bytes) -> None:
    deep = opening + b'{"a":' * 100_000
    check_answers(Counter(), deep)
    closed = b'{"Pod":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b',"Nodes":{"items":[]}}'
    check_answers(Counter(), closed)
    inside = (
        b'{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"n"},"x":' + b"[" * 5000 + b"]" * 5000 + b"}]}}"
    )
    check_answers(Counter(), inside)

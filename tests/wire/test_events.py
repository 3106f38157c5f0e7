from tangram.model.pods import PodRef
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.wire.events import (
    OTHER_REASONS,
    binding_succeeded,
    failed_nodes,
    filtering_failed,
    filtering_succeeded,
    node_missing,
)

LONG_NAME = "n" * 253


def names(count: int) -> list[NodeName]:
    return [NodeName(f"{LONG_NAME[:240]}{number:05}") for number in range(count)]


def test_success_names_a_few_nodes_of_many_and_always_the_best() -> None:
    fitting = [(NodeName(f"n{number}"), float(number)) for number in range(5000)]
    text = filtering_succeeded(NodeName("n4999"), fitting, 7)
    assert text.startswith("find fit node(n4999), 7 nodes not fit, 5000 nodes fit(n4990:4990.00,")
    assert text.endswith(",n4999:4999.00 and 4990 more)")


def test_failure_is_bounded_for_any_cluster() -> None:
    words = {name: [f"Reason{at % 50}", "Common"] for at, name in enumerate(names(5000))}
    texts = filtering_failed(words)
    assert len(texts) == 9
    assert texts[0].startswith("5000 nodes Common(")
    assert texts[0].endswith(" and 4990 more)")
    assert texts[-1] == "no available node, 5000 nodes do not meet"
    assert max(map(len, texts)) < 3000


def test_failure_lists_nodes_by_name_and_reasons_by_frequency() -> None:
    words = {NodeName("b"): ["Two", "One"], NodeName("a"): ["Two"]}
    assert filtering_failed(words) == (
        "2 nodes Two(a,b)",
        "1 nodes One(b)",
        "no available node, 2 nodes do not meet",
    )


def test_no_nodes_at_all_still_say_so() -> None:
    assert filtering_failed({}) == ("no available node, 0 nodes do not meet",)


def test_an_answer_has_at_most_eight_distinct_reasons() -> None:
    texts = {name: f"reason {at % 20}" for at, name in enumerate(names(100))}
    texts[NodeName("z")] = "reason 19"
    answer = failed_nodes(texts)
    assert answer.keys() == texts.keys()
    assert len(set(answer.values())) == 8
    assert OTHER_REASONS in answer.values()
    assert answer[NodeName("z")] == "reason 19"


def test_few_reasons_are_left_alone() -> None:
    texts = {NodeName(f"n{at}"): f"reason {at}" for at in range(8)}
    assert failed_nodes(texts) == texts


def test_binding_speaks_in_hamis_words() -> None:
    pod = PodRef(Namespace("default"), PodName("s1"), PodUid("u"))
    assert binding_succeeded(pod, NodeName("sgpu-b")) == "Successfully binding node [sgpu-b] to default/s1"
    assert node_missing(NodeName("n1")) == "failed to get node n1"

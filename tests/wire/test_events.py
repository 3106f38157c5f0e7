from collections import Counter

from tangram.model.pods import PodRef
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.wire.events import (
    binding_succeeded,
    failures_by_word,
    filtering_succeeded,
    kept_texts,
    node_missing,
)

LONG_NAME = "n" * 253


def names(count: int) -> list[NodeName]:
    return [NodeName(f"{LONG_NAME[:240]}{number:05}") for number in range(count)]


def test_success_names_a_few_nodes_of_many_and_always_the_best() -> None:
    best = [(NodeName(f"n{number}"), float(number)) for number in range(4999, 4980, -1)]
    text = filtering_succeeded(NodeName("n4999"), best, 5000, 7)
    assert text.startswith("find fit node(n4999), 7 nodes not fit, 5000 nodes fit(n4990:4990.00,")
    assert text.endswith(",n4999:4999.00 and 4990 more)")


def test_failure_is_bounded_for_any_cluster() -> None:
    words = {f"Reason{each}": names(5000)[each::50] for each in range(50)} | {"Common": names(5000)}
    texts = failures_by_word(words, 5000)
    assert len(texts) == 9
    assert texts[0].startswith("5000 nodes Common(")
    assert texts[0].endswith(" and 4990 more)")
    assert texts[-1] == "no available node, 5000 nodes do not meet"
    assert max(map(len, texts)) < 3000


def test_failure_lists_nodes_by_name_and_reasons_by_frequency() -> None:
    words = {"One": [NodeName("b")], "Two": [NodeName("b"), NodeName("a")]}
    assert failures_by_word(words, 2) == (
        "2 nodes Two(a,b)",
        "1 nodes One(b)",
        "no available node, 2 nodes do not meet",
    )


def test_no_nodes_at_all_still_say_so() -> None:
    assert failures_by_word({}, 0) == ("no available node, 0 nodes do not meet",)


def test_of_many_reasons_the_seven_most_frequent_are_kept_beside_a_common_one() -> None:
    times = Counter(f"reason {at % 20}" for at in range(100)) + Counter({"reason 19": 1})
    kept = kept_texts(times)
    assert len(kept) == 7
    assert "reason 19" in kept


def test_few_reasons_are_left_alone() -> None:
    times = {f"reason {at}": 1 for at in range(8)}
    assert kept_texts(times) == times.keys()


def test_binding_speaks_in_hamis_words() -> None:
    pod = PodRef(Namespace("default"), PodName("s1"), PodUid("u"))
    assert binding_succeeded(pod, NodeName("sgpu-b")) == "Successfully binding node [sgpu-b] to default/s1"
    assert node_missing(NodeName("n1")) == "failed to get node n1"

"""The last verdict of each pod, however many pods and however long their stories."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.requests import pod
from tangram.model.allocations import Allocation, ContainerShares, Share
from tangram.model.pods import Role
from tangram.services.scheduler.outcomes import Answered
from tangram.services.scheduler.outcomes import Verdict as Answer
from tangram.services.scheduler.verdicts import (
    MOST_CARDS,
    MOST_SENTENCE,
    MOST_WORDS,
    Stage,
    Verdict,
    Verdicts,
    verdict_of_filter,
)
from tangram.units.ids import CardUuid, NodeName, PodUid
from tangram.units.memory import from_gib


def unfit(word: str = "CardInsufficientMemory", at: float = 1.0) -> Verdict:
    return Verdict(at=at, stage=Stage.FILTER, sentence="none fits", word=word, words={word: 3})


def test_the_last_verdict_of_a_pod_counts() -> None:
    kept = Verdicts()
    kept.note(pod("a"), unfit("CardCordoned"))
    kept.note(pod("a"), unfit(at=2.0))
    kept.note(pod("b"), unfit())
    found = kept.of(PodUid("uid-a"))
    assert found is not None
    assert found.at == 2.0
    assert kept.why_pending() == {"CardInsufficientMemory": 2}
    assert len(kept) == 2


def test_a_pod_that_got_a_place_is_not_counted_as_waiting() -> None:
    kept = Verdicts()
    kept.note(pod("a"), unfit())
    kept.note(pod("a"), Verdict(at=2.0, stage=Stage.BIND, sentence="bound", node=NodeName("n")))
    assert kept.why_pending() == {}


def size_of(kept: Verdicts) -> int:
    return kept._bytes  # pyright: ignore[reportPrivateUsage] - what the bound is about


def test_forgetting_leaves_nothing_behind() -> None:
    kept = Verdicts()
    kept.note(pod("a"), unfit())
    kept.forget(PodUid("uid-a"))
    kept.forget(PodUid("never"))
    assert (len(kept), size_of(kept), kept.why_pending(), kept.of(PodUid("uid-a"))) == (0, 0, {}, None)


def test_the_oldest_go_when_there_are_too_many() -> None:
    kept = Verdicts(most=3)
    for name in "abcd":
        kept.note(pod(name), unfit())
    kept.note(pod("b"), unfit())
    kept.note(pod("e"), unfit())
    assert [name for name in "abcde" if kept.of(PodUid(f"uid-{name}"))] == ["b", "d", "e"]


def test_one_pod_cannot_fill_the_memory() -> None:
    kept = Verdicts()
    endless = Verdict(
        at=0.0,
        stage=Stage.PREEMPT,
        sentence="x" * 1_000_000,
        word="w" * 1_000_000,
        words={f"word-{number}": number for number in range(10_000)},
        cards=tuple(CardUuid(f"GPU-{number}") for number in range(10_000)),
        pods=tuple(pod(f"victim-{number}") for number in range(10_000)),
    )
    kept.note(pod("a"), endless)
    found = kept.of(PodUid("uid-a"))
    assert found is not None
    assert len(found.sentence) == MOST_SENTENCE
    assert found.sentence.endswith("...")
    assert len(found.words) == MOST_WORDS
    assert max(found.words.values()) == 9_999
    assert len(found.cards) == len(found.pods) == MOST_CARDS
    assert len(msgspec.json.encode(found)) < size_of(kept) < 40_000


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"), st.text(max_size=200), st.sampled_from(["", "X", "Y"]), st.booleans()
        ),
        max_size=40,
    )
)
def test_bounds_and_counts_hold_after_every_step(steps: list[tuple[str, str, str, bool]]) -> None:
    kept = Verdicts(most=4, most_bytes=4000)
    for name, sentence, word, forget in steps:
        kept.note(pod(name), Verdict(at=0.0, stage=Stage.FILTER, sentence=sentence, word=word))
        if forget:
            kept.forget(PodUid(f"uid-{name}"))
        present = [found for each in "abcdef" if (found := kept.of(PodUid(f"uid-{each}"))) is not None]
        assert len(present) == len(kept) <= 4
        assert size_of(kept) <= 4000
        assert kept.why_pending() == {
            word: count for word in "XY" if (count := sum(each.word == word for each in present))
        }
    for each in "abcdef":
        kept.forget(PodUid(f"uid-{each}"))
    assert size_of(kept) == 0


ALLOCATION = Allocation(
    NodeName("n"),
    (ContainerShares("c", Role.APP, (Share(CardUuid("GPU-1"), 1, from_gib(1), 10),)),),
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(
            Answer(
                pod=pod("a"),
                answered=Answered.CHOSEN,
                node=NodeName("n"),
                allocation=ALLOCATION,
                fitting=3,
                offered=5,
            ),
            (Stage.FILTER, "", "node n was chosen; 3 of 5 nodes fit", ("GPU-1",)),
            id="chosen",
        ),
        pytest.param(
            Answer(
                pod=pod("a"),
                answered=Answered.UNFIT,
                sentence="none fits",
                words={"CardCordoned": 1, "CardNotHealth": 4},
            ),
            (Stage.FILTER, "CardNotHealth", "none fits", ()),
            id="unfit",
        ),
        pytest.param(
            Answer(pod=pod("a"), answered=Answered.QUOTA, sentence="over"),
            (Stage.QUOTA, "ResourceQuotaNotFit", "over", ()),
            id="quota",
        ),
        pytest.param(
            Answer(pod=pod("a"), answered=Answered.GANG, sentence="3 of 8"),
            (Stage.GANG, "GangIncomplete", "3 of 8", ()),
            id="gang",
        ),
        pytest.param(
            Answer(pod=pod("a"), answered=Answered.REFUSED, sentence="wrong"),
            (Stage.REFUSED, "Refused", "wrong", ()),
            id="refused",
        ),
        pytest.param(
            Answer(pod=pod("a"), answered=Answered.PROMISED, sentence="soon"),
            (Stage.WAITING, "PromisedToOthers", "soon", ()),
            id="promised",
        ),
    ],
)
def test_what_is_kept_of_a_filter_call(
    answer: Answer, expected: tuple[Stage, str, str, tuple[str, ...]]
) -> None:
    kept = verdict_of_filter(answer, 7.0)
    assert (kept.at, kept.stage, kept.word, kept.sentence, kept.cards) == (7.0, *expected)

"""Whatever is sent to kube-scheduler's verbs: an answer of the documented shape, and nobody else's cards move."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.odd_json import any_json, bent
from builders.watched_desk import WatchedDesk

VERBS = ("filter", "bind", "preempt")
_DOCUMENTS = WatchedDesk().documents()
_SMALL = [(verb, document) for verb, document in _DOCUMENTS if len(document.get("NodeNames") or ()) < 100]


def documents_of(verb: str) -> st.SearchStrategy[object]:
    return st.sampled_from([document for its, document in _SMALL if its == verb])


CALLS = st.one_of(*(st.tuples(st.just(verb), bent(documents_of(verb))) for verb in VERBS))
"""Questions of the right shape, most with a few things wrong in them."""


@given(st.lists(st.tuples(st.sampled_from(VERBS), st.binary(max_size=200)), min_size=1, max_size=5))
async def test_any_bytes_are_answered_and_move_nothing(calls: list[tuple[str, bytes]]) -> None:
    desk = await WatchedDesk().begin()
    for verb, body in calls:
        answer = await desk.undisturbed(verb, body)
        assert verb == "preempt" or answer["Error"]


@given(st.lists(st.tuples(st.sampled_from(VERBS), any_json()), min_size=1, max_size=5))
async def test_any_json_is_answered_and_moves_nothing(calls: list[tuple[str, bytes]]) -> None:
    desk = await WatchedDesk().begin()
    for verb, body in calls:
        await desk.undisturbed(verb, body)


@given(st.lists(CALLS, min_size=1, max_size=6))
async def test_questions_with_odd_values_in_them_move_nobody_but_the_pod_they_are_about(
    calls: list[tuple[str, bytes]],
) -> None:
    desk = await WatchedDesk().begin()
    for verb, body in calls:
        await desk.ask(verb, body)
    assert len(desk.whole.scheduler.state.reservations) <= len(desk.whole.world.pods) + len(calls)


@pytest.mark.parametrize(
    ("verb", "document"),
    [pytest.param(*each, id=f"{at}-{each[0]}") for at, each in enumerate(_DOCUMENTS)],
)
async def test_every_question_is_answered_as_it_is(verb: str, document: object) -> None:
    desk = await WatchedDesk().begin()
    await desk.ask(verb, msgspec.json.encode(document))

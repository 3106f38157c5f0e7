"""However many explanations are asked for, pods are placed in between, and nobody's questions keep out all others'."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from builders.virtual_time import in_virtual_time
from tangram.services.scheduler import explain_turns
from tangram.services.scheduler.explain_turns import LONGEST_REST_S, Crowded, Turns


class Work:
    """Pieces that take so long, by a clock that goes on by them and by the loop's waiting alone."""

    def __init__(self) -> None:
        self.done: list[tuple[str, float]] = []
        self._worked = 0.0

    def clock(self) -> float:
        return asyncio.get_running_loop().time() + self._worked

    def piece(self, name: str, takes: float) -> str:
        self.done.append((name, self.clock()))
        self._worked += takes
        return name


def _run(work: Work, *asked: tuple[str, float]) -> list[float]:
    """When each piece was begun, after the first."""

    async def everything() -> None:
        turns = Turns(work.clock)
        await asyncio.gather(*(turns.made(lambda n=name, t=takes: work.piece(n, t)) for name, takes in asked))

    in_virtual_time(everything())
    return [at - work.done[0][1] for _, at in work.done]


def test_after_each_piece_there_is_a_rest_as_long_as_it_took() -> None:
    work = Work()
    assert _run(work, ("a", 2.0), ("b", 0.5), ("c", 0.001), ("d", 0.0)) == pytest.approx([0, 4, 5, 5.001])
    assert [name for name, _ in work.done] == ["a", "b", "c", "d"]


def test_no_rest_is_longer_than_somebody_would_wait_for() -> None:
    assert _run(Work(), ("a", 60.0), ("b", 0.0)) == pytest.approx([0, 60 + LONGEST_REST_S])


async def test_what_a_piece_raises_is_its_own_and_the_next_one_has_its_turn() -> None:
    turns = Turns()

    def failing() -> str:
        raise ValueError("odd")

    with pytest.raises(ValueError, match="odd"):
        await turns.made(failing)
    assert await turns.made(lambda: "next") == "next"


async def test_others_have_their_turn_between_two_pieces() -> None:
    turns, order = Turns(), list[str]()

    async def pieces() -> None:
        for name in ("one", "two"):
            await turns.made(lambda name=name: order.append(name))

    async def filters() -> None:
        await asyncio.sleep(0)
        order.append("filter")

    await asyncio.gather(pieces(), filters())
    assert order.index("filter") < order.index("two")


def test_the_line_has_an_end_for_each_and_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain_turns, "MOST_OF_ONE", 2)
    monkeypatch.setattr(explain_turns, "MOST", 3)
    turns = Turns()
    with ExitStack() as asked:
        for user in ("ann", "ann", "bob"):
            asked.enter_context(turns.place_of(user))
        with pytest.raises(Crowded, match="'ann' has asked 2 questions") as mine, turns.place_of("ann"):
            pass
        with pytest.raises(Crowded, match="3 questions are still to be answered") as all_of_them:
            asked.enter_context(turns.place_of("cid"))
    assert (mine.value.status, all_of_them.value.status) == (429, 503)
    with turns.place_of("cid"):
        pass

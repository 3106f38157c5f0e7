"""One replay at a time, in a process of its own."""

from __future__ import annotations

import asyncio
import sys

from builders.dashboards import card, held, node
from builders.waiting import until
from tangram.web.replay.asking import Scope, question_from
from tangram.web.replay.running import EVERY_S, Replays
from tangram.web.replay.shape import Question

NODES = [node("a", card(0, held("x/y", whole=True)), card(1))]


def make() -> tuple[Question, Scope]:
    return question_from(NODES, (), None, ())


async def settled(replays: Replays) -> None:
    await until(lambda: not replays.working)


async def test_the_process_answers_and_the_answer_stays() -> None:
    replays = Replays()
    replays.look(make, 1000.0)
    assert replays.working
    version = replays.version
    replays.look(make, 1001.0)
    await settled(replays)
    assert replays.latest is not None
    assert replays.latest.answer is not None
    assert [outcome.placed for outcome in replays.latest.answer.outcomes] == [1, 1]
    assert replays.version > version
    replays.look(make, 1000.0 + EVERY_S - 1)
    assert not replays.working


async def test_a_process_that_fails_is_a_sentence_and_not_tried_again_at_once() -> None:
    replays = Replays((sys.executable, "-c", "raise SystemExit('no cards today')"))
    replays.look(make, 1000.0)
    await settled(replays)
    assert replays.latest is not None
    assert replays.latest.answer is None
    assert "ended with 1: no cards today" in replays.latest.trouble
    replays.look(make, 1001.0)
    assert not replays.working
    replays.look(make, 1000.0 + EVERY_S)
    assert replays.working
    await settled(replays)


async def test_an_answer_that_cannot_be_read_is_a_sentence() -> None:
    replays = Replays((sys.executable, "-c", "import sys; sys.stdin.read(); print('[1]')"))
    replays.look(make, 1000.0)
    await settled(replays)
    assert replays.latest is not None
    assert "Expected `object`" in replays.latest.trouble


async def test_a_process_that_takes_too_long_is_ended() -> None:
    replays = Replays((sys.executable, "-c", "import time; time.sleep(60)"), limit_s=0.2)
    replays.look(make, 1000.0)
    await settled(replays)
    assert replays.latest is not None
    assert "longer than 0.2 s" in replays.latest.trouble


async def test_what_is_under_way_ends_with_the_dashboard() -> None:
    replays = Replays((sys.executable, "-c", "import time; time.sleep(60)"))
    replays.look(make, 1000.0)
    await asyncio.sleep(0.1)
    await replays.close()
    assert not replays.working
    await Replays().close()


async def test_without_cards_nothing_is_run() -> None:
    replays = Replays(("/nonexistent",))
    replays.look(lambda: question_from((), (), None, ()), 1000.0)
    await settled(replays)
    assert replays.latest is not None
    assert replays.latest.answer is None
    assert replays.latest.trouble == ""

"""The queue: who is taken next, who has to wait, and what wakes whom."""

import asyncio
from collections.abc import Callable

import pytest

from builders.placing import node, pod
from builders.virtual_time import virtually
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.rules import EXTENDER, FIT, TAINTS
from tangram.sandbox.placing.waiting import Entry, Waiting
from tangram.sandbox.placing.wakes import News, What

FITLESS = frozenset({FIT})
GONE = News(What.POD_GONE, pod=(None, pod("gone", on="n")))
LABELLED = News(What.NODE, node=(node("n"), node("n", labels={"new": "yes"})))


def now() -> float:
    return asyncio.get_running_loop().time()


def empty() -> Waiting:
    return Waiting(now, first=1, longest=10, ignored=frozenset())


async def taken(waiting: Waiting, within: float = 0.5) -> str:
    """The name of the pod that is taken within so many seconds, given back as placed; empty for none."""
    try:
        async with asyncio.timeout(within):
            entry = await waiting.take()
    except TimeoutError:
        return ""
    waiting.done(entry)
    return entry.pod.key.name


async def refused(waiting: Waiting, rejected: frozenset[str] = FITLESS) -> Entry:
    entry = await waiting.take()
    waiting.failed(entry, entry.pod, rejected)
    return entry


@virtually
async def test_the_more_important_is_taken_first_and_of_equals_the_older() -> None:
    waiting = empty()
    for name, priority in (("old", 0), ("young", 0), ("urgent", 9)):
        waiting.add(pod(name, priority=priority))
        await asyncio.sleep(0.1)
    assert [await taken(waiting) for _ in range(4)] == ["urgent", "old", "young", ""]


@virtually
async def test_a_pod_that_fits_nowhere_waits_until_something_could_help() -> None:
    waiting = empty()
    waiting.add(pod("p"))
    await refused(waiting)
    waiting.hear(LABELLED)
    assert await taken(waiting, 100) == ""
    waiting.hear(GONE)
    assert await taken(waiting) == "p"


@virtually
async def test_after_five_minutes_it_is_tried_again_whatever_happened() -> None:
    waiting = empty()
    waiting.add(pod("p"))
    await refused(waiting)
    began = now()
    assert await taken(waiting, 1000) == "p"
    assert 300 <= now() - began <= 331


@virtually
async def test_news_that_come_while_a_pod_is_decided_count_for_it() -> None:
    waiting = empty()
    waiting.add(pod("p"))
    entry = await waiting.take()
    waiting.hear(GONE)
    waiting.failed(entry, entry.pod, FITLESS)
    assert await taken(waiting) == "p"


@virtually
async def test_a_pod_that_backs_off_lets_others_go_first_and_is_taken_when_nobody_else_waits() -> None:
    waiting = empty()
    waiting.add(pod("p", priority=9))
    await refused(waiting)
    waiting.hear(GONE)
    waiting.add(pod("other"))
    assert [await taken(waiting), await taken(waiting)] == ["other", "p"]


@virtually
async def test_after_an_error_it_waits_longer_each_time_even_if_nobody_else_does() -> None:
    waiting = empty()
    waiting.add(pod("p"))
    pauses: list[float] = []
    entry = await waiting.take()
    for _ in range(6):
        waiting.failed(entry, entry.pod, frozenset())
        began = now()
        entry = await waiting.take()
        pauses.append(now() - began)
    # Whole seconds of the clock: a second more than the pause at the most.
    for paused, least in zip(pauses, (1, 2, 4, 8, 10, 10), strict=True):
        assert least <= paused <= least + 1


@virtually
async def test_a_refusal_after_errors_begins_the_errors_anew() -> None:
    waiting = empty()
    waiting.add(pod("p"))
    for _ in range(3):
        await refused(waiting, frozenset())
    entry = await refused(waiting, FITLESS)
    assert (entry.errors, entry.refusals) == (0, 1)


@pytest.mark.parametrize(
    ("change", "again"),
    [
        pytest.param(lambda: pod("p", tolerations=[{"operator": "Exists"}]), True, id="a toleration"),
        pytest.param(lambda: pod("p", labels={"new": "yes"}), False, id="a label"),
    ],
)
def test_a_change_of_the_pod_itself_counts_if_it_could_help(
    change: Callable[[], Pod], *, again: bool
) -> None:
    @virtually
    async def run() -> None:
        waiting = empty()
        waiting.add(pod("p"))
        await refused(waiting, frozenset({TAINTS}))
        waiting.update(pod("p"), change())
        assert (await taken(waiting) == "p") is again

    run()


@virtually
async def test_whoever_an_extender_refused_is_woken_by_anything() -> None:
    for news in (LABELLED, GONE, News(What.NODE_GONE), News(What.POD_BOUND, pod=(None, pod("x", on="n")))):
        waiting = empty()
        waiting.add(pod("p"))
        await refused(waiting, frozenset({EXTENDER, FIT}))
        waiting.hear(news)
        assert await taken(waiting) == "p"


@virtually
async def test_a_gated_pod_is_not_taken_before_its_gates_are_gone() -> None:
    waiting = empty()
    shut, opened = pod("p", schedulingGates=[{"name": "wait"}]), pod("p")
    waiting.add(shut)
    waiting.hear(GONE)
    assert await taken(waiting, 1000) == ""
    waiting.update(shut, opened)
    assert await taken(waiting) == "p"


@virtually
async def test_a_pod_whose_victims_are_being_deleted_is_held_and_then_tried_if_something_was_heard() -> None:
    waiting = empty()
    waiting.add(pod("p"))
    await refused(waiting)
    waiting.hold("uid-p")
    waiting.hear(GONE)
    assert await taken(waiting, 5) == ""
    waiting.release("uid-p")
    assert await taken(waiting) == "p"


@virtually
async def test_a_pod_that_is_gone_is_not_taken_wherever_it_waited() -> None:
    waiting = empty()
    waiting.add(pod("active"))
    waiting.drop("uid-active")
    for rejected in (frozenset[str](), FITLESS):
        waiting.add(pod("p"))
        await refused(waiting, rejected)
        waiting.drop("uid-p")
    assert await taken(waiting, 1000) == ""
    assert len(waiting) == 0


@virtually
async def test_news_for_the_less_important_wake_only_them() -> None:
    waiting = empty()
    for name, priority in (("less", 1), ("more", 3)):
        waiting.add(pod(name, priority=priority))
    for _ in range(2):
        await refused(waiting)
    waiting.hear(News(What.POD_GONE, pod=(None, pod("nominee")), most=2))
    assert [await taken(waiting), await taken(waiting)] == ["less", ""]

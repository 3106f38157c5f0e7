"""However many questions come, and about whatever pods: what is kept of them stays within its bounds."""

from __future__ import annotations

import gc
import itertools
import tracemalloc
from collections.abc import Iterator

import msgspec
import pytest

from builders.scheduling import Object, metax_cards, node, pod
from builders.whole_scheduler import WholeScheduler, said
from tangram.kube import recorder
from tangram.services.scheduler import admissions, preempting, second_looks
from tangram.services.scheduler.reservations import Times
from tangram.services.scheduler.verdicts import MOST_BYTES, MOST_VERDICTS

MOST = 20
SMALL = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 1, "metax-tech.com/vmemory": 1}
NO_SUCH = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 65}
KIND = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 1}


@pytest.fixture
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (admissions, "MOST_KINDS"),
        (second_looks, "MOST"),
        (preempting, "MOST_WAITING"),
        (recorder, "MOST_WAITING"),
    ):
        monkeypatch.setattr(module, name, MOST)


def strangers() -> Iterator[Object]:
    """Pods that nobody has heard of and nobody will hear of again, of ever new kinds."""
    for number in itertools.count():
        kind = (
            SMALL,
            NO_SUCH,
            {**KIND, "metax-tech.com/vmemory": 1 + number % 60},
            {"metax-tech.com/sgpu": "x"},
        )
        yield pod(f"stranger-{number}", kind[number % 4], priority=number)


async def ask_about(whole: WholeScheduler, stranger: Object) -> None:
    names = [f"nowhere-{number}" for number in range(30)]
    asked: Object = {"Pod": stranger, "NodeNames": ["a", *names]}
    said(await whole.desk.filter(msgspec.json.encode(asked)))
    order = {
        "PodName": "x",
        "PodNamespace": "y",
        "PodUID": f"other-{stranger['metadata']['uid']}",
        "Node": "a",
    }
    assert said(await whole.desk.bind(msgspec.json.encode(order)))["Error"]
    asked = {"Pod": stranger, "NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}]}, "b": {"Pods": []}}}
    said(await whole.desk.preempt(msgspec.json.encode(asked)))
    whole.world.now += 1
    whole.world.calls.clear()
    whole.scheduler.state.reservations.expire()


def kept(whole: WholeScheduler) -> dict[str, int]:
    """How much is kept in each of the places where questions leave something behind."""
    scheduler, state = whole.scheduler, whole.scheduler.state
    return {
        "promises": len(state.reservations),
        "holdings": len(whole.holdings()),
        "waiting": len(state.waiting),
        "demoted": len(state.reservations._demoted),  # pyright: ignore[reportPrivateUsage]
        "kinds": len(state.admissions._kinds),  # pyright: ignore[reportPrivateUsage]
        "in mind": len(scheduler._second_looks._refused),  # pyright: ignore[reportPrivateUsage]
        "to consider": len(scheduler._preempting._to_consider),  # pyright: ignore[reportPrivateUsage]
        "events": len(scheduler._recorder._waiting),  # pyright: ignore[reportPrivateUsage]
    }


@pytest.mark.usefixtures("_narrow")
async def test_pods_that_nobody_hears_of_again_leave_nothing_behind() -> None:
    whole = WholeScheduler(node("a", metax_cards("a", 1)))
    for stranger in itertools.islice(strangers(), 100):
        await ask_about(whole, stranger)
        assert all(count <= max(MOST, Times().promise) for count in kept(whole).values()), kept(whole)
    assert len(whole.verdicts) <= MOST_VERDICTS
    assert whole.verdicts._bytes <= MOST_BYTES  # pyright: ignore[reportPrivateUsage] - what the bound is about
    whole.world.now += Times().long_promise
    whole.scheduler.state.reservations.expire()
    whole.world.now += Times().demotion
    whole.scheduler.state.reservations.expire()
    assert {name: kept(whole)[name] for name in ("promises", "holdings", "waiting", "demoted")} == {
        "promises": 0, "holdings": 0, "waiting": 0, "demoted": 0
    }  # fmt: skip


@pytest.mark.usefixtures("_narrow")
async def test_memory_stops_growing_once_every_place_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = WholeScheduler(node("a", metax_cards("a", 1)))
    monkeypatch.setattr(whole.verdicts, "_most", MOST)
    asking = strangers()
    for stranger in itertools.islice(asking, 80):
        await ask_about(whole, stranger)
    gc.collect()
    tracemalloc.start()
    try:
        for stranger in itertools.islice(asking, 80):
            await ask_about(whole, stranger)
        gc.collect()
        grown, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # What was replaced counts as new, so this is the size of full places, and far below 80 questions' worth.
    assert grown < 500_000


async def test_names_and_uids_that_no_api_server_gives_are_not_kept() -> None:
    whole = WholeScheduler(node("a", metax_cards("a", 1)))
    for stranger in (
        pod("p", uid="u" * 129),
        pod("p", uid="two\nlines"),
        pod("p" * 254),
        pod("p", namespace="n" * 254),
        pod("p", {"metax-tech.com/sgpu": "x"}, uid="u" * 100_000),
    ):
        answer = said(await whole.desk.filter(msgspec.json.encode({"Pod": stranger, "NodeNames": ["a"]})))
        assert "send the pod as the API server has it" in answer["Error"]
    assert len(whole.verdicts) == 0
    assert whole.holdings() == {}


async def test_a_refusal_is_short_however_much_is_wrong_because_it_is_said_for_every_node() -> None:
    whole = WholeScheduler(node("a", metax_cards("a", 1)))
    wrong = pod("p")
    container = {"resources": {"limits": {"metax-tech.com/sgpu": "x"}}}
    wrong["spec"]["containers"] = [{**container, "name": f"c{number}"} for number in range(1000)]
    names = [f"node-{number}" for number in range(1000)]
    reply = await whole.desk.filter(msgspec.json.encode({"Pod": wrong, "NodeNames": names}))
    assert len(said(reply)["FailedAndUnresolvableNodes"]) == 1000
    assert len(reply.body) < 1000 * 1100

"""HAMi's defects in bind, locks, scale and operation, played against our desk. See `docs/hami-defects.md`."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import logging
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from builders.closed_nodes import closed_node
from builders.scheduling import Object, World, metax_cards, node, pod
from builders.whole_scheduler import WholeScheduler, said
from tangram.kube.recorder import LONGEST_MESSAGE
from tangram.services.scheduler.binding import BindOutcome
from tangram.services.scheduler.settings import SchedulerSettings
from tangram.wire.nodelock import NODE_LOCK

WHOLE = {"metax-tech.com/sgpu": 1}
SMALL = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 1, "metax-tech.com/vmemory": 1}


async def steps(work: Callable[[], Awaitable[Any]]) -> int:
    """How many functions are called: what something costs, on any machine."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    # Finalizers of what earlier tests left behind would be counted too.
    gc.collect()
    gc.disable()
    sys.setprofile(count)
    try:
        await work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


async def busy(nodes: int, pods_each: int) -> WholeScheduler:
    names = [f"n{number:03}" for number in range(nodes)]
    whole = WholeScheduler(*(node(name, metax_cards(name, 2)) for name in names))
    for place in names:
        for number in range(pods_each):
            name = f"{place}-{number}"
            whole.world.create(pod(name, SMALL))
            assert await whole.bind(name, place) == ""
            whole.world.hear("default", name)
    return whole


@pytest.mark.parametrize("name", ["n" * 64, "gpu." * 50 + "node"])
async def test_b15_and_2506_a_node_with_a_long_name_is_bound_to(name: str) -> None:
    world = World(node(name))
    world.create(pod("p"))
    assert await world.schedule("p") == name
    assert all(len(value) <= 63 for value in world.pods["default", "p"]["metadata"]["labels"].values())


@pytest.mark.parametrize(("age", "waits"), [(15, True), (31, False)])
async def test_b19_the_configured_life_of_a_lock_reaches_whoever_takes_it(
    tmp_path: Path,
    age: int,
    waits: bool,  # noqa: FBT001 - a case of the table
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("tangram: scheduler/v1\nnodeLockSeconds: 30\n")
    whole = WholeScheduler(closed_node("a"), settings=SchedulerSettings(config=config))
    for name in ("holder", "p"):
        whole.world.create(pod(name))
    locks = whole.scheduler._locks  # pyright: ignore[reportPrivateUsage] - it waits for real time
    locks.patience = 0.1
    taken = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=age)
    annotations = whole.world.nodes["a"]["metadata"]["annotations"]
    annotations[NODE_LOCK] = f"{taken:%Y-%m-%dT%H:%M:%SZ},default,holder"
    assert (await whole.bind("p", "a") != "") is waits


async def test_b23_and_745_many_binds_are_under_way_at_once_and_events_keep_none_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing here writes events, as behind an API server that takes none; every Binding waits for all the others."""
    whole = WholeScheduler(*(node(f"n{number}") for number in range(10)))
    names = [f"p{number}" for number in range(30)]
    together, call = asyncio.Barrier(len(names)), whole.world.api.call

    async def slow(method: str, path: str, body: object = None, **more: Any) -> Object:  # noqa: ANN401
        async with asyncio.timeout(20):
            await together.wait()
        return await call(method, path, body, **more)

    monkeypatch.setattr(whole.world.api, "call", slow)
    for name in names:
        whole.world.create(pod(name, SMALL))
    chosen = {name: (await whole.filter(name, whole.world.nodes))["NodeNames"][0] for name in names}
    told = await asyncio.gather(*(whole.bind(name, chosen[name]) for name in names))
    assert set(told) == {""}


async def test_b24_decisions_are_not_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    whole = WholeScheduler(*(node(f"n{number}", metax_cards(f"n{number}", 8)) for number in range(10)))
    for number in range(10):
        whole.world.create(pod(f"p{number}", (SMALL, {**SMALL, "metax-tech.com/vmemory": 65})[number % 2]))
        await whole.filter(f"p{number}", whole.world.nodes)
        await whole.bind(f"p{number}", "n0")
    assert [record.getMessage() for record in caplog.records if record.name.startswith("tangram")] == []


async def test_b25_what_events_and_conditions_say_does_not_grow_with_the_cluster() -> None:
    world = World(*(node(f"a-rather-long-name-of-a-node-{number:04}") for number in range(400)))
    world.create(pod("p", {**SMALL, "metax-tech.com/vmemory": 65}))
    answer, verdict = world.filter_with_verdict("p")
    assert verdict is not None
    assert 0 < len(verdict.texts) <= 8
    assert all(len(text) < LONGEST_MESSAGE for text in (*verdict.texts, verdict.sentence))
    reasons = {**answer["FailedNodes"], **answer["FailedAndUnresolvableNodes"]}
    assert len(reasons) == 400
    assert len(set(reasons.values())) <= 8


async def test_b26_a_scrape_costs_in_proportion_to_what_there_is_and_not_to_its_square() -> None:
    costs: list[int] = []
    for nodes in (8, 16, 32):
        whole = await busy(nodes, pods_each=2)
        costs.append(await steps(lambda desk=whole.desk: desk.metrics(gzipped=False)))
    (small, middle, large) = costs
    assert large - middle < 2.5 * (middle - small)


async def test_b37_a_decision_costs_the_same_however_many_pods_run() -> None:
    costs: list[int] = []
    for pods_each in (1, 10):
        whole = await busy(6, pods_each)
        for name in ("first", "p"):
            whole.world.create(pod(name, SMALL))
        await whole.filter("first", whole.world.nodes)
        costs.append(await steps(lambda whole=whole: whole.filter("p", whole.world.nodes)))
    few, many = costs
    assert many < 1.2 * few


async def test_b38_what_a_node_says_is_read_for_that_node_alone() -> None:
    costs: list[int] = []
    for nodes in (5, 50):
        whole = await busy(nodes, pods_each=1)

        async def hear(whole: WholeScheduler = whole) -> None:
            whole.world.hear_node("n001")

        costs.append(await steps(hear))
    few, many = costs
    assert many < 1.2 * few


async def test_b39_nodes_that_are_sent_whole_are_decided_about_for_good() -> None:
    """`nodeCacheCapable: false`: kube-scheduler sends objects instead of names, and means it."""
    whole = WholeScheduler(node("a", metax_cards("a", 1)))
    whole.world.create(pod("p", WHOLE))
    new = node("just-made", [])
    asked = {"Pod": whole.world.pods["default", "p"], "Nodes": {"items": [*whole.world.nodes.values(), new]}}
    answer = said(await whole.desk.filter(msgspec.json.encode(asked)))
    assert [each["metadata"]["name"] for each in answer["Nodes"]["items"]] == ["a"]
    assert list(whole.holdings()) == ["uid-p"], (
        "the card is promised, with a node among them that we do not know yet"
    )
    whole.world.create(pod("next", WHOLE))
    asked["Pod"] = whole.world.pods["default", "next"]
    assert said(await whole.desk.filter(msgspec.json.encode(asked)))["Error"]


# --- what users reported beside ------------------------------------------------------------------------------------


async def test_2688_a_question_without_nodes_is_told_so_and_the_next_one_is_answered() -> None:
    whole = WholeScheduler(node("a"))
    whole.world.create(pod("p"))
    asked = {"Pod": whole.world.pods["default", "p"], "Nodes": None, "NodeNames": None}
    told = said(await whole.desk.filter(msgspec.json.encode(asked)))["Error"]
    assert told == "the call names no nodes: it has NodeNames, or Nodes with items; send one of the two"
    assert (await whole.filter("p", ["a"]))["NodeNames"] == ["a"]


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({"metax-tech.com/sgpu": 2**31 - 1}, id="more cards than there are"),
        pytest.param({**SMALL, "metax-tech.com/vmemory": "8Ei"}, id="more memory than there is"),
        pytest.param({"metax-tech.com/gpu": 1, "mthreads.com/vgpu": 1}, id="two vendors"),
    ],
)
async def test_1780_an_impossible_pod_stops_nobody_else(limits: dict[str, str | int]) -> None:
    whole = WholeScheduler(node("a"))
    whole.world.create(pod("impossible", limits))
    whole.world.create(pod("p"))
    for _ in range(3):
        assert not (await whole.filter("impossible", ["a"]))["NodeNames"]
        assert await whole.bind("impossible", "a") != ""
    assert (await whole.filter("p", ["a"]))["NodeNames"] == ["a"]
    assert await whole.bind("p", "a") == ""


@pytest.mark.parametrize("containers", [65, 1000])
async def test_1780_nor_does_one_with_very_many_containers(containers: int) -> None:
    """Placing a thousand of them one beside the other took seconds, in which nobody else was answered."""
    whole = WholeScheduler(node("a"))
    many = [{"name": f"c{number}", "resources": {"limits": SMALL}} for number in range(containers)]
    whole.world.create(pod("crowd", spec={"containers": many}))
    told = (await whole.filter("crowd", ["a"]))["FailedAndUnresolvableNodes"]["a"]
    assert told.startswith(f"the pod asks for cards and has {containers} containers; ")


async def test_1271_deleting_the_holder_of_a_lock_frees_its_node() -> None:
    world = World(closed_node("a"))
    for name in ("holder", "next"):
        world.create(pod(name, SMALL))
    assert await world.schedule("holder") == "a"
    assert (await world.bind("next", "a")).outcome is BindOutcome.LOCKED
    world.delete("holder")
    assert await world.schedule("next") == "a"


async def test_273_a_node_that_could_not_be_bound_to_is_tried_last_for_that_pod() -> None:
    world = World(closed_node("a"), closed_node("b"))
    for name in ("holder", "next"):
        world.create(pod(name, SMALL))
    assert await world.schedule("holder") == "a"
    assert world.filter("next")["NodeNames"] == ["a"], "it packs"
    assert (await world.bind("next", "a")).outcome is BindOutcome.LOCKED
    assert await world.schedule("next") == "b"

"""The scripted koord-scheduler writes what the real one writes, in its order, with its weaknesses."""

import asyncio
import json
import time
from collections.abc import Callable

import pytest

from builders.koord_server import KoordServer
from testbed.api import Object
from testbed.koord_adapters import (
    BIND_TIMESTAMP,
    LOCK,
    METAX_ALLOCATED,
    MINORS,
    BindError,
    annotations_for,
    lock_over,
)
from testbed.koord_devices import ALLOCATED, VENDOR, Given
from testbed.koord_requests import CORE, MEMORY, RATIO, SCHEDULER, SHARED
from testbed.koord_scheduler import DEVICES, KoordScheduler, Windows
from testbed.manifests import container, is_bound, pod

GIB = 1 << 30
NODE = "/api/v1/nodes/n1"
SGPU = "metax-tech.com/sgpu"
NOW = 1_800_000_000.0


def node(**annotations: str) -> Object:
    amounts = {SGPU: "32", CORE: "200", MEMORY: "128Gi", RATIO: "200", SHARED: "200"}
    metadata = {"name": "n1", "labels": {}, "annotations": annotations}
    return {"metadata": metadata, "spec": {}, "status": {"allocatable": amounts}}


def device(vendor: str = "metax", count: int = 2) -> Object:
    resources = {CORE: "100", MEMORY: "64Gi", RATIO: "100"}
    cards = [
        {"type": "gpu", "id": f"GPU-{minor}", "minor": minor, "health": True, "resources": resources}
        for minor in range(count)
    ]
    return {"metadata": {"name": "n1", "labels": {VENDOR: vendor}}, "spec": {"devices": cards}}


def waiting(name: str, core: int = 10, memory: str = "4Gi", **annotations: str) -> tuple[str, Object]:
    limits: dict[str, str | int] = {SHARED: 1, CORE: core, MEMORY: memory, SGPU: 1}
    made = pod(name, container(limits=limits), scheduler=SCHEDULER, annotations=annotations)
    made["metadata"] |= {"namespace": "default", "uid": f"uid-{name}"}
    return path(name), made


def path(name: str) -> str:
    return f"/api/v1/namespaces/default/pods/{name}"


def server_with(*pods: tuple[str, Object], vendor: str = "metax", **locked: str) -> KoordServer:
    return KoordServer([(NODE, node(**locked)), (f"{DEVICES}/n1", device(vendor)), *pods])


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110 - what is waited for is in the state of several programs
            await asyncio.sleep(0.005)


def quick(*, news: float = 0.0, before_lock: float = 0.0, before_bind: float = 0.0) -> Windows:
    return Windows(news=news, before_lock=before_lock, before_bind=before_bind, backoff=(0.02, 0.05))


def bound(server: KoordServer, *names: str) -> Callable[[], bool]:
    return lambda: all(is_bound(server.things[path(name)]) for name in names)


# ---- what is written


async def test_lock_annotations_and_binding_are_written_in_this_order() -> None:
    server = server_with(waiting("page", core=10, memory="1Gi"))
    async with KoordScheduler(server, quick(), now=lambda: NOW).serve():
        await until(bound(server, "page"))
    assert [where for _, where, _ in server.writes] == [NODE, path("page"), f"{path('page')}/binding"]
    lock, written, binding = (body for _, _, body in server.writes)
    assert lock == {"metadata": {"annotations": {LOCK: "2027-01-15T08:00:00Z,default,page"}}}
    assert written["metadata"]["annotations"] == {
        ALLOCATED: '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"10","koordinator.sh/gpu-memory":"1Gi",'
        '"koordinator.sh/gpu-memory-ratio":"1"},"id":"GPU-0"}]}',
        BIND_TIMESTAMP: "1800000000000000000",
        MINORS: "0",
        METAX_ALLOCATED: '[[{"uuid":"GPU-0","compute":10,"vRam":1024}]]',
    }
    assert binding["metadata"]["annotations"] == {}


async def test_a_vendor_it_does_not_know_gets_no_lock_and_no_annotation_of_its_own() -> None:
    server = server_with(waiting("musa"), vendor="mthreads")
    async with KoordScheduler(server, quick()).serve():
        await until(bound(server, "musa"))
    assert NODE not in [where for _, where, _ in server.writes]
    written = server.things[path("musa")]["metadata"]["annotations"]
    assert written.keys() == {ALLOCATED, BIND_TIMESTAMP, MINORS}


async def test_a_pod_on_a_node_that_no_device_describes_is_bound_without_a_word() -> None:
    server = KoordServer([(NODE, node()), waiting("plain")])
    async with KoordScheduler(server, quick()).serve():
        await until(bound(server, "plain"))
    assert server.things[path("plain")]["metadata"]["annotations"] == {}


async def test_what_fits_nowhere_is_said_on_the_pod_and_tried_again_when_a_device_comes() -> None:
    server = server_with(waiting("big", core=100, memory="80Gi"))
    async with KoordScheduler(server, quick()).serve() as koord:
        await until(lambda: bool(koord.waiting.stuck))
        (condition,) = server.things[path("big")]["status"]["conditions"]
        assert condition["message"] == "0/1 nodes are available: 1 Insufficient gpu devices."
        larger = device()
        larger["spec"]["devices"][1] |= {"resources": {CORE: "100", MEMORY: "128Gi", RATIO: "100"}}
        server.put(f"{DEVICES}/n1", larger)
        await until(bound(server, "big"))


async def test_the_node_level_check_counts_every_pod_and_the_card_level_check_only_annotated_ones() -> None:
    """A pod of another scheduler that does not say what it holds is sold over, until the node as a whole is full."""
    _, other = waiting("other", core=100, memory="64Gi")
    other["spec"] |= {"nodeName": "n1", "schedulerName": "somebody-else"}
    server = server_with(
        (path("other"), other), waiting("first", core=100, memory="64Gi"), waiting("second", core=100)
    )
    async with KoordScheduler(server, quick()).serve() as koord:
        await until(bound(server, "first"))
        server.put(NODE, node())  # as if somebody had served it and taken the lock away
        await until(lambda: bool(koord.waiting.stuck))
        assert koord.beliefs.cards["n1"].holders.keys() == {("default", "first")}
        assert "Insufficient koordinator.sh/gpu-core" in koord.waiting.stuck["default", "second"]


# ---- the lock


@pytest.mark.parametrize(
    ("present", "trouble"),
    [
        pytest.param(None, "", id="free"),
        pytest.param("2027-01-15T07:54:59Z,default,there", "", id="older than five minutes"),
        pytest.param("2027-01-15T07:59:59Z,default,gone", "", id="of a pod that is gone"),
        pytest.param("2027-01-15T07:59:59Z,default,there", 'node "n1" has been locked', id="young"),
        pytest.param("2027-01-15T07:59:59Z,default,mine", 'node "n1" has been locked', id="its own"),
        pytest.param("2027-01-15T07:00:00Z", "invalid node lock value", id="one part"),
        pytest.param("yesterday,default,gone", "failed to lock node", id="no time"),
    ],
)
def test_a_lock_is_written_over_when_it_is_old_or_its_pod_is_gone(present: str | None, trouble: str) -> None:
    _, mine = waiting("mine")

    def attempt() -> str:
        return lock_over(present, mine, "n1", NOW, lambda _, name: name in {"there", "mine"})

    if trouble:
        with pytest.raises(BindError, match=trouble):
            attempt()
    else:
        assert attempt() == "2027-01-15T08:00:00Z,default,mine"


@pytest.mark.parametrize(
    ("amounts", "trouble"),
    [
        pytest.param({MEMORY: GIB}, "gpu core resource is required", id="without compute"),
        pytest.param({CORE: 1, MEMORY: 1000}, "must not be less than 1048576 bytes", id="below a MiB"),
    ],
)
def test_what_the_adapter_cannot_write_fails_only_while_binding(
    amounts: dict[str, int], trouble: str
) -> None:
    with pytest.raises(BindError, match=trouble):
        annotations_for("metax", [Given(0, amounts)], 0)


async def test_the_next_pod_waits_until_somebody_takes_the_lock_away() -> None:
    server = server_with(waiting("a"))
    async with KoordScheduler(server, quick()).serve() as koord:
        await until(bound(server, "a"))
        server.put(*waiting("b"))
        await until(lambda: len(koord.failures) > 1)
        assert 'node "n1" has been locked' in koord.failures[0][1]
        assert not is_bound(server.things[path("b")])
        server.put(NODE, node())
        await until(bound(server, "b"))
        assert [written.over for written in koord.locks] == [None, None]


async def test_a_young_lock_that_a_late_copy_does_not_show_is_written_over() -> None:
    server = server_with(waiting("late"))
    async with KoordScheduler(server, quick(news=0.3, before_lock=0.2)).serve() as koord:
        fresh = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        server.put(NODE, node(**{LOCK: f"{fresh},default,late"}))
        await until(bound(server, "late"))
        assert koord.locks[0].over is None
        assert server.things[NODE]["metadata"]["annotations"][LOCK].endswith(",default,late")


async def test_a_bind_that_fails_leaves_its_lock_and_then_waits_for_it() -> None:
    place, made = waiting("twice")
    server = server_with((place, made))
    async with KoordScheduler(server, quick(before_bind=0.1)).serve() as koord:
        await until(lambda: bool(koord.locks))
        server.remove(place)
        await until(lambda: bool(koord.failures))
        server.put(place, made)
        await until(lambda: "has been locked" in koord.failures[-1][1])
        assert server.things[NODE]["metadata"]["annotations"][LOCK].endswith(",default,twice")
        assert koord.beliefs.cards["n1"].holders == {}


async def test_pods_are_counted_from_their_annotations_after_a_restart() -> None:
    held = json.dumps({"gpu": [{"minor": 0, "resources": {CORE: "100", MEMORY: "64Gi", RATIO: "100"}}]})
    _, old = waiting("old", core=100, memory="64Gi", **{ALLOCATED: held})
    old["spec"]["nodeName"] = "n1"
    server = server_with((path("old"), old), waiting("new", core=100, memory="64Gi"))
    async with KoordScheduler(server, quick()).serve():
        await until(bound(server, "new"))
    assert server.things[path("new")]["metadata"]["annotations"][MINORS] == "1"

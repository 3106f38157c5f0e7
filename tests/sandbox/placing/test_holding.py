"""Who holds a Lease, when it changes hands, and that it is handed back."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from builders.kept_objects import KeptObjects
from builders.virtual_time import virtually
from tangram.kube.api import Object
from tangram.kube.errors import ApiError
from tangram.sandbox.placing.configuration import LeaseTerms
from tangram.sandbox.placing.holding import LeaseHolder

TERMS = LeaseTerms("kube-system", "ours", 15, 10, 2)
PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/ours"


class Leases(KeptObjects):
    """An API server in memory, as far as a Lease needs one."""

    async def call(self, method: str, path: str, body: Object) -> Object:
        assert method == "PUT"
        fate = await self._fate("put", path)
        if body["metadata"]["resourceVersion"] != self._found(path)["metadata"]["resourceVersion"]:
            raise ApiError(409, "Conflict", "the object has been modified")
        return self._answer(self.put(path, body), fate)


def holder(api: Leases, name: str) -> LeaseHolder:
    clock = asyncio.get_running_loop().time
    return LeaseHolder(api, TERMS, name, clock)  # pyright: ignore[reportArgumentType] - all of it that is called


@asynccontextmanager
async def running(one: LeaseHolder) -> AsyncGenerator[asyncio.Task[None]]:
    task = asyncio.create_task(one.run())
    try:
        await asyncio.sleep(0)
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


def said(api: Leases) -> Object:
    return api.objects[PATH]["spec"]


@virtually
async def test_the_first_makes_it_and_renews_it_and_hands_it_back() -> None:
    api = Leases()
    one = holder(api, "one")
    async with running(one):
        await asyncio.wait_for(one.held.wait(), 1)
        first = said(api)
        await asyncio.sleep(30)
        assert one.held.is_set()
        assert said(api)["holderIdentity"] == first["holderIdentity"] == one.holder
        assert one.holder.startswith("one_")
        assert said(api)["acquireTime"] == first["acquireTime"]
        assert len(api.calls) > 20
    assert not one.held.is_set()
    assert said(api)["holderIdentity"] == ""


@virtually
async def test_a_second_one_waits_until_it_is_handed_back() -> None:
    api = Leases()
    one, two = holder(api, "one"), holder(api, "two")
    async with running(one):
        await asyncio.wait_for(one.held.wait(), 1)
        second = asyncio.create_task(two.run())
        await asyncio.sleep(60)
        assert not two.held.is_set()
    await asyncio.wait_for(two.held.wait(), 5)
    assert not one.held.is_set()
    second.cancel()
    await asyncio.wait({second})


@virtually
async def test_one_that_nobody_renews_is_taken_over_when_it_has_run_out_by_our_own_clock() -> None:
    api = Leases()
    dead: Object = {"holderIdentity": "dead_1", "leaseDurationSeconds": 15, "leaseTransitions": 3}
    dead |= {"renewTime": "2099-01-01T00:00:00.000000Z"}
    api.put(PATH, {"metadata": {"name": "ours"}, "spec": dead})
    one = holder(api, "one")
    began = asyncio.get_running_loop().time()
    async with running(one):
        await asyncio.wait_for(one.held.wait(), 60)
        assert 14 < asyncio.get_running_loop().time() - began < 18
        assert said(api)["leaseTransitions"] == 4


@virtually
async def test_one_that_cannot_be_renewed_is_given_up_before_others_may_take_it() -> None:
    api = Leases()
    one = holder(api, "one")
    async with running(one):
        await asyncio.wait_for(one.held.wait(), 1)
        api.fates = ["not done"] * 100
        await asyncio.sleep(9)
        assert one.held.is_set()
        await asyncio.sleep(4)
        assert not one.held.is_set()
        api.fates = []
        await asyncio.wait_for(one.held.wait(), 5)


@virtually
async def test_a_write_that_somebody_else_was_faster_with_changes_nothing() -> None:
    api = Leases()
    one = holder(api, "one")
    async with running(one):
        await asyncio.wait_for(one.held.wait(), 1)
        stolen: Object = {"holderIdentity": "two_1", "leaseDurationSeconds": 15, "renewTime": "x"}
        api.put(PATH, {"metadata": {"name": "ours"}, "spec": stolen})
        await asyncio.sleep(3)
        assert not one.held.is_set()
        assert said(api)["holderIdentity"] == "two_1"

"""The Service of MetaX's manual, kept pointing at the pods of gpu-aware in another namespace.

On the embedded API server, which has EndpointSlices, Services and apply patches as a real one has them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

import pytest

from builders.api_server import Object
from tangram.kube.api import Api
from tangram.kube.errors import ApiError
from tangram.sandbox.apiserver.server import serving_api
from tangram.services.gpu_aware.alias_service import AliasService

HOME, ALIAS = "metax-gpu-extensions", "metax-gpu"
SERVICE, NAME = "gpu-aware-service", "gpu-aware-plugin"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices"
COPY = f"{SLICES.format(ALIAS)}/{NAME}-ipv4"
PORTS = [{"name": "extender", "port": 8080, "protocol": "TCP"}]


@pytest.fixture
async def api() -> AsyncGenerator[Api]:
    async with serving_api() as running, Api(running.connection()) as api:
        for name in (HOME, ALIAS):
            await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        await service(api)
        yield api


async def service(api: Api) -> None:
    ports = [{"name": "extender", "port": 8080, "targetPort": 8080}]
    thing = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME}, "spec": {"ports": ports}}
    await api.create(f"/api/v1/namespaces/{ALIAS}/services", thing)


def real_slice(name: str, *addresses: str, family: str = "IPv4", ready: bool = True) -> Object:
    """As Kubernetes keeps it of the real Service."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": HOME, "labels": {"kubernetes.io/service-name": SERVICE}},
        "addressType": family,
        "endpoints": [
            {
                "addresses": [each],
                "conditions": {"ready": ready, "serving": ready, "terminating": False},
                "nodeName": "n1",
                "targetRef": {"kind": "Pod", "name": "metax-gpu-aware-x", "namespace": HOME},
            }
            for each in addresses
        ],
        "ports": PORTS,
    }


async def put(api: Api, thing: Object) -> None:
    await api.apply(f"{SLICES.format(HOME)}/{thing['metadata']['name']}", thing, "endpointslice-controller")


async def copied(api: Api) -> list[str]:
    """The addresses of the alias; none where there is no copy."""
    with suppress(ApiError):
        found = await api.get(COPY)
        return [each for endpoint in found["endpoints"] or () for each in endpoint["addresses"]]
    return []


async def until_copied(api: Api, right: Callable[[list[str]], bool]) -> None:
    async with asyncio.timeout(30):
        while not right(await copied(api)):  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.01)


def keeper(api: Api) -> AliasService:
    return AliasService(api, HOME, ALIAS, look_again=0.05)


async def test_the_copy_has_the_endpoints_of_all_real_slices_and_belongs_to_the_alias(api: Api) -> None:
    await put(api, real_slice("a", "10.0.0.2"))
    await put(api, real_slice("b", "10.0.0.1", ready=False))
    await keeper(api).reconcile()
    found = await api.get(COPY)
    assert await copied(api) == ["10.0.0.1", "10.0.0.2"]
    assert [each["conditions"]["ready"] for each in found["endpoints"]] == [False, True]
    assert found["ports"] == PORTS
    assert all("targetRef" not in each for each in found["endpoints"])
    owner = await api.get(f"/api/v1/namespaces/{ALIAS}/services/{NAME}")
    assert [each["uid"] for each in found["metadata"]["ownerReferences"]] == [owner["metadata"]["uid"]]
    assert found["metadata"]["labels"]["kubernetes.io/service-name"] == NAME


async def test_what_is_right_already_is_not_written_again(api: Api) -> None:
    await put(api, real_slice("a", "10.0.0.1"))
    await keeper(api).reconcile()
    before = (await api.get(COPY))["metadata"]["resourceVersion"]
    await keeper(api).reconcile()
    assert (await api.get(COPY))["metadata"]["resourceVersion"] == before


async def test_a_second_family_has_a_slice_of_its_own(api: Api) -> None:
    await put(api, real_slice("a", "10.0.0.1"))
    await put(api, real_slice("b", "fd00::1", family="IPv6"))
    await keeper(api).reconcile()
    six = await api.get(COPY.replace("-ipv4", "-ipv6"))
    assert (six["addressType"], six["endpoints"][0]["addresses"]) == ("IPv6", ["fd00::1"])
    assert await copied(api) == ["10.0.0.1"]


async def test_the_copy_follows_pods_that_come_and_go(api: Api) -> None:
    await put(api, real_slice("a", "10.0.0.1"))
    task = asyncio.create_task(keeper(api).run())
    try:
        await until_copied(api, lambda found: found == ["10.0.0.1"])
        await put(api, real_slice("a", "10.0.0.7"))
        await until_copied(api, lambda found: found == ["10.0.0.7"])
        await api.delete(f"{SLICES.format(HOME)}/a")
        await until_copied(api, lambda found: found == [])
        # Kept, and not written again and again: an API server gives an empty list back as null.
        before = await api.get(COPY)
        await keeper(api).reconcile()
        assert not before["endpoints"]
        assert (await api.get(COPY))["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_copy_that_was_deleted_or_spoiled_comes_back(api: Api) -> None:
    await put(api, real_slice("a", "10.0.0.1"))
    task = asyncio.create_task(keeper(api).run())
    try:
        await until_copied(api, lambda found: found == ["10.0.0.1"])
        await api.delete(COPY)
        await until_copied(api, lambda found: found == ["10.0.0.1"])
        await api.merge(COPY, {"endpoints": [{"addresses": ["10.9.9.9"]}]})
        await until_copied(api, lambda found: found == ["10.0.0.1"])
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_without_the_alias_service_nothing_is_written_and_it_is_kept_once_it_is_there(api: Api) -> None:
    await api.delete(f"/api/v1/namespaces/{ALIAS}/services/{NAME}")
    await put(api, real_slice("a", "10.0.0.1"))
    await keeper(api).reconcile()
    assert await copied(api) == []
    await service(api)
    await keeper(api).reconcile()
    assert await copied(api) == ["10.0.0.1"]


async def test_slices_of_other_services_are_not_copied(api: Api) -> None:
    other = real_slice("a", "10.0.0.1")
    other["metadata"]["labels"] = {"kubernetes.io/service-name": "another"}
    await put(api, other)
    await keeper(api).reconcile()
    assert await copied(api) == []


class RefusingApi(Api):
    """Whose account lacks the right to see the alias Service."""

    async def get(self, path: str, **query: str) -> Object:
        raise ApiError(403, "Forbidden", f"{path}{query or ''} is forbidden")


async def test_what_keeps_it_from_being_kept_is_logged_once_and_tried_again(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    async with RefusingApi(api.connection) as refused:
        task = asyncio.create_task(AliasService(refused, HOME, ALIAS, look_again=0.01).run())
        try:
            async with asyncio.timeout(30):
                while "is not kept" not in caplog.text:  # noqa: ASYNC110 - nothing announces it
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            assert caplog.text.count("is not kept") == 1
            assert not task.done()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

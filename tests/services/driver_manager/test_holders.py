"""Who holds cards: what the kubelet says, without the ended; and nobody's silence is taken for a no."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from builders.api_server import refusal, small_api_server
from builders.plugins import short_directory
from tangram.kube.api import Api, Object
from tangram.kubelet.sockets import answering
from tangram.kubelet.sockets import serve as serve_socket
from tangram.services.driver_manager import busy
from tangram.services.driver_manager.busy import Holders
from tangram.services.driver_manager.facts import Busy
from tangram.wire.kubelet import podresources

PODS = {
    "train": ("metax-tech.com/gpu", "Running"),
    "slice": ("metax-tech.com/sgpu", "Pending"),
    "done": ("metax-tech.com/gpu", "Succeeded"),
    "dead": ("metax-tech.com/gpu", "Failed"),
    "evicted": ("metax-tech.com/gpu", "Failed"),
    "gone": ("metax-tech.com/gpu", ""),
    "other": ("mthreads.com/vgpu", "Running"),
}


async def listed(_asked: podresources.ListPodResourcesRequest) -> podresources.ListPodResourcesResponse:
    return podresources.ListPodResourcesResponse(
        pod_resources=[
            podresources.PodResources(
                name=name,
                namespace="ml",
                containers=[
                    podresources.ContainerResources(
                        name="main",
                        devices=[podresources.ContainerDevices(resource_name=resource, device_ids=["a"])],
                    )
                ],
            )
            for name, (resource, _) in PODS.items()
        ]
    )


@asynccontextmanager
async def asked(*, down: bool = False, kubelet: bool = True) -> AsyncGenerator[Busy]:
    with short_directory() as folder:
        socket = folder / "kubelet.sock"
        server = await serve_socket(socket, [answering(podresources.LIST, listed)]) if kubelet else None
        async with small_api_server() as (small, connection), Api(connection) as api:
            for name, (_, phase) in PODS.items():
                if phase:
                    state: Object = {"running": {}} if name == "evicted" else {"terminated": {"exitCode": 0}}
                    status: Object = {"phase": phase, "containerStatuses": [{"name": "main", "state": state}]}
                    small.put(f"/api/v1/namespaces/ml/pods/{name}", {"status": status})
            if down:
                small.answer_first = lambda _request: refusal(503, "ServiceUnavailable", "down")
            holders = Holders(api, socket)
            try:
                yield await holders()
            finally:
                await holders.close()
                if server is not None:
                    await server.stop()


async def test_pods_that_have_ended_hold_nothing_and_pods_nobody_knows_do() -> None:
    async with asked() as found:
        assert found == Busy(pods=("ml/evicted", "ml/gone", "ml/slice", "ml/train"))
        assert not found.is_idle


async def test_an_api_server_that_is_away_is_no_answer() -> None:
    async with asked(down=True) as found:
        assert "cannot be looked up" in found.trouble
        assert not found.is_idle


async def test_a_kubelet_that_is_away_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy, "ANSWER_S", 0.1)
    async with asked(kubelet=False) as found:
        assert "did not say" in found.trouble
        assert not found.is_idle

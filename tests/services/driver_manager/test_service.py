"""The driver manager as a whole: simulated cards and kernel, a kubelet's socket, an API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from builders.driver_hosts import KERNEL, stage, stage_maca
from builders.modules import loader_of, module_text
from builders.node_server import NodeServer, node_server
from builders.plugins import short_directory
from builders.simulated import client_of, make_driver
from builders.waiting import until
from tangram.daemon.running import DONE, Supervisor
from tangram.drivers.simulated.control import carry_out
from tangram.kubelet.sockets import answering
from tangram.kubelet.sockets import serve as serve_socket
from tangram.services.driver_manager import busy, changing, maca_keeper, manager
from tangram.services.driver_manager.maca import MacaSettings
from tangram.services.driver_manager.service import Settings, serve
from tangram.units.ids import NodeName
from tangram.vendors.metax.maca_images import MacaImage, read_maca_image
from tangram.wire.kubelet import podresources
from tangram.wire.metax_cards import LABEL_PRODUCT
from tangram.wire.operator import names
from tangram.wire.operator.node_states import DriverState, MacaState, Phase, state_of
from tangram.wire.operator.payloads import PayloadKind, module_path
from tangram.wire.operator.policies import DeployPolicy

NODE = NodeName("gpu-1")
NAMESPACE = "metax-operator"
CONFIG = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{names.DRIVER_CONFIG}"
C500 = {"product": "C500", "count": 2, "sriov": "off"}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (manager, maca_keeper):
        monkeypatch.setattr(module, "LOOK_S", 0.01)
        monkeypatch.setattr(module, "REST_S", 0.01)
    monkeypatch.setattr(manager, "SOON_S", 0.01)
    monkeypatch.setattr(busy, "ANSWER_S", 0.2)


def maca_image(image: str) -> MacaImage:
    found = read_maca_image(image)
    assert found is not None
    return found


class Cluster:
    """One node, and what the rest of a cluster does about it."""

    def __init__(self, server: NodeServer, host: Path) -> None:
        self.server = server
        self.host = host
        self.payloads = host / "var/lib/metax/payloads"
        self.payloads.mkdir(parents=True)
        # A host of which only the first process is seen, and that uses nothing.
        only = host / "proc/1"
        only.mkdir(parents=True)
        for name in ("mountinfo", "maps"):
            (only / name).write_text("")
        self.driver = make_driver(C500, module="none")
        self.holders: tuple[str, ...] = ()
        self.image = ""
        self.maca: tuple[str, ...] = ()
        """Images of the release."""
        small = server.small
        before = small.answer_first

        def first(request: web.Request) -> web.Response | None:
            if request.path == f"/api/v1/nodes/{NODE}/status":
                return web.json_response(self._status(small.requests[-1][3]))
            return before(request)

        small.answer_first = first
        server.put(NODE, metadata={"labels": {names.RUNTIME_READY: "true"}})

    def _status(self, patch: dict[str, Any]) -> dict[str, Any]:
        path = f"/api/v1/nodes/{NODE}"
        node = self.server.small.objects[path]
        conditions = patch["status"]["conditions"]
        assert [each["type"] for each in conditions] == [names.DRIVER_CHANGE_PENDING]
        return self.server.small.put(
            path, {**node, "status": {**node.get("status", {}), "conditions": conditions}}
        )

    @property
    def state(self) -> DriverState | None:
        return state_of(DriverState, self.server.annotations(NODE), names.DRIVER_STATE)

    @property
    def maca_state(self) -> MacaState | None:
        return state_of(MacaState, self.server.annotations(NODE), names.MACA_STATE)

    def runs(self, version: str, functions: int = 0) -> bool:
        state = self.state
        return (
            state is not None
            and (state.phase, state.running, state.functions) == (Phase.READY, version, functions)
            and self.server.labels(NODE).get(names.DRIVER_READY) == "true"
        )

    def pending(self) -> dict[str, str]:
        node = self.server.small.objects[f"/api/v1/nodes/{NODE}"]
        conditions: list[dict[str, str]] = node.get("status", {}).get("conditions", [])
        return {key: text for each in conditions for key, text in each.items()}

    def events(self) -> list[tuple[str, str, str]]:
        found = [thing for path, thing in self.server.small.objects.items() if "/events/" in path]
        return [(each["involvedObject"]["kind"], each["reason"], each["message"]) for each in found]

    def stage(self, version: str) -> None:
        text = module_text(version, KERNEL)
        self.image = stage(
            self.payloads,
            f"reg/driver-image:{version}",
            {module_path(KERNEL, "metax"): text, "mxdriver/bin/mx-smi": version},
            kind=PayloadKind.DRIVER,
            version=version,
            kernels=(KERNEL,),
            modules=("metax",),
        )

    def has_cards(self, product: str | None) -> None:
        """As gpu-label says it."""
        self.server.change(NODE, {"metadata": {"labels": {LABEL_PRODUCT: product}}})

    def maca_is(self, phase: Phase, code: str, *, ready: bool) -> bool:
        state = self.maca_state
        label = self.server.labels(NODE).get(names.MACA_READY)
        return state is not None and (state.phase, state.code, label) == (phase, code, str(ready).lower())

    def configure(self, text: str) -> None:
        self.server.small.put(CONFIG, {"metadata": {}, "data": {"node-vfnums": text}})

    async def pods(
        self, _asked: podresources.ListPodResourcesRequest
    ) -> podresources.ListPodResourcesResponse:
        devices = [podresources.ContainerDevices(resource_name="metax-tech.com/gpu", device_ids=["a"])]
        other = [podresources.ContainerDevices(resource_name="example.com/nic", device_ids=["n"])]
        return podresources.ListPodResourcesResponse(
            pod_resources=[
                podresources.PodResources(
                    name=name,
                    namespace="ml",
                    containers=[podresources.ContainerResources(name="main", devices=held)],
                )
                for name, held in (*((each, devices) for each in self.holders), ("nic", other))
            ]
        )

    @asynccontextmanager
    async def process(self, policy: DeployPolicy = DeployPolicy.IF_NOT_PRESENT) -> AsyncGenerator[None]:
        settings = Settings(
            node=NODE,
            policy=policy,
            maca=MacaSettings(payloads=self.payloads, images=tuple(map(maca_image, self.maca))),
            host_root=self.host,
            driver_image=self.image,
            config_namespace=NAMESPACE,
        )
        supervisor = Supervisor()
        loader, driver = loader_of(self.driver), self.driver
        serving = serve(supervisor, settings, self.server.connection, loader, lambda _: client_of(driver))
        task = asyncio.create_task(serving)
        try:
            yield
            supervisor.stop()
            assert await task == DONE
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def cluster() -> AsyncGenerator[Cluster]:
    with short_directory() as folder:
        socket = folder / "var/lib/kubelet/pod-resources/kubelet.sock"
        socket.parent.mkdir(parents=True)
        async with node_server() as server:
            one = Cluster(server, folder)
            listening = await serve_socket(socket, [answering(podresources.LIST, one.pods)])
            try:
                yield one
            finally:
                await listening.stop()


async def test_a_bare_node_gets_driver_and_maca_in_this_order_and_gives_all_back(cluster: Cluster) -> None:
    cluster.stage("2.32.0")
    cluster.maca = (stage_maca(cluster.payloads, "2.32.0"),)
    cluster.has_cards("MXC500")
    async with cluster.process():
        await until(lambda: cluster.server.labels(NODE).get(names.MACA_READY) == "true")
        assert cluster.runs("2.32.0")
        assert cluster.server.labels(NODE)[names.DRIVER_MODE] == "cloud"
        ready = [patch["metadata"].get("labels", {}) for patch in cluster.server.patches]
        driver = next(at for at, labels in enumerate(ready) if labels.get(names.DRIVER_READY) == "true")
        maca = next(at for at, labels in enumerate(ready) if labels.get(names.MACA_READY) == "true")
        assert driver < maca
        await until(lambda: {"DriverReady", "MacaReady"} <= {reason for _, reason, _ in cluster.events()})
        written = len(cluster.server.patches)
        await asyncio.sleep(0.1)
        assert len(cluster.server.patches) == written
        cluster.server.change(NODE, {"metadata": {"annotations": {names.REMOVE: "true"}}})
        await until(lambda: cluster.maca_state is not None and cluster.maca_state.phase is Phase.REMOVED)
        await until(lambda: cluster.state is not None and cluster.state.phase is Phase.REMOVED)
    assert cluster.server.labels(NODE) == {names.RUNTIME_READY: "true", LABEL_PRODUCT: "MXC500"}
    assert list((cluster.host / "opt").iterdir()) == []
    assert not (cluster.host / "var/lib/metax/driver-manager").exists()


async def test_of_two_products_in_one_version_a_node_gets_the_mxmaca_of_its_cards(cluster: Cluster) -> None:
    cluster.stage("2.32.0")
    n100 = stage_maca(cluster.payloads, "3.0.0", "reg/cloud/maca-n100:3.0.0", says="for N100")
    c500 = stage_maca(cluster.payloads, "3.0.0", "reg/cloud/mxc500-maca:3.0.0", says="for C500")
    cluster.maca = (n100, c500)
    async with cluster.process():
        await until(lambda: cluster.maca_is(Phase.WAITING, "maca-product-unknown", ready=False))
        assert not (cluster.host / "opt/maca").exists()
        cluster.has_cards("MXC550")
        await until(lambda: cluster.maca_is(Phase.READY, "", ready=True))
        assert (cluster.host / "opt/maca/lib/libmaca.so").read_text() == "for C500"
        cluster.has_cards(None)
        await until(lambda: cluster.maca_is(Phase.WAITING, "maca-product-unknown", ready=True))
        state = cluster.maca_state
        assert state is not None
        assert state.versions == ("3.0.0",), "what is there stays, and stays ready"
    assert "maca-product-unknown" not in str(cluster.events())


async def test_a_node_whose_cards_no_image_is_for_says_so_and_is_not_ready(cluster: Cluster) -> None:
    cluster.stage("2.32.0")
    cluster.maca = (stage_maca(cluster.payloads, "3.0.0"),)
    cluster.has_cards("MXN100")
    async with cluster.process():
        await until(lambda: cluster.maca_is(Phase.FAILED, "maca-no-image", ready=False))
        await until(lambda: "MacaFailed" in {reason for _, reason, _ in cluster.events()})
    state = cluster.maca_state
    assert state is not None
    assert "maca-c500:3.0.0" in state.why
    assert not (cluster.host / "opt/maca").exists()


async def test_an_upgrade_waits_for_its_turn_and_its_pods_and_one_that_fails_is_rolled_back(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "SETTLE_S", 0.05)
    cluster.stage("2.32.0")
    async with cluster.process():
        await until(lambda: cluster.runs("2.32.0"))
    cluster.stage("2.33.0")
    cluster.holders = ("train-0",)
    cluster.server.small.put(
        "/api/v1/namespaces/ml/pods/train-0", {"metadata": {}, "status": {"phase": "Running"}}
    )
    async with cluster.process():
        await until(lambda: cluster.state is not None and cluster.state.needs_turn)
        cluster.server.change(NODE, {"metadata": {"annotations": {names.TURN: "2.33.0"}}})
        await until(lambda: cluster.pending().get("status") == "True")
        assert "ml/train-0" in cluster.pending()["message"]
        # Ended, and still on the kubelet's list.
        cluster.server.small.put(
            "/api/v1/namespaces/ml/pods/train-0", {"metadata": {}, "status": {"phase": "Succeeded"}}
        )
        await until(lambda: cluster.runs("2.33.0"))
        await until(lambda: cluster.pending().get("status") == "False")
    cluster.stage("2.34.0")
    carry_out(cluster.driver.world, "module fail verify 2.34.0")
    cluster.server.change(NODE, {"metadata": {"annotations": {names.TURN: "2.34.0"}}})
    async with cluster.process():
        await until(lambda: cluster.state is not None and cluster.state.phase is Phase.FAILED)
        await until(lambda: cluster.server.labels(NODE)[names.DRIVER_READY] == "true")
        state = cluster.state
    assert state is not None
    assert (state.running, state.wanted, state.code) == ("2.33.0", "2.34.0", "verify-failed")
    assert any(reason == "DriverFailed" for _, reason, _ in cluster.events())


async def test_driver_config_is_followed_live_and_bad_values_are_refused(cluster: Cluster) -> None:
    cluster.stage("2.32.0")
    async with cluster.process():
        await until(lambda: cluster.runs("2.32.0"))
        cluster.configure(f"nodes:\n  {NODE}:\n    vfnum: 2\n  other:\n    vfnum: 4\n")
        await until(lambda: cluster.runs("2.32.0", 2))
        cluster.configure(f"nodes:\n  {NODE}:\n    vfnum: 3\n")
        await until(lambda: len([one for one in cluster.events() if one[1] == "DriverConfigRefused"]) == 2)
        kinds = {
            kind: message for kind, reason, message in cluster.events() if reason == "DriverConfigRefused"
        }
        assert set(kinds) == {"ConfigMap", "Node"}
        assert "line 3" in kinds["ConfigMap"]
        assert cluster.runs("2.32.0", 2)
    async with cluster.process():
        await until(lambda: cluster.runs("2.32.0", 2))
        cluster.configure("nodes: {}\n")
        await until(lambda: cluster.runs("2.32.0", 0))


async def test_a_kubelet_that_is_away_stops_every_change(cluster: Cluster) -> None:
    cluster.stage("2.32.0")
    (cluster.host / "var/lib/kubelet/pod-resources/kubelet.sock").unlink()
    cluster.configure(f"nodes:\n  {NODE}:\n    vfnum: 2\n")
    async with cluster.process():
        await until(lambda: "it is known who holds cards" in cluster.pending().get("message", ""))
        assert cluster.server.labels(NODE)[names.DRIVER_READY] == "true"

"""A sandbox from its start to its end in this process: kept ones come back as they were, and no end leaves anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import yaml
from msgspec import structs

from builders.sandboxes import sandbox
from builders.waiting import LIMIT_S
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.connection import Connection, from_kubeconfig
from tangram.kube.errors import ApiError
from tangram.kube.objects import Object
from tangram.sandbox import accounts, starting, webhooks
from tangram.sandbox.ending import Stopped
from tangram.sandbox.failures import NotStarted
from tangram.sandbox.nodes.described import read_machines
from tangram.sandbox.nodes.device_manager import DeviceManager
from tangram.sandbox.nodes.pulse import Pulse
from tangram.sandbox.planes import embedded
from tangram.sandbox.starting import Options, Sandbox
from tangram.services.scheduler.service import Scheduler
from tangram.wire.kubelet.checkpoint import CheckpointedAllocation
from tangram.wire.metax_labels import Choices

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
POD = "/api/v1/namespaces/default/pods"
CLUSTER: Object = {
    "tangram": "cluster/v1",
    "nodes": [
        {"name": "first", "product": "C500", "cards": 4},
        {"name": "second", "product": "S4000", "cards": 1},
    ],
}


def options(folder: Path, *, nodes: int = 2, keep: bool = False) -> Options:
    cluster = CLUSTER | {"nodes": CLUSTER["nodes"][:nodes]}
    return Options(folder=folder, keep=keep, machines=read_machines(cluster))


@asynccontextmanager
async def running(chosen: Options, said: list[str] | None = None) -> AsyncGenerator[Sandbox]:
    supervisor = Supervisor()
    async with sandbox(chosen, supervisor, (said if said is not None else []).append) as box:
        yield box
        assert supervisor.unhealthy() == []
        supervisor.stop()
        await supervisor.until_stopped()


def whole(name: str, count: int) -> Object:
    container = {"name": "c", "image": "x", "command": ["sleep", "infinity"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container | {"resources": {"limits": {"metax-tech.com/gpu": str(count)}}}]},
    }


async def until_running(api: Api, names: Sequence[str], restarts: int = 0) -> list[Object]:
    async with asyncio.timeout(LIMIT_S):
        while True:
            pods = [await api.get(f"{POD}/{name}") for name in names]
            told = [pod["status"].get("containerStatuses", [{}])[0] for pod in pods]
            if all("running" in each.get("state", {}) and each["restartCount"] == restarts for each in told):
                return pods
            await asyncio.sleep(0.02)


def cards(pods: Sequence[Object]) -> dict[str, set[str]]:
    key = "hami.io/metax-gpu-devices-allocated"
    return {
        pod["metadata"]["name"]: {
            part.split(",")[0] for part in pod["metadata"]["annotations"][key].strip(":;").split(":")
        }
        for pod in pods
    }


def _held(box: Sandbox) -> dict[str, list[CheckpointedAllocation]]:
    """What kubelets gave, with the answers of the agents: units that were given anew have others."""
    return {
        str(machine.name): sorted(machine.devices.book.all(), key=lambda each: each.pod_uid)
        for machine in box.machines
    }


async def test_a_kept_sandbox_comes_back_with_its_pods_on_their_cards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = DeviceManager.start

    async def asked_at_once(self: DeviceManager) -> None:
        """Somebody asks who holds what as soon as there is a socket; pods that nobody knew of yet would lose all."""
        await begin(self)
        self.clear_out()

    monkeypatch.setattr(DeviceManager, "start", asked_at_once)
    folder = tmp_path / "a folder with a name that is longer than any socket's path may be" / "and deep"
    async with running(options(folder, keep=True)) as box:
        for name, count in (("one", 1), ("two", 2)):
            await box.api.create(POD, whole(name, count))
        before = await until_running(box.api, ("one", "two"))
        kubeconfig = box.folder.kubeconfig.read_text("utf-8")
        held = _held(box)
    said: list[str] = []
    async with running(options(folder, keep=True), said) as box:
        assert box.folder.kubeconfig.read_text("utf-8") == kubeconfig
        after = await until_running(box.api, ("one", "two"), restarts=1)
        assert cards(after) == cards(before)
        assert _held(box) == held
        logs = [await box.machines.log_of("default", name) for name in ("one", "two")]
        assert [log.count("whole") for log in logs] == [1, 2]
        await box.api.create(POD, whole("three", 1))
        (third,) = await until_running(box.api, ("three",))
        taken = [card for each in cards([*after, third]).values() for card in each]
        assert len(set(taken)) == len(taken) == 4
        ips = {pod["status"]["podIP"] for pod in (*after, third)}
        assert len(ips) == 3
    assert not [line for line in said if "no longer described" in line]


async def test_nodes_that_are_no_longer_described_are_removed_from_a_kept_sandbox(tmp_path: Path) -> None:
    async with running(options(tmp_path, keep=True)):
        pass
    said: list[str] = []
    async with running(options(tmp_path, nodes=1, keep=True), said) as box:
        nodes = await box.api.list_all("/api/v1/nodes")
    assert [node["metadata"]["name"] for node in nodes] == ["first"]
    assert "node second is no longer described, and was removed" in said


async def test_services_are_known_by_their_accounts_and_agents_by_their_nodes(tmp_path: Path) -> None:
    review: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    async with running(options(tmp_path, nodes=1)) as box:
        async with Api(await accounts.connection_as(box.api, accounts.AGENT, "first"), agent="t") as agent:
            told = (await agent.create(path, review))["status"]["userInfo"]
        assert told["username"] == "system:serviceaccount:kube-system:tangram-gpu-device"
        assert told["extra"]["authentication.kubernetes.io/node-name"] == ["first"]
        # What is there already is left as it is.
        await accounts.make_accounts(box.api)
        # Somebody who is not the scheduler cannot give a pod cards; the guard is our own, asked over HTTPS.
        stolen = whole("thief", 1)
        stolen["metadata"]["annotations"] = {"hami.io/metax-gpu-devices-allocated": "GPU-1,Metax-GPU,1,1:;"}
        with pytest.raises(ApiError, match=r"allocations\.tangram\.dev"):
            await box.api.create(POD, stolen)
        configurations = await box.api.list_all(
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        )
        assert [each["metadata"]["name"] for each in configurations] == [webhooks.NAME]
        await webhooks.register(box.api, box.doors.scheduler, b"")


# ---- ends


async def _started(chosen: Options, supervisor: Supervisor) -> None:
    async with sandbox(chosen, supervisor, lambda _said: None):
        await supervisor.until_stopped()


def _nothing_left(folder: Path) -> bool:
    return {each.name for each in folder.iterdir()} <= {"kubeconfig", "sandbox.log"}


async def test_one_that_is_told_to_end_while_it_starts_does_so(tmp_path: Path) -> None:
    supervisor = Supervisor()
    with pytest.raises(Stopped):
        async with sandbox(options(tmp_path), supervisor, lambda _said: supervisor.stop()):
            raise AssertionError("it must not come up")
    assert _nothing_left(tmp_path)
    assert supervisor.unhealthy() == []
    others = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert others == []


async def test_one_that_is_told_twice_to_end_leaves_nothing_either(tmp_path: Path) -> None:
    supervisor = Supervisor()

    async def told_twice() -> None:
        async with sandbox(options(tmp_path, nodes=1), supervisor, lambda _said: None):
            supervisor.stop()
            supervisor.stop()
            await asyncio.sleep(LIMIT_S)

    with pytest.raises(Stopped):
        await told_twice()
    await supervisor.until_stopped()
    assert _nothing_left(tmp_path)


async def test_a_part_that_all_machines_need_ends_the_sandbox_when_it_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(_self: Pulse, _nodes: object) -> None:
        raise RuntimeError("out of breath")

    monkeypatch.setattr(Pulse, "run", dies)
    supervisor = Supervisor()
    with suppress(Stopped):
        await _started(options(tmp_path, nodes=1), supervisor)
    assert supervisor.unhealthy() == ["the machines failed: RuntimeError: out of breath"]
    assert _nothing_left(tmp_path)


async def test_what_is_wrong_with_the_scheduler_is_told_when_it_does_not_become_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "READY_S", 0.0)

    def sulks(_self: Scheduler) -> list[str]:
        return ["it sulks"]

    monkeypatch.setattr(Scheduler, "unready", sulks)
    with pytest.raises(NotStarted, match=r"the scheduler was not ready within 0 s: it sulks"):
        await _started(options(tmp_path, nodes=1), Supervisor())
    assert _nothing_left(tmp_path)


@pytest.mark.parametrize("spoiled", ["api.crt", "api-ca.crt", "administrator.token"])
async def test_keys_that_do_not_belong_together_are_made_anew(tmp_path: Path, spoiled: str) -> None:
    async with embedded(0, tmp_path, None, Supervisor()) as first:
        token = first.connection.token
        other = (tmp_path / "other").joinpath("x")
        async with embedded(0, other.parent, None, Supervisor()):
            pass
    (tmp_path / spoiled).write_bytes(b"" if "token" in spoiled else (other.parent / spoiled).read_bytes())
    async with embedded(0, tmp_path, None, Supervisor()) as again:
        assert again.connection.token != token
        await _answers(again.connection)
    async with embedded(0, tmp_path, None, Supervisor()) as last:
        assert last.connection.token == again.connection.token
        await _answers(last.connection)


async def _answers(connection: Connection) -> None:
    async with Api(connection, agent="t") as api:
        assert (await api.get("/version"))["major"] == "1"


async def test_its_kubeconfig_is_for_its_administrator(tmp_path: Path) -> None:
    async with running(options(tmp_path, nodes=1)) as box:
        await _answers(from_kubeconfig(box.folder.kubeconfig))


async def test_the_manuals_job_runs_where_nodes_are_labelled_as_in_the_manual(tmp_path: Path) -> None:
    """And the scheduler's own file counts: what is set in a chart can be tried in a sandbox."""
    own = tmp_path / "scheduler.yaml"
    own.write_text("tangram: scheduler/v1\nqosPolicy: fixed-share\n")
    chosen = structs.replace(
        options(tmp_path / "box"), labels=Choices(short_products=True), scheduler_config=own
    )
    job = yaml.safe_load((EXAMPLES / "application-images" / "sample.yaml").read_text("utf-8"))
    job["spec"]["containers"][0]["command"] = ["sleep", "infinity"]
    part = whole("part", 1)
    limits = {"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "60", "metax-tech.com/vmemory": "4"}
    part["spec"]["containers"][0]["resources"] = {"limits": limits}
    async with running(chosen) as box:
        await box.api.create(POD, job)
        (sample,) = await until_running(box.api, ["sample"])
        assert sample["spec"]["nodeName"] == "first"
        made = await box.api.create(POD, part)
        assert made["metadata"]["annotations"]["metax-tech.com/sgpu-qos-policy"] == "fixed-share"

"""`tangram doctor --cluster` about a whole sandbox: its own services, and others that somebody put beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from builders.commands import run
from builders.controlled import eventually
from builders.sandboxes import sandbox
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.objects import Object
from tangram.sandbox.nodes.described import read_machines
from tangram.sandbox.starting import Options

PODS = "/api/v1/namespaces/default/pods"
NODE = "/api/v1/nodes/gpu-1"
MACHINES: Object = {"tangram": "cluster/v1", "nodes": [{"name": "gpu-1", "product": "C500", "cards": 2}]}


def pod(name: str, *, scheduler: str = "", **more: object) -> Object:
    limits = {"metax-tech.com/gpu": "1"}
    container = {"name": "c", "image": "x", "command": ["sleep", "infinity"], "resources": {"limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container | more]} | ({"schedulerName": scheduler} if scheduler else {}),
    }


async def until(api: Api, path: str, true: Callable[[Object], bool]) -> None:
    async def look() -> bool | None:
        return True if true(await api.get(path)) else None

    await eventually(look)


async def test_a_sandbox_is_told_whole_and_so_is_who_else_works_in_it(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    supervisor = Supervisor()
    chosen = Options(folder=tmp_path, machines=read_machines(MACHINES))
    async with sandbox(chosen, supervisor, lambda _: None) as box:
        await box.api.create(PODS, pod("ours"))
        await until(box.api, f"{PODS}/ours", lambda seen: seen["status"].get("phase") == "Running")
        await box.api.create(PODS, pod("theirs", scheduler="koord-scheduler"))
        peer = pod("koord-scheduler-0", command=["/koord-scheduler"], args=["--feature-gates="], resources={})
        await box.api.create(PODS, peer)
        for name in ("theirs", "koord-scheduler-0"):
            await until(box.api, f"{PODS}/{name}", lambda seen: seen["status"].get("phase") == "Running")
        await until(box.api, NODE, lambda seen: "koordinator.sh/gpu-core" in seen["status"]["allocatable"])
        said = await asyncio.to_thread(run, "doctor", "--cluster", "--kubeconfig", str(box.folder.kubeconfig))
        supervisor.stop()
        await supervisor.until_stopped()
    assert said.err == ""
    assert said.out == snapshot

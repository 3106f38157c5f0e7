"""`tangram preflight` and `tangram verify` about a whole sandbox, in which everything of ours really runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from builders.commands import run
from builders.controlled import eventually
from builders.sandboxes import sandbox
from tangram.daemon.running import Supervisor
from tangram.kube.objects import Object
from tangram.sandbox.nodes.described import read_machines
from tangram.sandbox.starting import Options
from tangram.wire import loose

PODS = "/api/v1/namespaces/default/pods"
MACHINES: Object = {
    "tangram": "cluster/v1",
    "nodes": [
        {"name": "gpu-1", "product": "C500", "cards": 2, "mode": "sgpu"},
        {"name": "gpu-2", "product": "S4000", "cards": 2, "mode": "sgpu"},
    ],
}


def outcomes(said: Object) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for finding in said["findings"]:
        found.setdefault(finding["check"], set()).add(finding["outcome"])
    return found


async def test_a_sandbox_is_found_installed_already_and_whole_and_a_slice_is_placed_and_gone(
    tmp_path: Path,
) -> None:
    supervisor = Supervisor()
    chosen = Options(folder=tmp_path, machines=read_machines(MACHINES))
    async with sandbox(chosen, supervisor, lambda _: None) as box:
        words = ("-o", "json", "--kubeconfig", str(box.folder.kubeconfig))
        before = await asyncio.to_thread(run, "preflight", *words)
        after = await asyncio.to_thread(run, "verify", "--pod", "--timeout", "60s", *words)

        async def gone() -> bool | None:
            left = loose.elements((await box.api.get(PODS)).get("items"))
            return True if not left else None

        await eventually(gone)
        supervisor.stop()
        await supervisor.until_stopped()
    ground = json.loads(before.out)
    assert (before.status, before.err) == (1, "")
    assert [node["name"] for node in ground["nodes"]] == ["gpu-1", "gpu-2"]
    assert outcomes(ground)["names"] == {"fail"}
    assert outcomes(ground)["installed"] == {"warn"}
    assert outcomes(ground)["rights"] == outcomes(ground)["privileged"] == {"ok"}
    standing = json.loads(after.out)
    assert after.status == 0, after.out
    assert {each.split(" ")[0] for each in after.err.splitlines()} == {"tangram:"}
    assert {name for node in standing["nodes"] for name in node["resources"]} == {
        "metax-tech.com/sgpu",
        "mthreads.com/sgpu-core",
        "mthreads.com/sgpu-memory",
    }
    for check in (
        "scheduler",
        "explain",
        "metrics",
        "kube-scheduler-lease",
        "webhook-completes",
        "webhook-refuses",
    ):
        assert outcomes(standing)[check] == {"ok"}
    assert (standing["pod"]["node"], standing["pod"]["deleted"]) == ("gpu-1", True)
    assert [(each["memory"], each["kind"]) for each in standing["pod"]["devices"]] == [(1 << 30, "slice")]

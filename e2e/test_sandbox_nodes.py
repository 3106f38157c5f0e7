"""The sandbox's simulated machines under a real API server, real controllers and a real kube-scheduler."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from e2e.agent_view_kit import GPU, SGPU
from e2e.machines_kit import LIMIT_S, Sandboxed, machines_under
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_gone, pod, sidecar
from testbed.options import Options

ALLOCATED = "metax-tech.com/gpu-devices-allocated"
SLICE = {SGPU: 1, "metax-tech.com/vcore": 25, "metax-tech.com/vmemory": 16}


@pytest_asyncio.fixture(scope="module")
async def sandboxed() -> AsyncIterator[Sandboxed]:
    patch = pytest.MonkeyPatch()
    try:
        async with Cluster.open(Options(nodes=0)) as cluster, machines_under(cluster, patch) as ready:
            yield ready
    finally:
        patch.undo()


@pytest.fixture
def pod_name(unique: Callable[[str], str]) -> str:
    return unique("sandboxed")


def running(seen: Object) -> bool:
    statuses: list[Object] = seen.get("status", {}).get("containerStatuses", [])
    return bool(statuses) and all("running" in each["state"] for each in statuses)


async def test_the_nodes_of_a_sandbox_are_ready_and_say_what_their_cards_are(sandboxed: Sandboxed) -> None:
    seen = {node["metadata"]["name"]: node for node in await sandboxed.cluster.api.list(path_of("Node"))}
    assert set(seen) == {"metax-a", "metax-b", "metax-c", "moore-a", "moore-b", "cpu-a"}
    amounts = {
        name: {key: value for key, value in node["status"]["allocatable"].items() if "/" in key}
        for name, node in seen.items()
    }
    assert amounts == {
        "metax-a": {GPU: "8"},
        "metax-b": {GPU: "4", SGPU: "64"},
        "metax-c": {SGPU: "128"},
        "moore-a": {"mthreads.com/sgpu-core": "128", "mthreads.com/sgpu-memory": "768"},
        "moore-b": {"mthreads.com/gpu": "8"},
        "cpu-a": {},
    }
    for name, node in seen.items():
        (ready,) = [each for each in node["status"]["conditions"] if each["type"] == "Ready"]
        assert ready["status"] == "True", name
        if name != "cpu-a":
            assert node["metadata"]["annotations"]["tangram.dev/agent"] == "serving"
    assert seen["metax-a"]["metadata"]["labels"]["metax-tech.com/gpu.installed"] == "true"
    shown = await sandboxed.cluster.kubectl("get", "nodes")
    assert shown.output.count(" Ready ") == 6, shown


async def test_a_pod_with_whole_cards_runs_and_its_log_tells_which(
    sandboxed: Sandboxed, pod_name: str
) -> None:
    made = pod(pod_name, container("c", script="echo hello; sleep 3600", limits={GPU: 2}), node="metax-a")
    await sandboxed.cluster.api.create(made)
    seen = await sandboxed.until_phase(pod_name, "Running")
    (status,) = seen["status"]["containerStatuses"]
    held = [each["resourceID"] for each in status["allocatedResourcesStatus"][0]["resources"]]
    log = await sandboxed.log(pod_name)
    assert all(unit in log for unit in held)
    assert "/dev/mxcd" in log
    assert log.rstrip().endswith("hello")
    assert seen["status"]["podIP"].startswith("10.")
    assert await sandboxed.log(pod_name, "--tail=1") == "hello\n"
    # The agent's own word, written back to the pod.
    seen = await sandboxed.cluster.until_pod(
        pod_name, lambda one: "hami.io/metax-gpu-devices-to-allocate" in one["metadata"]["annotations"]
    )
    assert all(
        unit in seen["metadata"]["annotations"]["hami.io/metax-gpu-devices-to-allocate"] for unit in held
    )
    await sandboxed.remove(pod_name)


async def test_a_pod_with_a_slice_is_given_exactly_its_slice(sandboxed: Sandboxed, pod_name: str) -> None:
    card = sandboxed.uuid("metax-b", 5)
    given = json.dumps([[{"uuid": card, "compute": 25, "vRam": 16384}]])
    made = pod(pod_name, container("c", script="printenv METAX_SGPUS; sleep 3600", limits=SLICE))
    await sandboxed.place(made, "metax-b", {ALLOCATED: given})
    await sandboxed.until_phase(pod_name, "Running")
    log = await sandboxed.log(pod_name)
    assert f"card 5: MXC500, {card}, slice 0: 16 GiB of memory, 25 % of compute" in log
    assert "compute=25;vram=16384" in log
    world = sandboxed.machines.machine("metax-b").world
    assert world is not None
    (slice_,) = world.slices(world.devices()[5].uuid)
    assert slice_.busy
    await sandboxed.remove(pod_name)
    async with asyncio.timeout(LIMIT_S):
        while world.slices(world.devices()[5].uuid):
            await asyncio.sleep(0.05)


async def test_a_pod_with_a_moore_threads_card_runs_and_ends(sandboxed: Sandboxed, pod_name: str) -> None:
    made = pod(pod_name, container("c", script="sleep 1", limits={"mthreads.com/gpu": 1}), node="moore-b")
    await sandboxed.cluster.api.create(made)
    seen = await sandboxed.until_phase(pod_name, "Succeeded")
    assert seen["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    assert "MTT S4000" in await sandboxed.log(pod_name)
    await sandboxed.remove(pod_name)


async def test_init_containers_come_first_and_give_their_cards_on(
    sandboxed: Sandboxed, pod_name: str
) -> None:
    first = container("first", script="echo ready", limits={GPU: 2})
    beside = sidecar(container("beside", script="sleep 3600"))
    made = pod(
        pod_name,
        container("c", script="sleep 3600", limits={GPU: 2}),
        node="metax-a",
        inits=[first, beside],
    )
    await sandboxed.cluster.api.create(made)
    seen = await sandboxed.until_phase(pod_name, "Running")
    inits = {each["name"]: each for each in seen["status"]["initContainerStatuses"]}
    assert inits["first"]["state"]["terminated"]["reason"] == "Completed"
    assert "running" in inits["beside"]["state"]
    before, after = await sandboxed.log(pod_name, "-c", "first"), await sandboxed.log(pod_name, "-c", "c")
    units = [line.split(", ")[1] for line in before.splitlines() if "card " in line and "MXC500" in line]
    assert len(units) == 2
    assert all(unit in after for unit in units)
    await sandboxed.remove(pod_name)


async def test_a_job_of_the_real_controllers_completes(sandboxed: Sandboxed, pod_name: str) -> None:
    template: Object = {
        "spec": {
            "restartPolicy": "Never",
            "nodeName": "cpu-a",
            "containers": [
                {"name": "c", "image": "busybox", "command": ["sh", "-c", "echo work; sleep 0.2"]}
            ],
        }
    }
    job: Object = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": pod_name},
        "spec": {"completions": 2, "parallelism": 2, "template": template},
    }
    await sandboxed.cluster.api.create(job)
    waited = await sandboxed.cluster.kubectl(
        "wait", "--for=condition=complete", f"job/{pod_name}", f"--timeout={LIMIT_S:g}s"
    )
    assert waited.status == 0, waited.errors
    logs = await sandboxed.cluster.kubectl("logs", f"job/{pod_name}", "--all-pods=true")
    assert logs.output.count(" work") == 2, logs
    removed = await sandboxed.cluster.kubectl("delete", "job", pod_name, f"--timeout={LIMIT_S:g}s")
    assert removed.status == 0, removed.errors


async def test_a_pod_that_its_node_cannot_serve_is_ended_in_the_kubelets_words(
    sandboxed: Sandboxed, pod_name: str
) -> None:
    await sandboxed.cluster.api.create(pod(pod_name, container("c", limits={GPU: 9}), node="metax-a"))
    seen = await sandboxed.until_phase(pod_name, "Failed")
    assert seen["status"]["reason"] == "UnexpectedAdmissionError"
    assert seen["status"]["message"] == (
        "Pod was rejected: Allocate failed due to requested number of devices unavailable for metax-tech.com/gpu. "
        "Requested: 9, Available: 8, which is unexpected"
    )
    await sandboxed.remove(pod_name)


async def test_a_restart_of_the_kubelet_leaves_containers_alone(sandboxed: Sandboxed, pod_name: str) -> None:
    machine = sandboxed.machines.machine("metax-a")
    made = pod(pod_name, container("c", script="sleep 3600", limits={GPU: 1}), node="metax-a")
    await sandboxed.cluster.api.create(made)
    before = await sandboxed.until_phase(pod_name, "Running")
    await machine.stop_kubelet()
    await machine.start_kubelet()
    await machine.ready()
    after = await sandboxed.cluster.until_pod(pod_name, running, within=LIMIT_S)
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"]
    late = pod(f"{pod_name}-late", container("c", script="sleep 3600", limits={GPU: 7}), node="metax-a")
    await sandboxed.cluster.api.create(late)
    await sandboxed.until_phase(f"{pod_name}-late", "Running")
    await sandboxed.remove(pod_name, f"{pod_name}-late")


async def test_a_deleted_pod_is_told_to_end_and_then_gone(sandboxed: Sandboxed, pod_name: str) -> None:
    made = pod(pod_name, container("c", script="sleep 3600"), node="cpu-a", restartPolicy="Always")
    await sandboxed.cluster.api.create(made)
    await sandboxed.until_phase(pod_name, "Running")
    deleted = await sandboxed.cluster.kubectl("delete", "pod", pod_name, f"--timeout={LIMIT_S:g}s")
    assert deleted.status == 0, deleted.errors
    await sandboxed.cluster.until_pod(pod_name, is_gone)
    events = await sandboxed.cluster.api.list("/api/v1/namespaces/default/events")
    told = {each["reason"] for each in events if each["involvedObject"]["name"] == pod_name}
    assert {"Pulled", "Created", "Started"} <= told

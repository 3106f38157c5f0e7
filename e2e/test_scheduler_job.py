"""A Job of forty slices on one node: all of them run at once, each in its own part of a card."""

import time
from collections import Counter
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode
from e2e.agent_view_kit import SGPU, VCORE, VMEMORY, Setup, all_slices, left_on, metax, on
from e2e.agent_watch_kit import until
from e2e.restarts_kit import PATIENCE
from e2e.scheduler_kit import SCHEDULER, Placement, apply, placing, slices_in
from testbed.api import path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_running

pytestmark = [pytest.mark.xdist_group("scheduler with a job"), pytest.mark.usefixtures("placement")]

MIB = 1 << 20
SLICED = Setup(
    "sliced",
    "tangram: cards/v1\ncards:\n- {product: C500, count: 3, sliced: true}\n",
    {SGPU: 48},
    "mode: sgpu\n",
)
PODS = 40


@pytest_asyncio.fixture(scope="module")
async def placement(bed: Cluster) -> AsyncIterator[Placement]:
    async with placing(bed) as ready:
        yield ready


@on(SLICED)
async def test_a_job_of_forty_slices_runs_at_once_on_one_node_each_of_its_size(node: AgentNode) -> None:
    work = container("work", limits={SGPU: 1, VCORE: 7, VMEMORY: 4})
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "forty"},
        "spec": {
            "parallelism": PODS,
            "completions": PODS,
            "backoffLimit": 0,
            "template": {
                "spec": {
                    "schedulerName": SCHEDULER,
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 1,
                    "containers": [work],
                }
            },
        },
    }
    began = time.monotonic()
    await apply(node.cluster, job)

    async def all_run() -> bool:
        pods = await node.cluster.api.list(path_of("Pod"), labelSelector="job-name=forty")
        return sum(map(is_running, pods)) == PODS

    await until(all_run, "all pods of the job run", within=2 * PATIENCE, pause=0.25)
    print(f"{PODS} slices ran {time.monotonic() - began:.1f} s after kubectl apply")  # noqa: T201
    pods = await node.cluster.api.list(path_of("Pod"), labelSelector="job-name=forty")
    given = [slices_in(one) for one in pods]
    assert {each[1:] for row in given for own in row for each in own} == {(4096, 7)}
    promised = Counter(each[0] for row in given for own in row for each in own)
    made = all_slices(node)
    assert Counter(part.card for part in made) == promised
    assert {(part.memory // MIB, part.cores) for part in made} == {(4096, 7)}
    assert len(made) == PODS
    for card in metax(node):
        assert promised[card.uuid] * 7 <= 100
        assert promised[card.uuid] * 4096 <= 65536
    deleted = await node.cluster.kubectl("delete", "job", "forty", "--wait=true")
    assert deleted.status == 0, deleted.errors
    await until(lambda: not left_on(node), "nothing of the job is left on the node", within=2 * PATIENCE)

"""Nothing is removed while somebody of ours runs who would write it again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from builders.left_behind import LABELS, LeftBehind, left_behind
from tangram.kube.api import Api
from tangram.services.installation import cleaning, cleaning_waiting
from tangram.services.installation.cleaning import clean_up
from tangram.services.installation.cleaning_report import Cleanup
from tangram.services.installation.cleaning_waiting import Aim, Tell

silent: Tell = lambda _sentence: None  # noqa: E731 - nobody listens
PODS = "/api/v1/namespaces/kube-system/pods"


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[LeftBehind]:
    monkeypatch.setattr(cleaning_waiting, "BETWEEN_S", 0.02)
    monkeypatch.setattr(cleaning, "SETTLED_S", 0.0)
    async with left_behind() as made:
        await made.served()
        yield made


async def cleaned(cluster: LeftBehind, tell: Tell, patience: float = 0.0, **aim: Any) -> Cleanup:  # noqa: ANN401
    async with Api(cluster.connection) as api:
        fields: dict[str, Any] = {"namespace": "kube-system", "chart": "tangram", "patience": patience}
        return await clean_up(api, Aim(**(fields | aim)), tell)


async def untouched(cluster: LeftBehind) -> bool:
    return (await cluster.get())["metadata"]["labels"].keys() >= LABELS.keys()


async def test_pods_of_the_installation_are_waited_for_and_named(cluster: LeftBehind) -> None:
    await cluster.agent(chart="tangram")
    await cluster.agent("gpu-label", chart="tangram")
    said: list[str] = []
    told = asyncio.Event()

    def tell(sentence: str) -> None:
        said.append(sentence)
        told.set()

    async def end_them() -> None:
        await told.wait()
        assert await untouched(cluster)
        for role in ("gpu-device", "gpu-label"):
            await cluster.api.delete(f"{PODS}/{role}-gpu-1", {"gracePeriodSeconds": 0})

    done, _ = await asyncio.gather(cleaned(cluster, tell, 30.0), end_them())
    assert done.problems == []
    assert not await untouched(cluster)
    assert said[0] == "waiting for 2 pods (gpu-device on gpu-1; gpu-label on gpu-1) to end (30s left)"


async def test_pods_that_do_not_end_in_time_are_named_and_nothing_is_removed(cluster: LeftBehind) -> None:
    await cluster.agent(chart="tangram")
    done = await cleaned(cluster, silent, 0.05)
    assert done.problems[0].startswith("after 50ms 1 pod (gpu-device on gpu-1) still runs")
    assert "kubectl -n kube-system describe pod gpu-device-gpu-1" in done.problems[0]
    assert await untouched(cluster)


async def test_an_installation_that_stands_is_not_waited_for(cluster: LeftBehind) -> None:
    await cluster.agent(chart="tangram")
    labels = {"app.kubernetes.io/name": "tangram", "app.kubernetes.io/component": "gpu-device"}
    container = {"name": "it", "image": "tangram:1", "command": ["tangram", "gpu-device"]}
    daemons = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "tangram-gpu-device"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    await cluster.api.create("/apis/apps/v1/namespaces/kube-system/daemonsets", daemons)
    said: list[str] = []
    done = await cleaned(cluster, said.append, 60.0)
    assert said == []
    assert done.problems[0].startswith("DaemonSet kube-system/tangram-gpu-device is still installed")
    assert await untouched(cluster)


async def test_an_agent_that_no_release_owns_is_a_refusal_with_a_way_out(cluster: LeftBehind) -> None:
    await cluster.agent()
    done = await cleaned(cluster, silent, 60.0)
    (problem,) = done.problems
    assert problem.startswith("1 pod (gpu-device on gpu-1) runs and no release of a chart owns it")
    assert problem.endswith("end it first (kubectl -n kube-system delete pod gpu-device-gpu-1)")
    assert await untouched(cluster)


async def test_an_agent_on_another_node_is_no_matter_of_the_nodes_that_are_named(cluster: LeftBehind) -> None:
    await cluster.node("gpu-2")
    await cluster.agent(node="gpu-2")
    done = await cleaned(cluster, silent, nodes=("gpu-1",))
    assert done.problems == []
    assert not await untouched(cluster)


async def test_pods_that_are_over_and_other_peoples_pods_are_not_waited_for(cluster: LeftBehind) -> None:
    await cluster.agent()
    await cluster.api.merge(f"{PODS}/gpu-device-gpu-1/status", {"status": {"phase": "Failed"}})
    await cluster.agent("gpu-aware", chart="tangram")
    await cluster.pod("theirs", "metax", "gpu-1", command=["gpu-device"], image="cloud/gpu-device:0.8")
    done = await cleaned(cluster, silent)
    assert done.problems == []
    assert not await untouched(cluster)


async def test_a_trial_says_that_an_agent_nobody_owns_is_in_the_way(cluster: LeftBehind) -> None:
    await cluster.agent()
    (trial,) = (await cleaned(cluster, silent, dry=True)).problems
    assert trial.startswith("1 pod (gpu-device on gpu-1) runs and no release of a chart owns it")


async def leaves(cluster: LeftBehind, role: str, node: str) -> None:
    """A pod is deleted and stays, as on a node that is gone."""
    path = f"{PODS}/{role}-{node}"
    await cluster.api.merge(path, {"metadata": {"finalizers": ["example.com/stays"]}})
    await cluster.api.delete(path, {"gracePeriodSeconds": 0})


async def test_a_pod_that_never_ends_keeps_its_own_node_and_no_other(cluster: LeftBehind) -> None:
    await cluster.served("gpu-2")
    await cluster.agent(chart="tangram")
    await leaves(cluster, "gpu-device", "gpu-1")
    await cluster.keeps()
    done = await cleaned(cluster, silent, 0.05)
    (problem,) = done.problems
    assert problem.startswith(
        "after 50ms 1 pod (gpu-device on gpu-1) has not ended, so what it kept up stays"
    )
    assert problem.endswith("delete nodes that are gone for good, and ask again")
    assert await untouched(cluster)
    assert [each.name for each in done.nodes] == ["gpu-2"]
    assert "Secret kube-system/tangram-scheduler-tls" in done.objects


async def test_a_scheduler_that_never_ends_keeps_its_secret_and_its_lease(cluster: LeftBehind) -> None:
    await cluster.agent("scheduler", chart="tangram")
    await leaves(cluster, "scheduler", "gpu-1")
    await cluster.keeps()
    done = await cleaned(cluster, silent, 0.05)
    assert len(done.problems) == 1
    assert done.objects == []
    assert not await untouched(cluster)

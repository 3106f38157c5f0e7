"""A whole clean-up on an API server that keeps who wrote what, as the real one does."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from builders.left_behind import (
    AMOUNTS,
    ANNOTATIONS,
    DEVICES,
    LABELS,
    LEASE,
    SECRET,
    LeftBehind,
    left_behind,
)
from tangram.kube.api import Api
from tangram.kube.errors import ApiError
from tangram.services.installation import cleaning
from tangram.services.installation.cleaning import clean_up
from tangram.services.installation.cleaning_report import Cleanup
from tangram.services.installation.cleaning_waiting import Aim

Object = dict[str, Any]


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[LeftBehind]:
    monkeypatch.setattr(cleaning, "SETTLED_S", 0.0)
    async with left_behind() as made:
        yield made


async def cleaned(cluster: LeftBehind, **aim: Any) -> Cleanup:  # noqa: ANN401 - whatever the record holds
    said: list[str] = []
    async with Api(cluster.connection) as api:
        fields: dict[str, Any] = {"namespace": "kube-system", "chart": "tangram", "patience": 0.0}
        return await clean_up(api, Aim(**(fields | aim)), said.append)


def plain(node: Object) -> Object:
    """A node without its versions and writers."""
    metadata = {key: node["metadata"].get(key) for key in ("labels", "annotations")}
    status = {key: node["status"].get(key) for key in ("capacity", "allocatable", "conditions")}
    return metadata | status


async def gone(cluster: LeftBehind, path: str) -> bool:
    try:
        await cluster.api.get(path)
    except ApiError as error:
        return error.status == 404
    return False


async def test_a_node_is_as_it_was_before_and_a_second_round_changes_nothing(cluster: LeftBehind) -> None:
    await cluster.node()
    await cluster.states("kubelet", "gpu-1", {"metax-tech.com/sgpu": "0", "cpu": "4"})
    before = plain(await cluster.get())
    await cluster.served("gpu-2")
    await cluster.writes("tangram-gpu-label", "gpu-1", labels=LABELS)
    await cluster.writes("tangram-gpu-device", "gpu-1", annotations=ANNOTATIONS)
    done = await cleaned(cluster)
    assert done.problems == []
    assert plain(await cluster.get()) == before
    both = {each.name: each for each in done.nodes}
    assert both["gpu-2"].labels == sorted(LABELS)
    assert both["gpu-2"].annotations == sorted(ANNOTATIONS)
    assert both["gpu-2"].conditions == ["GpuModeChangePending"]
    assert both["gpu-2"].amounts == sorted(AMOUNTS)
    assert (both["gpu-1"].conditions, both["gpu-1"].amounts) == ([], [])
    other = await cluster.get("gpu-2")
    assert other["status"]["capacity"] == {"metax-tech.com/sgpu": "0", "cpu": "4"}
    assert not other["status"].get("conditions")
    assert other["metadata"]["labels"] == {"kubernetes.io/hostname": "gpu-2"}
    version = other["metadata"]["resourceVersion"]
    again = await cleaned(cluster)
    assert (again.nodes, again.objects, again.problems) == ([], [], [])
    assert (await cluster.get("gpu-2"))["metadata"]["resourceVersion"] == version


async def test_what_somebody_else_wrote_took_over_or_states_as_well_stays_and_is_named(
    cluster: LeftBehind,
) -> None:
    await cluster.served()
    await cluster.writes("kubectl-label", "gpu-1", labels={"metax-tech.com/gpu.installed": "false"})
    await cluster.writes("feature-discovery", "gpu-1", labels={"metax-tech.com/gpu.family": "XC500"})
    stated = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "gpu-1", "labels": {"metax-tech.com/driver.ready": "true"}},
    }
    await cluster.api.apply("/api/v1/nodes/gpu-1", stated, "gitops")
    done = await cleaned(cluster)
    labels = (await cluster.get())["metadata"]["labels"]
    assert labels == {
        "kubernetes.io/hostname": "gpu-1",
        "metax-tech.com/gpu.installed": "false",
        "metax-tech.com/gpu.family": "XC500",
        "metax-tech.com/driver.ready": "true",
    }
    assert done.nodes[0].labels == []
    writers = {each.why for each in done.left}
    assert {f"{who} wrote them last" for who in ("kubectl-label", "feature-discovery", "gitops")} <= writers


async def test_objects_of_ours_go_and_those_with_another_hand_in_them_stay(cluster: LeftBehind) -> None:
    await cluster.knows_devices()
    for name in ("gpu-1", "gpu-2", "gpu-3"):
        await cluster.node(name)
    await cluster.describes("tangram-gpu-device", "gpu-1")
    await cluster.describes("koordlet", "gpu-2")
    await cluster.describes("tangram-gpu-device", "gpu-3")
    await cluster.describes("gitops", "gpu-3", card="tangram-gpu-device")
    await cluster.keeps()
    done = await cleaned(cluster)
    assert done.problems == []
    assert done.objects == [
        "Device gpu-1",
        "Secret kube-system/tangram-scheduler-tls",
        "Lease kube-system/tangram-scheduler",
    ]
    assert await gone(cluster, f"{DEVICES}/gpu-1")
    assert await gone(cluster, SECRET)
    assert await gone(cluster, LEASE)
    assert not await gone(cluster, f"{DEVICES}/gpu-2")
    assert ("Device gpu-3", "gitops wrote it as well") in {(each.what, each.why) for each in done.left}
    assert "the kind devices.scheduling.koordinator.sh" in {each.what for each in done.left}


async def test_a_secret_that_somebody_else_made_stays(cluster: LeftBehind) -> None:
    await cluster.keeps("cert-manager-certificates-issuing")
    done = await cleaned(cluster)
    assert done.objects == ["Lease kube-system/tangram-scheduler"]
    assert not await gone(cluster, SECRET)


async def test_the_vendors_chart_leaves_the_schedulers_things_alone(cluster: LeftBehind) -> None:
    await cluster.served()
    await cluster.writes("tangram-scheduler", "gpu-1", annotations={"hami.io/mutex.lock": "now"})
    await cluster.keeps()
    done = await cleaned(cluster, chart="metax-gpu-extensions")
    assert (done.objects, done.problems) == ([], [])
    assert (await cluster.get())["metadata"]["annotations"]["hami.io/mutex.lock"] == "now"
    assert not await gone(cluster, SECRET)
    await cleaned(cluster)
    assert "hami.io/mutex.lock" not in (await cluster.get())["metadata"]["annotations"]


async def test_a_trial_says_the_same_and_changes_nothing(cluster: LeftBehind) -> None:
    await cluster.knows_devices()
    await cluster.served()
    await cluster.describes("tangram-gpu-device", "gpu-1")
    await cluster.keeps()
    await cluster.agent(chart="tangram")
    before = await cluster.get()
    trial = await cleaned(cluster, dry=True)
    assert trial.problems == []
    assert await cluster.get() == before
    await cluster.api.delete(
        "/api/v1/namespaces/kube-system/pods/gpu-device-gpu-1", {"gracePeriodSeconds": 0}
    )
    done = await cleaned(cluster)
    assert done.problems == []
    assert (trial.nodes, trial.objects) == (done.nodes, done.objects)


async def test_single_nodes_are_cleaned_alone_and_nothing_of_the_cluster(cluster: LeftBehind) -> None:
    await cluster.knows_devices()
    for name in ("gpu-1", "gpu-2"):
        await cluster.served(name)
        await cluster.describes("tangram-gpu-device", name)
    await cluster.keeps()
    # Of the installation that still serves the others.
    await cluster.agent(node="gpu-2", chart="tangram")
    await cluster.agent("scheduler", "gpu-1", chart="tangram")
    await cluster.writes("tangram-scheduler", "gpu-1", annotations={"hami.io/mutex.lock": "now"})
    done = await cleaned(cluster, nodes=("gpu-1", "gpu-9"))
    assert done.problems == ["node gpu-9: there is no such node"]
    assert [each.name for each in done.nodes] == ["gpu-1"]
    assert done.objects == ["Device gpu-1"]
    assert (await cluster.get())["metadata"]["annotations"]["hami.io/mutex.lock"] == "now"
    assert (await cluster.get("gpu-2"))["metadata"]["labels"] == {
        "kubernetes.io/hostname": "gpu-2",
        **LABELS,
    }


async def test_what_another_installation_keeps_up_is_left_to_it(cluster: LeftBehind) -> None:
    await cluster.knows_devices()
    for name in ("gpu-1", "gpu-2", "gpu-3"):
        await cluster.served(name)
        await cluster.describes("tangram-gpu-device", name)
    await cluster.agent(node="gpu-1", chart="metax-gpu-extensions", namespace="metax")
    await cluster.agent("gpu-label", "gpu-2", chart="metax-gpu-extensions", namespace="metax")
    before = plain(await cluster.get())
    done = await cleaned(cluster)
    assert done.problems == []
    assert plain(await cluster.get()) == before
    by_label = (await cluster.get("gpu-2"))["metadata"]
    assert (
        by_label["labels"].keys() & LABELS.keys(),
        by_label["annotations"].keys() & ANNOTATIONS.keys(),
    ) == (
        LABELS.keys(),
        set(),
    )
    assert done.objects == ["Device gpu-2", "Device gpu-3"]
    left = {each.what: each for each in done.left}
    assert left["what metax-gpu-extensions in metax keeps up on 2 nodes"].names == ["gpu-1", "gpu-2"]


async def test_a_label_that_is_written_again_is_told_and_not_removed_again(
    cluster: LeftBehind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an agent that is no pod: one that somebody started on the machine, say."""
    await cluster.served()
    await cluster.served("gpu-2")
    plain_call = Api.call

    async def call(self: Api, method: str, path: str, *rest: Any, **more: Any) -> Object:  # noqa: ANN401 - passed on
        answer = await plain_call(self, method, path, *rest, **more)
        if method == "PATCH" and path.endswith("/gpu-2") and self is not cluster.api:
            await cluster.writes("tangram-gpu-label", "gpu-2", labels=LABELS)
        return answer

    monkeypatch.setattr(Api, "call", call)
    done = await cleaned(cluster)
    assert len(done.problems) == 1
    assert done.problems[0].startswith("1 node (gpu-2): what was removed is written again")
    assert (await cluster.get("gpu-2"))["metadata"]["labels"].keys() >= LABELS.keys()


async def test_what_others_write_meanwhile_is_neither_lost_nor_removed(
    cluster: LeftBehind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each of our first patches somebody else is faster; one of the labels becomes theirs."""
    await cluster.served()
    plain_call, races = Api.call, iter(range(4))

    async def call(self: Api, method: str, path: str, *rest: Any, **more: Any) -> Object:  # noqa: ANN401 - passed on
        if method == "PATCH" and self is not cluster.api:
            turn = next(races, None)
            if turn is not None:
                await cluster.writes("somebody", "gpu-1", annotations={"their/count": str(turn)})
            if turn == 0:
                await cluster.writes("somebody", "gpu-1", labels={"metax-tech.com/gpu.installed": "no"})
        return await plain_call(self, method, path, *rest, **more)

    monkeypatch.setattr(Api, "call", call)
    done = await cleaned(cluster)
    node = await cluster.get()
    assert done.problems == []
    assert done.nodes[0].labels == ["metax-tech.com/driver.ready"]
    assert node["metadata"]["labels"]["metax-tech.com/gpu.installed"] == "no"
    assert node["metadata"]["annotations"]["their/count"] == "3"
    assert not node["metadata"]["annotations"].keys() & ANNOTATIONS.keys()


async def test_pods_with_cards_files_and_names_that_kubelets_keep_are_told(cluster: LeftBehind) -> None:
    await cluster.served()
    await cluster.node("cpu-1")
    await cluster.writes("tangram-cordon", "gpu-1", annotations={"hami.io/device-cordon": "GPU-1"})
    given = {"hami.io/metax-sgpu-devices-allocated": "GPU-1,metax-sgpu,1024,10:;"}
    await cluster.pod("train", "default", "gpu-1", annotations=given)
    await cluster.pod("web", "default", "cpu-1")
    done = await cleaned(cluster, namespace="metax")
    left = {each.what: each for each in done.left}
    assert left["1 pod with cards"].names == ["default/train"]
    assert left["metax-tech.com/sgpu"].names == ["gpu-1"]
    assert left["cordons of cards on 1 node (hami.io/device-cordon)"].names == ["gpu-1"]
    assert "namespace metax" in left
    assert next(each for what, each in left.items() if what.startswith("files on")).names == ["gpu-1"]
    assert "hami.io/device-cordon" in (await cluster.get())["metadata"]["annotations"]
    # The node has nothing of ours any more, and still its kubelet's zero and its pod.
    again = {each.what: each for each in (await cleaned(cluster)).left}
    assert again["1 pod with cards"].names == ["default/train"]


async def test_a_kubelets_zero_of_an_amount_of_ours_goes_with_the_label_that_tells(
    cluster: LeftBehind,
) -> None:
    await cluster.node()
    await cluster.writes("tangram-gpu-device", "gpu-1", labels={"node.koordinator.sh/gpu-model": "C500"})
    await cluster.states("kubelet", "gpu-1", {"koordinator.sh/gpu-core": "0", "cpu": "4"})
    trial = await cleaned(cluster, dry=True)
    done = await cleaned(cluster)
    assert done.nodes == trial.nodes
    assert done.nodes[0].amounts == ["koordinator.sh/gpu-core"]
    assert (await cluster.get())["status"]["capacity"] == {"cpu": "4"}

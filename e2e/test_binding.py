"""What a Binding carries, when it is refused, and what the API server does not check about it.

Tangram writes its decision into the annotations of the Binding: if they could arrive without the node, or the node
without them, a node agent would have to guess.
"""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from e2e.scheduling_kit import NOBODY, Load, bind, cleaned, fleet_pod, poll_until, refusal, tampered
from testbed.api import MERGE_PATCH, Api, Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import is_bound, is_gone, is_running, pod
from testbed.options import Options

on_the_fleet = pytest.mark.xdist_group("fleet")
Unique = Callable[[str], str]
NODE = "kwok-00007"
OTHER = "kwok-00008"
MARK = Load(annotations={"example.com/cards": "0,3"}, labels={"example.com/pool": "blue"})
# One above what the API server accepts for all annotations of a pod together.
TOO_LARGE = {"example.com/cards": "x" * (256 * 1024 + 1)}
TOO_LONG = {"example.com/pool": "y" * 64}


async def states_until(api: Api, made: Object, last: str) -> list[Object]:
    """Every state of a pod after its creation, up to the one that carries the given label."""
    metadata = made["metadata"]
    seen: list[Object] = []
    async for _, state in api.watch(
        path_of("Pod"),
        fieldSelector=f"metadata.name={metadata['name']}",
        resourceVersion=metadata["resourceVersion"],
    ):
        seen.append(state)
        if last in state["metadata"].get("labels", {}):
            return seen
    raise AssertionError("the watch ended before the last change came")


def carries(seen: Object, load: Load = MARK) -> bool:
    metadata = seen["metadata"]
    return (
        load.annotations.items() <= metadata.get("annotations", {}).items()
        and load.labels.items() <= metadata.get("labels", {}).items()
    )


@on_the_fleet
@pytest.mark.smoke
async def test_annotations_and_labels_of_a_binding_arrive_in_the_same_change_as_the_node(
    fleet: Cluster, unique: Unique
) -> None:
    name = unique("atomic")
    async with cleaned(fleet, name):
        made = fleet_pod(name, scheduler=NOBODY)
        made["metadata"]["annotations"] = {"example.com/cards": "from the user", "example.com/kept": "yes"}
        created = await fleet.api.create(made)
        watching = asyncio.create_task(states_until(fleet.api, created, "last"))
        await bind(fleet.api, name, NODE, MARK)
        await fleet.until_pod(name, is_running)
        # A later change of our own, so that the watch is known to have shown everything before it.
        await fleet.api.patch(path_of("Pod", name), {"metadata": {"labels": {"last": "yes"}}})
        async with asyncio.timeout(60):
            seen = await watching
    assert any(is_bound(state) for state in seen)
    assert [is_bound(state) for state in seen] == [carries(state) for state in seen]
    assert seen[-1]["metadata"]["annotations"]["example.com/kept"] == "yes", "merged, not replaced"


@on_the_fleet
@pytest.mark.smoke
async def test_of_two_bindings_of_one_pod_exactly_one_wins_and_the_other_leaves_no_trace(
    fleet: Cluster, unique: Unique
) -> None:
    name = unique("race")
    loads = [
        Load(annotations={f"example.com/try-{number}": "me"}, labels={f"example.com/try-{number}": "me"})
        for number in range(6)
    ]
    async with cleaned(fleet, name):
        await fleet.api.create(fleet_pod(name, scheduler=NOBODY))
        outcomes = await asyncio.gather(
            *(bind(fleet.api, name, f"kwok-{10 + number:05d}", load) for number, load in enumerate(loads)),
            return_exceptions=True,
        )
        seen = await fleet.api.get(path_of("Pod", name))
    winners = [number for number, outcome in enumerate(outcomes) if not isinstance(outcome, BaseException)]
    assert len(winners) == 1
    assert {getattr(outcome, "status", 409) for outcome in outcomes} == {409}
    assert seen["spec"]["nodeName"] == f"kwok-{10 + winners[0]:05d}"
    assert [carries(seen, load) for load in loads] == [number == winners[0] for number in range(6)]


async def _bound_pod(api: Api, name: str) -> Load:
    await api.create(fleet_pod(name, on=NODE))
    await api.until(path_of("Pod", name), is_bound)
    return MARK


async def _gated_pod(api: Api, name: str) -> Load:
    gates = [{"name": "example.com/not-yet"}]
    await api.create(fleet_pod(name, scheduler=NOBODY, more={"schedulingGates": gates}))
    return MARK


async def _deleted_pod(api: Api, name: str) -> Load:
    made = fleet_pod(name, scheduler=NOBODY)
    # Without a node a pod is gone as soon as it is deleted, unless somebody holds it.
    made["metadata"]["finalizers"] = ["example.com/hold"]
    await api.create(made)
    await api.delete(path_of("Pod", name))
    return MARK


async def _recreated_pod(api: Api, name: str) -> Load:
    first = await api.create(fleet_pod(name, scheduler=NOBODY))
    await api.delete(path_of("Pod", name), grace=0)
    await api.until(path_of("Pod", name), is_gone)
    await api.create(fleet_pod(name, scheduler=NOBODY))
    return Load(MARK.annotations, MARK.labels, uid=first["metadata"]["uid"])


async def _changed_pod(api: Api, name: str) -> Load:
    first = await api.create(fleet_pod(name, scheduler=NOBODY))
    await api.patch(path_of("Pod", name) + "/status", {"status": {"message": "changed"}})
    return Load(MARK.annotations, MARK.labels, resource_version=first["metadata"]["resourceVersion"])


async def _missing_pod(_api: Api, _name: str) -> Load:
    return MARK


@on_the_fleet
@pytest.mark.parametrize(
    ("prepare", "status", "words"),
    [
        pytest.param(_bound_pod, 409, "is already assigned to node", id="already bound"),
        pytest.param(_gated_pod, 409, "has non-empty .spec.schedulingGates", id="gated"),
        pytest.param(_deleted_pod, 409, "is being deleted", id="being deleted"),
        pytest.param(_recreated_pod, 409, "Precondition failed: UID", id="another uid"),
        pytest.param(_changed_pod, 409, "Precondition failed: ResourceVersion", id="another version"),
        pytest.param(_missing_pod, 404, "not found", id="no such pod"),
    ],
)
async def test_a_refused_binding_brings_neither_node_nor_annotations_nor_labels(
    fleet: Cluster,
    unique: Unique,
    prepare: Callable[[Api, str], Awaitable[Load]],
    status: int,
    words: str,
) -> None:
    name = unique("refused")
    path = path_of("Pod", name)
    async with cleaned(fleet, name):
        load = await prepare(fleet.api, name)
        refused = await refusal(bind(fleet.api, name, OTHER, load))
        assert (refused.status, words in refused.message) == (status, True), refused.message
        if status == 404:
            return
        seen = await fleet.api.get(path)
        assert seen["spec"].get("nodeName") != OTHER
        assert not tampered(seen)
        await fleet.api.patch(path, {"metadata": {"finalizers": None}})


@on_the_fleet
async def test_matching_uid_and_version_let_a_binding_through_even_to_a_node_that_does_not_exist(
    fleet: Cluster, unique: Unique
) -> None:
    name = unique("exact")
    async with cleaned(fleet, name):
        made = (await fleet.api.create(fleet_pod(name, scheduler=NOBODY)))["metadata"]
        load = Load(MARK.annotations, MARK.labels, made["uid"], made["resourceVersion"])
        await bind(fleet.api, name, "no-such-node", load)
        seen = await fleet.api.get(path_of("Pod", name))
        assert seen["spec"]["nodeName"] == "no-such-node"
        assert carries(seen)


@on_the_fleet
async def test_a_binding_in_dry_run_changes_nothing(fleet: Cluster, unique: Unique) -> None:
    name = unique("dry")
    async with cleaned(fleet, name):
        await fleet.api.create(fleet_pod(name, scheduler=NOBODY))
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "annotations": {"a": "b"}}}
        body["target"] = {"kind": "Node", "name": NODE}
        await fleet.api.call("POST", path_of("Pod", name) + "/binding", body, dryRun="All")
        seen = await fleet.api.get(path_of("Pod", name))
        assert not is_bound(seen)
        assert not tampered(seen)


@on_the_fleet
@pytest.mark.parametrize(
    ("load", "field"),
    [
        pytest.param(Load(annotations=TOO_LARGE), "metadata.annotations", id="annotations above 256 KiB"),
        pytest.param(Load(labels=TOO_LONG), "metadata.labels", id="label value of 64 characters"),
    ],
)
async def test_metadata_of_a_binding_is_not_validated_and_then_no_status_update_of_the_pod_succeeds(
    fleet: Cluster, unique: Unique, load: Load, field: str
) -> None:
    name, marker = unique("oversized"), unique("ordinary")
    path = path_of("Pod", name)
    async with cleaned(fleet, name, marker):
        await fleet.api.create(fleet_pod(name, scheduler=NOBODY))
        await fleet.api.create(fleet_pod(marker, scheduler=NOBODY))
        await bind(fleet.api, name, NODE, load)
        await bind(fleet.api, marker, NODE)
        await fleet.until_pod(marker, is_running)
        refused = await refusal(fleet.api.patch(path + "/status", {"status": {"phase": "Running"}}))
        seen = await fleet.api.get(path)
    assert (refused.status, refused.reason) == (422, "Invalid")
    assert field in refused.message
    assert is_bound(seen)
    assert carries(seen, load)
    assert seen["status"]["phase"] == "Pending", "whoever plays the kubelet cannot say that the pod runs"


def witnessed(name: str) -> Object:
    """A pod whose container keeps a file on the node for as long as it runs."""
    made = pod(name, scheduler=NOBODY)
    main = made["spec"]["containers"][0]
    file = f"/witness/{name}"
    main["command"][-1] = (
        f"trap 'rm {file}; exit 0' TERM; echo up > {file}; while :; do sleep 60 & wait $!; done"
    )
    main["volumeMounts"] = [{"name": "witness", "mountPath": "/witness"}]
    made["spec"]["volumes"] = [
        {"name": "witness", "hostPath": {"path": "/var/lib/witness", "type": "DirectoryOrCreate"}}
    ]
    made["spec"]["terminationGracePeriodSeconds"] = 30
    return made


async def test_a_pod_bound_with_oversized_annotations_runs_but_shows_pending_and_a_normal_delete_hangs(
    cluster: Cluster, unique: Unique
) -> None:
    name, marker = unique("oversized"), unique("ordinary")
    path = path_of("Pod", name)
    file = cluster.room(cluster.nodes[0]).lib / "witness" / name

    async def runs() -> bool:
        return await asyncio.to_thread(file.exists)

    async def has_ended() -> bool:
        return not await runs()

    async def another_pod_comes_and_goes() -> None:
        """The kubelet has had its chance to report on the first one too."""
        await cluster.api.create(pod(marker, node="n1"))
        await cluster.until_pod(marker, is_running)
        await cluster.api.delete(path_of("Pod", marker))
        await cluster.until_pod(marker, is_gone)

    await cluster.api.create(witnessed(name))
    await bind(cluster.api, name, "n1", Load(annotations=TOO_LARGE))
    await poll_until(runs, what="the container's start")
    await another_pod_comes_and_goes()
    assert (await cluster.api.get(path))["status"]["phase"] == "Pending"

    await cluster.api.delete(path)
    await poll_until(has_ended, what="the container's end")
    await another_pod_comes_and_goes()
    assert (await cluster.api.get(path))["metadata"]["deletionTimestamp"], "ended, and still there"
    await cluster.api.delete(path, grace=0)
    await cluster.until_pod(name, is_gone)


@on_the_fleet
async def test_annotations_of_a_pod_can_be_changed_through_its_status_but_not_through_other_subresources(
    fleet: Cluster, unique: Unique
) -> None:
    name = unique("doors")
    path = path_of("Pod", name)
    async with cleaned(fleet, name):
        await fleet.api.create(fleet_pod(name, cpu="1", scheduler=NOBODY))
        for part in ("status", "ephemeralcontainers", "resize"):
            change = {"metadata": {"annotations": {f"example.com/{part}": "changed"}}}
            await fleet.api.patch(f"{path}/{part}", change, content=MERGE_PATCH)
        seen = await fleet.api.get(path)
    assert {key for key in seen["metadata"]["annotations"] if key.startswith("example.com/")} == {
        "example.com/status"
    }


async def test_without_the_gate_for_topology_labels_a_binding_brings_annotations_only(
    unique: Unique,
) -> None:
    """A cluster of its own: the gate is read once, when the API server starts."""
    name = unique("gate")
    gates = {"PodTopologyLabelsAdmission": False}
    async with Cluster.open(Options(nodes=0, feature_gates=gates)) as older:
        await older.api.create(fleet_pod(name, scheduler=NOBODY))
        await bind(older.api, name, "any-node", MARK)
        seen = await older.api.get(path_of("Pod", name))
    assert seen["spec"]["nodeName"] == "any-node"
    assert seen["metadata"]["annotations"] == dict(MARK.annotations)
    assert not seen["metadata"].get("labels")

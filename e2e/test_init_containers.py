"""Init containers and sidecars with devices: which ids they get, and what a plugin can learn about them at PreStart."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from e2e.restarts_kit import (
    NODE,
    PATIENCE,
    calls_of,
    checkpointed,
    container_status,
    end_container,
    ids_of,
    plugin_of,
    pod_resources,
    quiet,
    restarted,
    run_pods,
    until_offered,
)
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.manifests import container, is_over, pod, sidecar
from testbed.plugin_behaviours import Script
from testbed.plugin_records import Call

Ids = tuple[str, ...]


@pytest.fixture
def resource(unique: Callable[[str], str]) -> str:
    return f"tangram.dev/{unique('init')}"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a plugin could know during one PreStart."""

    ids: Ids
    pod_resources: dict[str, Ids]
    """Ids by container, of all pods."""
    checkpoint: dict[tuple[str, str], Ids]
    """Ids by pod UID and container."""


def watching(cluster: Cluster, resource: str, seen: list[Seen]) -> Script:
    """Looks at both of the kubelet's records before it lets a container start."""

    async def look(call: Call) -> None:
        (ids,) = ids_of([call])
        held = await pod_resources(cluster, resource)
        noted = checkpointed(cluster, resource)
        seen.append(
            Seen(
                ids,
                {one.container: tuple(sorted(one.ids)) for one in held},
                {(one.pod_uid, one.container): tuple(sorted(one.ids)) for one in noted},
            )
        )

    return Script(allocate=quiet().allocate, pre_start=look)


async def starts_of(cluster: Cluster, resource: str, made: Object) -> tuple[str, list[Seen]]:
    """Run a pod; its UID and what was seen at each PreStart."""
    seen: list[Seen] = []
    ids = ["a", "b", "c", "d"]
    async with plugin_of(cluster, resource, ids, script=watching(cluster, resource, seen)) as plugin:
        await until_offered(cluster, plugin)
        (running,) = await run_pods(cluster, made)
    return running["metadata"]["uid"], seen


@pytest.mark.smoke
async def test_pod_resources_never_names_an_init_container_and_its_pre_start_looks_like_the_sidecars(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    limits = {resource: 1}
    inits = [container("init", script="true", limits=limits), sidecar(container("side", limits=limits))]
    made = pod(unique("both"), container(limits=limits), inits=inits, node=NODE)
    uid, (init, side, main) = await starts_of(cluster, resource, made)
    assert init.ids == side.ids
    assert main.ids != side.ids
    for seen in (init, side, main):
        assert seen.pod_resources == {"side": side.ids, "main": main.ids}
        assert seen.checkpoint == {(uid, "init"): init.ids, (uid, "side"): side.ids, (uid, "main"): main.ids}


async def test_the_ids_of_several_init_containers_go_to_the_containers_after_them(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    inits = [
        sidecar(container("side", limits={resource: 1})),
        container("small", script="true", limits={resource: 1}),
        container("large", script="true", limits={resource: 2}),
    ]
    made = pod(unique("reused"), container(limits={resource: 1}), inits=inits, node=NODE)
    uid, (side, small, large, main) = await starts_of(cluster, resource, made)
    assert not set(side.ids) & set(large.ids)
    assert set(small.ids) < set(large.ids)
    assert set(main.ids) < set(large.ids)
    assert small.pod_resources == main.pod_resources == {"side": side.ids, "main": main.ids}
    # What an init container had stays noted after its end, the spare id included.
    assert main.checkpoint[uid, "large"] == large.ids


async def test_ids_only_an_init_container_had_stay_taken_as_long_as_the_pod_runs(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    init = container("init", script="true", limits={resource: 2})
    async with plugin_of(cluster, resource, ["a", "b"]) as plugin:
        await until_offered(cluster, plugin)
        await run_pods(
            cluster, pod(unique("holder"), container(limits={resource: 1}), inits=[init], node=NODE)
        )
        second = unique("second")
        await cluster.api.create(pod(second, container(limits={resource: 1}), node=NODE))
        refused = await cluster.until_pod(second, is_over, within=PATIENCE)
        assert refused["status"]["reason"] == "UnexpectedAdmissionError"
        assert "Requested: 1, Available: 0" in refused["status"]["message"]
        assert len(calls_of(plugin, "Allocate")) == 2


async def test_every_start_of_an_init_container_and_of_a_sidecar_is_announced_with_the_same_ids(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    name = unique("again")
    second_time_lucky = container(
        "init", script="[ -e /kept/mark ] || { touch /kept/mark; exit 1; }", limits={resource: 1}
    )
    second_time_lucky["volumeMounts"] = [{"name": "kept", "mountPath": "/kept"}]
    side = sidecar(container("side", limits={resource: 1}))
    async with plugin_of(cluster, resource, ["a", "b", "c"]) as plugin:
        await until_offered(cluster, plugin)
        (running,) = await run_pods(
            cluster,
            pod(
                name,
                inits=[side, second_time_lucky],
                node=NODE,
                restartPolicy="OnFailure",
                volumes=[{"name": "kept", "emptyDir": {"medium": ""}}],
            ),
        )
        assert container_status(running, "init")["restartCount"] == 1
        await end_container(cluster, running, "side")
        await cluster.until_pod(name, restarted(1, "side"), within=PATIENCE)
        sides, inits = ids_of(calls_of(plugin, "Allocate"))
        assert sides != inits
        assert ids_of(calls_of(plugin, "PreStartContainer")) == [sides, inits, inits, sides]

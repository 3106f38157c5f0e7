"""Whole machines over the embedded API server: pods come, are given cards by the real agent, run, end and go."""

from __future__ import annotations

import asyncio
import json

import pytest

from builders.machines import (
    ALLOCATED,
    GPU,
    NO_CARDS,
    SGPU,
    TWO_SLICED,
    TWO_WHOLE,
    Fleet,
    container,
    machines_of,
    pod_on,
    state_of,
    waits_with,
)
from builders.waiting import LIMIT_S, until
from tangram.kube.errors import ApiError
from tangram.kube.objects import Object
from tangram.wire.koordinator.names import DEVICE_ALLOCATED

DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
SLICE = {SGPU: 1, "metax-tech.com/vcore": 30, "metax-tech.com/vmemory": 8}


def slice_of(uuid: str, mib: int = 8192, percent: int = 30) -> dict[str, str]:
    return {ALLOCATED: json.dumps([[{"uuid": uuid, "compute": percent, "vRam": mib}]])}


async def test_a_container_runs_on_its_card_and_tells_what_it_was_given() -> None:
    async with machines_of(TWO_WHOLE) as fleet:
        await fleet.submit(pod_on("gpu", container("sh", "-c", "ls /dev/dri; sleep 60", limits={GPU: 1})))
        seen = await fleet.until_phase("pod", "Running")
        machine = fleet.machine("gpu")
        assert machine.world is not None
        (unit,) = seen["status"]["containerStatuses"][0]["allocatedResourcesStatus"][0]["resources"]
        used = [each for each in machine.world.devices() if machine.world.figures(each.uuid).processes]
        assert [str(each.uuid) for each in used] == [unit["resourceID"]]
        log = await fleet.machines.log_of("default", "pod")
        assert f"card {used[0].index}: MXC500, {unit['resourceID']}, whole, 64 GiB" in log
        assert "device nodes: /dev/mxcd" in log
        assert log.rstrip().split("\n")[-2:] == [f"card{used[0].index + 1}", f"renderD{used[0].index + 128}"]
        await fleet.delete("pod")
        await fleet.until_gone("pod")
        assert not any(machine.world.figures(each.uuid).processes for each in machine.world.devices())
        reasons = await fleet.until_events("pod", "Pulled", "Created", "Started", "Killing")
        assert reasons["Pulled"] == 'Container image "busybox:1" already present on machine'
        assert reasons["Killing"] == "Stopping container c"


async def test_a_slice_is_made_used_and_taken_back() -> None:
    async with machines_of(TWO_SLICED) as fleet:
        machine = fleet.machine("gpu")
        assert machine.world is not None
        card = machine.world.devices()[1].uuid
        await fleet.submit(pod_on("gpu", container(limits=SLICE), annotations=slice_of(str(card))))
        await fleet.until_phase("pod", "Running")
        (made,) = machine.world.slices(card)
        assert (made.busy, made.cores) == (True, 30)
        log = await fleet.machines.log_of("default", "pod")
        assert f"card 1: MXC500, {card}, slice 0: 8 GiB of memory, 30 % of compute" in log
        assert "METAX_SGPUS=" in log
        await fleet.delete("pod")
        await fleet.until_gone("pod")
        world = machine.world
        await until(lambda: not world.slices(card))


async def test_a_pod_without_an_allocation_waits_and_says_why() -> None:
    async with machines_of(TWO_SLICED) as fleet:
        await fleet.submit(pod_on("gpu", container(limits=SLICE)))
        seen = await fleet.until("pod", waits_with("CreateContainerConfigError"))
        message = state_of(seen)["waiting"]["message"]
        assert message.startswith(
            "device plugin PreStartContainer rpc failed with err: rpc error: code = FailedPrecondition desc = "
        )
        assert seen["status"]["phase"] == "Pending"
        # Any change of the pod makes the kubelet try again at once, without its ten seconds.
        machine = fleet.machine("gpu")
        assert machine.world is not None
        given = slice_of(str(machine.world.devices()[0].uuid))
        await fleet.api.merge("/api/v1/namespaces/default/pods/pod", {"metadata": {"annotations": given}})
        await fleet.until_phase("pod", "Running")


async def test_moore_threads_slices_are_made_by_the_runtime_of_the_container() -> None:
    node = {"name": "moore", "product": "S4000", "cards": 1}
    async with machines_of(node) as fleet:
        machine = fleet.machine("moore")
        assert machine.world is not None
        card = machine.world.devices()[0].uuid
        given = {
            "hami.io/vgpu-node": "moore",
            "hami.io/mthreads-vgpu-devices-allocated": f"{card},Mthreads,8192,4:;",
        }
        limits = {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-core": 4, "mthreads.com/sgpu-memory": 16}
        await fleet.submit(pod_on("moore", container(limits=limits), annotations=given))
        await fleet.until_phase("pod", "Running")
        (made,) = machine.world.slices(card)
        assert made.cores == 4
        log = await fleet.machines.log_of("default", "pod")
        assert f"card 0: MTT S4000, {card}, slice 0: 8 GiB of memory, 4 of 16 shares of compute" in log
        assert "MTHREADS_VISIBLE_DEVICES=0" in log
        await fleet.delete("pod")
        await fleet.until_gone("pod")
        assert not machine.world.slices(card)


@pytest.mark.parametrize(
    ("limits", "reason", "words"),
    [
        pytest.param(
            {GPU: 3},
            "UnexpectedAdmissionError",
            "Allocate failed due to requested number of devices unavailable for metax-tech.com/gpu. "
            "Requested: 3, Available: 2, which is unexpected",
            id="too many cards",
        ),
        pytest.param(
            {"cpu": "100"},
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 100000, used: 0, capacity: 64000",
            id="too much of the host",
        ),
    ],
)
async def test_a_pod_bound_to_a_node_that_cannot_serve_it_is_ended_for_good(
    limits: dict[str, object], reason: str, words: str
) -> None:
    async with machines_of(TWO_WHOLE) as fleet:
        await fleet.submit(pod_on("gpu", container(limits=limits), restartPolicy="Always"))
        seen = await fleet.until_phase("pod", "Failed")
        assert (seen["status"]["reason"], seen["status"]["message"]) == (reason, f"Pod was rejected: {words}")
        assert not seen["status"].get("containerStatuses")
        # What it was given until then is free at once.
        await fleet.submit(pod_on("gpu", container(limits={GPU: 2}), name="next"))
        await fleet.until_phase("next", "Running")
        await fleet.delete("pod")
        await fleet.until_gone("pod")


async def test_a_resource_that_the_node_does_not_name_is_dropped_and_the_pod_runs() -> None:
    async with machines_of(NO_CARDS) as fleet:
        await fleet.submit(pod_on("cpu", container("echo", "hello", limits={GPU: 1})))
        await fleet.until_phase("pod", "Succeeded")
        log = await fleet.machines.log_of("default", "pod")
        assert log.splitlines()[-2:] == ["[sandbox] no card was given to it", "hello"]


async def test_init_containers_run_in_order_and_their_units_go_to_the_containers_after_them() -> None:
    async with machines_of(TWO_WHOLE) as fleet:
        inits = [
            container("echo", "one", name="first", limits={GPU: 2}),
            container(name="beside", restartPolicy="Always"),
            container("echo", "two", name="second", limits={GPU: 1}),
        ]
        await fleet.submit(pod_on("gpu", container(limits={GPU: 2}), inits=inits))
        seen = await fleet.until_phase("pod", "Running")
        assert state_of(seen, "first")["terminated"]["exitCode"] == 0
        assert "running" in state_of(seen, "beside")
        notes = fleet.machine("gpu").devices.book.all()
        held = {each.container: set(each.ids) for each in notes}
        assert held["first"] == held["c"]
        assert held["second"] < held["first"]
        assert "allocatedResourcesStatus" not in seen["status"]["initContainerStatuses"][0]


async def test_a_sidecar_ends_when_the_pod_is_complete() -> None:
    async with machines_of(NO_CARDS) as fleet:
        beside = container(name="beside", restartPolicy="Always")
        await fleet.submit(pod_on("cpu", container("sleep", "0.1"), inits=[beside]))
        seen = await fleet.until_phase("pod", "Succeeded")
        assert state_of(seen, "beside")["terminated"]["exitCode"] == 143


@pytest.mark.parametrize(
    ("policy", "command", "phase", "restarts"),
    [
        pytest.param("Never", "exit 3", "Failed", 0, id="never again"),
        pytest.param("OnFailure", "exit 0", "Succeeded", 0, id="a success"),
        pytest.param("OnFailure", "exit 3", "Running", 1, id="a failure"),
        pytest.param("Always", "exit 0", "Running", 1, id="whatever it was"),
    ],
)
async def test_what_becomes_of_a_container_that_ended(
    policy: str, command: str, phase: str, restarts: int
) -> None:
    async with machines_of(NO_CARDS) as fleet:
        await fleet.submit(pod_on("cpu", container("sh", "-c", command), restartPolicy=policy))

        def so(seen: Object) -> bool:
            status = seen["status"]
            statuses: list[Object] = status.get("containerStatuses") or [Object()]
            return (
                status.get("phase") == phase
                and statuses[0].get("restartCount") == restarts
                and "running" not in statuses[0].get("state", {})
            )

        seen = await fleet.until("pod", so)
        if restarts:
            waiting = state_of(seen)["waiting"]
            assert waiting["reason"] == "CrashLoopBackOff"
            uid = seen["metadata"]["uid"]
            assert waiting["message"] == f"back-off 10s restarting failed container=c pod=pod_default({uid})"
            told = await fleet.until_events("pod", "BackOff")
            assert told["BackOff"].startswith("Back-off restarting failed container c in pod")


async def test_annotations_direct_how_long_containers_run_and_how_they_end() -> None:
    async with machines_of(NO_CARDS) as fleet:
        notes = {"sandbox.tangram.dev/run-for": "10ms", "sandbox.tangram.dev/exit-code": "7"}
        await fleet.submit(pod_on("cpu", container("python", "train.py"), annotations=notes))
        seen = await fleet.until_phase("pod", "Failed")
        assert state_of(seen)["terminated"]["exitCode"] == 7
        bad = {"sandbox.tangram.dev/run-for": "soon"}
        await fleet.submit(pod_on("cpu", container(), name="bad", annotations=bad))
        seen = await fleet.until("bad", waits_with("CreateContainerConfigError"))
        assert "a duration is numbers with units" in state_of(seen)["waiting"]["message"]


async def test_variables_come_from_the_pod_and_from_config_maps_and_a_missing_one_only_delays() -> None:
    async with machines_of(NO_CARDS) as fleet:
        env = [
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "BOTH", "value": "$(NAME) on $(NODE)"},
            {"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "paint", "key": "colour"}}},
        ]
        script = container("sh", "-c", 'echo "$BOTH: $COLOUR"', env=env)
        await fleet.submit(pod_on("cpu", script))
        seen = await fleet.until("pod", waits_with("CreateContainerConfigError"))
        assert state_of(seen)["waiting"]["message"] == 'configmap "paint" not found'
        await fleet.api.create(
            "/api/v1/namespaces/default/configmaps",
            {"metadata": {"name": "paint"}, "data": {"colour": "red"}},
        )
        await fleet.api.merge("/api/v1/namespaces/default/pods/pod", {"metadata": {"labels": {"a": "b"}}})
        await fleet.until_phase("pod", "Succeeded")
        assert (await fleet.machines.log_of("default", "pod")).endswith("pod on cpu: red\n")


async def test_a_pod_deleted_by_force_is_gone_at_once_and_so_is_what_it_held() -> None:
    async with machines_of(TWO_WHOLE) as fleet:
        await fleet.submit(pod_on("gpu", container(limits={GPU: 2})))
        await fleet.until_phase("pod", "Running")
        await fleet.delete("pod", grace=0)
        await fleet.submit(pod_on("gpu", container(limits={GPU: 2}), name="pod"))
        await fleet.until_phase("pod", "Running")


async def test_a_card_that_fails_leaves_allocatable_and_shows_in_the_status_of_its_pod() -> None:
    async with machines_of(TWO_WHOLE) as fleet:
        machine = fleet.machine("gpu")
        await fleet.submit(pod_on("gpu", container(limits={GPU: 2})))
        await fleet.until_phase("pod", "Running")
        await machine.order("fail GPU-1")

        seen = await fleet.until("pod", lambda one: '"Unhealthy"' in json.dumps(one["status"]))
        assert "running" in state_of(seen)
        await fleet.until_allocatable("gpu", GPU, 1)
        node = await fleet.api.get("/api/v1/nodes/gpu")
        assert node["status"]["capacity"][GPU] == "2"


async def test_containers_outlive_a_restart_of_their_kubelet_and_it_finds_them() -> None:
    async with machines_of(TWO_WHOLE) as fleet:
        machine = fleet.machine("gpu")
        first = container("true", name="first", limits={GPU: 1})
        await fleet.submit(pod_on("gpu", container(limits={GPU: 1}), inits=[first]))
        await fleet.submit(pod_on("gpu", container(limits={GPU: 1}), name="other"))
        before = [await fleet.until_phase(name, "Running") for name in ("pod", "other")]
        await machine.stop_kubelet()
        # One goes while there is no kubelet: its container is ended by the next one.
        await fleet.delete("other", grace=0)
        await machine.start_kubelet()
        await machine.ready()
        await fleet.submit(pod_on("gpu", container(limits={GPU: 1}), name="late"))
        await fleet.until_phase("late", "Running")
        after = await fleet.pod("pod")
        assert after is not None
        assert after["status"] == before[0]["status"]
        await until(lambda: not machine.containers.running(before[1]["metadata"]["uid"]))


async def test_an_agent_that_restarts_costs_running_pods_nothing() -> None:
    async with machines_of(TWO_WHOLE) as fleet:
        machine = fleet.machine("gpu")
        await fleet.submit(pod_on("gpu", container(limits={GPU: 1})))
        before = await fleet.until_phase("pod", "Running")
        await machine.agent.kill()
        await fleet.until_allocatable("gpu", GPU, 0)
        machine.agent.start()
        await fleet.until_allocatable("gpu", GPU, 2)
        after = await fleet.pod("pod")
        assert after is not None
        assert after["status"] == before["status"]


async def test_a_pod_that_does_not_tell_koord_scheduler_what_it_holds_is_made_to_by_its_agent() -> None:
    async with machines_of(TWO_SLICED) as fleet:
        (device,) = [each for each in await fleet.api.list_all(DEVICES) if each["metadata"]["name"] == "gpu"]
        card = device["spec"]["devices"][1]
        await fleet.submit(pod_on("gpu", container(limits=SLICE), annotations=slice_of(card["id"])))
        seen = await fleet.until("pod", lambda pod: DEVICE_ALLOCATED in pod["metadata"]["annotations"])
        (told,) = json.loads(seen["metadata"]["annotations"][DEVICE_ALLOCATED])["gpu"]
        assert (told["minor"], told["id"]) == (1, card["id"])
        assert told["resources"] == {
            "koordinator.sh/gpu-core": "30",
            "koordinator.sh/gpu-memory": "8Gi",
            "koordinator.sh/gpu-memory-ratio": "13",
        }


async def test_many_machines_sleep_and_look_as_if_they_were_awake() -> None:
    several = {**TWO_SLICED, "count": 3}
    async with machines_of(several, most_awake=2) as asleep, machines_of(several) as awake:
        assert asleep.machines.awake == []
        sleeping = [as_people_see(node) for node in await asleep.nodes()]
        # Agents and labellers write when they have looked.
        async with asyncio.timeout(LIMIT_S):
            while [as_people_see(node) for node in await awake.nodes()] != sleeping:  # noqa: ASYNC110 - asked, not told
                await asyncio.sleep(0.01)
        assert len(awake.machines.awake) == len(sleeping) == 3
        assert await devices_of(asleep) == await devices_of(awake) != []


async def devices_of(fleet: Fleet) -> list[object]:
    """What every `Device` says of its node's cards, but since when."""
    return [
        (
            each["metadata"]["name"],
            each["metadata"]["labels"],
            [{**entry, "conditions": len(entry["conditions"])} for entry in each["spec"]["devices"]],
        )
        for each in await fleet.api.list_all(DEVICES)
    ]


def as_people_see(node: Object) -> tuple[object, ...]:
    """Of a node: what its agents and its kubelet say."""
    metadata, status = node["metadata"], node["status"]
    return (
        metadata["name"],
        metadata["labels"],
        metadata["annotations"],
        status["capacity"],
        status["allocatable"],
    )


async def test_a_machine_wakes_for_the_first_pod_that_asks_for_cards_and_for_no_other() -> None:
    async with machines_of({**TWO_WHOLE, "count": 3}, most_awake=1) as fleet:
        await fleet.submit(pod_on("gpu-0", container("true"), name="plain"))
        await fleet.until_phase("plain", "Succeeded")
        assert fleet.machines.awake == []
        await fleet.submit(pod_on("gpu-1", container(limits={GPU: 1})))
        await fleet.until_phase("pod", "Running")
        assert [str(machine.name) for machine in fleet.machines.awake] == ["gpu-1"]
        node = await fleet.api.get("/api/v1/nodes/gpu-1")
        assert node["status"]["allocatable"][GPU] == "2"


async def test_a_sandbox_that_starts_anew_finds_its_pods_and_starts_their_containers_again() -> None:
    async with machines_of(NO_CARDS) as fleet:
        await fleet.submit(pod_on("cpu", restartPolicy="Always"))
        await fleet.submit(pod_on("cpu", name="once"))
        for name in ("pod", "once"):
            await fleet.until_phase(name, "Running")
        machine = fleet.machine("cpu")
        # The machine loses its power: nobody knows of containers any more but the API server.
        await machine.stop_kubelet()
        for name in ("pod", "once"):
            seen = await fleet.pod(name)
            assert seen is not None
            await machine.containers.stop(seen["metadata"]["uid"])
            machine.containers.forget(seen["metadata"]["uid"])
        await machine.start_kubelet()
        failed = await fleet.until_phase("once", "Failed")
        assert state_of(failed)["terminated"]["exitCode"] == 255
        again = await fleet.until(
            "pod", lambda one: one["status"]["containerStatuses"][0]["restartCount"] == 1
        )
        assert again["status"]["phase"] == "Running"


async def test_a_name_that_no_machine_has_is_answered_with_a_sentence() -> None:
    async with machines_of(NO_CARDS) as fleet:
        with pytest.raises(KeyError, match="the nodes are cpu; name one of these"):
            fleet.machine("gpu")
        with pytest.raises(ApiError):
            await fleet.api.get("/api/v1/nodes/gpu")

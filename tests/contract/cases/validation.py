"""What an object may look like: unknown fields, impossible values, names, labels, and what may change afterwards."""

from __future__ import annotations

from typing import Any

from contract.case import case
from contract.normal import faults, pick, places, verdict
from contract.things import config, deployment, job, labelled, node, pod, secret, thing
from contract.world import Object, World

PODS = "pods"


def _odd() -> Object:
    made = pod()
    made["spec"]["contaienrs"] = []
    made["spec"]["containers"][0]["imag"] = "x"
    made["odd"] = 1
    return made


@case
async def unknown_fields_are_dropped_with_a_warning(world: World) -> object:
    answer = await world.post(world.at(PODS), _odd(), fieldValidation="Warn")
    return [answer.code, answer.warnings, "odd" in answer.body]


@case
async def unknown_fields_are_dropped_with_a_warning_unless_said_otherwise(world: World) -> object:
    answer = await world.post(world.at(PODS), _odd())
    return [answer.code, answer.warnings]


@case
async def unknown_fields_are_dropped_in_silence_on_request(world: World) -> object:
    answer = await world.post(world.at(PODS), _odd(), fieldValidation="Ignore")
    return [answer.code, answer.warnings, sorted(answer["spec"])]


@case
async def unknown_fields_are_refused_on_request(world: World) -> object:
    return await world.post(world.at(PODS), _odd(), fieldValidation="Strict")


@case
async def duplicate_fields_are_refused_on_request(world: World) -> object:
    text = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"1","a":"2"}}'
    return [
        await world.ask("POST", world.at("configmaps"), text, fieldValidation="Strict"),
        pick(await world.ask("POST", world.at("configmaps"), text), "data"),
    ]


@case
async def duplicate_fields_in_yaml_are_refused_on_request(world: World) -> object:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: '1'\n  a: '2'\n"
    answer = await world.ask(
        "POST", world.at("configmaps"), text, content="application/yaml", fieldValidation="Strict"
    )
    return verdict(answer)


@case
async def unknown_fields_in_a_patch_are_refused_on_request(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    return [
        places(await world.merge(world.at("configmaps/a"), {"odd": 1}, fieldValidation="Strict")),
        (await world.merge(world.at("configmaps/a"), {"odd": 1}, fieldValidation="Warn")).warnings,
        places(await world.strategic(world.at("configmaps/a"), {"odd": 1}, fieldValidation="Strict")),
        places(
            await world.json_patch(
                world.at("configmaps/a"), {"op": "add", "path": "/odd", "value": 1}, fieldValidation="Strict"
            )
        ),
    ]


@case
async def unknown_fields_in_a_replacement_are_refused_on_request(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    return await world.put(world.at("configmaps/a"), config() | {"odd": 1}, fieldValidation="Strict")


@case
async def an_unknown_way_of_validation_is_refused(world: World) -> object:
    return await world.post(world.at("configmaps"), config(), fieldValidation="Odd")


@case
async def a_value_of_a_wrong_type_is_a_bad_request(world: World) -> object:
    return [
        verdict(await world.post(world.at("configmaps"), config() | {"data": {"a": 1}})),
        verdict(await world.post(world.at("configmaps"), config() | {"data": ["a"]})),
        verdict(await world.post(world.at("deployments", "apps/v1"), deployment(replicas="x"))),  # pyright: ignore[reportArgumentType] - the wrong type is the point
        verdict(await world.post(world.at(PODS), pod(spec={"containers": {"name": "c"}}))),
        verdict(await world.post(world.at(PODS), pod(spec={"hostNetwork": "yes"}))),
    ]


@case
async def a_quantity_that_is_none_is_a_bad_request(world: World) -> object:
    wanted = pod(spec={"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "much"}}}]})
    return verdict(await world.post(world.at(PODS), wanted))


@case
async def names_follow_the_rules_of_domains(world: World) -> object:
    return {
        name: faults(await world.post(world.at("configmaps"), config(name)))
        for name in ("Upper", "under_score", "-dash", "dash-", "dot.", "a" * 254, "a..b", "space here")
    }


@case
async def a_service_has_a_shorter_name(world: World) -> object:
    ports = {"ports": [{"port": 80}]}
    return [
        await world.post(world.at("services"), thing("Service", name, spec=ports))
        for name in ("1-starts-with-a-digit", "has.dot", "a" * 64)
    ]


@case
async def labels_follow_their_rules(world: World) -> object:
    broken = {
        "long": {"a": "x" * 64},
        "odd value": {"a": "what is this"},
        "odd key": {"a b": "x"},
        "two slashes": {"a/b/c": "x"},
        "long prefix": {f"{'p' * 254}/a": "x"},
        "upper prefix": {"EXAMPLE.com/a": "x"},
        "long key": {"k" * 64: "x"},
    }
    return {
        why: faults(await world.post(world.at("configmaps"), labelled(config(), **labels)))
        for why, labels in broken.items()
    }


@case
async def annotations_are_free_but_not_endless(world: World) -> object:
    large = config()
    large["metadata"]["annotations"] = {"a": "x" * (257 * 1024)}
    wrong = config()
    wrong["metadata"]["annotations"] = {"a b": "x"}
    return [
        await world.post(world.at("configmaps"), large),
        await world.post(world.at("configmaps"), wrong),
    ]


@case
async def labels_are_text(world: World) -> object:
    wrong = config()
    wrong["metadata"]["labels"] = {"a": True}
    return verdict(await world.post(world.at("configmaps"), wrong))


@case
async def finalizers_are_qualified_names(world: World) -> object:
    wrong = config()
    wrong["metadata"]["finalizers"] = ["just-a-word", "not ok/at all"]
    return await world.post(world.at("configmaps"), wrong)


@case
async def owners_are_complete(world: World) -> object:
    wrong = config()
    wrong["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": ""}]
    two = config()
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "u", "controller": True}
    two["metadata"]["ownerReferences"] = [owner, owner | {"uid": "v", "name": "c"}]
    return [
        faults(await world.post(world.at("configmaps"), wrong)),
        places(await world.post(world.at("configmaps"), two)),
    ]


@case
async def a_pod_needs_containers(world: World) -> object:
    return [
        await world.post(world.at(PODS), pod(spec={"containers": []})),
        await world.post(
            world.at(PODS), {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}
        ),
    ]


@case
async def every_fault_of_a_pod_is_told_at_once(world: World) -> object:
    containers: list[Any] = [
        {"name": "Bad", "image": ""},
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        {"name": "c", "image": "i", "ports": [{"containerPort": 70000}]},
    ]
    return await world.post(
        world.at(PODS), pod(spec={"containers": containers, "restartPolicy": "Sometimes", "dnsPolicy": "Odd"})
    )


@case
async def extended_resources_are_whole_and_not_overcommitted(world: World) -> object:
    def asking(resources: Object) -> Object:
        return pod(spec={"containers": [{"name": "c", "image": "i", "resources": resources}]})

    return [
        await world.post(world.at(PODS), asking({"limits": {"example.com/card": "1500m"}})),
        await world.post(
            world.at(PODS),
            asking({"limits": {"example.com/card": "2"}, "requests": {"example.com/card": "1"}}),
        ),
        await world.post(world.at(PODS), asking({"requests": {"example.com/card": "1"}})),
        await world.post(world.at(PODS), asking({"limits": {"card": "1"}})),
        await world.post(world.at(PODS), asking({"limits": {"cpu": "-1"}})),
    ]


@case
async def a_deployments_selector_must_take_its_own_pods(world: World) -> object:
    return [
        await world.post(
            world.at("deployments", "apps/v1"), deployment(selector={"matchLabels": {"app": "other"}})
        ),
        await world.post(world.at("deployments", "apps/v1"), deployment(selector={})),
    ]


@case
async def a_jobs_pods_never_restart_always(world: World) -> object:
    wanted = job()
    wanted["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    less = job()
    del less["spec"]["template"]["spec"]["restartPolicy"]
    return [
        await world.post(world.at("jobs", "batch/v1"), wanted),
        await world.post(world.at("jobs", "batch/v1"), less),
        await world.post(world.at("jobs", "batch/v1"), job(completions=-1, parallelism=-2)),
    ]


@case
async def a_jobs_template_may_not_change(world: World) -> object:
    await world.have(world.at("jobs", "batch/v1"), job())
    change = {"spec": {"completions": 5}}
    answer = await world.merge(world.at("jobs/a", "batch/v1"), change)
    return [
        answer.code,
        answer["reason"],
        [each["field"] for each in answer["details"]["causes"]],
        answer["details"]["causes"][0]["message"][-18:],
    ]


@case
async def most_of_a_pods_spec_may_not_change(world: World) -> object:
    await world.have(world.at(PODS), pod())
    path = world.at("pods/a")
    renamed = await world.merge(path, {"spec": {"hostname": "other"}})
    return [
        renamed.code,
        renamed["reason"],
        renamed["details"]["causes"][0]["reason"],
        renamed["details"]["causes"][0]["message"].partition("\n")[0],
        pick(
            await world.json_patch(path, {"op": "replace", "path": "/spec/containers/0/image", "value": "j"}),
            "spec.containers.0.image",
            "metadata.generation",
        ),
        pick(await world.merge(path, {"spec": {"activeDeadlineSeconds": 60}}), "spec.activeDeadlineSeconds"),
    ]


@case
async def a_pods_node_is_not_set_by_an_update(world: World) -> object:
    await world.have(world.at(PODS), pod())
    answer = await world.merge(world.at("pods/a"), {"spec": {"nodeName": "somewhere"}})
    return [answer.code, answer["reason"], answer["details"]["causes"][0]["field"]]


@case
async def a_pods_gates_are_only_taken_away(world: World) -> object:
    await world.have(world.at(PODS), pod(spec={"schedulingGates": [{"name": "example.com/wait"}]}))
    path = world.at("pods/a")
    more = [{"name": "example.com/wait"}, {"name": "example.com/more"}]
    added = await world.merge(path, {"spec": {"schedulingGates": more}})
    selecting = await world.merge(path, {"spec": {"nodeSelector": {"a": "b"}}})
    opened = await world.merge(path, {"spec": {"schedulingGates": None}})
    return [
        added.code,
        added["details"]["causes"][0]["field"],
        pick(selecting, "spec.nodeSelector"),
        pick(opened, "spec.schedulingGates", "status.conditions"),
    ]


@case
async def a_gated_pod_says_so(world: World) -> object:
    made = await world.post(world.at(PODS), pod(spec={"schedulingGates": [{"name": "example.com/wait"}]}))
    return pick(made, "spec.schedulingGates", "status")


@case
async def a_services_address_may_not_change(world: World) -> object:
    made = thing("Service", "a", spec={"clusterIP": "None", "ports": [{"port": 80}]})
    await world.have(world.at("services"), made)
    answer = await world.merge(world.at("services/a"), {"spec": {"clusterIP": None, "clusterIPs": None}})
    other = await world.merge(world.at("services/a"), {"spec": {"clusterIP": "10.0.0.77"}})
    return [verdict(answer), verdict(other)]


@case
async def a_secrets_type_may_not_change(world: World) -> object:
    await world.have(world.at("secrets"), secret())
    return await world.merge(world.at("secrets/a"), {"type": "other"})


@case
async def a_secret_of_a_known_type_has_what_belongs_in_it(world: World) -> object:
    wanted = thing("Secret", "a", type="kubernetes.io/tls", data={})
    return faults(await world.post(world.at("secrets"), wanted))


@case
async def a_nodes_taints_and_capacity_are_checked(world: World) -> object:
    taints = [{"key": "a", "effect": "Sometimes"}, {"key": "b c", "effect": "NoSchedule"}]
    return await world.post(world.top("nodes"), node(world) | {"spec": {"taints": taints}}, dryRun="All")


@case
async def a_priority_class_keeps_its_value(world: World) -> object:
    name = world.named("p")
    path = world.top("priorityclasses", "scheduling.k8s.io/v1")
    await world.have(path, thing("PriorityClass", name, "scheduling.k8s.io/v1", value=1))
    large = thing("PriorityClass", f"{name}2", "scheduling.k8s.io/v1", value=2_000_000_000)
    return [await world.merge(f"{path}/{name}", {"value": 2}), await world.post(path, large)]


@case
async def a_budget_says_one_number(world: World) -> object:
    both = thing("PodDisruptionBudget", "a", "policy/v1", spec={"minAvailable": 1, "maxUnavailable": 1})
    odd = thing("PodDisruptionBudget", "b", "policy/v1", spec={"minAvailable": "half"})
    return [
        places(await world.post(world.at("poddisruptionbudgets", "policy/v1"), both)),
        faults(await world.post(world.at("poddisruptionbudgets", "policy/v1"), odd)),
    ]


@case
async def config_map_keys_follow_their_rules(world: World) -> object:
    return [
        faults(await world.post(world.at("configmaps"), config(data={"a b": "1", "..": "2"}))),
        faults(await world.post(world.at("configmaps"), config() | {"binaryData": {"key": "aGk="}})),
    ]


@case
async def a_lease_says_how_long_it_lasts(world: World) -> object:
    version = "coordination.k8s.io/v1"
    wanted = thing("Lease", "a", version, spec={"leaseDurationSeconds": 0, "leaseTransitions": -1})
    return await world.post(world.at("leases", version), wanted)


@case
async def a_deployment_checks_how_it_rolls(world: World) -> object:
    return [
        await world.post(
            world.at("deployments", "apps/v1"),
            deployment(
                strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
            ),
        ),
        places(await world.post(world.at("deployments", "apps/v1"), deployment(strategy={"type": "Odd"}))),
        await world.post(
            world.at("deployments", "apps/v1"), deployment(minReadySeconds=700, progressDeadlineSeconds=600)
        ),
    ]


@case
async def an_object_may_not_be_larger_than_the_store(world: World) -> object:
    return await world.post(world.at("configmaps"), config(data={"a": "x" * (1024 * 1024 + 10)}))

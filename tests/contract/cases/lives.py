"""The life of plain objects: create, read, replace, delete, names made up, requests that change nothing."""

from __future__ import annotations

import re

from contract.case import case
from contract.normal import names, pick, verdict
from contract.things import config, deployment, job, labelled, node, pod, secret, thing
from contract.world import Answer, World


@case
async def a_config_map_is_created_and_read_back(world: World) -> object:
    made = await world.post(world.at("configmaps"), config(color="red"))
    read = await world.get(world.at("configmaps/a"))
    return [made, read, made.version == read.version]


@case
async def an_object_is_created_once(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    return await world.post(world.at("configmaps"), config())


@case
async def what_is_not_there_is_not_found(world: World) -> object:
    return [
        await world.get(world.at("configmaps/a")),
        await world.put(
            world.at("leases/a", "coordination.k8s.io/v1"), thing("Lease", "a", "coordination.k8s.io/v1")
        ),
        await world.put(world.at("configmaps/a"), config()),
        await world.merge(world.at("deployments/a", "apps/v1"), {}),
        await world.delete(world.at("pods/a")),
    ]


@case
async def an_object_needs_an_existing_namespace(world: World) -> object:
    return await world.post(f"/api/v1/namespaces/{world.named('none')}/configmaps", config())


@case
async def a_list_of_an_unknown_namespace_is_empty(world: World) -> object:
    return await world.get(f"/api/v1/namespaces/{world.named('none')}/pods")


@case
async def a_namespace_in_the_body_must_be_that_of_the_address(world: World) -> object:
    other = config()
    other["metadata"]["namespace"] = "default"
    return await world.post(world.at("configmaps"), other)


@case
async def a_namespace_in_the_body_is_not_needed(world: World) -> object:
    return pick(
        await world.post(world.at("secrets"), secret()), "metadata.namespace", "data", "stringData", "type"
    )


@case
async def a_replaced_object_keeps_its_identity(world: World) -> object:
    made = await world.have(world.at("configmaps"), config(color="red"))
    new = await world.put(world.at("configmaps/a"), config(data={"other": "one"}))
    return [
        new,
        new.uid == made.uid,
        new["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"],
        new.version != made.version,
    ]


@case
async def a_replacement_that_changes_nothing_makes_no_new_version(world: World) -> object:
    made = await world.have(world.at("configmaps"), config())
    body = made.body
    same = await world.put(world.at("configmaps/a"), body)
    return [same.code, same.version == made.version]


@case
async def a_replacement_of_another_name_is_a_bad_request(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    return await world.put(world.at("configmaps/a"), config("b"))


@case
async def a_replacement_of_another_version_is_a_conflict(world: World) -> object:
    made = await world.have(world.at("configmaps"), config())
    await world.must(world.merge(world.at("configmaps/a"), {"data": {"x": "y"}}))
    return await world.put(world.at("configmaps/a"), made.body)


@case
async def a_replacement_of_another_uid_is_a_conflict(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    other = config()
    other["metadata"]["uid"] = "0f6a2f24-0000-4000-8000-000000000000"
    return await world.put(world.at("configmaps/a"), other)


@case
async def a_replacement_with_a_version_of_something_gone_is_refused(world: World) -> object:
    made = await world.have(world.at("configmaps"), config())
    await world.must(world.delete(world.at("configmaps/a")))
    return await world.put(world.at("configmaps/a"), made.body)


@case
async def a_creation_must_not_name_a_version(world: World) -> object:
    wanted = config()
    wanted["metadata"]["resourceVersion"] = "5"
    return await world.post(world.at("configmaps"), wanted)


@case
async def what_the_server_writes_is_not_taken_from_the_client(world: World) -> object:
    wanted = config()
    wanted["metadata"] |= {
        "uid": "0f6a2f24-0000-4000-8000-000000000000",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "generation": 7,
        "selfLink": "/nowhere",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
    }
    made = await world.post(world.at("configmaps"), wanted)
    return [
        made,
        made.uid.startswith("0f6a2f24"),
        made["metadata"]["creationTimestamp"].startswith("2001"),
    ]


@case
async def a_name_is_made_up_from_its_beginning(world: World) -> object:
    wanted = config()
    wanted["metadata"] = {"generateName": "some-"}
    made = await world.post(world.at("configmaps"), wanted)
    name: str = made["metadata"]["name"]
    return {
        "code": made.code,
        "beginning": made["metadata"]["generateName"],
        "form": bool(re.fullmatch(r"some-[bcdfghjklmnpqrstvwxz2456789]{5}", name)),
    }


@case
async def a_long_beginning_of_a_name_is_cut(world: World) -> object:
    wanted = config()
    wanted["metadata"] = {"generateName": "a" * 70}
    made = await world.post(world.at("configmaps"), wanted)
    return [made.code, len(made["metadata"]["name"])]


@case
async def an_object_without_any_name_is_invalid(world: World) -> object:
    wanted = config()
    wanted["metadata"] = {}
    return await world.post(world.at("configmaps"), wanted)


@case
async def a_name_beats_its_beginning(world: World) -> object:
    wanted = config()
    wanted["metadata"]["generateName"] = "some-"
    return pick(await world.post(world.at("configmaps"), wanted), "metadata")


@case
async def a_dry_creation_leaves_nothing(world: World) -> object:
    made = await world.post(world.at("configmaps"), config(), dryRun="All")
    return [made, await world.get(world.at("configmaps/a"))]


@case
async def a_dry_change_leaves_the_old(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    changed = await world.merge(world.at("configmaps/a"), {"data": {"key": "other"}}, dryRun="All")
    return [pick(changed, "data"), pick(await world.get(world.at("configmaps/a")), "data")]


@case
async def a_dry_deletion_leaves_the_object(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    return [
        await world.delete(world.at("configmaps/a"), dryRun="All"),
        await world.delete(
            world.at("configmaps/a"), {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}
        ),
        pick(await world.get(world.at("configmaps/a")), "data"),
    ]


@case
async def a_dry_run_is_all_or_nothing(world: World) -> object:
    return await world.post(world.at("configmaps"), config(), dryRun="Some")


@case
async def a_dry_creation_of_what_exists_is_refused(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    return await world.post(world.at("configmaps"), config(), dryRun="All")


@case
async def a_pod_is_completed_with_its_defaults(world: World) -> object:
    return await world.post(world.at("pods"), pod())


@case
async def a_pods_requests_follow_its_limits(world: World) -> object:
    limits = {"cpu": "500m", "memory": "1Gi", "example.com/card": "2"}
    wanted = pod(spec={"containers": [{"name": "c", "image": "i:1", "resources": {"limits": limits}}]})
    made = await world.post(world.at("pods"), wanted)
    return pick(made, "spec.containers", "status")


@case
async def a_deployment_is_completed_with_its_defaults(world: World) -> object:
    made = await world.post(
        world.at("deployments", "apps/v1"), deployment(replicas=None, paused=True), dryRun="All"
    )
    return pick(made, "metadata.generation", "spec", "status")


@case
async def a_job_is_completed_with_its_defaults(world: World) -> object:
    made = await world.post(world.at("jobs", "batch/v1"), job(), dryRun="All")
    spec = made["spec"]
    return {
        "code": made.code,
        "generation": made["metadata"]["generation"],
        "labels": made["metadata"].get("labels"),
        "spec": spec,
    }


@case
async def a_daemon_set_is_completed_with_its_defaults(world: World) -> object:
    wanted = deployment(replicas=None)
    wanted["kind"] = "DaemonSet"
    made = await world.post(world.at("daemonsets", "apps/v1"), wanted, dryRun="All")
    return pick(made, "metadata.annotations", "metadata.generation", "spec", "status")


@case
async def a_service_is_completed_with_its_defaults(world: World) -> object:
    wanted = thing("Service", "a", spec={"selector": {"app": "a"}, "ports": [{"port": 80}]})
    return pick(await world.post(world.at("services"), wanted), "spec", "status")


@case
async def a_headless_service_has_no_address(world: World) -> object:
    wanted = thing(
        "Service", "a", spec={"clusterIP": "None", "selector": {"app": "a"}, "ports": [{"port": 80}]}
    )
    return pick(await world.post(world.at("services"), wanted), "spec", "status")


@case
async def a_node_is_made_with_nothing_but_a_name(world: World) -> object:
    made = await world.post(world.top("nodes"), node(world), dryRun="All")
    return pick(made, "metadata", "spec", "status")


@case
async def a_namespace_carries_its_own_name_as_a_label(world: World) -> object:
    made = await world.get(world.top(f"namespaces/{world.namespace}"))
    return pick(made, "metadata", "spec", "status")


@case
async def a_priority_class_is_completed(world: World) -> object:
    made = thing("PriorityClass", world.named("high"), "scheduling.k8s.io/v1", value=1000)
    return await world.post(world.top("priorityclasses", "scheduling.k8s.io/v1"), made)


@case
async def a_pod_takes_the_value_of_its_priority_class(world: World) -> object:
    name = world.named("high")
    wanted = thing("PriorityClass", name, "scheduling.k8s.io/v1", value=1000, preemptionPolicy="Never")
    await world.have(world.top("priorityclasses", "scheduling.k8s.io/v1"), wanted)

    async def made() -> Answer:
        return await world.post(world.at("pods"), pod(spec={"priorityClassName": name}), dryRun="All")

    # The server reads classes from a copy that follows.
    answer = await made()
    for _ in range(200):
        if answer.code != 403:
            break
        answer = await made()
    return pick(answer, "spec.priority", "spec.preemptionPolicy", "spec.priorityClassName")


@case
async def a_pod_of_an_unknown_priority_class_is_forbidden(world: World) -> object:
    return await world.post(world.at("pods"), pod(spec={"priorityClassName": "nothing"}))


@case
async def a_pod_of_an_unknown_account_is_forbidden(world: World) -> object:
    return await world.post(world.at("pods"), pod(spec={"serviceAccountName": "nobody"}))


@case
async def a_pod_takes_its_account_and_mounts_its_token(world: World) -> object:
    made = await world.post(world.at("pods"), pod())
    spec = made["spec"]
    return {
        "account": spec["serviceAccountName"],
        "old name": spec["serviceAccount"],
        "volumes": [sorted(each) for each in spec["volumes"]],
        "sources": spec["volumes"][0]["projected"]["sources"],
        "mode": spec["volumes"][0]["projected"]["defaultMode"],
        "mount": {
            key: value for key, value in spec["containers"][0]["volumeMounts"][0].items() if key != "name"
        },
    }


@case
async def a_pod_may_go_without_a_token(world: World) -> object:
    made = await world.post(world.at("pods"), pod(spec={"automountServiceAccountToken": False}))
    return pick(made, "spec.volumes", "spec.containers.0.volumeMounts", "spec.automountServiceAccountToken")


@case
async def a_limit_range_fills_in_and_refuses(world: World) -> object:
    limits = {
        "type": "Container",
        "default": {"cpu": "500m"},
        "defaultRequest": {"cpu": "100m"},
        "max": {"cpu": "1"},
    }
    await world.have(world.at("limitranges"), thing("LimitRange", "a", spec={"limits": [limits]}))

    async def filled() -> Answer:
        return await world.post(world.at("pods"), pod(), dryRun="All")

    answer = await filled()
    for _ in range(200):
        if answer["spec"]["containers"][0]["resources"]:
            break
        answer = await filled()
    large = pod(spec={"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "2"}}}]})
    return [
        pick(answer, "spec.containers.0.resources", "metadata.annotations"),
        await world.post(world.at("pods"), large),
    ]


@case
async def a_deleted_object_is_answered_with_its_identity(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    gone = await world.delete(world.at("configmaps/a"))
    return [gone, await world.get(world.at("configmaps/a"))]


@case
async def a_whole_collection_is_deleted_by_label(world: World) -> object:
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        await world.have(world.at("secrets"), secret(name, color=color))
    gone = await world.delete(world.at("secrets"), labelSelector="color=red")
    return [
        pick(gone, "kind", "apiVersion"),
        sorted(names(gone)),
        names(await world.get(world.at("secrets"))),
    ]


@case
async def an_empty_collection_can_be_deleted(world: World) -> object:
    return await world.delete(world.at("leases", "coordination.k8s.io/v1"))


@case
async def a_lease_is_kept_with_its_microseconds(world: World) -> object:
    version = "coordination.k8s.io/v1"
    moment = "2024-01-01T00:00:00.123456Z"
    wanted = thing("Lease", "a", version, spec={"holderIdentity": "me", "renewTime": moment})
    made = await world.post(world.at("leases", version), wanted)
    whole = thing("Lease", "b", version, spec={"renewTime": "2024-01-01T00:00:00Z"})
    return [
        made["spec"]["holderIdentity"],
        made["spec"]["renewTime"] == moment,
        verdict(await world.post(world.at("leases", version), whole)),
    ]


@case
async def a_secret_hides_nothing_and_encodes_its_strings(world: World) -> object:
    wanted = thing("Secret", "a", data={"b": "Yg=="}, stringData={"a": "x", "b": "y"}, type="example.com/odd")
    return await world.post(world.at("secrets"), wanted)


@case
async def an_immutable_config_map_stays_as_it_is(world: World) -> object:
    await world.have(world.at("configmaps"), config() | {"immutable": True})
    return [
        await world.merge(world.at("configmaps/a"), {"data": {"key": "other"}}),
        await world.merge(world.at("configmaps/a"), {"immutable": False}),
        pick(
            await world.merge(world.at("configmaps/a"), {"metadata": {"labels": {"a": "b"}}}),
            "metadata.labels",
        ),
    ]


@case
async def quantities_are_written_in_their_shortest_form(world: World) -> object:
    limits = {"cpu": "1000m", "memory": "1024Mi", "example.com/card": "2000m", "ephemeral-storage": "1500M"}
    wanted = pod(spec={"containers": [{"name": "c", "image": "i", "resources": {"limits": limits}}]})
    return pick(await world.post(world.at("pods"), wanted), "spec.containers.0.resources")


@case
async def an_object_made_from_yaml_is_the_same(world: World) -> object:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {color: red}\ndata:\n  key: value\n"
    return await world.ask("POST", world.at("configmaps"), text, content="application/yaml")


@case
async def an_answer_in_yaml_can_be_asked_for(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    answer = await world.ask("GET", world.at("configmaps/a"), accept="application/yaml")
    lines = [
        line for line in str(answer.body).splitlines() if line.startswith((" ", "apiVersion", "kind", "data"))
    ]
    return [answer.code, answer.content, [line for line in lines if "key:" in line or ":" in line[:11]][:4]]


@case
async def labels_come_back_as_they_were_sent(world: World) -> object:
    wanted = labelled(config(), **{"app": "a", "example.com/role": "db", "empty": ""})
    wanted["metadata"]["annotations"] = {"example.com/free": "any text, even ünicode"}
    return pick(await world.post(world.at("configmaps"), wanted), "metadata.labels", "metadata.annotations")

"""Server-side apply: who owns which field, and what happens when two want the same one."""

from __future__ import annotations

from contract.case import case
from contract.normal import owners, pick, verdict
from contract.things import config, deployment, pod
from contract.world import APPLY_PATCH, Answer, Object, World

APPS = "apps/v1"


def _service(name: str = "a", **ports: int) -> Object:
    listed = [{"name": key, "port": value} for key, value in ports.items()]
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": listed}}


def _deployment(replicas: int | None = 0, image: str = "i") -> Object:
    made = deployment(replicas=replicas, paused=True)
    made["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return made


def _people(answer: Answer) -> object:
    """The owners of fields without the controllers, which come when they come."""
    return [each for each in owners(answer) if each["manager"] in {"alice", "bob", "scaler"}]


@case
async def an_apply_makes_what_is_not_there(world: World) -> object:
    made = await world.apply(world.at("configmaps/a"), config())
    return [made, owners(made)]


@case
async def an_apply_without_a_manager_is_refused(world: World) -> object:
    return await world.ask("PATCH", world.at("configmaps/a"), config(), content=APPLY_PATCH)


@case
async def an_apply_may_be_yaml(world: World) -> object:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {key: value}\n"
    answer = await world.ask(
        "PATCH", world.at("configmaps/a"), text, content=APPLY_PATCH, fieldManager="alice"
    )
    return pick(answer, "data")


@case
async def an_apply_takes_away_what_its_manager_no_longer_sends(world: World) -> object:
    path = world.at("configmaps/a")
    await world.must(world.apply(path, config(data={"a": "1", "b": "2"})))
    after = await world.apply(path, config(data={"a": "1"}))
    return [pick(after, "data"), owners(after)]


@case
async def an_apply_leaves_what_others_set(world: World) -> object:
    path = world.at("configmaps/a")
    await world.must(world.apply(path, config(data={"a": "1"})))
    await world.must(world.merge(path, {"data": {"b": "2"}}, fieldManager="bob"))
    after = await world.apply(path, config(data={"a": "3"}))
    return [pick(after, "data"), owners(after)]


@case
async def an_apply_that_changes_anothers_field_is_a_conflict(world: World) -> object:
    path = world.at("configmaps/a")
    await world.must(world.apply(path, config(data={"a": "1", "b": "2"})))
    return await world.apply(path, config(data={"a": "3", "b": "4"}), manager="bob")


@case
async def an_apply_conflicts_with_a_plain_update_too(world: World) -> object:
    path = world.at("configmaps/a")
    await world.have(world.at("configmaps"), config(data={"a": "1"}), fieldManager="creator")
    answer = await world.apply(path, config(data={"a": "2"}))
    assert answer.code == 409
    return [
        answer.code,
        answer["reason"],
        answer["details"]["causes"][0]["field"],
        answer["details"]["causes"][0]["reason"],
    ]


@case
async def a_forced_apply_takes_the_field_over(world: World) -> object:
    path = world.at("configmaps/a")
    await world.must(world.apply(path, config(data={"a": "1", "b": "2"})))
    after = await world.apply(path, config(data={"a": "3"}), manager="bob", force="true")
    return [pick(after, "data"), owners(after)]


@case
async def two_managers_may_share_a_field_of_one_value(world: World) -> object:
    path = world.at("configmaps/a")
    await world.must(world.apply(path, config(data={"a": "1"})))
    both = await world.apply(path, config(data={"a": "1"}), manager="bob")
    one = await world.apply(path, config(data={}), manager="alice")
    return [owners(both), pick(one, "data"), owners(one)]


@case
async def an_apply_that_changes_nothing_makes_no_new_version(world: World) -> object:
    path = world.at("configmaps/a")
    first = await world.must(world.apply(path, config()))
    second = await world.apply(path, config())
    return [second.code, first.version == second.version]


@case
async def an_apply_merges_lists_by_their_keys(world: World) -> object:
    path = world.at("deployments/a", APPS)
    await world.must(world.apply(path, _deployment()))
    other = {
        "apiVersion": APPS,
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"containers": [{"name": "side", "image": "s"}]}}},
    }
    after = await world.apply(path, other, manager="bob")
    return [pick(after, "spec.template.spec.containers"), _people(after)]


@case
async def an_apply_owns_single_env_variables(world: World) -> object:
    path = world.at("deployments/a", APPS)
    first = _deployment()
    first["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "2"},
    ]
    await world.must(world.apply(path, first))
    del first["spec"]["template"]["spec"]["containers"][0]["env"][0]
    after = await world.apply(path, first)
    return pick(after, "spec.template.spec.containers.0.env")


@case
async def an_apply_of_ports_uses_both_keys(world: World) -> object:
    path = world.at("services/a")
    await world.must(world.apply(path, _service(web=80, tls=443)))
    after = await world.apply(path, _service(tls=443))
    return pick(after, "spec.ports")


@case
async def a_scaled_deployment_can_be_applied_without_its_replicas(world: World) -> object:
    path = world.at("deployments/a", APPS)
    await world.must(world.apply(path, _deployment()))
    change = {"spec": {"replicas": 3}}
    await world.must(world.merge(f"{path}/scale", change, fieldManager="scaler"))
    conflict = await world.apply(path, _deployment(replicas=0))
    done = await world.apply(path, _deployment(replicas=None))
    return [pick(conflict), pick(done, "spec.replicas"), _people(done)]


@case
async def an_apply_of_another_name_is_refused(world: World) -> object:
    return await world.apply(world.at("configmaps/a"), config("b"))


@case
async def an_apply_without_a_name_is_refused(world: World) -> object:
    wanted = config()
    wanted["metadata"] = {}
    return pick(await world.apply(world.at("configmaps/a"), wanted), "metadata.name")


@case
async def an_apply_needs_kind_and_version(world: World) -> object:
    return [
        verdict(await world.apply(world.at("configmaps/a"), {"metadata": {"name": "a"}})),
        verdict(await world.apply(world.at("configmaps/a"), {"apiVersion": "v1", "metadata": {"name": "a"}})),
        await world.apply(
            world.at("configmaps/a"), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
        ),
    ]


@case
async def an_apply_with_managed_fields_is_refused(world: World) -> object:
    made = await world.must(world.apply(world.at("configmaps/a"), config()))
    return await world.apply(world.at("configmaps/a"), made.body)


@case
async def an_apply_with_an_old_version_is_a_conflict(world: World) -> object:
    path = world.at("configmaps/a")
    first = await world.must(world.apply(path, config()))
    await world.must(world.merge(path, {"data": {"x": "y"}}, fieldManager="bob"))
    wanted = config()
    wanted["metadata"]["resourceVersion"] = first.version
    return await world.apply(path, wanted)


@case
async def an_apply_with_unknown_fields_is_refused(world: World) -> object:
    return [
        verdict(await world.apply(world.at("configmaps/a"), config() | {"odd": 1})),
        verdict(await world.apply(world.at("pods/a"), pod(spec={"odd": 1}))),
    ]


@case
async def a_dry_apply_leaves_nothing(world: World) -> object:
    made = await world.apply(world.at("configmaps/a"), config(), dryRun="All")
    return [pick(made, "data"), (await world.get(world.at("configmaps/a"))).code]


@case
async def a_status_is_applied_apart(world: World) -> object:
    path = world.at("pods/a")
    await world.must(world.apply(path, pod()))
    wanted = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "status": {"conditions": [{"type": "example.com/ok", "status": "True"}]},
    }
    after = await world.apply(f"{path}/status", wanted, manager="bob")
    return [pick(after, "status.conditions"), owners(after)]


@case
async def a_spec_in_an_applied_status_is_not_taken(world: World) -> object:
    path = world.at("deployments/a", APPS)
    await world.must(world.apply(path, _deployment()))
    wanted = _deployment(replicas=5) | {"status": {"collisionCount": 4}}
    after = await world.apply(f"{path}/status", wanted, manager="bob", force="true")
    return pick(after, "spec.replicas", "status.collisionCount")


@case
async def plain_writes_are_recorded_by_their_manager(world: World) -> object:
    path = world.at("configmaps/a")
    made = await world.have(world.at("configmaps"), config(data={"a": "1"}), fieldManager="creator")
    body = made.body
    body["data"]["b"] = "2"
    put = await world.must(world.put(path, body, fieldManager="putter"))
    patched = await world.merge(path, {"data": {"a": "3"}}, fieldManager="patcher")
    return [owners(made), owners(put), owners(patched)]


@case
async def a_manager_without_a_name_is_called_by_its_program(world: World) -> object:
    agent = {"User-Agent": "kubectl/v1.2 (linux)"}
    made = await world.ask("POST", world.at("configmaps"), config(), headers=agent)
    return owners(made)


@case
async def a_manager_with_an_impossible_name_is_refused(world: World) -> object:
    return await world.apply(world.at("configmaps/a"), config(), manager="a" * 129)


@case
async def managed_fields_can_be_wiped(world: World) -> object:
    path = world.at("configmaps/a")
    await world.must(world.apply(path, config()))
    nothing: Object = {}
    wiped = await world.merge(path, {"metadata": {"managedFields": [nothing]}})
    return owners(wiped)


@case
async def owners_of_lists_of_values_are_kept_by_value(world: World) -> object:
    wanted = config()
    wanted["metadata"]["finalizers"] = ["example.com/a"]
    path = world.at("configmaps/a")
    await world.must(world.apply(path, wanted))
    other = config(data={})
    other["metadata"]["finalizers"] = ["example.com/b"]
    del other["data"]
    both = await world.apply(path, other, manager="bob")
    mine = await world.apply(path, config())
    await world.must(world.merge(path, {"metadata": {"finalizers": None}}))
    return [pick(both, "metadata.finalizers"), owners(both), pick(mine, "metadata.finalizers")]


@case
async def force_is_only_for_applying(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    return await world.merge(world.at("configmaps/a"), {"data": {}}, force="true")

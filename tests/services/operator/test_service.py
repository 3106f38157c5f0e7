"""The operator in a cluster: parts appear, nodes come to life in order, edits are put back, and the status says so."""

import asyncio
from typing import Any

import pytest

from builders.controlled import eventually
from builders.operated import NAMESPACE, NEVER, PAYLOADS, Operated, operated, operator_on
from builders.waiting import until
from tangram.kube.api import Api, Object
from tangram.kube.errors import ApiError
from tangram.services.operator import applying, service
from tangram.services.operator.service import GONE
from tangram.wire.metax_cards import LABEL_PRODUCT
from tangram.wire.metax_labels import INSTALLED
from tangram.wire.operator.definition import operator_definition
from tangram.wire.operator.names import FINALIZER, MACA_PRODUCT, MANAGED, OBJECT, VENDORS_FINALIZER
from tangram.wire.operator.node_states import DriverState, Phase
from tangram.wire.operator.status import ConditionType, PartState, State, Status, condition_of


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PACE_S", 0.02)
    monkeypatch.setattr(service, "EVERY_S", 0.5)
    monkeypatch.setattr(applying, "FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(applying, "LONGEST_PAUSE_S", 0.1)


def part(status: Status, name: str) -> tuple[PartState, str]:
    found = next(each for each in status.parts if each.name == name)
    return found.state, found.message


def is_ready(status: Status) -> bool:
    return status.state is State.READY and bool(status.nodes.ready)


def condition(status: Status, kind: ConditionType) -> str:
    found = condition_of(status, kind)
    return "" if found is None else found.status


async def test_bare_nodes_become_gpu_nodes_and_the_installation_is_complete_when_they_are() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        await scene.add_node("n1")
        await scene.add_node("cpu")
        async with operator_on(scene) as operator:
            await until(lambda: any("not everything is installed" in each for each in operator.unready()))
            await scene.run_pods("gpu-label", 2)
            await scene.found_cards("n1")
            await scene.until_labelled("n1", MANAGED, "true")
            await scene.run_pods("container-runtime", 1)
            await scene.run_pods("driver-manager", 1)
            waits = await scene.status(
                lambda status: part(status, "driver-manager")[0] is PartState.NOT_READY
            )
            assert condition(waits, ConditionType.INSTALLED) == "False"
            await scene.found_cards("cpu", there=False)
            await scene.runtime_done("n1")
            await scene.driver_done("n1")
            (pod,) = await scene.run_pods("gpu-device", 1)
            assert pod["spec"]["nodeName"] == "n1"
            status = await scene.status(is_ready)
            await until(lambda: operator.unready() == [])
            assert (status.ready_nodes, status.message) == ("1/1", "1 GPU node is ready")
            assert {each.state for each in status.parts} == {PartState.READY, PartState.IGNORED}
            assert condition(await scene.status(is_ready), ConditionType.READY) == "True"
            assert FINALIZER in (await scene.object())["metadata"]["finalizers"]


async def test_a_cluster_without_cards_is_installed_when_every_node_was_looked_at() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        await scene.add_node("cpu")
        async with operator_on(scene) as operator:
            await scene.run_pods("gpu-label", 1)
            await scene.status(lambda status: status.state is State.READY)
            assert operator.unready(), "nobody has said yet that there is no card"
            await scene.found_cards("cpu", there=False)
            await until(lambda: operator.unready() == [])


async def test_nothing_is_written_at_rest() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        await scene.add_node("n1")
        async with operator_on(scene) as operator:
            await scene.bring_up("n1")
            await scene.status(is_ready)
            await until(lambda: operator.unready() == [])
            before = await at_rest(scene)
            looks = operator.metrics.registry.get_sample_value("tangram_operator_looks_total") or 0.0

            def looked_again() -> bool:
                now = operator.metrics.registry.get_sample_value("tangram_operator_looks_total") or 0.0
                return now >= looks + 3

            await until(looked_again)
            assert await everything(scene) == before
        async with operator_on(scene, "operator_2") as operator:
            await until(lambda: operator.election.held)
            await until(
                lambda: (operator.metrics.registry.get_sample_value("tangram_operator_looks_total") or 0) > 2
            )
            assert await everything(scene) == before, "nor after a restart"


async def at_rest(scene: Operated) -> dict[str, str]:
    """Everything, once the controllers are done too."""

    async def look() -> dict[str, str] | None:
        before = await everything(scene)
        await asyncio.sleep(0.3)
        return before if await everything(scene) == before else None

    return await eventually(look)


async def everything(scene: Operated) -> dict[str, str]:
    """The version of everything that the operator could write, events aside."""
    objects = [
        await scene.object(),
        *await scene.cluster.all("daemonsets"),
        *await scene.cluster.all("configmaps"),
    ]
    objects += await scene.cluster.all("nodes")
    objects += await scene.api.list_all("/apis/node.k8s.io/v1/runtimeclasses")
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in objects}


async def test_a_hand_edited_daemon_set_is_put_back_and_an_event_names_what_and_whose() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        async with operator_on(scene):
            before = await scene.daemon_set("gpu-label")
            args = before["spec"]["template"]["spec"]["containers"][0]["args"]
            changed: dict[str, Any] = {
                **before["spec"]["template"]["spec"]["containers"][0],
                "args": ["gpu-label", "--once"],
            }
            template = {"spec": {"containers": [changed], "terminationGracePeriodSeconds": 7}}
            path = scene.cluster.path("daemonsets", "metax-gpu-label")
            await scene.api.merge(path, {"spec": {"template": template}}, fieldManager="kubectl-edit")
            await scene.daemon_set(
                "gpu-label", lambda seen: seen["spec"]["template"]["spec"]["containers"][0]["args"] == args
            )
            sentence = await scene.event(applying.PUT_BACK)
            assert sentence == (
                "DaemonSet metax-gpu-label was edited by kubectl-edit and was put back: "
                "spec.template.spec.containers[gpu-label].args; what the operator is to keep otherwise is said in "
                "ClusterOperator cluster-operator"
            )
            after = await scene.daemon_set("gpu-label")
            assert after["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 7, (
                "not a field of ours"
            )


async def test_what_somebody_deletes_is_made_again() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        async with operator_on(scene):
            first = await scene.daemon_set("container-runtime")
            await scene.cluster.delete("daemonsets", "metax-container-runtime")
            await scene.daemon_set(
                "container-runtime",
                lambda seen: bool(seen) and seen["metadata"]["uid"] != first["metadata"]["uid"],
            )
            assert await scene.event(applying.MADE_AGAIN) == (
                "somebody deleted DaemonSet metax-container-runtime; it was made again"
            )
            await scene.api.delete("/apis/node.k8s.io/v1/runtimeclasses/metax")
            await eventually(lambda: runtime_class(scene))
            await scene.cluster.delete("configmaps", "driver-config")
            await scene.cluster.until("configmaps", "driver-config", bool)


async def runtime_class(scene: Operated) -> dict[str, Any] | None:
    found = await scene.api.list_all("/apis/node.k8s.io/v1/runtimeclasses")
    return next((each for each in found if each["metadata"]["name"] == "metax"), None)


async def test_driver_config_is_made_with_the_sample_and_stays_as_people_edit_it() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        async with operator_on(scene):
            made = await scene.cluster.until("configmaps", "driver-config", bool)
            assert "sample-node" in made["data"]["node-vfnums"]
            mine = {"node-vfnums": "nodes:\n  foo:\n    vfnum: 2\n"}
            await scene.cluster.change(
                "configmaps", "driver-config", {"data": mine, "metadata": {"labels": None}}
            )
            await scene.edit({"log": {"level": "debug"}})
            await scene.daemon_set("gpu-label", lambda seen: "debug" in str(seen))
            assert (await scene.cluster.get("configmaps", "driver-config"))["data"] == mine


async def test_a_changed_spec_changes_the_parts_and_what_is_not_wanted_any_more_goes() -> None:
    async with operated() as scene:
        await scene.ask_for(PAYLOADS)
        async with operator_on(scene):
            payloads = await scene.daemon_set("payloads")
            assert len(payloads["spec"]["template"]["spec"]["containers"]) == 1
            assert (
                len((await scene.daemon_set("payloads-c500"))["spec"]["template"]["spec"]["containers"]) == 1
            )
            await scene.edit({"driver": {"deployPolicy": "Never"}, "maca": {"payload": {"images": []}}})
            for name in ("metax-payloads", "metax-payloads-c500"):
                await scene.cluster.until("daemonsets", name, lambda seen: not seen)
            # Before the first report the status names no part.
            status = await scene.status(
                lambda status: bool(status.parts) and part(status, "payloads")[0] is PartState.IGNORED
            )
            assert part(status, "payloads")[1] == "the spec names no payload"
            assert "EditPutBack" not in [reason for reason, _ in await scene.events()]


async def test_nodes_get_the_payload_pods_of_their_product_and_keep_them_while_they_are_cordoned() -> None:
    async with operated() as scene:
        images = ["maca-c500:2.23.0.4", "mxn100-maca:2.23.0.4"]
        await scene.ask_for({**PAYLOADS, "maca": {"payload": {"images": images}}})
        for name, product in (("n1", "MXC550"), ("n2", "MXN100")):
            await scene.add_node(name)
            await scene.cluster.change("nodes", name, {"metadata": {"labels": {LABEL_PRODUCT: product}}})
        async with operator_on(scene):
            for name in ("n1", "n2"):
                await scene.found_cards(name)
            for name, product in (("n1", "c500"), ("n2", "n100")):
                await scene.until_labelled(name, MACA_PRODUCT, product)
                made = await scene.daemon_set(f"payloads-{product}")
                assert made["spec"]["template"]["spec"]["nodeSelector"][MACA_PRODUCT] == product
            gone = {INSTALLED: None, LABEL_PRODUCT: None}
            await scene.cluster.change("nodes", "n1", {"metadata": {"labels": gone}})
            await scene.edit({"maca": {"payload": {"images": images[:1]}}})
            await scene.cluster.until("daemonsets", "metax-payloads-n100", lambda seen: not seen)
            await scene.until_labelled("n1", MACA_PRODUCT, "c500")
            await scene.until_labelled("n2", MACA_PRODUCT, "n100")


async def test_a_spec_that_is_refused_says_why_and_changes_nothing() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        async with operator_on(scene):
            before = await scene.daemon_set("gpu-label")
            await scene.edit({"driver": {"deployPolicy": "Always"}, "log": {"level": "debug"}})
            status = await scene.status(lambda status: status.state is State.ERROR)
            assert status.message.startswith("the spec is refused: driver.payload.version is missing")
            assert condition(status, ConditionType.READY) == "False"
            assert await scene.event("SpecRefused") == status.message
            await scene.cluster.delete("daemonsets", "metax-gpu-label")
            again = await scene.daemon_set(
                "gpu-label", lambda seen: bool(seen) and seen["metadata"]["uid"] != before["metadata"]["uid"]
            )
            assert "debug" not in str(again["spec"]), "healed as it was asked for last"
            await scene.edit({"driver": {"deployPolicy": "Never"}})
            await scene.status(lambda status: status.state is not State.ERROR)


async def test_a_daemon_set_of_somebody_else_is_not_taken_over() -> None:
    async with operated() as scene:
        theirs = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {
                "name": "metax-gpu-device",
                "annotations": {
                    "meta.helm.sh/release-name": "extensions",
                    "meta.helm.sh/release-namespace": NAMESPACE,
                },
            },
            "spec": {
                "selector": {"matchLabels": {"app": "x"}},
                "template": {
                    "metadata": {"labels": {"app": "x"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        }
        await scene.cluster.create("daemonsets", theirs)
        await scene.ask_for(NEVER)
        async with operator_on(scene):
            status = await scene.status(lambda status: status.state is State.ERROR)
            state, message = part(status, "gpu-device")
            assert state is PartState.ERROR
            assert message == (
                "DaemonSet metax-gpu-device in namespace metax-operator belongs to helm release extensions in "
                "namespace metax-operator and is not taken over: remove it, or uninstall what made it"
            )
            kept = await scene.daemon_set("gpu-device")
            assert kept["spec"]["selector"]["matchLabels"] == {"app": "x"}


async def test_a_node_that_fails_is_named_and_the_installation_stays_one() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        await scene.add_node("n1")
        async with operator_on(scene) as operator:
            await scene.bring_up("n1")
            await until(lambda: operator.unready() == [])
            failed = DriverState(
                phase=Phase.FAILED, code="wrong-kernel", why="the driver is made for another kernel"
            )
            await scene.driver_done("n1", failed, ready=False)
            status = await scene.status(lambda status: condition(status, ConditionType.DEGRADED) == "True")
            assert [each.message for each in status.nodes.problems] == [
                "the driver is not ready on n1: the driver is made for another kernel"
            ]
            assert status.ready_nodes == "0/1"
            assert condition(status, ConditionType.INSTALLED) == "True"
            assert operator.unready() == []


async def test_a_payload_that_cannot_be_pulled_is_told_in_the_kubelets_words() -> None:
    async with operated() as scene:
        await scene.ask_for(PAYLOADS)
        await scene.add_node("n1")
        async with operator_on(scene):
            await scene.run_pods("gpu-label", 1)
            await scene.found_cards("n1")
            (pod,) = await scene.place_pods("payloads", 1)
            image = "registry.example/gpu/driver-image:2.32.0"

            async def waits(reason: str, message: str) -> None:
                waiting = {"state": {"waiting": {"reason": reason, "message": message}}}
                container = {
                    "name": "driver",
                    "image": image,
                    "imageID": "",
                    "ready": False,
                    "restartCount": 0,
                }
                status = {"phase": "Pending", "containerStatuses": [{**container, **waiting}]}
                await scene.cluster.change("pods", pod["metadata"]["name"], {"status": status}, "/status")

            await waits("ErrImagePull", "dial tcp: lookup registry.example: no such host")
            sentence = f"payload image {image} cannot be pulled on n1: dial tcp: lookup registry.example: no such host"
            status = await scene.status(lambda status: bool(status.nodes.problems))
            assert status.nodes.problems[0].message == sentence
            assert part(status, "payloads") == (PartState.NOT_READY, sentence)
            await waits("ImagePullBackOff", f'Back-off pulling image "{image}"')
            await asyncio.sleep(0.3)
            assert (await scene.status()).nodes.problems[0].message == sentence, "nothing has changed"


async def test_a_cordoned_node_is_out_of_service_because_somebody_wants_it_so() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        await scene.add_node("n1")
        async with operator_on(scene):
            await scene.bring_up("n1")
            await scene.status(is_ready)
            await scene.cluster.change("nodes", "n1", {"spec": {"unschedulable": True}})
            await scene.label("n1", **{INSTALLED: None})
            status = await scene.status(lambda status: status.ready_nodes == "0/0")
            assert status.state is State.READY
            assert status.message == "0 GPU nodes are ready, 1 cordoned"
            await scene.until_labelled("n1", MANAGED, "true")


async def test_cards_that_are_gone_for_good_are_managed_no_more() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        await scene.add_node("n1")
        async with operator_on(scene):
            await scene.found_cards("n1")
            await scene.until_labelled("n1", MANAGED, "true")
            await scene.found_cards("n1", there=False)
            await scene.until_labelled("n1", MANAGED, None)


async def test_an_object_under_another_name_is_told_which_one_counts() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER, "mine")
        async with operator_on(scene) as operator:
            assert "is not looked at" in await scene.event("NotLookedAt")
            assert operator.unready() == [GONE]
            assert await scene.cluster.all("daemonsets") == []


async def test_an_object_of_the_vendors_operator_is_left_to_it() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        path = f"/apis/gpu.metax-tech.com/v1alpha1/clusteroperators/{OBJECT}"
        await scene.api.merge(path, {"metadata": {"finalizers": [VENDORS_FINALIZER]}})
        async with operator_on(scene) as operator:
            sentence = await scene.event("NotOurs")
            assert "is kept by MetaX's own operator" in sentence
            assert operator.unready() == [sentence]
            assert await scene.cluster.all("daemonsets") == []
            assert (await scene.object())["metadata"]["finalizers"] == [VENDORS_FINALIZER]


async def test_when_the_object_is_gone_nothing_is_managed_and_nothing_is_taken_away() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        async with operator_on(scene) as operator:
            await scene.daemon_set("gpu-device")
            # Somebody forces it: without the finalizer no node is cleaned.
            await scene.api.delete(f"/apis/gpu.metax-tech.com/v1alpha1/clusteroperators/{OBJECT}")
            await scene.api.merge(
                f"/apis/gpu.metax-tech.com/v1alpha1/clusteroperators/{OBJECT}",
                {"metadata": {"finalizers": None}},
            )
            await until(lambda: operator.unready() == [GONE])
            await until(lambda: operator.gone)
            assert len(await scene.cluster.all("daemonsets")) == 4
            await scene.ask_for(NEVER)
            await until(lambda: operator.unready() != [GONE])


async def test_a_missing_kind_is_brought_where_the_operator_may_and_waited_for() -> None:
    async with operated(with_kind=False) as scene, operator_on(scene) as operator:
        await until(lambda: operator.election.held)
        await scene.ask_for(NEVER)
        await scene.daemon_set("gpu-label")
        assert operator.unready() != []


async def test_a_definition_that_drops_what_it_does_not_know_is_not_written_to_at_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def keep_nothing(_api: object) -> None:
        """An operator without the right to bring the definition up to date."""

    monkeypatch.setattr(service, "keep_own_kind", keep_nothing)
    older = operator_definition()
    status = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    del status["properties"]["readyNodes"]
    async with operated(with_kind=False) as scene:
        await scene.cluster.create("customresourcedefinitions", older)
        await scene.ask_for(NEVER)
        async with operator_on(scene) as operator:
            await scene.daemon_set("gpu-label")
            await at_rest(scene)
            patches = 0
            merge = Api.merge

            async def counted(api: Api, path: str, body: Object, **query: str) -> Object:
                nonlocal patches
                patches += path.endswith("/status")
                return await merge(api, path, body, **query)

            monkeypatch.setattr(Api, "merge", counted)
            looks = looked(operator)
            await until(lambda: looked(operator) >= looks + 4)
            assert patches <= 1


def looked(operator: service.Operator) -> float:
    return operator.metrics.registry.get_sample_value("tangram_operator_looks_total") or 0.0


async def test_a_leader_that_may_not_write_says_so_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    merge = Api.merge

    async def refused(api: Api, path: str, body: Object, **query: str) -> Object:
        if "clusteroperators" in path:
            raise ApiError(403, "Forbidden", "clusteroperators is forbidden")
        return await merge(api, path, body, **query)

    async with operated() as scene:
        await scene.ask_for(NEVER)
        monkeypatch.setattr(Api, "merge", refused)
        async with operator_on(scene) as operator:
            await until(lambda: any("clusteroperators is forbidden" in each for each in operator.unready()))


async def test_of_two_replicas_one_writes_and_the_other_goes_on_when_it_ends() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        async with operator_on(scene, "operator_2") as second:
            await until(lambda: second.election.held)
            async with operator_on(scene, "operator_3") as third:
                await until(lambda: third.election.holder == "operator_2")
                assert not third.election.held
                await until(lambda: third.unready() == second.unready() != [])
        async with operator_on(scene, "operator_4") as fourth:
            await until(lambda: fourth.election.held)

"""A changed manifest is offered only after the scheduler has said yes to that very manifest."""

from __future__ import annotations

import msgspec
import pytest
import yaml

from builders.dashboard_engine import EngineKnown, some_ledger
from builders.dashboards import EVERYTHING
from tangram.kube.objects import Object
from tangram.kube.rights import User
from tangram.reports import shape
from tangram.vendors.settings import AdmissionSettings
from tangram.web.known import NotKnown
from tangram.web.language import Language
from tangram.web.reporting.offers import Offer, Source, offers_for, source_of_manifest, source_of_pod

ALICE = User("alice")
REPLICASETS = "/apis/apps/v1/namespaces/ml/replicasets/serve-7c"
DEPLOYMENTS = "/apis/apps/v1/namespaces/ml/deployments/serve"


def spec(limits: dict[str, object] | None = None) -> Object:
    asked = limits or {"metax-tech.com/sgpu": 2, "metax-tech.com/vcore": 70, "metax-tech.com/vmemory": "48Gi"}
    return {"containers": [{"name": "main", "resources": {"limits": asked}}]}


def thing(kind: str, name: str, content: Object, owner: tuple[str, str, str] | None = None) -> Object:
    references = [] if owner is None else [dict(zip(("apiVersion", "kind", "name"), owner, strict=True))]
    return {
        "apiVersion": "v1" if kind == "Pod" else "apps/v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "ml",
            "uid": f"uid-of-{name}",
            "ownerReferences": [{**each, "controller": True} for each in references],
        },
        "spec": content,
    }


POD = thing("Pod", "serve-7c-x", spec(), ("apps/v1", "ReplicaSet", "serve-7c"))
SET = thing("ReplicaSet", "serve-7c", {"template": {"spec": spec()}}, ("apps/v1", "Deployment", "serve"))
DEPLOYMENT = thing("Deployment", "serve", {"template": {"spec": spec()}})


def cluster(**owners: Object) -> EngineKnown:
    known = EngineKnown(some_ledger())
    known.put(POD, owners={path: owners[name] for name, path in _PATHS.items() if name in owners})
    return known


_PATHS = {"replicaset": REPLICASETS, "deployment": DEPLOYMENTS}


async def offered(known: EngineKnown, source: Source | None, report: shape.PodReport) -> list[Offer]:
    (found,) = await offers_for(known, Language.ENGLISH, EVERYTHING, [(report, source)], ["ml"])
    return found


async def explained(known: EngineKnown) -> shape.PodReport:
    return (await known.explain_pod("ml", "serve-7c-x", EVERYTHING)).pods[0]


async def test_the_change_is_made_in_what_makes_the_pod() -> None:
    known = cluster(replicaset=SET, deployment=DEPLOYMENT)
    source = await source_of_pod(known, ALICE, "ml", "serve-7c-x")
    assert (source.kind, source.name, source.commands) == (
        "Deployment",
        "serve",
        ("kubectl replace -f changed.yaml",),
    )
    offers = await offered(known, source, await explained(known))
    tolerating = next(each for each in offers if each.code == "tolerate")
    written = yaml.safe_load(tolerating.yaml)
    assert written["kind"] == "Deployment"
    assert "uid" not in written["metadata"]
    assert written["spec"]["template"]["spec"]["tolerations"] == [
        {"key": "team", "operator": "Equal", "value": "vision", "effect": "NoSchedule"}
    ]
    (again,) = (await known.explain_manifest([written], EVERYTHING, ["ml"])).pods
    assert (again.verdict, again.node) == (shape.FITS, tolerating.node)


async def test_waiting_for_somebody_changes_no_manifest() -> None:
    known = cluster(replicaset=SET, deployment=DEPLOYMENT)
    source = await source_of_pod(known, ALICE, "ml", "serve-7c-x")
    offers = await offered(known, source, await explained(known))
    assert [each.yaml for each in offers if each.code == "when-pod-ends"] == [""]


async def test_where_the_owner_cannot_be_read_the_pod_is_changed_and_that_is_said() -> None:
    known = cluster()
    source = await source_of_pod(known, ALICE, "ml", "serve-7c-x")
    assert (source.kind, source.owner, source.commands) == ("Pod", "ReplicaSet serve-7c", ())
    assert source.notes == ["pod.note.owner"]


async def test_halfway_up_the_replicaset_is_changed() -> None:
    source = await source_of_pod(cluster(replicaset=SET), ALICE, "ml", "serve-7c-x")
    assert (source.kind, source.owner) == ("ReplicaSet", "Deployment serve")
    assert source.notes == ["pod.note.owner", "pod.note.delete"]


async def test_owners_that_go_round_in_a_circle_have_an_end() -> None:
    circle = thing("ReplicaSet", "serve-7c", {}, ("apps/v1", "ReplicaSet", "serve-7c"))
    source = await source_of_pod(cluster(replicaset=circle), ALICE, "ml", "serve-7c-x")
    assert source.kind == "ReplicaSet"


async def test_a_pod_that_cannot_be_read_is_no_source() -> None:
    known = cluster()
    known.manifests.clear()
    with pytest.raises(NotKnown):
        await source_of_pod(known, ALICE, "ml", "serve-7c-x")
    assert not [each.yaml for each in await offered(known, None, await explained(known)) if each.yaml]


async def test_what_the_scheduler_says_no_to_is_not_offered() -> None:
    known = cluster()
    report = shape.PodReport(
        pod="ml/a",
        verdict=shape.WAITS,
        sentence="",
        suggestions=[shape.Advice("less-compute", "ask for less", "n", {"cores": "69", "was": "70"})],
    )
    (offer,) = await offered(known, source_of_manifest(POD), report)
    assert offer.yaml == ""
    assert offer.said.text == "ask for less"
    assert len(known.asked) == 1


async def test_when_the_scheduler_does_not_answer_nothing_is_offered() -> None:
    known = cluster()
    report = await explained(known)
    known.trouble = NotKnown("away", "the scheduler is away.")
    assert not any(each.yaml for each in await offered(known, source_of_manifest(POD), report))


async def test_many_manifests_are_asked_about_in_portions_and_not_without_end() -> None:
    known = cluster()
    report = await explained(known)
    asked = [(report, source_of_manifest(POD))] * 50
    found = await offers_for(known, Language.ENGLISH, EVERYTHING, asked, ["ml"])
    assert [len(each) for each in known.asked] == [20, 20]
    assert len(found) == 50
    assert sum(bool(offers[0].yaml) for offers in found) == 40


async def test_less_of_the_host_is_worked_out_from_the_node_that_would_do() -> None:
    known = EngineKnown(some_ledger())
    asked = thing(
        "Pod",
        "heavy",
        spec({"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 5, "metax-tech.com/vmemory": 8, "cpu": "6"}),
    )
    asked["spec"]["nodeSelector"] = {"only": "d01"}
    node = next(each for each in known.ledger.nodes() if each.name == "metax-d01")
    known.ledger.put_node(msgspec.structs.replace(node, labels={"only": "d01"}))
    (report,) = (await known.explain_manifest([asked], EVERYTHING, ["ml"])).pods
    offers = await offered(known, source_of_manifest(asked), report)
    less = next(each for each in offers if each.code == "less-host")
    limits = yaml.safe_load(less.yaml)["spec"]["containers"][0]["resources"]
    assert limits["requests"] == {"cpu": "4000m"}


async def test_a_cluster_with_names_of_its_own_is_offered_its_own_names() -> None:
    renamed = {"example.com/slice": "metax-tech.com/sgpu", "example.com/memory": "metax-tech.com/vmemory"}
    known = EngineKnown(some_ledger(), AdmissionSettings(renamed=renamed))
    asked = thing(
        "Pod", "a", spec({"example.com/slice": 3, "example.com/memory": "60Gi", "metax-tech.com/vcore": 5})
    )
    asked["spec"]["tolerations"] = [{"operator": "Exists"}]
    asked["spec"]["containers"][0]["resources"]["limits"]["example.com/slice"] = 9
    (report,) = (await known.explain_manifest([asked], EVERYTHING, ["ml"])).pods
    offers = await offered(known, source_of_manifest(asked), report)
    fewer = next(each for each in offers if each.code == "fewer-cards")
    assert "example.com/slice: 8" in fewer.yaml

import pytest

from tangram.wire.errors import WireError
from tangram.wire.workloads import read_workload
from wire.manifests import Json, container, pod

TEMPLATE: Json = {
    "metadata": {"name": "ignored", "labels": {"app": "train"}, "annotations": {"a": "b"}},
    "spec": {"containers": [container(limits={"metax-tech.com/gpu": 2})]},
}


def workload(kind: str, template: object = TEMPLATE, name: str = "train") -> Json:
    spec: object = {"template": template}
    if kind == "CronJob":
        spec = {"jobTemplate": {"spec": spec}}
    return {
        "kind": kind,
        "metadata": {"name": name, "namespace": "ml", "uid": "of-the-workload"},
        "spec": spec,
    }


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"])
def test_a_workload_is_the_pod_its_template_describes(kind: str) -> None:
    (read,) = read_workload(workload(kind))
    assert str(read.ref) == "ml/train"
    assert read.ref.uid == "ml/train"
    assert read.labels == {"app": "train"}
    assert read.annotations == {"a": "b"}
    assert read.containers[0].limits == {"metax-tech.com/gpu": "2"}


def test_a_pod_is_itself() -> None:
    (read,) = read_workload(pod(container()))
    assert read.ref.uid == "uid-1"


def test_a_list_gives_one_pod_per_member_and_passes_over_what_makes_none() -> None:
    items = [workload("Job", name="one"), {"kind": "Service"}, "odd", pod(container())]
    pods = read_workload({"kind": "List", "items": items})
    assert [each.ref.name for each in pods] == ["one", "demo"]


def test_members_of_a_typed_list_need_no_kind() -> None:
    member = pod(container())
    del member["kind"]
    assert len(read_workload({"kind": "PodList", "items": [member, member]})) == 2


@pytest.mark.parametrize(
    "manifest",
    [
        {"kind": "Service"},
        {"kind": None},
        {"kind": 7},
        {},
        {"kind": "List", "items": [{"kind": "Service"}]},
        {"kind": "List", "items": None},
        {"kind": "NodeList", "items": [{"metadata": {"name": "n1"}}]},
        {"kind": "List", "items": [{"kind": "List", "items": [{"kind": "Pod"}]}]},
    ],
)
def test_what_makes_no_pods_is_refused_with_the_kinds_that_do(manifest: Json) -> None:
    with pytest.raises(
        WireError, match="Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob"
    ) as caught:
        read_workload(manifest)
    assert caught.value.code == "kind-unknown"


@pytest.mark.parametrize("template", [None, "odd", {}, {"spec": None}])
def test_a_workload_without_a_template_is_a_pod_without_containers(template: object) -> None:
    assert read_workload(workload("Job", template))[0].containers == ()

"""Objects as an API server hands them out become what a person would write, and who made them is known."""

from __future__ import annotations

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tangram.wire.changing.cleaning import LAST_APPLIED, applicable
from tangram.wire.changing.owners import applying, keeps_its_pods, owner_of, pod_path
from wire.manifests import Json

STORED: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled"}]},
    "metadata": {
        "name": "train-x7k2p",
        "generateName": "train-",
        "namespace": "ml",
        "uid": "3f",
        "resourceVersion": "17",
        "generation": 1,
        "creationTimestamp": "2026-11-17T08:00:00Z",
        "managedFields": [{}],
        "finalizers": ["batch.kubernetes.io/job-tracking"],
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}],
        "labels": {
            "app": "train",
            "job-name": "train",
            "batch.kubernetes.io/controller-uid": "9",
            "hami.io/vgpu-node": "gpu-1",
            "pod-template-hash": "7c",
        },
        "annotations": {
            "note": "mine",
            LAST_APPLIED: "{}",
            "hami.io/vgpu-node": "gpu-1",
            "metax-tech.com/gpu-devices-allocated": "[]",
            "cni.projectcalico.org/podIP": "10.0.0.1/32",
        },
    },
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "train:1",
                "command": ["python", "train.py"],
                "resources": {"limits": {"metax-tech.com/gpu": "8"}, "requests": {"metax-tech.com/gpu": "8"}},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data"},
                    {
                        "name": "kube-api-access-abcde",
                        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                    },
                ],
            }
        ],
        "volumes": [{"name": "data", "emptyDir": {}}, {"name": "kube-api-access-abcde", "projected": {}}],
        "schedulerName": "tangram-scheduler",
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Never",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "enableServiceLinks": True,
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
            {"key": "team", "operator": "Exists"},
        ],
    },
}


def test_a_stored_pod_becomes_what_its_author_wrote(snapshot: SnapshotAssertion) -> None:
    assert yaml.safe_dump(applicable(STORED), sort_keys=False) == snapshot


def test_a_stored_job_loses_the_selector_that_was_made_for_it() -> None:
    labels = {"controller-uid": "9", "job-name": "train", "app": "train"}
    job: Json = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "uid": "9", "labels": labels},
        "spec": {
            "selector": {"matchLabels": {"controller-uid": "9"}},
            "template": {
                "metadata": {"labels": labels, "creationTimestamp": None},
                "spec": {"containers": []},
            },
        },
    }
    assert applicable(job) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "labels": {"app": "train"}},
        "spec": {"template": {"metadata": {"labels": {"app": "train"}}, "spec": {"containers": []}}},
    }


def test_a_selector_that_its_author_chose_stays() -> None:
    spec: Json = {"manualSelector": True, "selector": {"matchLabels": {"job-name": "x"}}, "template": {}}
    cleaned = applicable({"kind": "Job", "metadata": {"name": "x"}, "spec": spec})
    assert cleaned["spec"]["selector"] == {"matchLabels": {"job-name": "x"}}


def test_labels_that_a_selector_names_stay_in_a_template() -> None:
    labels = {"app": "web", "pod-template-hash": "7c"}
    spec: Json = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}
    cleaned = applicable({"kind": "ReplicaSet", "metadata": {"name": "web-7c"}, "spec": spec})
    assert cleaned["spec"]["template"]["metadata"]["labels"] == labels


def test_what_makes_no_pods_stays_as_it_is() -> None:
    service: Json = {"kind": "Service", "spec": {}}
    assert applicable(service) == service


def owned(kind: str, group_version: str, **more: object) -> Json:
    reference = {"apiVersion": group_version, "kind": kind, "name": "train", "controller": True, **more}
    return {"metadata": {"namespace": "ml", "ownerReferences": [reference]}}


@pytest.mark.parametrize(
    ("kind", "group_version", "path"),
    [
        ("Job", "batch/v1", "/apis/batch/v1/namespaces/ml/jobs/train"),
        ("ReplicaSet", "apps/v1", "/apis/apps/v1/namespaces/ml/replicasets/train"),
        ("PyTorchJob", "kubeflow.org/v1", ""),
    ],
)
def test_the_owner_is_where_a_change_belongs(kind: str, group_version: str, path: str) -> None:
    owner = owner_of(owned(kind, group_version))
    assert owner is not None
    assert (owner.kind, owner.path) == (kind, path)


def test_who_only_wants_to_be_told_of_the_end_is_no_owner() -> None:
    assert owner_of(owned("Job", "batch/v1", controller=False)) is None
    assert owner_of({}) is None


def test_names_cannot_lead_to_another_path() -> None:
    assert pod_path("a", "b.c") == "/api/v1/namespaces/a/pods/b.c"
    assert pod_path("a/../b", "c") == pod_path("a", "c?d") == ""
    owner = owner_of(owned("Job", "batch/v1", name="x/../y"))
    assert owner is not None
    assert owner.path == ""


@pytest.mark.parametrize(
    ("kind", "annotations", "verb", "keeps"),
    [
        ("Pod", {}, "replace --force", False),
        ("Job", {LAST_APPLIED: "{}"}, "replace --force", False),
        ("Deployment", {LAST_APPLIED: "{}"}, "apply", False),
        ("Deployment", {}, "replace", False),
        ("StatefulSet", {}, "replace", True),
    ],
)
def test_the_command_is_one_that_works(kind: str, annotations: Json, verb: str, *, keeps: bool) -> None:
    manifest: Json = {"kind": kind, "metadata": {"annotations": annotations}}
    assert applying(manifest) == (f"kubectl {verb} -f changed.yaml",)
    assert keeps_its_pods(manifest) is keeps

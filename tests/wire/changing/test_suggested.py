"""What each suggestion makes of a manifest, in every vocabulary, and what has no words."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tangram.wire import loose
from tangram.wire.changing.suggested import CODES, changed, with_policies
from wire.manifests import Json, container, pod

GIB = 2**30
METAX = "metax-tech.com"
MTHREADS = "mthreads.com"
KOORDINATOR = "koordinator.sh"


def asking(limits: Mapping[str, object], annotations: object = None, **spec: object) -> Json:
    made = pod(container(limits=dict(limits)), annotations=annotations)
    return {**made, "spec": {**loose.members(made["spec"]), **spec}}


SLICE = asking({f"{METAX}/sgpu": 1, f"{METAX}/vcore": 50, f"{METAX}/vmemory": "32Gi"})
SCOPES = {
    "tangram.dev/required-scope": "link",
    "scheduling.koordinator.sh/gpu-partition-spec": "{}",
    "scheduling.koordinator.sh/numa-topology-spec": '{"numaTopologyPolicy":"SingleNUMANode"}',
    "scheduling.koordinator.sh/device-allocate-hint": '{"gpu":{"requiredTopologyScope":"PCIe"}}',
}
LISTS = {"metax-tech.com/use-gputype": "C500", "mthreads.ai/nouse-gpuuuid": "GPU-1", "mine": "stays"}
AFFINITY: Json = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}],
    }
}


@pytest.mark.parametrize(
    ("manifest", "code", "change"),
    [
        pytest.param(SLICE, "less-memory", {"memory": str(20 * GIB)}, id="MetaX slice, GiB"),
        pytest.param(SLICE, "less-memory", {"memory": str(20 * GIB + 2**20)}, id="MetaX slice, MiB"),
        pytest.param(SLICE, "less-compute", {"cores": "30"}, id="MetaX slice, compute"),
        pytest.param(
            asking({f"{METAX}/sgpu": 2}), "less-memory", {"memory": str(GIB)}, id="cards taken whole"
        ),
        pytest.param(asking({f"{METAX}/gpu": "8"}), "fewer-cards", {"count": "4"}, id="whole MetaX cards"),
        pytest.param(
            asking({f"{MTHREADS}/vgpu": 1}),
            "less-memory",
            {"memory": str(16 * GIB)},
            id="MT card named alone",
        ),
        pytest.param(
            asking({f"{MTHREADS}/vgpu": 1, f"{MTHREADS}/sgpu-core": 8, f"{MTHREADS}/sgpu-memory": 64}),
            "less-memory",
            {"memory": str(16 * GIB)},
            id="MT slice",
        ),
        pytest.param(asking({f"{MTHREADS}/vgpu": 1}), "less-compute", {"cores": "4"}, id="MT compute"),
        pytest.param(
            asking(
                {f"{MTHREADS}/vgpu": 4, f"{MTHREADS}/sgpu-core": 64, f"{MTHREADS}/sgpu-memory": 384},
                {"mthreads.com/request-gpu-num": "4"},
            ),
            "fewer-cards",
            {"count": "2"},
            id="several MT cards, completed",
        ),
        pytest.param(
            asking({f"{KOORDINATOR}/gpu": 50, f"{METAX}/sgpu": 1}),
            "less-memory",
            {"memory": str(8 * GIB)},
            id="Koordinator's one number",
        ),
        pytest.param(
            asking(
                {f"{KOORDINATOR}/gpu-core": 50, f"{KOORDINATOR}/gpu-memory-ratio": 50, f"{METAX}/sgpu": 1}
            ),
            "less-compute",
            {"cores": "20"},
            id="Koordinator's compute",
        ),
        pytest.param(
            asking({f"{KOORDINATOR}/gpu": 400, f"{METAX}/sgpu": 4}),
            "fewer-cards",
            {"count": "3"},
            id="Koordinator's cards",
        ),
        pytest.param(
            asking(
                {
                    f"{KOORDINATOR}/gpu-core": 50,
                    f"{KOORDINATOR}/gpu-memory": "16Gi",
                    f"{MTHREADS}/sgpu-core": 8,
                    f"{MTHREADS}/sgpu-memory": 32,
                }
            ),
            "less-memory",
            {"memory": str(8 * GIB)},
            id="Koordinator's words with the plugin's",
        ),
        pytest.param(asking({f"{METAX}/sgpu": 1}), "other-qos", {"qos": "fixed-share"}, id="another policy"),
        pytest.param(
            SLICE,
            "tolerate",
            {"key": "team", "value": "blue", "effect": "NoSchedule"},
            id="a taint with a value",
        ),
        pytest.param(
            asking({}, tolerations=[{"key": "a", "operator": "Exists"}]),
            "tolerate",
            {"key": "team", "value": "", "effect": "NoExecute"},
            id="a taint without",
        ),
        pytest.param(asking({}, SCOPES), "drop-scope", {"scope": "link"}, id="every wording of a scope"),
        pytest.param(
            asking({}, {"hami.io/gpu-scheduler-policy": "mutex, binpack"}),
            "drop-mutex",
            {},
            id="one of two words",
        ),
        pytest.param(
            asking({}, {"hami.io/gpu-scheduler-policy": "mutex"}), "drop-mutex", {}, id="the only word"
        ),
        pytest.param(asking({}, LISTS), "drop-card-lists", {}, id="lists of cards"),
        pytest.param(
            asking({}, {"metax-tech.com/sgpu-app-class": "online"}), "drop-app-class", {}, id="app class"
        ),
        pytest.param(
            asking({}, nodeSelector={"zone": "b"}, affinity=AFFINITY),
            "drop-node-rules",
            {},
            id="rules about nodes",
        ),
        pytest.param(
            pod(
                {"name": "a", "resources": {"requests": {"cpu": "3"}}},
                {"name": "b", "resources": {"limits": {"cpu": 1}}},
            ),
            "less-host",
            {"resource": "cpu", "need": "4000", "have": "3000"},
            id="processors",
        ),
        pytest.param(
            pod({"name": "a", "resources": {"requests": {"memory": "8Gi"}}}),
            "less-host",
            {"resource": "memory", "need": str(8 * GIB), "have": str(5 * GIB)},
            id="host memory",
        ),
    ],
)
def test_the_manifest_says_what_the_suggestion_wants(
    manifest: Json, code: str, change: dict[str, str], snapshot: SnapshotAssertion
) -> None:
    before = copy.deepcopy(manifest)
    after = changed(manifest, code, change)
    assert manifest == before
    assert after is not None
    assert (
        yaml.safe_dump({"metadata": after.get("metadata"), "spec": after["spec"]}, sort_keys=False)
        == snapshot
    )


@pytest.mark.parametrize(
    ("manifest", "code", "change"),
    [
        pytest.param(SLICE, "when-pod-ends", {"pod": "a/b"}, id="another pod's end"),
        pytest.param(SLICE, "no-such-code", {}, id="a code of tomorrow"),
        pytest.param(SLICE, "less-memory", {}, id="no amount"),
        pytest.param(SLICE, "less-memory", {"memory": "much"}, id="no number"),
        pytest.param(SLICE, "less-memory", {"memory": "0"}, id="nothing at all"),
        pytest.param(SLICE, "less-memory", {"memory": str(64 * GIB)}, id="nothing to change"),
        pytest.param(SLICE, "less-host", {}, id="nobody knows how much"),
        pytest.param(
            asking({f"{MTHREADS}/vgpu": 2}),
            "less-memory",
            {"memory": str(GIB)},
            id="part of several MT cards",
        ),
        pytest.param(
            asking({f"{MTHREADS}/vgpu": 1}), "less-memory", {"memory": str(GIB + 1)}, id="no number of units"
        ),
        pytest.param(
            asking({f"{KOORDINATOR}/gpu": 200, f"{METAX}/sgpu": 2}),
            "less-compute",
            {"cores": "10"},
            id="part of two",
        ),
        pytest.param({"kind": "Service", "spec": {}}, "tolerate", {"key": "a"}, id="nothing that makes pods"),
    ],
)
def test_what_changes_no_manifest_gives_none(manifest: Json, code: str, change: dict[str, str]) -> None:
    assert changed(manifest, code, change) is None


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"])
def test_a_workload_is_changed_in_its_template(kind: str) -> None:
    spec: Json = {"template": {"spec": SLICE["spec"]}}
    manifest: Json = {"kind": kind, "spec": {"jobTemplate": {"spec": spec}} if kind == "CronJob" else spec}
    after = changed(manifest, "other-qos", {"qos": "burst-share"})
    assert after is not None
    described = after["spec"]["jobTemplate"]["spec"] if kind == "CronJob" else after["spec"]
    assert described["template"]["metadata"] == {
        "annotations": {"metax-tech.com/sgpu-qos-policy": "burst-share"}
    }
    assert "metadata" not in after


def test_a_cluster_with_names_of_its_own_keeps_them() -> None:
    manifest = asking({"example.com/slice": 1, "example.com/memory": "32Gi"})
    renamed = {"example.com/slice": f"{METAX}/sgpu", "example.com/memory": f"{METAX}/vmemory"}
    after = changed(manifest, "less-memory", {"memory": str(4 * GIB)}, renamed)
    assert after is not None
    limits = after["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {"example.com/slice": 1, "example.com/memory": "4Gi"}
    assert changed(manifest, "less-memory", {"memory": str(4 * GIB)}) is None


def test_requests_follow_limits_where_both_are_written() -> None:
    amounts = {f"{METAX}/gpu": "4"}
    manifest = pod({"name": "a", "resources": {"limits": amounts, "requests": dict(amounts)}})
    after = changed(manifest, "fewer-cards", {"count": "2"})
    assert after is not None
    assert after["spec"]["containers"][0]["resources"] == {
        "limits": {f"{METAX}/gpu": "2"},
        "requests": {f"{METAX}/gpu": "2"},
    }


def test_policies_are_put_where_somebody_asks_what_they_would_do() -> None:
    asked = with_policies(SLICE, "spread", "mutex")
    assert asked["metadata"] == {
        **loose.members(SLICE["metadata"]),
        "annotations": {
            "hami.io/node-scheduler-policy": "spread",
            "hami.io/gpu-scheduler-policy": "mutex",
        },
    }
    assert with_policies(SLICE, "", "") is SLICE


def test_every_code_of_the_engine_is_known() -> None:
    assert len(CODES) == 11

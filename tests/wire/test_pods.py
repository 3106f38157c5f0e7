import pytest

from tangram.model.pods import Phase, Role
from tangram.model.topology import TopologyScope
from tangram.wire.pods import read_pod
from wire.manifests import Json, container, pod

HINT = "scheduling.koordinator.sh/device-allocate-hint"


def test_init_containers_come_first_and_an_always_restarting_one_is_a_sidecar() -> None:
    read = read_pod(
        pod(
            container("app"),
            initContainers=[container("prepare"), container("proxy", restartPolicy="Always")],
        )
    )
    assert [(each.name, each.role) for each in read.containers] == [
        ("prepare", Role.INIT),
        ("proxy", Role.SIDECAR),
        ("app", Role.APP),
    ]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("4", "4"),
        (4, "4"),
        (4.0, "4"),
        (0.5, "0.5"),
        (1e21, "1000000000000000000000"),
        (1e-7, "0.0000001"),
        ("2048Mi", "2048Mi"),
        (True, "true"),
    ],
)
def test_amounts_are_kept_as_the_text_that_was_meant(written: object, text: str) -> None:
    read = read_pod(pod(container(limits={"metax-tech.com/sgpu": written})))
    assert read.containers[0].limits == {"metax-tech.com/sgpu": text}
    assert read.problems == ()


@pytest.mark.parametrize("nothing", [None, {}])
def test_empty_and_null_maps_are_the_same(nothing: object) -> None:
    read = read_pod(
        {
            "metadata": {"name": "demo", "annotations": nothing, "labels": nothing},
            "spec": {
                "containers": [{"name": "main", "resources": {"limits": nothing, "requests": nothing}}],
                "nodeSelector": nothing,
                "affinity": nothing,
                "initContainers": None,
                "tolerations": None,
            },
            "status": nothing,
        }
    )
    assert read.annotations == read.labels == {}
    assert read.containers[0].limits == {}
    assert read.problems == ()


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": "main"},
        {"containers": ["main"]},
        {"containers": [{"name": "main", "resources": "big"}]},
        {"containers": [{"name": "main", "resources": {"limits": ["metax-tech.com/gpu"]}}]},
        {"containers": [{"name": "main", "resources": {"limits": {"metax-tech.com/gpu": None}}}]},
        {"containers": [{"name": "main", "resources": {"limits": {"metax-tech.com/gpu": [1]}}}]},
    ],
)
def test_what_could_hide_a_request_is_a_refusal_and_never_nothing(spec: Json) -> None:
    problems = read_pod({"metadata": {"name": "demo"}, "spec": spec}).problems
    assert [each.code for each in problems] == ["pod-unreadable"]
    assert problems[0].sentence.startswith("spec.containers")


def test_a_manifest_without_a_uid_gets_its_name_as_one() -> None:
    assert read_pod(pod(metadata={"uid": None})).ref.uid == "default/demo"
    assert read_pod({}).ref.uid == "default/unnamed"
    assert read_pod({"metadata": {"generateName": "job-"}}).ref.name == "job-"


def test_the_facts_of_a_running_pod_are_read() -> None:
    manifest = pod(container(), nodeName="n1", priority=7, schedulerName="hami-scheduler")
    manifest["status"] = {"phase": "Running"}
    read = read_pod(manifest)
    assert (read.node_name, read.priority, read.scheduler_name) == ("n1", 7, "hami-scheduler")
    assert read.phase is Phase.RUNNING
    assert not read.terminating


def test_a_deletion_timestamp_means_terminating() -> None:
    assert read_pod(pod(metadata={"deletionTimestamp": "2026-11-15T21:15:10Z"})).terminating


@pytest.mark.parametrize(
    ("written", "phase"),
    [
        (None, Phase.PENDING),
        ("", Phase.PENDING),
        ("Failed", Phase.FAILED),
        ("Odd", Phase.UNKNOWN),
        (7, Phase.UNKNOWN),
    ],
)
def test_an_unknown_phase_is_unknown_and_a_missing_one_pending(written: object, phase: Phase) -> None:
    assert read_pod({**pod(), "status": {"phase": written}}).phase is phase


def status(name: str, exit_code: object = None) -> Json:
    state: Json = {"running": {}} if exit_code is None else {"terminated": {"exitCode": exit_code}}
    return {"name": name, "state": state}


@pytest.mark.parametrize(
    ("statuses", "done"),
    [
        ([status("first", 0), status("second", 0)], True),
        ([status("first", 0), status("second", 0), status("proxy")], True),
        ([status("first", 0), status("second", 1)], False),
        ([status("first", 0), status("second")], False),
        ([status("first", 0)], False),
        (None, False),
    ],
)
def test_init_is_done_when_every_ordinary_init_container_ended_well(statuses: object, *, done: bool) -> None:
    manifest = pod(
        container("app"),
        initContainers=[
            container("first"),
            container("second"),
            container("proxy", restartPolicy="Always"),
        ],
    )
    assert read_pod({**manifest, "status": {"initContainerStatuses": statuses}}).init_done is done


def test_koordinators_hints_are_read_with_the_pod() -> None:
    hint = '{"gpu":{"requiredTopologyScope":"PCIe"}}'
    labels = {"koordinator.sh/gpu-isolation-provider": "HAMi-core"}
    read = read_pod(pod(annotations={HINT: hint}, metadata={"labels": labels}))
    assert [wish.scope for wish in read.hints.scopes] == [TopologyScope.PCIE]
    assert [refusal.code for refusal in read.hints.refusals] == ["isolation-provider"]
    assert read.problems == ()

"""What holds for every chart in every case: its objects fit together, and say nothing that an upgrade regrets."""

from collections.abc import Iterator
from functools import cache

import pytest

from builders.charts.cases import CHARTS, EXTENSIONS, OPERATOR, TANGRAM, Case, case_named, cases, values_of
from builders.charts.goldens import Object, key_of, objects_of
from builders.charts.reading import (
    CLUSTER_WIDE,
    containers,
    has_port,
    labels_of,
    namespace_of,
    of_kind,
    pod_of,
    selects,
    workloads,
)
from tangram.cli.app import app
from tangram.wire.gpu_aware_weights import ALIAS

ALL = [pytest.param(case, id=f"{case.chart}-{case.name}") for chart in CHARTS for case in cases(chart)]
VERSION_LABELS = {"app.kubernetes.io/version", "helm.sh/chart"}
EVERYWHERE = VERSION_LABELS | {
    f"app.kubernetes.io/{word}" for word in ("name", "instance", "component", "managed-by")
}
KUBE_SYSTEM = {"RoleBinding tangram-scheduler-authentication"}
"""What belongs there wherever the release is: the role it names is there."""
EVENTS_OF_NODES = {"Role tangram-dashboard", "RoleBinding tangram-dashboard"}
"""The same for the namespace where Kubernetes has them."""
ALIASES = {TANGRAM: "", EXTENSIONS: "metax-gpu", OPERATOR: "metax-gpu"}
"""Where the manual looks for gpu-aware, if a case does not say."""
OF_THE_OPERATORS_PODS = {
    f"metax-{part}" for part in ("gpu-label", "gpu-device", "driver-manager", "container-runtime", "payloads")
}
"""Accounts of pods that the operator makes, and not the chart."""
BOUND_BY_PEOPLE = {"ClusterRole tangram-metrics-reader"}
SINCE = {
    "ValidatingAdmissionPolicy": (1, 30),
    "ValidatingAdmissionPolicyBinding": (1, 30),
}


@pytest.fixture(params=ALL)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@cache
def put_together(chart: str, name: str) -> list[Object]:
    return objects_of(case_named(chart, name))


@pytest.fixture
def objects(case: Case) -> list[Object]:
    return put_together(case.chart, case.name)


def test_names_are_short_enough_for_labels_and_hosts(objects: list[Object]) -> None:
    assert [key_of(each) for each in objects if len(each["metadata"]["name"]) > 63] == []


def test_everything_is_labelled_alike(case: Case, objects: list[Object]) -> None:
    for thing in objects:
        labels = labels_of(thing)
        assert labels.keys() >= EVERYWHERE, key_of(thing)
        # The scheduler is the same wherever it comes from.
        own = TANGRAM if thing["metadata"]["name"].startswith("tangram-") else case.chart
        assert labels["app.kubernetes.io/name"] == own
        assert labels["app.kubernetes.io/instance"] == case.release


def test_everything_is_in_the_releases_namespace(case: Case, objects: list[Object]) -> None:
    settings = values_of(case).get("gpuDevice", {}).get("configNamespace", "kube-system")
    manual = values_of(case).get("gpuAware", {}).get("aliasNamespace", ALIASES[case.chart])
    for thing in objects:
        follows = labels_of(thing)["app.kubernetes.io/component"] == "gpu-device"
        keeps = thing["metadata"]["name"] == "metax-operator-device-config"
        elsewhere = {settings} if follows or keeps else set[str]()
        elsewhere |= {"kube-system"} if key_of(thing) in KUBE_SYSTEM else set()
        elsewhere |= {"default"} if key_of(thing) in EVENTS_OF_NODES else set()
        if thing["metadata"]["name"].endswith("-gpu-device-default"):
            elsewhere = {"default"}
        if labels_of(thing)["app.kubernetes.io/component"] == "gpu-aware-alias":
            assert manual, key_of(thing)
            elsewhere = {manual}
        if thing["kind"] in CLUSTER_WIDE:
            assert namespace_of(thing) == "", key_of(thing)
        else:
            assert namespace_of(thing) in {case.namespace, *elsewhere}, key_of(thing)


def test_what_is_selected_is_there(objects: list[Object]) -> None:
    for workload in of_kind(objects, "Deployment", "DaemonSet"):
        assert selects(workload["spec"]["selector"]["matchLabels"], labels_of(pod_of(workload)))
    pods = [pod_of(each) for each in of_kind(objects, "Deployment", "DaemonSet")]
    for thing in of_kind(objects, "Service", "PodDisruptionBudget", "PodMonitor"):
        if thing["metadata"]["name"] == ALIAS:
            assert "selector" not in thing["spec"], "its endpoints are written by gpu-aware"
            continue
        selector = thing["spec"]["selector"]
        wanted = selector if thing["kind"] == "Service" else selector["matchLabels"]
        (pod,) = [each for each in pods if selects(wanted, labels_of(each))]
        for port in [each["targetPort"] for each in thing["spec"].get("ports", [])]:
            assert has_port(pod, port), key_of(thing)
        for endpoint in thing["spec"].get("podMetricsEndpoints", []):
            assert has_port(pod, endpoint["port"]), key_of(thing)
    for monitor in of_kind(objects, "ServiceMonitor"):
        wanted = monitor["spec"]["selector"]["matchLabels"]
        (service,) = [each for each in of_kind(objects, "Service") if selects(wanted, labels_of(each))]
        ports = {each["name"] for each in service["spec"]["ports"]}
        assert {each["port"] for each in monitor["spec"]["endpoints"]} <= ports


def test_selectors_hold_nothing_that_an_upgrade_changes(objects: list[Object]) -> None:
    for workload in of_kind(objects, "Deployment", "DaemonSet"):
        selector = workload["spec"]["selector"]["matchLabels"]
        assert selector.keys() == {"app.kubernetes.io/name", "app.kubernetes.io/component"}


def test_pods_say_nothing_of_the_charts_version_and_no_webhook_is_asked_about_them(
    objects: list[Object],
) -> None:
    for workload in workloads(objects):
        labels = labels_of(pod_of(workload))
        assert not VERSION_LABELS & labels.keys(), key_of(workload)
        assert labels["hami.io/webhook"] == "ignore", key_of(workload)


def test_every_workload_has_an_account_of_its_own(case: Case, objects: list[Object]) -> None:
    used = [(namespace_of(each), pod_of(each)["spec"]["serviceAccountName"]) for each in workloads(objects)]
    made = [(namespace_of(each), each["metadata"]["name"]) for each in of_kind(objects, "ServiceAccount")]
    if case.chart == OPERATOR:
        used += [(case.namespace, name) for name in OF_THE_OPERATORS_PODS]
    assert sorted(used) == sorted(made)


def test_every_role_is_bound_to_accounts_that_are_there(objects: list[Object]) -> None:
    accounts = {(namespace_of(each), each["metadata"]["name"]) for each in of_kind(objects, "ServiceAccount")}
    roles = {
        (each["kind"], namespace_of(each), each["metadata"]["name"])
        for each in of_kind(objects, "Role", "ClusterRole")
        if key_of(each) not in BOUND_BY_PEOPLE
    }
    bound: set[tuple[str, str, str]] = set()
    for binding in of_kind(objects, "RoleBinding", "ClusterRoleBinding"):
        for subject in binding["subjects"]:
            assert subject["kind"] == "ServiceAccount"
            assert (subject["namespace"], subject["name"]) in accounts, key_of(binding)
        role = binding["roleRef"]
        bound.add((role["kind"], namespace_of(binding) if role["kind"] == "Role" else "", role["name"]))
    of_kubernetes = {
        each for each in bound if each[2].startswith("system:") or each[2].startswith("extension-apiserver-")
    }
    assert bound - of_kubernetes == roles


def test_images_come_from_the_registry_with_a_version(case: Case, objects: list[Object]) -> None:
    registry = values_of(case).get("registry", "tangram.dev/cloud")
    for running in containers(objects):
        image: str = running.container["image"]
        assert image.rpartition(":")[2] not in {"", "latest", image}, str(running)
        if running.is_ours:
            assert image.rpartition(":")[0] == f"{registry}/tangram", str(running)
        else:
            assert running.container["name"] == "kube-scheduler"


def test_probes_ask_where_somebody_listens(objects: list[Object]) -> None:
    for running in containers(objects):
        for word in ("livenessProbe", "readinessProbe", "startupProbe"):
            if word in running.container and running.is_ours:
                port = running.container[word]["httpGet"]["port"]
                assert has_port({"spec": {"containers": [running.container]}}, port), str(running)


def test_every_command_is_one_that_the_program_reads(objects: list[Object]) -> None:
    for running in containers(objects):
        if running.is_ours:
            command, bound, *_ = app.parse_args(running.command[1:], exit_on_error=False, print_error=False)
            assert callable(command)
            assert bound is not None


def test_what_is_mounted_is_there(case: Case, objects: list[Object]) -> None:
    made = {(each["kind"], each["metadata"]["name"]) for each in of_kind(objects, "ConfigMap", "Secret")}
    made |= {("Secret", each["spec"]["secretName"]) for each in of_kind(objects, "Certificate")}
    values = values_of(case)
    made.add(("Secret", values.get("certificates", {}).get("secretName", "")))
    made.add(("ConfigMap", values.get("scheduler", {}).get("clientCA", "")))
    made.add(("Secret", values.get("dashboard", {}).get("tlsSecretName", "")))
    # The scheduler makes it itself where nobody else does.
    made.add(("Secret", "tangram-scheduler-tls"))
    for workload in workloads(objects):
        volumes = {each["name"]: each for each in pod_of(workload)["spec"].get("volumes", [])}
        assert {kind_and_name for each in volumes.values() for kind_and_name in _mounted(each)} <= made
        mounted = {
            mount["name"]
            for container in pod_of(workload)["spec"]["containers"]
            for mount in container.get("volumeMounts", [])
        }
        assert mounted == volumes.keys(), key_of(workload)


def _mounted(volume: Object) -> Iterator[tuple[str, str]]:
    if "configMap" in volume and not volume["configMap"].get("optional"):
        yield "ConfigMap", volume["configMap"]["name"]
    if "secret" in volume and not volume["secret"].get("optional"):
        yield "Secret", volume["secret"]["secretName"]
    for source in volume.get("projected", {}).get("sources", []):
        for word, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
            if word in source:
                yield kind, source[word]["name"]


def test_nothing_is_used_that_the_cluster_is_too_old_for(case: Case, objects: list[Object]) -> None:
    major, minor = case.kube.removeprefix("v").split(".")[:2]
    version = (int(major), int(minor))
    for thing in objects:
        assert version >= SINCE.get(thing["kind"], (1, 23)), key_of(thing)
        assert "beta" not in thing["apiVersion"], key_of(thing)
        for hook in thing.get("webhooks", []):
            assert "matchConditions" not in hook or version >= (1, 28), key_of(thing)


def test_only_the_nodes_agent_has_powers_over_its_host(objects: list[Object]) -> None:
    for running in containers(objects):
        security = running.container["securityContext"]
        if labels_of(running.workload)["app.kubernetes.io/component"] == "gpu-device":
            assert security["privileged"]
        else:
            assert not security.get("privileged", False), str(running)
            assert security["allowPrivilegeEscalation"] is False, str(running)
            assert security["capabilities"]["drop"] == ["ALL"], str(running)
            assert security["readOnlyRootFilesystem"], str(running)

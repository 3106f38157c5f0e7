"""The parts on nodes of charts that make their pods, against the pages that say what each needs and what it is for."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.charts.cases import EXTENSIONS, WITH_DAEMONS, case_named, leaves, values_of
from builders.charts.goldens import Object, changes_of, objects_of
from builders.charts.reading import of_kind, pod_of, workloads
from tangram.drivers.mxsmi.tool import FOLDERS
from tangram.drivers.mxsml.locate import DIRECTORIES
from tangram.services.gpu_aware.alias_service import FAMILIES, SERVICE
from tangram.services.gpu_device.config_texts import read_config_texts
from tangram.units.ids import NodeName
from tangram.wire.device_config import CONFIG_MAPS, NodeMode
from tangram.wire.gpu_aware_weights import ALIAS, Weights, read_weights, read_written
from tangram.wire.gpu_aware_weights import CONFIG_MAP as WEIGHTS
from tangram.wire.metax_labels import INSTALLED as METAX_INSTALLED
from tangram.wire.mthreads_labels import INSTALLED as MTHREADS_INSTALLED

DOCS = Path(__file__).resolve().parents[2] / "docs"
VALUES = Path(__file__).resolve().parents[2] / "deploy" / "charts" / EXTENSIONS / "values.yaml"
PREFIXES = {"tangram": "tangram", EXTENSIONS: "metax"}
LOG_WORDS = ("level", "format", "rotation", "max-age")

pytestmark = pytest.mark.parametrize("chart", WITH_DAEMONS)
"""Each promise holds in both charts."""


def part(chart: str, component: str, case: str = "deployExtenderGPUAware", kind: str = "DaemonSet") -> Object:
    name = f"{PREFIXES[chart]}-{component}"
    found = of_kind(objects_of(case_named(chart, case)), kind)
    return next(each for each in found if each["metadata"]["name"] == name)


def container(chart: str, component: str, case: str = "deployExtenderGPUAware") -> Object:
    return pod_of(part(chart, component, case))["spec"]["containers"][0]


def option(chart: str, component: str, name: str, case: str) -> str:
    words: list[str] = container(chart, component, case)["args"]
    return words[words.index(name) + 1]


def rows(page: str, head: str) -> Iterator[list[str]]:
    """The cells of the table of a page whose first line begins so."""
    lines = (DOCS / page).read_text("utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(head))
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def rules(role: Object) -> set[tuple[str, str, str]]:
    """Group, resource and verb of everything a role allows."""
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def volumes(chart: str, component: str, case: str = "deployExtenderGPUAware") -> dict[str, Object]:
    """What is mounted of the host, by its path there."""
    spec = pod_of(part(chart, component, case))["spec"]
    mounts = {each["name"]: each for each in spec["containers"][0]["volumeMounts"]}
    return {each["hostPath"]["path"]: mounts[each["name"]] for each in spec["volumes"] if "hostPath" in each}


# ---- gpu-device


def test_gpu_device_sees_of_the_host_what_its_page_says(chart: str) -> None:
    wanted: dict[str, tuple[str, bool]] = {}
    for cell, _ in rows("gpu-device.md", "| Host path"):
        path, *elsewhere = re.findall(r"`([^`]+)`", cell)
        seen = elsewhere[0] if "seen as" in cell else path
        wanted[path] = seen, "read-only" in cell
    mounted = volumes(chart, "gpu-device")
    assert {
        path: (each["mountPath"], each.get("readOnly", False)) for path, each in mounted.items()
    } == wanted


@pytest.mark.parametrize(
    ("component", "case"), [("gpu-device", "default"), ("gpu-label", "gpuLabel.driver.library")]
)
@pytest.mark.parametrize("driver", ["/opt/mxdriver", "/usr/local/metax/mxdriver"])
def test_library_and_tool_are_looked_for_where_the_container_sees_a_driver(
    chart: str, component: str, case: str, driver: str
) -> None:
    mounted = volumes(chart, component, case)
    (path, mount), *_ = [each for each in mounted.items() if driver.startswith(f"{each[0]}/")]
    assert mount["readOnly"] is True
    seen = driver.replace(path, mount["mountPath"], 1)
    assert f"{seen}/lib" in DIRECTORIES
    assert f"{seen}/bin" in FOLDERS


def test_no_folder_of_a_driver_is_made_on_a_host(chart: str) -> None:
    """A mount of a folder that is not there makes it, whatever its type: the runtimes do where the kubelet does not."""
    for component, case in (("gpu-device", "default"), ("gpu-label", "gpuLabel.driver.library")):
        spec = pod_of(part(chart, component, case))["spec"]
        made = {
            each["hostPath"]["path"]
            for each in spec["volumes"]
            if "hostPath" in each and each["hostPath"]["type"] != "Directory"
        }
        assert not [path for path in made if path.startswith(("/usr", "/opt/"))]


def test_gpu_device_sees_the_processes_that_use_the_cards(chart: str) -> None:
    spec = pod_of(part(chart, "gpu-device"))["spec"]
    assert spec["hostPID"] is True
    assert "shareProcessNamespace" not in spec
    assert "`hostPID`" in (DOCS / "gpu-device.md").read_text("utf-8")


def test_gpu_device_may_do_what_its_page_says(chart: str) -> None:
    wanted: set[tuple[str, str, str]] = set()
    for verbs, cell, _ in rows("gpu-device.md", "| API verb"):
        resource = cell.split()[0]
        name, _, group = resource.partition(".")
        wanted |= {(group, name, verb) for verb in verbs.split(", ")}
    assert (
        rules(part(chart, "gpu-device", kind="ClusterRole")) | rules(part(chart, "gpu-device", kind="Role"))
        == wanted
    )


def test_the_device_config_map_is_followed_by_name_where_it_is(chart: str) -> None:
    role = part(chart, "gpu-device", "gpuDevice.configNamespace", "Role")
    assert role["metadata"]["namespace"] == "gpu-settings"
    assert role["rules"][0]["resourceNames"] == list(CONFIG_MAPS)
    assert option(chart, "gpu-device", "--config-namespace", "gpuDevice.configNamespace") == "gpu-settings"


def test_the_device_config_map_of_the_values_is_one_that_the_agent_reads(chart: str) -> None:
    made = of_kind(objects_of(case_named(chart, "gpuDevice.deviceConfig")), "ConfigMap")
    (found,) = [each for each in made if each["metadata"]["name"] == CONFIG_MAPS[0]]
    assert read_config_texts(found["data"], NodeName("gpu-1")).mode is NodeMode.SGPU


def test_gpu_device_is_where_gpu_label_found_a_card(chart: str) -> None:
    affinity = pod_of(part(chart, "gpu-device"))["spec"]["affinity"]["nodeAffinity"]
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [term["matchExpressions"] for term in terms] == [
        [{"key": key, "operator": "In", "values": ["true"]}] for key in (METAX_INSTALLED, MTHREADS_INSTALLED)
    ]


def test_labels_that_a_node_must_have_too_are_asked_for_beside_its_cards(chart: str) -> None:
    usual = pod_of(part(chart, "gpu-device", "default"))["spec"]
    chosen = pod_of(part(chart, "gpu-device", "gpuDevice.nodeSelector"))["spec"]
    assert "nodeSelector" not in usual
    # Kubernetes wants both of a node: what is selected, and one of the terms of the affinity.
    assert (chosen["nodeSelector"], chosen["affinity"]) == ({"gpu-served-by": "tangram"}, usual["affinity"])


def test_the_kubelets_note_of_an_end_is_not_left_among_the_hosts_devices(chart: str) -> None:
    assert not container(chart, "gpu-device")["terminationMessagePath"].startswith("/dev")


# ---- gpu-label and gpu-aware


def test_gpu_label_may_do_what_its_page_says(chart: str) -> None:
    (block,) = re.findall(r"```yaml\n(rules:\n.*?)```", (DOCS / "gpu-label.md").read_text("utf-8"), re.DOTALL)
    assert rules(part(chart, "gpu-label", kind="ClusterRole")) == rules(yaml.safe_load(block))


def test_gpu_aware_may_do_what_its_page_says(chart: str) -> None:
    (page,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "gpu-aware.md").read_text("utf-8"), re.DOTALL)
    (role,) = [each for each in yaml.safe_load_all(page) if each["kind"] == "Role"]
    made = part(chart, "gpu-aware", kind="Role")
    assert made["rules"] == role["rules"]


@pytest.mark.parametrize("component", ["gpu-label", "gpu-aware"])
def test_what_needs_no_power_has_none(chart: str, component: str) -> None:
    context = container(chart, component)["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert volumes(chart, component).keys() == {"/var/log/metax"}
    spec = pod_of(part(chart, component))["spec"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()


def test_gpu_label_asks_a_library_only_if_told_to(chart: str) -> None:
    assert volumes(chart, "gpu-label", "gpuLabel.driver.library").keys() == {"/var/log/metax", "/opt", "/usr"}
    assert volumes(chart, "gpu-label", "gpuLabel.driver.simulated").keys() == {
        "/var/log/metax",
        "/run/tangram",
    }


def test_gpu_aware_answers_while_the_next_one_starts(chart: str) -> None:
    strategy = part(chart, "gpu-aware")["spec"]["updateStrategy"]["rollingUpdate"]
    assert strategy == {"maxUnavailable": 0, "maxSurge": 1}


def test_gpu_aware_is_called_as_in_the_vendors_chart(chart: str) -> None:
    objects = objects_of(case_named(chart, "deployExtenderGPUAware"))
    (service,) = [each for each in of_kind(objects, "Service") if "gpu-aware" in each["metadata"]["name"]]
    assert (service["metadata"]["name"], service["spec"]["ports"][0]["port"]) == ("gpu-aware-service", 8080)
    (weights,) = [each for each in of_kind(objects, "ConfigMap") if each["metadata"]["name"] == WEIGHTS]
    assert weights["data"] == {"score": "1.0", "loss": "0.5"}


# ---- logs


@pytest.mark.parametrize("component", ["gpu-device", "gpu-label", "gpu-aware"])
def test_log_options_for_all_reach_every_component(chart: str, component: str) -> None:
    case = "log-of-all"
    assert [option(chart, component, f"--log-{word}", case) for word in LOG_WORDS] == [
        "error", "text", "24h", "90d",
    ]  # fmt: skip
    assert volumes(chart, component, case).keys() >= {"/data/log"}


@pytest.mark.parametrize("component", ["gpu-device", "gpu-label", "gpu-aware"])
def test_a_components_own_log_option_counts_for_it_and_the_others_stay(chart: str, component: str) -> None:
    case = "log-of-all-and-own"
    own = {"gpu-device": "debug", "gpu-label": "fatal", "gpu-aware": "warn"}
    assert [option(chart, component, f"--log-{word}", case) for word in LOG_WORDS] == [
        own[component], "text", "24h", "90d",
    ]  # fmt: skip


@pytest.mark.parametrize("component", ["gpu-label", "gpu-aware"])
def test_without_log_files_nothing_of_the_host_is_mounted_and_nobody_is_root(
    chart: str, component: str
) -> None:
    case = "log-without-files"
    assert option(chart, component, "--log-dir", case) == ""
    assert volumes(chart, component, case) == {}
    context = container(chart, component, case)["securityContext"]
    assert (context.get("runAsNonRoot"), "runAsUser" in context) == (True, False)


def test_whatever_folder_is_chosen_it_hides_nothing_inside(chart: str) -> None:
    for component in ("gpu-device", "gpu-label", "gpu-aware"):
        assert option(chart, component, "--log-dir", "log-of-all") == "/var/log/metax"
        assert volumes(chart, component, "log-of-all")["/data/log"]["mountPath"] == "/var/log/metax"


# ---- what restarts, and what ends


@pytest.mark.parametrize("name", ["gpuAware.scoreWeight", "gpuAware.lossWeight", "gpuDevice.deviceConfig"])
def test_what_is_followed_live_restarts_nothing(chart: str, name: str) -> None:
    changes = changes_of(case_named(chart, name))
    touched = [*changes.get("changed", {}), *(each["kind"] for each in changes.get("added", ()))]
    assert touched
    assert all(each.startswith("ConfigMap") for each in touched)


def test_the_manuals_service_and_weights_are_where_gpu_aware_looks_for_them(chart: str) -> None:
    case = "gpuAware.aliasNamespace"
    objects = objects_of(case_named(chart, case))
    (service,) = [each for each in of_kind(objects, "Service") if each["metadata"]["name"] == ALIAS]
    (weights,) = [each for each in of_kind(objects, "ConfigMap") if each["metadata"]["name"] == ALIAS]
    assert option(chart, "gpu-aware", "--alias-namespace", case) == "gpu-manual"
    assert {each["metadata"]["namespace"] for each in (service, weights)} == {"gpu-manual"}
    # kube-proxy finds a port of an endpoint by its name.
    (real,) = [each for each in of_kind(objects, "Service") if each["metadata"]["name"] == SERVICE]
    assert [(each["name"], each["port"]) for each in service["spec"]["ports"]] == [
        (each["name"], each["port"]) for each in real["spec"]["ports"]
    ]
    written = read_written("", weights)
    assert (read_weights(written.data), written.edited("score"), written.edited("loss")) == (
        Weights(),
        False,
        False,
    )
    (home,) = [each for each in of_kind(objects, "Namespace") if each["metadata"]["name"] == "gpu-manual"]
    assert home["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_what_gpu_aware_may_write_for_the_manual_is_the_endpoints_of_one_service(chart: str) -> None:
    role = part(chart, "gpu-aware-alias", "gpuAware.aliasNamespace", "Role")
    writes = [rule for rule in role["rules"] if {"create", "patch"} & set(rule["verbs"])]
    assert [(rule["resources"], rule.get("resourceNames")) for rule in writes] == [
        (["endpointslices"], sorted(FAMILIES.values())),
        (["endpointslices"], None),
    ]


def test_cleaning_up_may_do_what_its_page_says(chart: str) -> None:
    wanted: set[tuple[str, str, str]] = set()
    for group, cell, verbs, where in rows("uninstall.md", "| Group | Resource"):
        if "only" in where and f"`{chart}` only" not in where:
            continue
        resources = re.findall(r"`([^`]+)`", cell.split(", named")[0])
        wanted |= {(group.strip("`"), each, verb) for each in resources for verb in verbs.split(", ")}
    objects = of_kind(objects_of(case_named(chart, "default")), "Role", "ClusterRole")
    made = [each for each in objects if each["metadata"]["name"] == f"{PREFIXES[chart]}-cleanup"]
    assert set[Any]().union(*(rules(each) for each in made)) == wanted


def test_cleaning_up_happens_last_and_is_told(chart: str) -> None:
    objects = objects_of(case_named(chart, "default"))
    hooks = [each for each in objects if "helm.sh/hook" in each["metadata"].get("annotations", {})]
    weights = {each["kind"]: int(each["metadata"]["annotations"]["helm.sh/hook-weight"]) for each in hooks}
    assert weights.pop("Job") > max(weights.values())
    assert weights["ServiceAccount"] < weights["ClusterRole"] < weights["ClusterRoleBinding"]
    (job,) = of_kind(objects, "Job")
    assert job["metadata"]["annotations"] == {
        "helm.sh/hook": "post-delete",
        "helm.sh/hook-weight": "0",
        "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
        "helm.sh/hook-output-log-policy": "hook-succeeded,hook-failed",
    }
    # helm itself waits for five minutes, and would only say that they have passed.
    assert job["spec"]["activeDeadlineSeconds"] < 300
    assert all(each in hooks for each in objects if each["metadata"]["name"].endswith("-cleanup"))


def test_nothing_cleans_up_if_nobody_wants_it(chart: str) -> None:
    objects = objects_of(case_named(chart, "cleanup.enabled"))
    assert workloads(objects)
    assert [each for each in objects if each["metadata"]["name"].endswith("-cleanup")] == []


# ---- the page of the vendor's chart


def test_the_page_lists_every_option_with_its_value(chart: str) -> None:
    options = dict(leaves(yaml.safe_load(VALUES.read_text("utf-8"))))
    told = {
        cells[0].strip("`"): yaml.safe_load(cells[1].strip("`"))
        for head in (
            "| Option | If not given | What it does here",
            "| Option | If not given | What it does |",
        )
        for cells in rows("metax-extensions.md", head)
    }
    weights = {key: float(str(value)) for key, value in options.items() if key.endswith("Weight")}
    assert told == {**options, **weights}
    # Both charts have the same parts, so they have the same options for them.
    assert set(values_of(case_named(chart, "log-of-all-and-own"))) <= {key.partition(".")[0] for key in told}

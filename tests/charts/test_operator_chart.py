"""The chart `metax-operator`: its options become an object that the operator reads, and its page says what it gives.

The pods of nodes are the operator's to make; what the chart owes them is accounts, rights and fences under the names
that the operator uses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.charts.cases import (
    CHARTS,
    DEFAULT,
    EXTENSIONS,
    OPERATOR,
    Case,
    case_named,
    cases,
    leaves,
    values_of,
)
from builders.charts.goldens import CHARTS as FOLDER
from builders.charts.goldens import ROOT, Object, objects_of
from builders.charts.reading import of_kind, pod_of
from shipping.charts.contents import files_of
from shipping.charts.options import chart_schemas
from tangram.services.gpu_device.config_texts import read_config_texts
from tangram.services.operator.parts import config_maps, pods
from tangram.services.operator.parts.catalogue import PARTS
from tangram.services.operator.parts.pods import Site
from tangram.units.ids import NodeName
from tangram.vendors.metax.maca_images import known_products, read_maca_image
from tangram.wire.device_config import NodeMode
from tangram.wire.operator import names
from tangram.wire.operator.definition import FILE, operator_definition
from tangram.wire.operator.policies import ALSO, DeployPolicy
from tangram.wire.operator.reading import read_spec
from tangram.wire.operator.spec import Spec

PAGE = (ROOT / "docs" / "metax-operator.md").read_text("utf-8")
OPTIONS: dict[str, Any] = chart_schemas()[OPERATOR]["properties"]
EVERY = [pytest.param(case, id=case.name) for case in cases(OPERATOR)]
HOOK = "helm.sh/hook"


def made(case: str = DEFAULT) -> list[Object]:
    return objects_of(case_named(OPERATOR, case))


def asked(case: Case) -> Object:
    (found,) = of_kind(objects_of(case), names.KIND)
    return found


def spec_of(case: str) -> Spec:
    return read_spec(asked(case_named(OPERATOR, case)))


# ---- what is asked of the operator


@pytest.mark.parametrize("case", EVERY)
def test_every_option_becomes_an_object_that_the_operator_reads(case: Case) -> None:
    found = asked(case)
    assert (found["apiVersion"], found["metadata"]["name"]) == (names.API_VERSION, names.OBJECT)
    read_spec(found)


@pytest.mark.parametrize("case", EVERY)
def test_the_object_has_no_field_that_its_kind_would_drop(case: Case) -> None:
    (version,) = operator_definition()["spec"]["versions"]
    known = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert list(_unknown(asked(case)["spec"], known)) == []


def _unknown(written: Any, schema: Object, at: str = "spec") -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(written, dict) and "properties" in schema:
        for key, value in written.items():  # pyright: ignore[reportUnknownVariableType] - a map of JSON
            if key not in schema["properties"]:
                yield f"{at}.{key}"
            else:
                yield from _unknown(value, schema["properties"][key], f"{at}.{key}")


def test_what_is_not_given_is_what_the_operator_takes_itself() -> None:
    given, usual = spec_of(DEFAULT), Spec()
    assert given.driver.upgrade_policy == usual.driver.upgrade_policy
    assert given.driver.policy == usual.driver.policy
    assert given.runtime.config == usual.runtime.config
    assert given.maca.cleanup_config == usual.maca.cleanup_config
    assert given.device_plugin.healthy_interval == usual.device_plugin.healthy_interval
    assert given.log_of(given.driver.log) == usual.log_of(usual.driver.log)


def test_the_policy_of_the_shipped_chart_means_the_manuals() -> None:
    assert spec_of("driver.deployPolicy.as-shipped").driver.policy is DeployPolicy.IF_NOT_PRESENT


def test_payloads_come_from_their_own_registry_or_that_of_all_images() -> None:
    assert spec_of("registry").driver_image == "registry.example.com:5000/gpu/driver-image:2.32.0-amd64"
    own = "registry.example.com/drivers/vendor/driver-image:2.33.0-amd64"
    assert spec_of("driver.payload").driver_image == own
    assert spec_of("maca.payload.images").maca_images == (
        "tangram.dev/cloud/mxc500-maca:2.23.0.4-ubuntu20.04-amd64",
        "tangram.dev/cloud/maca-c500:2.18.0.3-ubuntu18.04-amd64",
    )
    assert spec_of("driver.deployPolicy").driver_image == ""


@pytest.mark.parametrize(
    "image",
    [
        *(f"maca-{product}:2.18.0.3" for product in (*known_products(), "native")),
        "library/mxc500-maca:2.23.0.4-ubuntu20.04-amd64",
        "maca-mxn100:1",
        "maca-x900:1",
        "maca:1",
        "mxc500:1",
        "my-maca-c500:1",
    ],
)
def test_the_chart_takes_images_of_exactly_the_products_that_the_operator_knows(image: str) -> None:
    pattern = OPTIONS["maca"]["properties"]["payload"]["properties"]["images"]
    assert (re.search(_pattern_in(pattern), image) is not None) is (read_maca_image(image) is not None)


def _pattern_in(schema: Any) -> str:  # noqa: ANN401 - any JSON
    (found,) = set(re.findall(r'"pattern": ("\^.*?\$")', json.dumps(schema)))
    return json.loads(found)


@pytest.mark.parametrize("part", ["driver", "maca", "runtime", "labelgen", "device_plugin"])
def test_log_options_of_one_part_are_its_own_and_others_are_of_all(part: str) -> None:
    option = {"labelgen": "gpuLabel", "device_plugin": "gpuDevice"}.get(part, part)
    own = spec_of(f"{option}.log")
    assert own.log_of(getattr(own, part).log).level == "debug"
    shared = spec_of("log.level")
    assert shared.log_of(getattr(shared, part).log).level == "warn"


def test_words_of_the_options_are_those_of_the_operator() -> None:
    (version,) = operator_definition()["spec"]["versions"]
    known = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    driver, ours = known["driver"]["properties"], OPTIONS["driver"]["properties"]
    assert set(ours["deployPolicy"]["enum"]) == {*DeployPolicy, *ALSO} == set(driver["deployPolicy"]["enum"])
    for word in ("fwUpgradePolicy", "fwEffectPolicy"):
        assert set(ours[word]["enum"]) == set(driver[word]["enum"]), word
    busy = driver["upgradePolicy"]["properties"]["whenBusy"]["enum"]
    assert set(ours["upgradePolicy"]["properties"]["whenBusy"]["enum"]) == set(busy)
    runtime = known["runtime"]["properties"]["config"]["properties"]
    for word, schema in OPTIONS["runtime"]["properties"]["config"]["properties"].items():
        assert set(schema["enum"]) == set(runtime[word]["enum"]), word
    cleanup = known["maca"]["properties"]["cleanupConfig"]["properties"]["cleanupPolicy"]["enum"]
    ours = OPTIONS["maca"]["properties"]["cleanupConfig"]["properties"]
    assert set(ours["cleanupPolicy"]["enum"]) == set(cleanup)


def test_it_takes_every_option_of_the_extensions_and_means_the_same() -> None:
    theirs, ours = (
        dict(leaves(yaml.safe_load((FOLDER / chart / "values.yaml").read_text("utf-8"))))
        for chart in (EXTENSIONS, OPERATOR)
    )
    assert {option: ours.get(option, "missing") for option in theirs} == theirs
    for block in ("log", "gpuDevice", "gpuLabel", "gpuAware", "pullPolicy", "imagePullSecrets"):
        assert OPTIONS[block] == chart_schemas()[EXTENSIONS]["properties"][block], block


# ---- what the operator finds


def test_every_part_has_an_account_under_the_name_that_the_operator_gives_its_pods() -> None:
    spec = spec_of("maca.payload.images")
    site = Site(namespace=OPERATOR, image="tangram", version="1")
    daemons = [
        thing
        for part in PARTS
        if part.wanted(spec)
        for thing in part.make(spec, site)
        if thing["kind"] == "DaemonSet"
    ]
    used = {pod_of(each)["spec"]["serviceAccountName"] for each in daemons}
    accounts = {each["metadata"]["name"] for each in of_kind(made(), "ServiceAccount")}
    assert len(used) == 5
    assert used < accounts
    for each in daemons:
        assert pod_of(each)["metadata"]["labels"]["app.kubernetes.io/name"] == OPERATOR


def test_payloads_have_neither_rights_nor_a_token() -> None:
    name = pods.name_of("payloads")
    (account,) = [each for each in of_kind(made(), "ServiceAccount") if each["metadata"]["name"] == name]
    assert account["automountServiceAccountToken"] is False
    bindings = of_kind(made(), "RoleBinding", "ClusterRoleBinding")
    assert name not in {subject["name"] for each in bindings for subject in each["subjects"]}


def test_device_modes_are_the_operators_to_make_and_it_may_where_agents_follow_them() -> None:
    case = case_named(OPERATOR, "gpuDevice.deviceConfig")
    assert of_kind(objects_of(case), "ConfigMap") == []
    spec = read_spec(asked(case))
    (wanted,) = config_maps.device_config(spec, Site(namespace=OPERATOR, image="tangram", version="1"))
    assert read_config_texts(wanted["data"], NodeName("gpu-1")).mode is NodeMode.SGPU
    for name, place in ((DEFAULT, "kube-system"), ("gpuDevice.configNamespace", "gpu-settings")):
        (role,) = [
            each
            for each in of_kind(made(name), "Role")
            if each["metadata"]["name"] == "metax-operator-device-config"
        ]
        assert role["metadata"]["namespace"] == spec_of(name).device_plugin.config_namespace == place
        (binding,) = [
            each
            for each in of_kind(made(name), "RoleBinding")
            if each["roleRef"]["name"] == role["metadata"]["name"]
        ]
        assert binding["metadata"]["namespace"] == place
        assert [each["name"] for each in binding["subjects"]] == ["metax-operator-controller"]


def test_what_people_edit_is_not_the_charts() -> None:
    for case in cases(OPERATOR):
        assert names.DRIVER_CONFIG not in {
            each["metadata"]["name"] for each in of_kind(objects_of(case), "ConfigMap")
        }


def test_the_chart_brings_the_kind_as_the_code_states_it() -> None:
    files = files_of(FOLDER / OPERATOR)
    assert files[f"crds/{Path(FILE).name}"] == (ROOT / FILE).read_bytes()
    assert yaml.safe_load(files[f"crds/{Path(FILE).name}"]) == operator_definition()


def test_only_the_operator_may_make_pods_and_nobody_may_make_rights() -> None:
    for role in of_kind(made("deployExtenderGPUAware"), "Role", "ClusterRole"):
        for rule in role["rules"]:
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            assert "rbac.authorization.k8s.io" not in rule["apiGroups"]
            assert not {"impersonate", "bind", "escalate"} & {*rule["verbs"]}
            if "daemonsets" in rule["resources"] and {"create", "patch"} & {*rule["verbs"]}:
                assert role["metadata"]["name"] == "metax-operator-controller"
            assert "secrets" not in rule["resources"]


def test_two_replicas_are_kept_apart_and_are_replaced_at_once() -> None:
    (controller,) = of_kind(made(), "Deployment")
    assert controller["spec"]["replicas"] == 2
    assert controller["spec"]["strategy"] == {"type": "Recreate"}
    apart = pod_of(controller)["spec"]["affinity"]["podAntiAffinity"]
    (term,) = apart["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    # Nodes are waited for, and payloads take their time.
    assert controller["spec"]["progressDeadlineSeconds"] >= 3600


# ---- the end


@pytest.mark.parametrize("case", [DEFAULT, "cleanup.enabled", "cleanup.timeoutSeconds"])
def test_nodes_are_cleaned_first_and_nothing_cuts_that_short(case: str) -> None:
    hooks = [each for each in made(case) if each["metadata"].get("annotations", {}).get(HOOK) == "pre-delete"]
    weights = {each["kind"]: int(each["metadata"]["annotations"][f"{HOOK}-weight"]) for each in hooks}
    assert weights["ServiceAccount"] < weights["ClusterRole"] < weights["ClusterRoleBinding"] < weights["Job"]
    (job,) = of_kind(hooks, "Job")
    (container,) = pod_of(job)["spec"]["containers"]
    words: list[str] = container["args"]
    assert words[0] == "remove-operator"
    assert words[words.index("--namespace") + 1] == OPERATOR
    seconds = int(words[words.index("--timeout") + 1].removesuffix("s"))
    given = values_of(case_named(OPERATOR, case)).get("cleanup", {}).get("timeoutSeconds", 240)
    assert seconds == given
    assert job["spec"]["activeDeadlineSeconds"] > seconds
    assert job["spec"]["backoffLimit"] == 0
    usual = yaml.safe_load((FOLDER / OPERATOR / "values.yaml").read_text("utf-8"))
    # helm itself waits for five minutes, and would only say that they have passed.
    assert usual["cleanup"]["timeoutSeconds"] + 30 < 300


# ---- the page


def rows(head: str) -> list[list[str]]:
    table = PAGE.partition(f"| {head} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def test_the_page_lists_every_option_with_its_default() -> None:
    told = {cells[0].strip("`"): json.loads(cells[1].strip("`")) for cells in rows("Option")}
    usual = yaml.safe_load((FOLDER / OPERATOR / "values.yaml").read_text("utf-8"))
    assert told == dict(leaves(usual))


def test_the_page_has_every_right_of_the_operator_and_its_agents() -> None:
    told = {
        (part, where, resource, frozenset(_quoted(called)), frozenset(verbs.split(", ")))
        for part, where, resources, verbs, _why in rows("Part | Where | Resource")
        for kinds, _, called in [resources.partition(", called ")]
        for resource in _quoted(kinds)
    }
    parts = ("operator-controller", "driver-manager", "container-runtime")
    own = {"operator-device-config": "operator-controller"}
    handed = {
        (
            part,
            _where(role),
            resource,
            frozenset(rule.get("resourceNames", ())),
            frozenset(rule["verbs"]),
        )
        for role in of_kind(made(), "Role", "ClusterRole")
        for name in [role["metadata"]["name"].removeprefix("metax-")]
        for part in [own.get(name, name)]
        if part in parts
        for rule in role["rules"]
        for resource in rule["resources"]
    }
    assert told == handed


def _where(role: Object) -> str:
    if role["kind"] == "ClusterRole":
        return "cluster"
    return "namespace" if role["metadata"]["namespace"] == OPERATOR else "`configNamespace`"


def _quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_the_page_names_every_chart_and_every_part() -> None:
    for chart in CHARTS:
        assert f"`{chart}`" in PAGE
    for account in of_kind(made("deployExtenderGPUAware"), "ServiceAccount"):
        name = account["metadata"]["name"]
        if HOOK not in account["metadata"].get("annotations", {}):
            assert f"| `{name}` |" in PAGE, name

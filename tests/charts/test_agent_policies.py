"""What the charts let their agents write is what the code makes of it, and covers every right that a role hands out."""

from collections.abc import Callable

import pytest

from builders.charts.cases import EXTENSIONS, OPERATOR, TANGRAM, WITH_DAEMONS, case_named
from builders.charts.goldens import Object, objects_of
from builders.charts.reading import of_kind
from tangram.wire.agent_policy import (
    container_runtime_policy,
    device_agent_policy,
    driver_manager_policy,
    label_agent_policy,
    operated_label_agent_policy,
)
from tangram.wire.trust_policy import service_account

PREFIXES = {TANGRAM: "tangram", EXTENSIONS: "metax", OPERATOR: "metax"}
MAKERS = {"gpu-device": device_agent_policy, "gpu-label": label_agent_policy}
UNDER_OPERATOR = {
    "gpu-device": device_agent_policy,
    "gpu-label": operated_label_agent_policy,
    "driver-manager": driver_manager_policy,
    "container-runtime": container_runtime_policy,
}
AGENTS = [
    *((chart, part, make) for chart in WITH_DAEMONS for part, make in MAKERS.items()),
    *((OPERATOR, part, make) for part, make in UNDER_OPERATOR.items()),
]
KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
OLD = ["kubernetes-1.23", "kubernetes-1.25", "kubernetes-1.27", "kubernetes-1.28"]
Make = Callable[[str, str], list[Object]]
WRITES = {"create": "CREATE", "patch": "UPDATE", "update": "UPDATE", "delete": "DELETE"}

each_agent = pytest.mark.parametrize(
    ("chart", "part", "make"), [pytest.param(*each, id=f"{each[0]}-{each[1]}") for each in AGENTS]
)


def made(chart: str, case: str, name: str, *kinds: str) -> list[Object]:
    found = of_kind(objects_of(case_named(chart, case)), *kinds)
    return [each for each in found if each["metadata"]["name"] == name]


@each_agent
@pytest.mark.parametrize(
    "case", ["default", "namespace-kube-system", "kubernetes-1.30", "kubernetes-of-a-vendor"]
)
def test_the_policies_are_those_that_the_code_makes(chart: str, part: str, make: Make, case: str) -> None:
    name = f"{PREFIXES[chart]}-{part}"
    account = service_account(case_named(chart, case).namespace, name)
    wanted = make(name, account)
    assert [each["spec"] for each in made(chart, case, name, *KINDS)] == [each["spec"] for each in wanted]
    # Whose policy it is says the account that the agent runs as.
    assert len(made(chart, case, name, "ServiceAccount")) == 1
    for daemons in made(chart, case, name, "DaemonSet") if chart in WITH_DAEMONS else ():
        spec = daemons["spec"]["template"]["spec"]
        assert service_account(daemons["metadata"]["namespace"], spec["serviceAccountName"]) == account


@each_agent
def test_whatever_a_role_lets_an_agent_write_a_policy_looks_at(chart: str, part: str, make: Make) -> None:
    """Events apart: anybody's name can stand in one, and nothing follows from it."""
    del make
    name = f"{PREFIXES[chart]}-{part}"
    (policy,) = made(chart, "default", name, KINDS[0])
    (role,) = made(chart, "default", name, "ClusterRole")
    looked_at = {
        (group, resource, operation)
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for operation in rule["operations"]
    }
    written = {
        (group, resource, WRITES[verb])
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb in WRITES and resource != "events"
    }
    assert looked_at == written


@each_agent
@pytest.mark.parametrize("case", OLD)
def test_where_tokens_do_not_name_their_node_there_are_none(
    chart: str, part: str, make: Make, case: str
) -> None:
    del make
    assert made(chart, case, f"{PREFIXES[chart]}-{part}", *KINDS) == []
    assert made(chart, case, f"{PREFIXES[chart]}-{part}", "ServiceAccount")


@pytest.mark.parametrize(
    ("case", "part"), [("gpuDevice.enabled", "gpu-device"), ("gpuLabel.enabled", "gpu-label")]
)
def test_a_part_that_is_switched_off_has_no_policy(case: str, part: str) -> None:
    assert made(TANGRAM, case, f"tangram-{part}", *KINDS) == []

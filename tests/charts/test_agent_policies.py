"""What the charts let their agents write is what the code makes of it, and covers every right that a role hands out."""

import pytest

from builders.charts.cases import CHARTS, EXTENSIONS, TANGRAM, case_named
from builders.charts.goldens import Object, objects_of
from builders.charts.reading import of_kind
from tangram.wire.agent_policy import device_agent_policy, label_agent_policy
from tangram.wire.trust_policy import service_account

PREFIXES = {TANGRAM: "tangram", EXTENSIONS: "metax"}
MAKERS = {"gpu-device": device_agent_policy, "gpu-label": label_agent_policy}
KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
OLD = ["kubernetes-1.23", "kubernetes-1.25", "kubernetes-1.27", "kubernetes-1.28"]
WRITES = {"create": "CREATE", "patch": "UPDATE", "update": "UPDATE", "delete": "DELETE"}

both = pytest.mark.parametrize("chart", CHARTS)
each_part = pytest.mark.parametrize("part", list(MAKERS))


def made(chart: str, case: str, name: str, *kinds: str) -> list[Object]:
    found = of_kind(objects_of(case_named(chart, case)), *kinds)
    return [each for each in found if each["metadata"]["name"] == name]


@both
@each_part
@pytest.mark.parametrize(
    "case", ["default", "namespace-kube-system", "kubernetes-1.30", "kubernetes-of-a-vendor"]
)
def test_the_policies_are_those_that_the_code_makes(chart: str, part: str, case: str) -> None:
    name = f"{PREFIXES[chart]}-{part}"
    account = service_account(case_named(chart, case).namespace, name)
    wanted = MAKERS[part](name, account)
    assert [each["spec"] for each in made(chart, case, name, *KINDS)] == [each["spec"] for each in wanted]
    # Whose policy it is says the account that the agent runs as.
    (daemons,) = made(chart, case, name, "DaemonSet")
    spec = daemons["spec"]["template"]["spec"]
    assert service_account(daemons["metadata"]["namespace"], spec["serviceAccountName"]) == account


@both
@each_part
def test_whatever_a_role_lets_an_agent_write_a_policy_looks_at(chart: str, part: str) -> None:
    """Events apart: anybody's name can stand in one, and nothing follows from it."""
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


@both
@each_part
@pytest.mark.parametrize("case", OLD)
def test_where_tokens_do_not_name_their_node_there_are_none(chart: str, part: str, case: str) -> None:
    assert made(chart, case, f"{PREFIXES[chart]}-{part}", *KINDS) == []
    assert made(chart, case, f"{PREFIXES[chart]}-{part}", "DaemonSet")


@pytest.mark.parametrize(
    ("case", "part"), [("gpuDevice.enabled", "gpu-device"), ("gpuLabel.enabled", "gpu-label")]
)
def test_a_part_that_is_switched_off_has_no_policy(case: str, part: str) -> None:
    assert made(TANGRAM, case, f"tangram-{part}", *KINDS) == []

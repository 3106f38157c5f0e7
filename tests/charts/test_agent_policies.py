"""The policies of the charts are about their agents alone, and cover every right that a role hands out."""

import pytest

from builders.charts.cases import EXTENSIONS, OPERATOR, TANGRAM, WITH_DAEMONS, case_named
from builders.charts.goldens import Object, objects_of
from builders.charts.policies import KINDS, policies
from builders.charts.reading import of_kind
from tangram.wire.trust_policy import service_account

PREFIXES = {TANGRAM: "tangram", EXTENSIONS: "metax", OPERATOR: "metax"}
PARTS = ("gpu-device", "gpu-label")
AGENTS = [
    *((chart, part) for chart in WITH_DAEMONS for part in PARTS),
    *((OPERATOR, part) for part in (*PARTS, "driver-manager", "container-runtime")),
]
OLD = ["kubernetes-1.23", "kubernetes-1.25", "kubernetes-1.27", "kubernetes-1.28"]
WRITES = {"create": "CREATE", "patch": "UPDATE", "update": "UPDATE", "delete": "DELETE"}

each_agent = pytest.mark.parametrize(
    ("chart", "part"), [pytest.param(*each, id="-".join(each)) for each in AGENTS]
)


def made(chart: str, case: str, name: str, *kinds: str) -> list[Object]:
    found = of_kind(objects_of(case_named(chart, case)), *kinds)
    return [each for each in found if each["metadata"]["name"] == name]


@each_agent
@pytest.mark.parametrize(
    "case", ["default", "namespace-kube-system", "kubernetes-1.30", "kubernetes-of-a-vendor"]
)
def test_a_policy_looks_at_the_account_of_its_agent_alone(chart: str, part: str, case: str) -> None:
    name = f"{PREFIXES[chart]}-{part}"
    account = service_account(case_named(chart, case).namespace, name)
    policy, binding = policies(chart, case, name)
    (condition,) = policy["spec"]["matchConditions"]
    assert condition["expression"] == f'request.userInfo.username == "{account}"'
    assert binding["spec"] == {"policyName": name, "validationActions": ["Deny"]}
    # Nothing but the account depends on where it is installed.
    usual, _ = policies(chart, "default", name)
    assert policy["spec"] | {"matchConditions": ()} == usual["spec"] | {"matchConditions": ()}
    # Whose policy it is says the account that the agent runs as.
    assert len(made(chart, case, name, "ServiceAccount")) == 1
    for daemons in made(chart, case, name, "DaemonSet") if chart in WITH_DAEMONS else ():
        spec = daemons["spec"]["template"]["spec"]
        assert service_account(daemons["metadata"]["namespace"], spec["serviceAccountName"]) == account


@each_agent
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


@each_agent
@pytest.mark.parametrize("case", OLD)
def test_where_tokens_do_not_name_their_node_there_are_none(chart: str, part: str, case: str) -> None:
    assert made(chart, case, f"{PREFIXES[chart]}-{part}", *KINDS) == []
    assert made(chart, case, f"{PREFIXES[chart]}-{part}", "ServiceAccount")


@pytest.mark.parametrize(
    ("case", "part"), [("gpuDevice.enabled", "gpu-device"), ("gpuLabel.enabled", "gpu-label")]
)
def test_a_part_that_is_switched_off_has_no_policy(case: str, part: str) -> None:
    assert made(TANGRAM, case, f"tangram-{part}", *KINDS) == []

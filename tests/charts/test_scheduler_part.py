"""The scheduler as chart `tangram` installs it: what its objects say is what the code does, needs and prints."""

import base64
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.charts.cases import TANGRAM, case_named
from builders.charts.goldens import Object, objects_of
from builders.charts.policies import policies, trust_manifests, variable
from builders.charts.reading import containers, of_kind, pod_of
from builders.commands import run
from builders.reviews import asking_pod, response_in, review_of
from tangram.cli.app import app
from tangram.daemon.certificates import service_names
from tangram.services.installation.created import granted_on, made_on
from tangram.services.scheduler.checkup.parts import Part, parts_in
from tangram.services.scheduler.guarding import guard
from tangram.vendors.renaming import abandoned, usual_names
from tangram.wire.allocation_keys import ANNOTATIONS, LABELS
from tangram.wire.extender_config import read_configuration
from tangram.wire.hami_device_config import read_hami_device_config
from tangram.wire.scheduler_config import read_scheduler_config
from tangram.wire.trust_policy import (
    INSTEAD_OF_BINDING,
    INSTEAD_OF_CREATING,
    INSTEAD_OF_UPDATING,
    NODE_OF_TOKEN,
    POLICY_NAME,
    WRITERS,
    TrustedAccounts,
    guarded_requests,
)

NAME = "tangram-scheduler"
PAGE = (Path(__file__).parents[2] / "docs" / "scheduler-install.md").read_text("utf-8")
OLD = ["kubernetes-1.23", "kubernetes-1.25", "kubernetes-1.27", "kubernetes-1.28"]
ACCOUNT, AGENT = (f"system:serviceaccount:tangram:tangram-{each}" for each in ("scheduler", "gpu-device"))


@cache
def rendered(case: str) -> list[Object]:
    return objects_of(case_named(TANGRAM, case))


def one(case: str, kind: str, name: str = NAME) -> Any:  # noqa: ANN401 - whatever the chart says
    (found,) = [each for each in of_kind(rendered(case), kind) if each["metadata"]["name"] == name]
    return found


def none(case: str, kind: str, name: str = NAME) -> bool:
    return not [each for each in of_kind(rendered(case), kind) if each["metadata"]["name"] == name]


def file(case: str, name: str) -> Any:  # noqa: ANN401 - a parsed file
    return yaml.safe_load(one(case, "ConfigMap")["data"][name])


def arguments(case: str) -> dict[str, Any]:
    """The scheduler's own command line, as the program reads it."""
    (ours,) = [
        each
        for each in containers([one(case, "Deployment")])
        if each.container["name"] == "tangram-scheduler"
    ]
    command, bound, *_ = app.parse_args(ours.command[1:], exit_on_error=False, print_error=False)
    assert command.__name__ == "scheduler"
    doors = bound.arguments.get("doors")
    return {**bound.arguments, **(vars(doors) if doors is not None else {})}


def page_objects(kind: str) -> list[Object]:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    return [thing for block in blocks for thing in yaml.safe_load_all(block) if thing["kind"] == kind]


# ---- rights


def test_the_rights_are_those_of_the_installation_page_and_of_preflight() -> None:
    (cluster_wide,), (at_home,) = page_objects("ClusterRole"), page_objects("Role")
    assert one("default", "ClusterRole")["rules"] == cluster_wide["rules"] == granted_on(None)
    assert one("default", "Role")["rules"] == at_home["rules"]


@pytest.mark.parametrize("version", [(1, 23), (1, 28), (1, 30)])
def test_an_older_cluster_gives_the_rights_that_preflight_tries_there(version: tuple[int, int]) -> None:
    case = f"kubernetes-{version[0]}.{version[1]}"
    assert one(case, "ClusterRole")["rules"] == granted_on(version)
    written = {
        f"{each['kind'].lower()}s"
        for each in of_kind(rendered(case), "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    }
    assert written == {
        resource
        for rule in granted_on(version)
        if "patch" in rule["verbs"]
        for resource in rule["resources"]
        if "webhook" in resource
    }


def test_kube_scheduler_gets_its_own_roles_and_nothing_else() -> None:
    ours = {
        (
            each["kind"],
            each["metadata"]["name"],
            each["roleRef"]["name"],
            each["metadata"].get("namespace", ""),
        )
        for each in of_kind(rendered("default"), "ClusterRoleBinding", "RoleBinding")
        if each["subjects"] == [{"kind": "ServiceAccount", "name": NAME, "namespace": "tangram"}]
    }
    page = {
        (
            each["kind"],
            each["metadata"]["name"],
            each["roleRef"]["name"],
            {NAME: "tangram"}.get(each["metadata"]["name"], "kube-system")
            if "namespace" in each["metadata"]
            else "",
        )
        for kind in ("ClusterRoleBinding", "RoleBinding")
        for each in page_objects(kind)
    }
    assert ours == page


@pytest.mark.parametrize(
    "case",
    [
        pytest.param("certificates.cert-manager", id="cert-manager"),
        pytest.param("certificates.secret", id="own"),
    ],
)
def test_who_has_a_certificate_of_somebody_elses_may_touch_neither_secrets_nor_webhooks(case: str) -> None:
    rules = [*one(case, "ClusterRole")["rules"], *one(case, "Role")["rules"]]
    named = {resource for rule in rules for resource in rule["resources"]}
    assert not {each for each in named if "secret" in each or "webhook" in each}
    assert "leases" in named


def test_without_a_kube_scheduler_beside_it_there_are_no_rights_for_one() -> None:
    case = "scheduler.kubeScheduler.enabled"
    assert none(case, "ClusterRoleBinding", "tangram-kube-scheduler")
    assert none(case, "ClusterRoleBinding", "tangram-volume-scheduler")
    assert none(case, "RoleBinding", "tangram-scheduler-authentication")
    # Its certificate is never its own then, so there is nothing in its namespace that it needs.
    assert none(case, "Role")
    assert none(case, "RoleBinding")


# ---- what is made


@pytest.mark.parametrize("case", ["default", *OLD, "kubernetes-1.30"])
def test_preflight_looks_for_every_name_that_the_scheduler_takes(case: str) -> None:
    major, minor, *_ = case_named(TANGRAM, case).kube.removeprefix("v").split(".")
    known = {(each.resource, name) for each in made_on((int(major), int(minor))) for name in each.names}
    plural = {"ValidatingAdmissionPolicy": "validatingadmissionpolicies"}
    made = {
        (plural.get(each["kind"], f"{each['kind'].lower()}s"), each["metadata"]["name"])
        for each in rendered(case)
        if each["metadata"]["labels"]["app.kubernetes.io/component"]
        in {"scheduler", "kube-scheduler", "volume-scheduler"}
    }
    assert made <= known
    assert {each for each in known if "scheduler" in each[1] or "allocations" in each[1]} == made


def test_nothing_of_the_scheduler_is_there_when_it_is_switched_off() -> None:
    components = {
        each["metadata"]["labels"]["app.kubernetes.io/component"] for each in rendered("scheduler.enabled")
    }
    assert components == {"gpu-device", "gpu-label", "cleanup"}


# ---- kube-scheduler


def test_kube_schedulers_configuration_is_what_the_command_prints() -> None:
    printed = run("scheduler", "--print-kube-scheduler-config", "--lease", "tangram/tangram-scheduler")
    assert file("default", "kube-scheduler.yaml") == json.loads(printed.out)


def test_renamed_resources_reach_kube_scheduler_the_webhook_and_the_scheduler(tmp_path: Path) -> None:
    case = "scheduler.deviceConfig"
    renaming = tmp_path / "device-config.yaml"
    renaming.write_text(one(case, "ConfigMap")["data"]["device-config.yaml"])
    printed = run(
        "scheduler", "--print-kube-scheduler-config", "--lease", "tangram/tangram-scheduler",
        "--device-config-file", str(renaming),
    )  # fmt: skip
    written = file(case, "kube-scheduler.yaml")
    assert written == json.loads(printed.out)
    renamed = read_hami_device_config(yaml.safe_load(renaming.read_text())).renamed
    assert renamed
    managed = {each["name"] for each in written["extenders"][0]["managedResources"]}
    assert managed == usual_names() - {*renamed.values()} | {*renamed}
    # A pod with an abandoned name is refused with a sentence, so it has to be asked about.
    assert asked_about(case) == managed | abandoned(renamed)
    assert arguments(case)["device_config_file"] == Path("/etc/tangram/device-config.yaml")


def test_a_device_configuration_that_cannot_be_followed_is_told_in_one_sentence(tmp_path: Path) -> None:
    renaming = tmp_path / "device-config.yaml"
    renaming.write_text("metax: {resourceVCoreName: metax-tech.com/sgpu}\n")
    printed = run("scheduler", "--print-kube-scheduler-config", "--device-config-file", str(renaming))
    assert (printed.status, printed.out) == (2, "")
    assert "each resource has a name of its own" in printed.err


@pytest.mark.parametrize(
    ("case", "version", "each_profile"),
    [
        pytest.param("kubernetes-1.23", "v1beta3", False, id="1.23"),
        pytest.param("kubernetes-1.25", "v1", False, id="1.25"),
        pytest.param("kubernetes-1.27", "v1", True, id="1.27"),
        pytest.param("default", "v1", True, id="newest"),
    ],
)
def test_kube_schedulers_of_old_get_a_configuration_they_understand(
    case: str, version: str, *, each_profile: bool
) -> None:
    written = file(case, "kube-scheduler.yaml")
    assert written["apiVersion"] == f"kubescheduler.config.k8s.io/{version}"
    assert ["percentageOfNodesToScore" in each for each in written["profiles"]] == [each_profile] * 2
    assert ("percentageOfNodesToScore" in written) != each_profile
    read = read_configuration(written)
    assert read is not None
    assert set(read.percentages.values()) == {100}


@pytest.mark.parametrize(
    ("case", "names"),
    [
        pytest.param("default", ["tangram-scheduler", "hami-scheduler"], id="hami"),
        pytest.param("scheduler.profiles.hami", ["tangram-scheduler"], id="alone"),
        pytest.param(
            "scheduler.profiles.koordinator",
            ["tangram-scheduler", "hami-scheduler", "koord-scheduler"],
            id="koordinator",
        ),
        pytest.param("scheduler.name", ["cards", "hami-scheduler"], id="another-name"),
    ],
)
def test_profiles_command_line_and_file_name_the_same_schedulers(case: str, names: list[str]) -> None:
    assert [each["schedulerName"] for each in file(case, "kube-scheduler.yaml")["profiles"]] == names
    assert [arguments(case)["scheduler_name"], *arguments(case).get("also_serve", ("no",))] == names
    assert list(read_scheduler_config(file(case, "scheduler.yaml")).scheduler_names) == names


def test_the_version_of_kube_scheduler_is_the_clusters_without_what_a_vendor_added() -> None:
    images = {
        each.container["image"]
        for case in ("default", "kubernetes-of-a-vendor", "scheduler.kubeScheduler.image")
        for each in containers([one(case, "Deployment")])
        if each.container["name"] == "kube-scheduler"
    }
    assert images == {
        "registry.k8s.io/kube-scheduler:v1.36.3",
        "registry.k8s.io/kube-scheduler:v1.30.4",
        "registry.example.com/k8s/scheduler:v1.36.9",
    }


# ---- the pods


@pytest.mark.parametrize("case", ["default", "namespace-kube-system", "release-with-a-generated-name"])
def test_the_command_line_says_where_things_are_in_this_release(case: str) -> None:
    home = case_named(TANGRAM, case).namespace
    said = arguments(case)
    assert said["lease"] == said["service"] == f"{home}/{NAME}"
    assert said["webhooks"] == one(case, "MutatingWebhookConfiguration")["metadata"]["name"]
    assert said["account"] == f"system:serviceaccount:{home}:{NAME}"
    assert said["agent_account"] == (f"system:serviceaccount:{home}:tangram-gpu-device",)
    elected = file(case, "kube-scheduler.yaml")["leaderElection"]
    assert f"{elected['resourceNamespace']}/{elected['resourceName']}" == said["lease"]


def test_both_containers_are_what_the_strictest_pod_security_level_allows() -> None:
    for each in containers([one("default", "Deployment")]):
        security = each.container["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] == 65532
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert security["readOnlyRootFilesystem"] is True
    spec = pod_of(one("default", "Deployment"))["spec"]
    assert all(each.keys() & {"configMap", "secret"} for each in spec["volumes"])
    assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}


def test_its_pods_go_where_they_are_told_and_to_linux_in_any_case() -> None:
    usual = pod_of(one("default", "Deployment"))["spec"]
    assert usual["nodeSelector"] == {"kubernetes.io/os": "linux"}
    chosen = pod_of(one("scheduler.nodeSelector", "Deployment"))["spec"]["nodeSelector"]
    assert chosen == {"kubernetes.io/os": "linux", "example.com/pool": "system"}
    tolerated = pod_of(one("scheduler.tolerations", "Deployment"))["spec"]["tolerations"]
    more = {"key": "example.com/pool", "operator": "Exists", "effect": "NoSchedule"}
    assert tolerated == [*usual["tolerations"], more]


def test_files_that_are_followed_are_mounted_as_folders() -> None:
    for each in containers([one("default", "Deployment")]):
        assert all("subPath" not in mount for mount in each.container["volumeMounts"])


@pytest.mark.parametrize(
    ("case", "restarts"),
    [
        pytest.param("scheduler.config", False, id="its-own-file"),
        pytest.param("scheduler.trustedAccounts", False, id="trusted-accounts"),
        pytest.param("scheduler.webhook.ignoreNamespaces", False, id="webhook"),
        pytest.param("scheduler.replicas", False, id="replicas"),
        pytest.param("release-with-a-generated-name", False, id="release"),
        pytest.param("gpuDevice.healthyInterval", False, id="another-part"),
        pytest.param("scheduler.profiles.hami", True, id="profiles"),
        pytest.param("scheduler.deviceConfig", True, id="renamed-resources"),
    ],
)
def test_pods_are_made_anew_only_for_what_kube_scheduler_reads_at_its_start(
    case: str, *, restarts: bool
) -> None:
    assert (pod_of(one(case, "Deployment")) != pod_of(one("default", "Deployment"))) == restarts


def test_a_new_replica_is_ready_before_an_old_one_goes_and_two_are_never_drained_at_once() -> None:
    spec = one("default", "Deployment")["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert one("default", "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert none("scheduler.replicas", "PodDisruptionBudget")


def test_no_part_of_ours_is_taken_for_somebody_elses_scheduler() -> None:
    """The chart leaves names alone that others serve, and must not find itself on an upgrade."""
    spec = pod_of(one("scheduler.profiles.koordinator", "Deployment"))["spec"]
    assert list(parts_in(NAME, "", spec, {})) == []


def test_the_chart_knows_schedulers_of_others_as_the_doctor_does() -> None:
    text = (
        Path(__file__).parents[2] / "deploy/charts/tangram-parts/templates/_scheduler-peers.tpl"
    ).read_text("utf-8")
    (known,) = re.findall(r"\$parts := dict (.*?) -}}", text)
    words = re.findall(r'"([^"]+)"', known)
    parts = {"hami": Part.HAMI_SCHEDULER, "koordinator": Part.KOORD_SCHEDULER}
    for program, word in zip(words[::2], words[1::2], strict=True):
        (found,) = parts_in("", "", {"containers": [{"name": program}]}, {})
        assert found.part == parts[word]
    assert set(words[1::2]) == set(parts)


# ---- a kube-scheduler elsewhere


def test_a_kube_scheduler_elsewhere_calls_the_one_replica_by_certificate() -> None:
    case = "scheduler.kubeScheduler.enabled"
    deployment, said = one(case, "Deployment"), arguments(case)
    assert [each.container["name"] for each in containers([deployment])] == ["tangram-scheduler"]
    # Nobody but a Lease could say which of two decides.
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]) == (1, {"type": "Recreate"})
    assert (said["lease"], said["extender_address"]) == ("none", "")
    assert said["client_ca"] == Path("/etc/tangram-callers/ca.crt")
    assert "kube-scheduler.yaml" not in one(case, "ConfigMap")["data"]


# ---- admission and trust


def asked_about(case: str) -> set[str]:
    (condition,) = one(case, "MutatingWebhookConfiguration")["webhooks"][0]["matchConditions"]
    return set(re.findall(r'"([^"]+)"', condition["expression"]))


def test_the_webhook_is_the_one_of_the_installation_page() -> None:
    (page,) = page_objects("MutatingWebhookConfiguration")
    (ours,), (theirs,) = one("default", "MutatingWebhookConfiguration")["webhooks"], page["webhooks"]
    assert asked_about("default") == usual_names()
    compared = {key for key in theirs if key not in {"clientConfig", "namespaceSelector", "matchConditions"}}
    assert {key: ours[key] for key in compared} == {key: theirs[key] for key in compared}
    assert ours.keys() == theirs.keys()
    names = re.compile(r"in\s*\[.*?\]")
    expressions = [names.sub("in []", each["matchConditions"][0]["expression"]) for each in (ours, theirs)]
    assert expressions[0] == expressions[1]
    service = {"name": NAME, "namespace": "tangram", "path": "/webhook", "port": 9443}
    # No caBundle: the scheduler writes it, and an upgrade that names the field would take it away.
    assert ours["clientConfig"] == {"service": service}


def test_nothing_waits_for_the_webhook_where_the_cluster_or_the_scheduler_live() -> None:
    (hook,) = one("scheduler.webhook.ignoreNamespaces", "MutatingWebhookConfiguration")["webhooks"]
    by_name, by_label = hook["namespaceSelector"]["matchExpressions"]
    assert by_name["values"] == ["kube-system", "tangram", "build", "ingress"]
    assert by_label == {"key": "hami.io/webhook", "operator": "NotIn", "values": ["ignore"]}


@pytest.mark.parametrize("case", OLD)
def test_before_1_30_a_webhook_guards_allocations_and_an_outage_stops_nobody(case: str) -> None:
    (page,) = page_objects("ValidatingWebhookConfiguration")
    (guard,), (theirs,) = one(case, "ValidatingWebhookConfiguration")["webhooks"], page["webhooks"]
    assert guard["rules"] == guarded_requests()
    assert guard.keys() == theirs.keys()
    compared = theirs.keys() - {"clientConfig", "namespaceSelector"}
    assert {key: guard[key] for key in compared} == {key: theirs[key] for key in compared}
    assert guard["clientConfig"]["service"]["path"] == "/guard"
    (asked,) = one(case, "MutatingWebhookConfiguration")["webhooks"]
    assert "matchConditions" not in asked
    assert asked["failurePolicy"] == "Ignore"
    assert none(case, "ValidatingAdmissionPolicy", "tangram-allocations")


def test_the_policy_guards_the_keys_and_says_the_words_of_the_webhook() -> None:
    policy, binding = policies(TANGRAM, "default", POLICY_NAME)
    spec = policy["spec"]
    assert spec["failurePolicy"] == "Fail"
    assert spec["matchConstraints"] == {"matchPolicy": "Equivalent", "resourceRules": guarded_requests()}
    guarded = re.findall(r'\["[^]]*"\]', variable(policy, "touched"))
    assert [json.loads(each) for each in guarded] == [[*ANNOTATIONS], [*LABELS]]
    assert f"[?'{NODE_OF_TOKEN}']" in variable(policy, "trusted")
    (rule,) = spec["validations"]
    assert (rule["reason"], rule["message"]) == ("Forbidden", f"{WRITERS}.")
    for words in (WRITERS, INSTEAD_OF_CREATING, INSTEAD_OF_UPDATING, INSTEAD_OF_BINDING):
        assert words in rule["messageExpression"]
    assert binding["spec"] == {"policyName": POLICY_NAME, "validationActions": ["Deny"]}
    assert len(json.dumps(policy)) < 16_384


@pytest.mark.parametrize(
    ("case", "accounts"),
    [
        pytest.param("default", TrustedAccounts(scheduler=ACCOUNT, agents=(AGENT,)), id="usual"),
        pytest.param("kubernetes-1.30", TrustedAccounts(scheduler=ACCOUNT, agents=(AGENT,)), id="1.30"),
        pytest.param(
            "scheduler.trustedAccounts",
            TrustedAccounts(
                scheduler=ACCOUNT,
                peers=("system:serviceaccount:kube-system:hami-scheduler",),
                agents=(AGENT,),
            ),
            id="a-peer",
        ),
        pytest.param(
            "scheduler.trustedAgentAccounts",
            TrustedAccounts(
                scheduler=ACCOUNT, agents=(AGENT, "system:serviceaccount:kube-system:vendor-plugin")
            ),
            id="a-plugin",
        ),
        pytest.param("gpuDevice.enabled", TrustedAccounts(scheduler=ACCOUNT), id="no-agent"),
    ],
)
def test_policy_file_and_command_line_trust_the_same_accounts(case: str, accounts: TrustedAccounts) -> None:
    made = policies(TANGRAM, case, POLICY_NAME)
    assert [each["spec"] for each in made] == [each["spec"] for each in trust_manifests(accounts)]
    assert read_scheduler_config(file(case, "scheduler.yaml")).trusted_accounts == accounts.peers
    assert arguments(case).get("agent_account", ("no",)) == accounts.agents


@pytest.mark.parametrize("case", OLD)
def test_before_1_30_our_own_agent_may_write_what_it_gave_though_its_token_names_no_node(case: str) -> None:
    said = arguments(case)
    accounts = TrustedAccounts(
        scheduler=said["account"],
        peers=read_scheduler_config(file(case, "scheduler.yaml")).trusted_accounts,
        agents=said["agent_account"],
    )
    before, after = (
        asking_pod(annotations={"hami.io/bind-phase": phase}, nodeName="n1")
        for phase in ("allocating", "success")
    )
    allowed = {
        user: response_in(
            guard(review_of(after, before=before, operation="UPDATE", user=user), accounts).body
        )["allowed"]
        for user in (AGENT, ACCOUNT, "system:serviceaccount:default:tangram-gpu-device")
    }
    assert list(allowed.values()) == [True, True, False]


# ---- certificates


def test_cert_managers_certificate_is_for_the_names_that_our_own_would_be_for() -> None:
    case = "certificates.cert-manager"
    made = one(case, "Certificate")["spec"]
    assert made["dnsNames"] == list(service_names(NAME, "tangram"))
    assert made["issuerRef"] == {"kind": "ClusterIssuer", "name": "company"}
    webhook = one(case, "MutatingWebhookConfiguration")
    assert webhook["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": f"tangram/{NAME}"}
    assert mounted(case, "certificate") == {"secret": {"secretName": made["secretName"]}}
    assert arguments(case)["tls_cert"] == Path("/etc/tangram-certificate/tls.crt")


def test_the_authority_of_a_certificate_of_ones_own_is_in_the_webhook() -> None:
    case = "certificates.secret"
    (hook,) = one(case, "MutatingWebhookConfiguration")["webhooks"]
    assert base64.b64decode(hook["clientConfig"]["caBundle"]).startswith(b"-----BEGIN CERTIFICATE-----")
    assert mounted(case, "certificate") == {"secret": {"secretName": "company-tls"}}
    assert arguments(case)["tls_key"] == Path("/etc/tangram-certificate/tls.key")


def mounted(case: str, volume: str) -> Object:
    volumes: list[Object] = pod_of(one(case, "Deployment"))["spec"]["volumes"]
    (found,) = [each for each in volumes if each["name"] == volume]
    return {key: value for key, value in found.items() if key != "name"}

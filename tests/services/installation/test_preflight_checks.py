"""What is said of a cluster before an installation: nothing of one that is ready, and of every fault what to do."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.installations import FREE, MAY_NOT, NO_DRY_RUN, bare_node, good_ground, workload
from tangram.drivers.doctor.findings import Finding, Outcome
from tangram.services.installation.asking import NOTHING, Told
from tangram.services.installation.created import RBAC
from tangram.services.installation.ground import Ground, Helm, Neighbour, Neighbours
from tangram.services.installation.node_checks import is_listed
from tangram.services.installation.preflight import judge_ground

RESTRICTED = 'pods "x" is forbidden: violates PodSecurity "restricted:latest": privileged (container "agent")'


def about(ground: Ground, check: str) -> list[Finding]:
    return [each for each in judge_ground(ground).findings if each.check == check]


def told(ground: Ground, check: str) -> str:
    """The outcomes and sentences of one check, in one text."""
    return "; ".join(f"{each.outcome} {each.why} -> {each.todo}" for each in about(ground, check))


def test_a_cluster_that_is_ready_has_nothing_to_do() -> None:
    found = judge_ground(good_ground())
    assert [each for each in found.findings if each.outcome is not Outcome.OK] == []
    assert not found.failed
    assert len({each.check for each in found.findings}) == len(found.findings) == 14


@pytest.mark.parametrize(
    ("version", "outcome", "says"),
    [
        pytest.param((1, 22), Outcome.FAIL, "1.23 is the oldest", id="too-old"),
        pytest.param((1, 23), Outcome.WARN, "v1beta3", id="other-configuration"),
        pytest.param((1, 25), Outcome.WARN, "percentageOfNodesToScore: 100 beside profiles", id="percentage"),
        pytest.param((1, 29), Outcome.WARN, "'Before Kubernetes 1.30'", id="webhook-guards"),
        pytest.param((1, 30), Outcome.OK, "from 1.35 on", id="policies"),
        pytest.param((1, 36), Outcome.OK, "this is Kubernetes", id="today"),
        pytest.param((1, 37), Outcome.WARN, "newer than 1.36", id="tomorrow"),
        pytest.param((2, 0), Outcome.WARN, "newer than 1.36", id="far-away"),
    ],
)
def test_versions_of_kubernetes(version: tuple[int, int], outcome: Outcome, says: str) -> None:
    ground = good_ground(version=version, spoken_version="")
    (finding,) = about(ground, "kubernetes")
    assert finding.outcome is outcome
    assert says in told(ground, "kubernetes")


@pytest.mark.parametrize(
    ("check", "info", "outcome", "says"),
    [
        pytest.param(
            "kubelets", {"kubeletVersion": "v1.22.17"}, "fail", "1.23 is the oldest", id="old-kubelet"
        ),
        pytest.param(
            "kubelets", {"kubeletVersion": "v1.37.0"}, "warn", "newer than the API server", id="skew"
        ),
        pytest.param("kubelets", {"kubeletVersion": "kwok-0.7.0"}, "warn", "'kwok-0.7.0'", id="stand-in"),
        pytest.param("kubelets", {"kubeletVersion": ""}, "warn", "look at it there", id="silent-kubelet"),
        pytest.param(
            "kubelets", {"kubeletVersion": "v1.30.1-eks-1"}, "ok", "v1.30.1-eks-1", id="with-suffix"
        ),
        pytest.param(
            "runtimes",
            {"containerRuntimeVersion": "containerd://1.4.13"},
            "fail",
            "1.5.0 is the oldest",
            id="old",
        ),
        pytest.param(
            "runtimes", {"containerRuntimeVersion": "containerd://1.5.0"}, "ok", "1.5.0", id="oldest"
        ),
        pytest.param(
            "runtimes",
            {"containerRuntimeVersion": "docker://24.0.7"},
            "warn",
            "through an adapter",
            id="docker",
        ),
        pytest.param(
            "runtimes",
            {"containerRuntimeVersion": "docker://18.9.2", "kubeletVersion": "v1.23.5"},
            "fail",
            "18.9.3 is the oldest",
            id="old-docker",
        ),
        pytest.param(
            "runtimes",
            {"containerRuntimeVersion": "docker://18.9.3", "kubeletVersion": "v1.23.5"},
            "ok",
            "docker is 18.9.3",
            id="docker-of-its-time",
        ),
        pytest.param(
            "runtimes",
            {"containerRuntimeVersion": "cri-o://1.30.0"},
            "warn",
            "no vendor states support",
            id="crio",
        ),
        pytest.param(
            "runtimes", {"containerRuntimeVersion": ""}, "warn", "look at it there", id="silent-runtime"
        ),
        pytest.param(
            "cdi",
            {"containerRuntimeVersion": "containerd://1.7.2"},
            "warn",
            "enable_cdi = true",
            id="by-choice",
        ),
        pytest.param(
            "cdi",
            {"containerRuntimeVersion": "containerd://1.6.8"},
            "warn",
            "upgrade to containerd 2.0",
            id="no-cdi",
        ),
        pytest.param(
            "cdi", {"containerRuntimeVersion": "containerd://2.0.0"}, "ok", "reads CDI files", id="cdi"
        ),
        pytest.param(
            "systems", {"osImage": "Debian GNU/Linux 12"}, "warn", "Debian GNU/Linux 12", id="unlisted"
        ),
        pytest.param("architectures", {"architecture": "riscv64"}, "fail", "amd64 and arm64", id="processor"),
        pytest.param("architectures", {"architecture": "arm64"}, "ok", "arm64 on 1 node", id="arm"),
        pytest.param("nodes", {"operatingSystem": "windows"}, "skip", "runs no Linux", id="windows"),
    ],
)
def test_facts_of_nodes(check: str, info: dict[str, str], outcome: str, says: str) -> None:
    said = told(good_ground(bare_node("odd", **info)), check)
    assert said.startswith(f"{outcome} ")
    assert says in said
    assert "odd" in said


def test_nodes_that_are_alike_are_told_together_and_one_without_cards_is_not_judged() -> None:
    many = [bare_node(f"gpu-{number}") for number in range(5)]
    old = bare_node("old", {"metax-tech.com/gpu.installed": "false"}, kubeletVersion="v1.20.0")
    ground = good_ground(*many, old)
    assert (
        told(ground, "kubelets")
        == "ok the kubelet is v1.36.3 on 5 nodes (gpu-0, gpu-1, gpu-2 and 2 more) -> "
    )
    assert "skip 1 node without cards, by the labels (old)" in told(ground, "nodes")
    assert [each.name for each in judge_ground(ground).nodes][-1] == "old"


def test_a_node_that_is_not_ready_and_a_selector_that_finds_none_are_named() -> None:
    waiting = bare_node("late")
    waiting["status"]["conditions"] = []
    assert "late is not ready" in told(good_ground(waiting), "nodes")
    assert "no nodes that match 'gpu=yes'" in told(good_ground(nodes=Told(), selector="gpu=yes"), "nodes")
    assert told(good_ground(nodes=Told()), "nodes").startswith("fail there are no nodes ->")
    windows = [bare_node(name, operatingSystem="windows") for name in ("w-1", "w-2")]
    assert "w-1, w-2 run no Linux" in told(good_ground(*windows), "nodes")
    assert "warn none of 2 nodes can have cards" in told(good_ground(*windows), "nodes")
    hidden = good_ground(nodes=Told(status=403, message="no"))
    assert told(hidden, "nodes") == "skip nodes may not be listed (no) -> ask with more rights"


@pytest.mark.parametrize(
    ("system", "listed"),
    [
        pytest.param("Ubuntu 22.04.4 LTS", True, id="ubuntu"),
        pytest.param("Ubuntu 24.04 LTS", False, id="newer-ubuntu"),
        pytest.param("Ubuntu 18.10", False, id="between"),
        pytest.param("CentOS Linux 8 (Core)", True, id="centos"),
        pytest.param("CentOS Linux 8.5.2111", True, id="centos-minor"),
        pytest.param("CentOS Stream 9", True, id="stream"),
        pytest.param("CentOS Linux 7 (Core)", False, id="old-centos"),
        pytest.param("openEuler 22.03 (LTS-SP3)", True, id="euler"),
        pytest.param("openEuler 24.03 (LTS)", False, id="newer-euler"),
        pytest.param("UbuntuKylin 22.04", False, id="another-ubuntu"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_systems_that_the_vendor_lists(system: str, listed: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_listed(system) is listed


@pytest.mark.parametrize(
    ("changes", "outcome", "says"),
    [
        pytest.param(
            {"privileged": Told(status=403, message=MAY_NOT)}, "skip", "may not be tried", id="no-right"
        ),
        pytest.param(
            {"privileged": Told(status=403, message=RESTRICTED), "tried_in_enforces": "restricted"},
            "fail",
            "kubectl label --overwrite namespace kube-system pod-security.kubernetes.io/enforce=privileged",
            id="label",
        ),
        pytest.param(
            {"privileged": Told(status=403, message=RESTRICTED)},
            "fail",
            "the cluster's usual level",
            id="default",
        ),
        pytest.param(
            {"privileged": Told(status=403, message=RESTRICTED), "home": FREE, "namespace": "new"},
            "fail",
            "kubectl create namespace new, then kubectl label",
            id="default-for-a-new-one",
        ),
        pytest.param(
            {
                "privileged": Told(status=403, message=RESTRICTED),
                "home": FREE,
                "namespace": "new",
                "tried_in": "default",
                "tried_in_enforces": "baseline",
            },
            "warn",
            "is not known before it exists",
            id="no-telling",
        ),
        pytest.param({"home": FREE, "tried_in": "default"}, "ok", "(tried in default)", id="new"),
        pytest.param(
            {
                "privileged": Told(
                    status=422, message="securityContext.privileged: disallowed by cluster policy"
                )
            },
            "fail",
            "--allow-privileged=true",
            id="switched-off",
        ),
        pytest.param(
            {"privileged": Told(status=400, message='webhook "kyverno" denied the request: no')},
            "warn",
            "would be refused",
            id="somebody-else",
        ),
        pytest.param({"privileged": NOTHING}, "skip", "could not be tried", id="silence"),
        pytest.param(
            {"privileged": Told(status=400, message=NO_DRY_RUN)},
            "skip",
            "could not be tried",
            id="no-dry-run",
        ),
        pytest.param({"privileged": Told(status=429, message="busy")}, "skip", "again in a while", id="busy"),
        pytest.param({"privileged": FREE}, "skip", "there is no namespace kube-system", id="no-place"),
    ],
)
def test_privileged_pods(changes: dict[str, Any], outcome: str, says: str) -> None:
    said = told(good_ground(**changes), "privileged")
    assert said.startswith(f"{outcome} ")
    assert says in said


def test_rights_that_are_missing_unknown_or_not_to_be_handed_out() -> None:
    rights = good_ground().rights
    lacking = good_ground(rights=rights | {"secrets": False, "services": False})
    assert told(lacking, "rights").startswith("fail you may not create secrets, services ->")
    assert "skip the API server does not say" in told(good_ground(rights={"secrets": None}), "rights")
    held = Told(
        status=403, message=f"{RBAC} is forbidden: attempting to grant RBAC permissions not currently held:"
    )
    assert "not with the rights that the scheduler needs" in told(good_ground(granting=held), "rights")


def owned(release: str, home: str) -> Told:
    annotations = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": home}
    return Told(({"metadata": {"annotations": annotations if release else {}}},))


@pytest.mark.parametrize(
    ("found", "outcome", "says"),
    [
        pytest.param(owned("", ""), "fail", "of no Helm release", id="left-over"),
        pytest.param(owned("cards", "kube-system"), "warn", "helm upgrade cards", id="same-place"),
        pytest.param(
            owned("cards", "other"), "fail", "helm uninstall cards -n other --wait", id="other-place"
        ),
        pytest.param(Told(status=403, message="no"), "skip", "may not be looked up (no)", id="hidden"),
    ],
)
def test_names_that_are_taken(found: Told, outcome: str, says: str) -> None:
    said = told(good_ground(names={"clusterroles tangram-scheduler": found}), "names")
    assert said.startswith(f"{outcome} ")
    assert says in said


@pytest.mark.parametrize(
    ("neighbour", "outcome", "says"),
    [
        pytest.param(
            Neighbour("MetaX's gpu-device", "plugin", ("gpu-1",)), "fail", "whoever spoke last", id="plugin"
        ),
        pytest.param(
            Neighbour("HAMi's scheduler", "scheduler", ("cpu-1",)), "fail", "the same pods", id="placer"
        ),
        pytest.param(
            Neighbour("MetaX's gpu-aware", "extender"), "warn", "advises a scheduler", id="extender"
        ),
        pytest.param(Neighbour("koordlet", "beside", ("gpu-1",)), "ok", "works with it", id="beside"),
    ],
)
def test_who_else_works_here(neighbour: Neighbour, outcome: str, says: str) -> None:
    said = told(good_ground(neighbours=Neighbours((neighbour,))), "conflicts")
    assert said.startswith(f"{outcome} ")
    assert says in said
    assert neighbour.program in said


def test_a_plugin_on_nodes_that_were_not_chosen_is_no_conflict() -> None:
    plugin = Neighbours((Neighbour("MetaX's gpu-device", "plugin", ("gpu-9",)),))
    assert told(good_ground(selector="gpu=true", neighbours=plugin), "conflicts").startswith("ok ")
    assert told(good_ground(neighbours=plugin), "conflicts").startswith("fail ")
    assert told(good_ground(neighbours=Neighbours(unknown="no")), "conflicts").startswith("skip ")


def test_a_tangram_that_runs_already() -> None:
    assert "upgrade it" in told(good_ground(workloads=(workload(),)), "installed")
    elsewhere = good_ground(workloads=(workload(namespace="other"),))
    assert "fail Tangram runs already in another namespace: DaemonSet other/" in told(elsewhere, "installed")
    agent = bare_node()
    agent["metadata"]["annotations"] = {"tangram.dev/agent": "serving"}
    assert "no DaemonSet that can be seen runs it" in told(good_ground(agent), "installed")
    assert told(good_ground(workloads_unknown="no"), "installed").startswith("skip ")


@pytest.mark.parametrize(
    ("helm", "outcome", "says"),
    [
        pytest.param(Helm(), "skip", "no helm on the PATH", id="none"),
        pytest.param(Helm("v2.17.0"), "fail", "3.1.0 is the oldest", id="second"),
        pytest.param(Helm("v3.0.3"), "fail", "3.1.0 is the oldest", id="without-lookup"),
        pytest.param(Helm("v3.7.2"), "warn", "not from a registry", id="before-registries"),
        pytest.param(Helm("v3.8.0"), "ok", "v3.8.0", id="registries"),
        pytest.param(Helm("v4.1.0"), "ok", "v4.1.0", id="fourth"),
        pytest.param(Helm("soon"), "warn", "'soon'", id="no-version"),
        pytest.param(Helm(fault="broken"), "skip", "broken", id="broken"),
    ],
)
def test_helm(helm: Helm, outcome: str, says: str) -> None:
    said = told(good_ground(helm=helm), "helm")
    assert said.startswith(f"{outcome} ")
    assert says in said


def test_a_server_that_does_not_answer_is_the_only_finding() -> None:
    found = judge_ground(good_ground(unreachable="nobody there"))
    assert [(each.check, each.outcome) for each in found.findings] == [("api-server", Outcome.FAIL)]


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "status", "nodeInfo", "labels", "annotations", "conditions", "name"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.sampled_from(["metadata", "status", "spec"]), ODD), max_size=3))
def test_no_node_whatever_it_says_of_itself_keeps_a_finding_from_being_made(
    nodes: list[dict[str, Any]],
) -> None:
    found = judge_ground(good_ground(nodes=Told(tuple(nodes))))
    assert len(found.nodes) == len(nodes)
    assert all(
        each.why and (each.todo or each.outcome in (Outcome.OK, Outcome.SKIP)) for each in found.findings
    )

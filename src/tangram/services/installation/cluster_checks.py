"""The cluster before an installation: its API server, what it allows, and what the person who installs may do."""

from __future__ import annotations

from typing import Final

from tangram.drivers.doctor.findings import Finding, Findings, fail, ok, skip, warn
from tangram.drivers.doctor.versions import read_version, version_text
from tangram.services.installation import matrix
from tangram.services.installation.asking import FORBIDDEN, untried
from tangram.services.installation.ground import Ground
from tangram.services.installation.matrix import minor_text
from tangram.services.installation.surveying import ENFORCE
from tangram.services.installation.wording import ASK_WITH_MORE, cut, some_of

_MAY_NOT_CREATE: Final = "cannot create resource"
"""How Kubernetes' own authorizer says that somebody lacks a right."""
_POD_SECURITY: Final = "violates PodSecurity"
_SWITCHED_OFF: Final = "disallowed by cluster policy"
"""What the API server says of privileged pods while it runs with --allow-privileged=false."""
_NOT_HELD: Final = "attempting to grant RBAC permissions not currently held"
_ADMIN: Final = "install as somebody with the ClusterRole cluster-admin"


def kubernetes(ground: Ground) -> Findings:
    """Old and very new API servers."""
    check, version = "kubernetes", ground.version
    if version is None:
        return
    said = f"this is Kubernetes {ground.spoken_version or minor_text(version)}"
    if version < matrix.OLDEST_KUBERNETES:
        yield fail(
            check,
            f"{said}, and {minor_text(matrix.OLDEST_KUBERNETES)} is the oldest that is supported",
            f"upgrade the cluster to {minor_text(matrix.POLICIES)} or newer",
        )
    elif version < matrix.POLICIES:
        yield warn(check, f"{said}: {_lacking(version)}", _instead(version))
    elif version > matrix.NEWEST_TRIED:
        yield warn(
            check,
            f"{said}, newer than {minor_text(matrix.NEWEST_TRIED)}, the newest that Tangram is tested with",
            "look for a newer Tangram; nothing is known to be wrong",
        )
    elif version < matrix.NOMINATION:
        yield ok(check, f"{said}; from {minor_text(matrix.NOMINATION)} on bursts of pods are placed faster")
    else:
        yield ok(check, said)


def _lacking(version: matrix.Minor) -> str:
    policy = "it has no ValidatingAdmissionPolicy that can be relied on, so a webhook must guard allocations"
    if version < matrix.SCHEDULER_CONFIG_V1:
        return f"{policy}, and its kube-scheduler does not read kubescheduler.config.k8s.io/v1"
    if version < matrix.PERCENTAGE_BY_PROFILE:
        return f"{policy}, and its kube-scheduler knows percentageOfNodesToScore outside of profiles alone"
    return policy


def _instead(version: matrix.Minor) -> str:
    policy = "install as docs/scheduler-install.md says under 'Before Kubernetes 1.30'"
    if version < matrix.SCHEDULER_CONFIG_V1:
        policy += (
            ", and write apiVersion kubescheduler.config.k8s.io/v1beta3 in kube-scheduler's configuration"
        )
    if version < matrix.PERCENTAGE_BY_PROFILE:
        policy += ", with percentageOfNodesToScore: 100 beside profiles"
    return policy


def privileged(ground: Ground) -> Findings:
    """Whether a pod like the node agent's would be let in, as the API server itself decides."""
    check, told, where = "privileged", ground.privileged, ground.tried_in
    new = ground.home.absent
    if told.known and told.items:
        place = f"a new namespace such as {ground.namespace}" if new else f"namespace {where}"
        tried = f" (tried in {where})" if new else ""
        yield ok(check, f"a privileged pod with folders of its host would be let into {place}{tried}")
    elif _MAY_NOT_CREATE in told.message or (told.status == FORBIDDEN and "forbidden: User" in told.message):
        yield skip(check, f"a pod in {where} may not be tried ({cut(told.message)})", ASK_WITH_MORE)
    elif _POD_SECURITY in told.message:
        yield _by_pod_security(ground, new=new)
    elif _SWITCHED_OFF in told.message:
        yield fail(
            check,
            "the API server takes no privileged pods, which the agent of a node is",
            "start kube-apiserver with --allow-privileged=true",
        )
    elif (finding := untried(check, told, where)) is not None:
        yield finding
    else:
        yield warn(
            check,
            f"a privileged pod in {where} would be refused: {cut(told.message)}",
            f"let pods of service accounts in {ground.namespace} pass, or install into another namespace with -n",
        )


def _by_pod_security(ground: Ground, *, new: bool) -> Finding:
    check, namespace = "privileged", ground.namespace
    label = f"{ENFORCE}=privileged"
    if new and ground.tried_in_enforces:
        return warn(
            check,
            f"namespace {ground.tried_in}, where it was tried, enforces {ground.tried_in_enforces}, and what holds for "
            f"{namespace} is not known before it exists",
            f"kubectl create namespace {namespace}, kubectl label namespace {namespace} {label}, and ask again",
        )
    made = f"kubectl create namespace {namespace}, then " if new else ""
    by = (
        f"enforces {ground.tried_in_enforces}"
        if ground.tried_in_enforces
        else "stands under the cluster's usual level"
    )
    where = "a namespace without labels" if new else f"namespace {namespace}"
    return fail(
        check,
        f"{where} {by} of Pod Security, which lets no privileged pod in, and the agent of a node is one",
        f"{made}kubectl label --overwrite namespace {namespace} {label}",
    )


def rights(ground: Ground) -> Findings:
    """Whether the caller may make what an installation makes, and hand out what its accounts need."""
    check = "rights"
    lacking = [kind for kind, allowed in ground.rights.items() if allowed is False]
    unsaid = [kind for kind, allowed in ground.rights.items() if allowed is None]
    if lacking:
        yield fail(check, f"you may not create {some_of(lacking, most=6)}", _ADMIN)
    if unsaid:
        yield skip(
            check, f"the API server does not say whether you may create {some_of(unsaid)}", "ask again"
        )
    if _NOT_HELD in ground.granting.message:
        yield fail(
            check,
            "you may create ClusterRoles and their bindings, but not with the rights that the scheduler needs: "
            "Kubernetes lets nobody hand out rights they do not have",
            _ADMIN,
        )
    elif not lacking and not unsaid:
        yield ok(
            check, f"you may create all {len(ground.rights)} kinds of objects that an installation makes"
        )


def helm(ground: Ground) -> Findings:
    """The tool that installs, where there is one."""
    check, said = "helm", ground.helm
    if said.fault:
        yield skip(check, f"helm does not say its version ({cut(said.fault)})", "see what helm version says")
        return
    if not said.version:
        yield skip(check, "there is no helm on the PATH", "look where you install from")
        return
    version = read_version(said.version.removeprefix("v"))
    if version is None:
        yield warn(check, f"helm says {said.version!r:.60}", "see what helm version says")
    elif version < matrix.OLDEST_HELM:
        yield fail(
            check,
            f"helm is {said.version}, and {version_text(matrix.OLDEST_HELM)} is the oldest",
            f"install helm {version_text(matrix.HELM_WITH_REGISTRIES)} or newer",
        )
    elif version < matrix.HELM_WITH_REGISTRIES:
        yield warn(
            check,
            f"helm is {said.version}, which installs charts from files and not from a registry",
            f"install helm {version_text(matrix.HELM_WITH_REGISTRIES)} or newer, or take the chart's archive",
        )
    else:
        yield ok(check, f"helm is {said.version}")

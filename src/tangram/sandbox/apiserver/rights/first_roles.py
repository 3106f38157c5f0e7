"""The roles and bindings a cluster begins with, as far as people give or hold them.

A real one has some sixty more, for components that do not run here. The rules are Kubernetes' own, with the kinds that
are not served here: whoever compares what they may do here and elsewhere finds the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.identities import ACCOUNTS_GROUP, AUTHENTICATED, MASTERS, UNAUTHENTICATED
from tangram.sandbox.apiserver.rules.rights import RBAC
from tangram.wire.cluster_roles import aggregated

_READ: Final = "get list watch"
_WRITE: Final = "create delete deletecollection patch update"
_BOTH: Final = "create delete deletecollection get list patch update watch"
_CORE: Final = ("",)
_EVENTS: Final = ("", "events.k8s.io")
_AUTHENTICATION: Final = ("authentication.k8s.io",)
_AUTHORIZATION: Final = ("authorization.k8s.io",)
_VERSION: Final = f"{RBAC}/v1"


def _rule(verbs: str, groups: Sequence[str], resources: str) -> Object:
    return {"verbs": verbs.split(), "apiGroups": list(groups), "resources": sorted(resources.split())}


def _urls(urls: str) -> Object:
    return {"verbs": ["get"], "nonResourceURLs": sorted(urls.split())}


_VIEW: Final = (
    _rule(
        _READ,
        _CORE,
        "pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status endpoints "
        "persistentvolumeclaims persistentvolumeclaims/status configmaps",
    ),
    _rule(
        _READ,
        _CORE,
        "limitranges resourcequotas bindings pods/status resourcequotas/status namespaces/status "
        "replicationcontrollers/status pods/log",
    ),
    _rule(_READ, _CORE, "namespaces"),
    _rule(_READ, _EVENTS, "events"),
    _rule(_READ, ("discovery.k8s.io",), "endpointslices"),
    _rule(
        _READ,
        ("apps",),
        "controllerrevisions statefulsets statefulsets/status statefulsets/scale daemonsets daemonsets/status "
        "deployments deployments/status deployments/scale replicasets replicasets/status replicasets/scale",
    ),
    _rule(_READ, ("autoscaling",), "horizontalpodautoscalers horizontalpodautoscalers/status"),
    _rule(_READ, ("batch",), "jobs cronjobs cronjobs/status jobs/status"),
    _rule(
        _READ,
        ("extensions",),
        "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status "
        "replicasets replicasets/scale replicasets/status replicationcontrollers/scale networkpolicies",
    ),
    _rule(_READ, ("policy",), "poddisruptionbudgets poddisruptionbudgets/status"),
    _rule(_READ, ("networking.k8s.io",), "networkpolicies ingresses ingresses/status"),
    _rule(_READ, ("resource.k8s.io",), "resourceclaims resourceclaims/status resourceclaimtemplates"),
)
_EDIT: Final = (
    _rule(_READ, _CORE, "pods/attach pods/proxy pods/exec pods/portforward secrets services/proxy"),
    _rule("impersonate", _CORE, "serviceaccounts"),
    _rule(_WRITE, _CORE, "pods pods/attach pods/proxy pods/exec pods/portforward"),
    _rule("create", _CORE, "pods/eviction"),
    _rule(
        _WRITE,
        _CORE,
        "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/proxy "
        "persistentvolumeclaims configmaps secrets",
    ),
    _rule("create", _CORE, "serviceaccounts/token"),
    _rule(_WRITE, _EVENTS, "events"),
    _rule(
        _WRITE,
        ("apps",),
        "statefulsets statefulsets/scale daemonsets deployments deployments/scale deployments/rollback replicasets "
        "replicasets/scale",
    ),
    _rule(_WRITE, ("autoscaling",), "horizontalpodautoscalers"),
    _rule(_WRITE, ("batch",), "jobs cronjobs"),
    _rule(
        _WRITE,
        ("extensions",),
        "daemonsets deployments deployments/scale deployments/rollback ingresses replicasets replicasets/scale "
        "replicationcontrollers/scale networkpolicies",
    ),
    _rule(_WRITE, ("policy",), "poddisruptionbudgets"),
    _rule(_WRITE, ("networking.k8s.io",), "networkpolicies ingresses"),
    _rule(_BOTH, ("coordination.k8s.io",), "leases"),
    _rule(_WRITE, ("resource.k8s.io",), "resourceclaims resourceclaimtemplates"),
)
_ADMIN: Final = (
    _rule("create", _AUTHORIZATION, "localsubjectaccessreviews"),
    _rule(_BOTH, (RBAC,), "roles rolebindings"),
)
_PLAIN: Final[Mapping[str, Sequence[Object]]] = {
    "cluster-admin": (
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ),
    "system:auth-delegator": (
        _rule("create", _AUTHENTICATION, "tokenreviews"),
        _rule("create", _AUTHORIZATION, "subjectaccessreviews"),
    ),
    "system:basic-user": (
        _rule("create", _AUTHORIZATION, "selfsubjectaccessreviews selfsubjectrulesreviews"),
        _rule("create", _AUTHENTICATION, "selfsubjectreviews"),
    ),
    "system:discovery": (
        _urls("/livez /readyz /healthz /version /version/ /openapi /openapi/* /api /api/* /apis /apis/*"),
    ),
    "system:public-info-viewer": (_urls("/livez /readyz /healthz /version /version/"),),
    "system:service-account-issuer-discovery": (
        _urls(
            "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/"
        ),
    ),
}
_PARTS: Final = {"admin": _ADMIN, "edit": _EDIT, "view": _VIEW}
_WITHIN: Final = {"view": "edit", "edit": "admin"}
_HOLDERS: Final[Mapping[str, Sequence[str]]] = {
    "cluster-admin": (MASTERS,),
    "system:basic-user": (AUTHENTICATED,),
    "system:discovery": (AUTHENTICATED,),
    "system:public-info-viewer": (AUTHENTICATED, UNAUTHENTICATED),
    "system:service-account-issuer-discovery": (ACCOUNTS_GROUP,),
}


def first_roles() -> Iterator[Object]:
    """Every ClusterRole, those that are put together from others with what they come to."""
    roles = [_role(name, rules) for name, rules in _PLAIN.items()]
    for name, rules in _PARTS.items():
        roles.append(_role(f"system:aggregate-to-{name}", rules, part_of=name))
        whole = _role(name, (), part_of=_WITHIN.get(name, ""))
        gathered = [{"matchLabels": {_aggregate_to(name): "true"}}]
        roles.append({**whole, "aggregationRule": {"clusterRoleSelectors": gathered}})
    # The narrow ones first: each is part of the next.
    for name in ("view", "edit", "admin"):
        place = next(number for number, role in enumerate(roles) if role["metadata"]["name"] == name)
        roles[place] = {**roles[place], "rules": aggregated(roles[place], roles)}
    return iter(roles)


def first_bindings() -> Iterator[Object]:
    """Every ClusterRoleBinding."""
    for role, groups in _HOLDERS.items():
        yield {
            **_named("ClusterRoleBinding", role),
            "subjects": [{"kind": "Group", "apiGroup": RBAC, "name": group} for group in groups],
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        }


def _role(name: str, rules: Sequence[Object], part_of: str = "") -> Object:
    labels = {_aggregate_to(part_of): "true"} if part_of else {}
    return {**_named("ClusterRole", name, labels), "rules": list(rules)}


def _aggregate_to(name: str) -> str:
    return f"{RBAC}/aggregate-to-{name}"


def _named(kind: str, name: str, labels: Mapping[str, str] | None = None) -> Object:
    metadata: Object = {
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults", **(labels or {})},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }
    return {"kind": kind, "apiVersion": _VERSION, "metadata": metadata}

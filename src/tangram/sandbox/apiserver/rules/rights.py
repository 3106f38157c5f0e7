"""Roles and their bindings as objects: how they are completed, and what is wrong with them. `rights/` obeys them."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import each_invalid, invalid, required, unsupported
from tangram.sandbox.apiserver.rules.looking import placed, record, texts, word
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.wording import subdomain

RBAC: Final = "rbac.authorization.k8s.io"


def _role_faults(new: Object, _old: Object | None) -> list[Fault]:
    return _rule_faults(new, namespaced=True)


def _cluster_role_faults(new: Object, _old: Object | None) -> list[Fault]:
    return _rule_faults(new, namespaced=False)


def _rule_faults(thing: Object, *, namespaced: bool) -> list[Fault]:
    faults: list[Fault] = []
    for at, rule in placed(thing, "rules", ""):
        urls = texts(rule, "nonResourceURLs")
        if not texts(rule, "verbs"):
            faults.append(required(f"{at}.verbs", "verbs must contain at least one value"))
        if urls:
            if namespaced:
                detail = "namespaced rules cannot apply to non-resource URLs"
                faults.append(invalid(f"{at}.nonResourceURLs", urls, detail))
            if any(texts(rule, name) for name in ("apiGroups", "resources", "resourceNames")):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                faults.append(invalid(f"{at}.nonResourceURLs", urls, detail))
            continue
        if not texts(rule, "apiGroups"):
            faults.append(required(f"{at}.apiGroups", "resource rules must supply at least one api group"))
        if not texts(rule, "resources"):
            faults.append(required(f"{at}.resources", "resource rules must supply at least one resource"))
    return faults


ROLE: Final = Ruling(faults=_role_faults)
CLUSTER_ROLE: Final = Ruling(faults=_cluster_role_faults)


def _fill_binding(thing: Object) -> None:
    reference: Object = thing.setdefault("roleRef", {})
    if not word(reference, "apiGroup"):
        reference["apiGroup"] = RBAC
    for _, subject in placed(thing, "subjects", ""):
        if word(subject, "kind") in ("User", "Group") and not word(subject, "apiGroup"):
            subject["apiGroup"] = RBAC


def _binding_faults(new: Object, old: Object | None) -> list[Fault]:
    return _bound_faults(new, old, ("Role", "ClusterRole"))


def _cluster_binding_faults(new: Object, old: Object | None) -> list[Fault]:
    return _bound_faults(new, old, ("ClusterRole",), everywhere=True)


def _bound_faults(
    new: Object, old: Object | None, kinds: tuple[str, ...], *, everywhere: bool = False
) -> list[Fault]:
    reference = record(new, "roleRef")
    faults: list[Fault] = []
    if word(reference, "apiGroup") != RBAC:
        faults.append(unsupported("roleRef.apiGroup", word(reference, "apiGroup"), (RBAC,)))
    if word(reference, "kind") not in kinds:
        faults.append(unsupported("roleRef.kind", word(reference, "kind"), kinds))
    if not word(reference, "name"):
        faults.append(required("roleRef.name"))
    for at, subject in placed(new, "subjects", ""):
        faults += _subject_faults(subject, at, everywhere=everywhere)
    if old is not None and reference != record(old, "roleRef"):
        told = {
            "APIGroup": reference.get("apiGroup"),
            "Kind": reference.get("kind"),
            "Name": reference.get("name"),
        }
        faults.append(invalid("roleRef", told, "cannot change roleRef"))
    return faults


def _subject_faults(subject: Object, path: str, *, everywhere: bool) -> list[Fault]:
    kind, name, group = word(subject, "kind"), word(subject, "name"), word(subject, "apiGroup")
    faults = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            faults += each_invalid(f"{path}.name", name, subdomain(name))
        if group:
            faults.append(unsupported(f"{path}.apiGroup", group, ("",)))
        if everywhere and not word(subject, "namespace"):
            faults.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != RBAC:
            faults.append(unsupported(f"{path}.apiGroup", group, (RBAC,)))
    else:
        faults.append(unsupported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    return faults


ROLE_BINDING: Final = Ruling(fill=_fill_binding, faults=_binding_faults)
CLUSTER_ROLE_BINDING: Final = Ruling(fill=_fill_binding, faults=_cluster_binding_faults)

"""Rights that a chart hands out beside those that its programs were seen to use.

Both are counted as the API server counts them: a verb on a resource, in one namespace or in all, for one name or for
any. What Kubernetes' own roles allow is told apart, because a program of ours must not live on what was given to the
kube-scheduler beside it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from e2e.audit_kit import Question
from testbed.api import Object
from testbed.cluster import Cluster

RBAC = "rbac.authorization.k8s.io"
ROLES = frozenset({"Role", "ClusterRole"})
BINDINGS = frozenset({"RoleBinding", "ClusterRoleBinding"})
KUBE_SCHEDULER = "kube-scheduler"
"""As it calls itself to the API server."""
_ANY = "*"


class Right(NamedTuple):
    account: str
    verb: str
    group: str
    resource: str
    """With its subresource."""
    namespace: str
    """Empty for all of them."""
    name: str
    """Empty for any."""

    def covers(self, asked: Question) -> bool:
        return (
            self.account == asked.account
            and self.verb in (asked.verb, _ANY)
            and self.group in (asked.group, _ANY)
            and self.resource in (asked.resource, _ANY)
            and self.namespace in ("", asked.namespace)
            and self.name in ("", asked.name)
        )

    def __str__(self) -> str:
        kind = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f" called {self.name}" if self.name else ""
        return f"{self.account}: {self.verb} {kind}{named} in {self.namespace or 'the cluster'}"


def own_rights(objects: Iterable[Object]) -> set[Right]:
    """What the roles among these objects give to the accounts that the bindings among them name."""
    known = list(objects)
    roles = {_place(one): one for one in known if one["kind"] in ROLES}
    return {
        right
        for binding in _bindings(known)
        for role in (roles.get(_bound_place(binding)),)
        if role is not None
        for right in _rights(binding, role)
    }


async def built_in_rights(cluster: Cluster, objects: Iterable[Object]) -> set[Right]:
    """The same for roles that the cluster had already."""
    known = list(objects)
    ours = {_place(one) for one in known if one["kind"] in ROLES}
    found: set[Right] = set()
    for binding in _bindings(known):
        kind, namespace, name = place = _bound_place(binding)
        if place not in ours:
            where = f"/namespaces/{namespace}" if namespace else ""
            role = await cluster.api.get(f"/apis/{RBAC}/v1{where}/{kind.lower()}s/{name}")
            found |= set(_rights(binding, role))
    return found


def _bindings(objects: Iterable[Object]) -> Iterator[Object]:
    yield from (one for one in objects if one["kind"] in BINDINGS)


def _place(role: Object) -> tuple[str, str, str]:
    metadata = role["metadata"]
    return role["kind"], metadata.get("namespace", "") if role["kind"] == "Role" else "", metadata["name"]


def _bound_place(binding: Object) -> tuple[str, str, str]:
    role = binding["roleRef"]
    return role["kind"], binding["metadata"]["namespace"] if role["kind"] == "Role" else "", role["name"]


def _rights(binding: Object, role: Object) -> Iterator[Right]:
    where = binding["metadata"]["namespace"] if binding["kind"] == "RoleBinding" else ""
    for subject in binding["subjects"]:
        for rule in role["rules"]:
            for verb in rule["verbs"]:
                for group in rule.get("apiGroups", ()):
                    for resource in rule.get("resources", ()):
                        for name in rule.get("resourceNames", ("",)):
                            yield Right(subject["name"], verb, group, resource, where, name)


class Judged(NamedTuple):
    """Rights and questions that have nothing to do with each other; all are empty where the rights are the least."""

    unused: list[str]
    """Without which everything would have been allowed all the same."""
    borrowed: list[str]
    """Asked by a program of ours, and allowed by nothing of ours."""
    too_wide: list[str]
    """For any name, or in every namespace, and needed for one only."""


def judged(own: set[Right], built_in: set[Right], asked: Iterable[Question]) -> Judged:
    used: dict[Right, list[Question]] = {right: [] for right in own}
    needed: set[Right] = set()
    borrowed: set[str] = set()
    for question in asked:
        if question.program == KUBE_SCHEDULER and any(right.covers(question) for right in built_in):
            continue
        covering = [right for right in own if right.covers(question)]
        if not covering:
            borrowed.add(f"{question.program} {question}")
        if len(covering) == 1:
            needed.update(covering)
        for right in covering:
            used[right].append(question)
    return Judged(
        unused=sorted(map(str, own - needed)),
        borrowed=sorted(borrowed),
        too_wide=sorted(_too_wide(used)),
    )


def _too_wide(used: Mapping[Right, list[Question]]) -> Iterator[str]:
    for right, uses in used.items():
        objects, places = {(use.namespace, use.name) for use in uses}, {use.namespace for use in uses}
        if len(objects) == 1 and not right.name and _can_be_named(right):
            ((_, name),) = objects
            yield from [f"{right}: only for {name}"] if name else []
        if len(places) == 1 and not right.namespace:
            (place,) = places
            yield from [f"{right}: only in {place}"] if place else []


def _can_be_named(right: Right) -> bool:
    """Who makes an object gives its name only when the right was checked."""
    return right.verb != "create" or "/" in right.resource


# ---- what lies beyond


def beyond(right: Right) -> Iterator[Right]:
    """The same for what somebody else called otherwise, and in a namespace that is none of its business."""
    if right.name:
        yield right._replace(name="somebody-elses")
        if right.verb in ("list", "watch"):
            yield right._replace(name="")
    if right.namespace:
        yield right._replace(namespace="somebody-elses")
    if right.resource == "secrets":
        yield from (right._replace(verb=verb, name="") for verb in ("get", "list", "watch"))


async def allowed(cluster: Cluster, home: str, right: Right) -> bool:
    """What the API server says of an account of that namespace, as `kubectl auth can-i --as` asks it."""
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": right.namespace,
        "name": right.name,
    }
    user = f"system:serviceaccount:{home}:{right.account}"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{home}", "system:authenticated"]
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "groups": groups, "resourceAttributes": attributes},
    }
    answer = await cluster.api.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])

"""Roles and bindings: what somebody may do, in which words everything else is refused, and how it is explained."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from contract.case import case
from contract.normal import names, pick, verdict
from contract.things import config, pod, thing
from contract.world import APPLY_PATCH, MERGE_PATCH, PATIENCE, Answer, Json, Object, World

AUTHENTICATION = "authentication.k8s.io/v1"
AUTHORIZATION = "authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
RBAC = f"{GROUP}/v1"
READ = ("get", "list", "watch")


def _rule(
    verbs: Sequence[str], resources: Sequence[str], groups: Sequence[str] = ("",), **more: Json
) -> Object:
    return {"verbs": verbs, "apiGroups": groups, "resources": resources, **more}


def _role(name: str, *rules: Object, kind: str = "Role", **more: Json) -> Object:
    return thing(kind, name, RBAC, rules=list(rules), **more)


def _binding(name: str, role: str, subject: Object, kind: str = "RoleBinding", of: str = "Role") -> Object:
    reference = {"apiGroup": GROUP, "kind": of, "name": role}
    return thing(kind, name, RBAC, roleRef=reference, subjects=[subject])


def _robot(world: World, name: str = "robot") -> Object:
    return {"kind": "ServiceAccount", "name": name, "namespace": world.namespace}


def _user(world: World, name: str = "robot") -> str:
    return f"system:serviceaccount:{world.namespace}:{name}"


async def _token(world: World, name: str = "robot") -> str:
    await world.have(world.at("serviceaccounts"), thing("ServiceAccount", name))
    request: Object = {"apiVersion": AUTHENTICATION, "kind": "TokenRequest", "spec": {}}
    return (await world.have(world.at(f"serviceaccounts/{name}/token"), request))["status"]["token"]


async def _given(world: World, *rules: Object, name: str = "robot") -> str:
    """A token of an account that has a role of these rules in the case's namespace."""
    token = await _token(world, name)
    await world.have(world.at("roles", RBAC), _role(f"of-{name}", *rules))
    await world.have(
        world.at("rolebindings", RBAC), _binding(f"to-{name}", f"of-{name}", _robot(world, name))
    )
    await _heard(world, name)
    return token


async def _bound(world: World, role: str, name: str = "robot") -> str:
    """The same with a ClusterRole that is there already."""
    token = await _token(world, name)
    bound = _binding(f"to-{name}", role, _robot(world, name), of="ClusterRole")
    await world.have(world.at("rolebindings", RBAC), bound)
    await _heard(world, name)
    return token


async def _heard(world: World, name: str) -> None:
    """The server follows roles and bindings a moment behind: a last binding that is seen vouches for those before."""
    last = f"last-{name}"
    await world.have(world.at("roles", RBAC), _role(last, _rule(["heard"], ["things"])))
    await world.have(world.at("rolebindings", RBAC), _binding(last, last, _robot(world, name)))
    spec = {
        "user": _user(world, name),
        "resourceAttributes": {"namespace": world.namespace, "verb": "heard", "resource": "things"},
    }
    await _until(lambda: _review(world, "SubjectAccessReview", spec), lambda seen: seen["status"]["allowed"])


async def _until(ask: Callable[[], Awaitable[Answer]], true: Callable[[Answer], bool]) -> Answer:
    last = time.monotonic() + PATIENCE
    while not true(answer := await ask()):
        if time.monotonic() > last:
            raise AssertionError(f"it did not become as wanted: {answer.code} {answer.body}")
        await asyncio.sleep(0.02)
    return answer


async def _review(world: World, kind: str, spec: Object, token: str | None = None, **more: Json) -> Answer:
    plural = f"{kind.lower()}s"
    path = world.at(plural, AUTHORIZATION) if kind.startswith("Local") else world.top(plural, AUTHORIZATION)
    return await world.ask(
        "POST", path, {"apiVersion": AUTHORIZATION, "kind": kind, "spec": spec, **more}, token=token
    )


def _attributes(world: World, verb: str, resource: str, **more: Json) -> Object:
    return {"resourceAttributes": {"namespace": world.namespace, "verb": verb, "resource": resource, **more}}


@case
async def an_account_reads_what_its_role_says(world: World) -> object:
    await world.have(world.at("pods"), pod())
    token = await _given(world, _rule(READ, ["pods"]))
    return [
        names(await world.ask("GET", world.at("pods"), token=token)),
        pick(await world.ask("GET", world.at("pods/a"), token=token), "metadata.name"),
        (await world.ask("GET", world.at("pods"), token=token, watch="true", timeoutSeconds="1")).code,
    ]


@case
async def what_a_role_does_not_say_is_forbidden(world: World) -> object:
    await world.have(world.at("pods"), pod())
    token = await _given(world, _rule(READ, ["pods"]))
    return [
        await world.ask("POST", world.at("pods"), pod("b"), token=token),
        await world.ask("DELETE", world.at("pods/a"), token=token),
        await world.ask("DELETE", world.at("pods"), token=token),
        await world.ask("PUT", world.at("pods/a"), pod(), token=token),
        await world.ask("PATCH", world.at("pods/a"), {}, content=MERGE_PATCH, token=token),
        await world.ask("GET", world.at("secrets"), token=token),
        await world.ask("GET", world.at("secrets/x"), token=token),
        await world.ask("GET", world.at("jobs", "batch/v1"), token=token),
        await world.ask("GET", world.at("pods/a/log"), token=token),
        await world.ask("POST", world.at("pods/a/eviction"), {}, token=token),
        await world.ask("GET", world.at("secrets"), token=token, watch="true"),
    ]


@case
async def a_role_counts_in_its_namespace_only(world: World) -> object:
    token = await _given(world, _rule(["*"], ["*"], ["*"]))
    return [
        (await world.ask("GET", world.at("secrets"), token=token)).code,
        await world.ask("GET", world.top("pods"), token=token),
        await world.ask("GET", "/api/v1/namespaces/default/pods", token=token),
        await world.ask("GET", "/api/v1/namespaces/default/pods/x", token=token),
        await world.ask("GET", world.top("pods"), token=token, watch="true"),
        await world.ask("GET", "/api/v1/watch/pods", token=token),
        await world.ask("GET", world.top("nodes"), token=token),
        await world.ask("GET", world.top("nodes/x"), token=token),
        await world.ask("PATCH", world.top("nodes/x/status"), {}, content=MERGE_PATCH, token=token),
        await world.ask("GET", world.top("namespaces"), token=token),
        (await world.ask("GET", world.top(f"namespaces/{world.namespace}"), token=token)).code,
        await world.ask("GET", world.top("namespaces/default"), token=token),
        await world.ask("POST", world.top("namespaces"), thing("Namespace", world.named("x")), token=token),
    ]


@case
async def who_may_not_ask_is_not_told_that_there_is_nothing(world: World) -> object:
    token = await _token(world)
    return [
        await world.ask("GET", world.at("pods/nothing"), token=token),
        await world.ask("GET", world.at("nothings"), token=token),
        await world.ask("GET", world.at("nothings/x/part"), token=token),
        await world.ask("GET", "/apis/nowhere.example.com/v1/things", token=token),
    ]


@case
async def paths_are_rights_as_well(world: World) -> object:
    token = await _token(world)
    return [
        [
            (await world.ask("GET", path, token=token)).code
            for path in (
                "/version",
                "/healthz",
                "/livez",
                "/readyz",
                "/api",
                "/apis",
                "/api/v1",
                "/openapi/v3",
            )
        ],
        await world.ask("GET", "/", token=token),
        await world.ask("GET", "/nowhere", token=token),
        await world.ask("POST", "/version", {}, token=token),
        await world.ask("GET", "/api", token=""),
        await world.ask("GET", world.top("nodes/x"), token=""),
        await world.ask("POST", world.at("pods"), pod(), token=""),
    ]


@case
async def names_narrow_a_right(world: World) -> object:
    for name in ("a", "b"):
        await world.have(world.at("configmaps"), config(name))
    token = await _given(world, _rule([*READ, "create"], ["configmaps"], resourceNames=["a", "c"]))
    path = world.at("configmaps")
    by_name = "metadata.name=a"
    return [
        (await world.ask("GET", world.at("configmaps/a"), token=token)).code,
        await world.ask("GET", world.at("configmaps/b"), token=token),
        await world.ask("GET", path, token=token),
        names(await world.ask("GET", path, token=token, fieldSelector=by_name)),
        (
            await world.ask("GET", path, token=token, watch="true", timeoutSeconds="1", fieldSelector=by_name)
        ).code,
        await world.ask("GET", path, token=token, fieldSelector="metadata.name=b"),
        await world.ask("GET", path, token=token, fieldSelector="metadata.name!=a"),
        await world.ask("POST", path, config("c"), token=token),
    ]


@case
async def parts_of_objects_are_rights_of_their_own(world: World) -> object:
    await world.have(world.at("replicationcontrollers"), thing("ReplicationController", "a", spec={
        "replicas": 0, "selector": {"a": "b"}, "template": {"metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}}))  # fmt: skip
    token = await _given(world, _rule(["get"], ["*/scale"], ["*"]), _rule(["get"], ["pods/log"]))
    place = world.at("replicationcontrollers/a")
    return [
        (await world.ask("GET", f"{place}/scale", token=token)).code,
        await world.ask("GET", place, token=token),
        await world.ask("PUT", f"{place}/scale", {}, token=token),
        await world.ask("GET", f"{place}/status", token=token),
        verdict(await world.ask("GET", world.at("pods/nothing/log"), token=token)),
    ]


@case
async def view_is_given_in_a_namespace(world: World) -> object:
    token = await _bound(world, "view")
    return [
        [
            (await world.ask("GET", world.at(place), token=token)).code
            for place in ("pods", "configmaps", "events", "services", "serviceaccounts", "resourcequotas")
        ],
        (await world.ask("GET", world.at("deployments", "apps/v1"), token=token)).code,
        (await world.ask("GET", world.top(f"namespaces/{world.namespace}"), token=token)).code,
        await world.ask("GET", world.at("secrets"), token=token),
        await world.ask("GET", world.at("roles", RBAC), token=token),
        await world.ask("POST", world.at("configmaps"), config(), token=token),
        await world.ask("POST", world.at("serviceaccounts/robot/token"), {}, token=token),
        await world.ask("GET", world.top("pods"), token=token),
    ]


@case
async def edit_and_admin_are_given_in_a_namespace(world: World) -> object:
    editor, admin = await _bound(world, "edit", "editor"), await _bound(world, "admin", "admin")
    quota = thing("ResourceQuota", "q", spec={"hard": {"pods": "1"}})
    return [
        (await world.ask("POST", world.at("configmaps"), config(), token=editor)).code,
        (await world.ask("GET", world.at("secrets"), token=editor)).code,
        (await world.ask("DELETE", world.at("configmaps/a"), token=editor)).code,
        await world.ask("GET", world.at("roles", RBAC), token=editor),
        (await world.ask("GET", world.at("roles", RBAC), token=admin)).code,
        (await world.ask("POST", world.at("configmaps"), config("b"), token=admin)).code,
        await world.ask("POST", world.at("resourcequotas"), quota, token=admin),
        await world.ask("GET", world.top("clusterroles", RBAC), token=admin),
    ]


@case
async def a_right_ends_with_its_binding(world: World) -> object:
    token = await _given(world, _rule(READ, ["pods"]))
    before = await world.ask("GET", world.at("pods"), token=token)
    await world.must(world.delete(world.at("rolebindings/to-robot", RBAC)))
    after = await _until(
        lambda: world.ask("GET", world.at("pods"), token=token), lambda answer: answer.code != 200
    )
    return [before.code, after]


@case
async def a_role_that_is_missing_is_named(world: World) -> object:
    token = await _token(world)
    await world.have(world.at("rolebindings", RBAC), _binding("one", "nothing", _robot(world)))
    await _heard(world, "robot")
    one = await world.ask("GET", world.at("pods"), token=token)
    await world.have(
        world.at("rolebindings", RBAC), _binding("same", "nothing", _robot(world), of="ClusterRole")
    )
    reviewed = await _until(
        lambda: _review(
            world, "SubjectAccessReview", {"user": _user(world), **_attributes(world, "get", "pods")}
        ),
        lambda seen: "cluster" in seen["status"].get("reason", ""),
    )
    return [one, sorted(reviewed["status"]["reason"].removeprefix("RBAC: ").strip("[]").split(", "))]


@case
async def a_review_says_by_what_somebody_may(world: World) -> object:
    token = await _given(world, _rule(READ, ["pods"]), _rule(["get"], ["deployments/scale"], ["apps"]))
    about = {"group": "apps", "subresource": "scale"}
    return [
        await _review(world, "SelfSubjectAccessReview", _attributes(world, "list", "pods"), token),
        await _review(world, "SelfSubjectAccessReview", _attributes(world, "create", "pods"), token),
        pick(
            await _review(
                world, "SelfSubjectAccessReview", _attributes(world, "get", "deployments", **about), token
            ),
            "status",
        ),
        pick(
            await _review(
                world, "SelfSubjectAccessReview", _attributes(world, "list", "pods", namespace=""), token
            ),
            "status",
        ),
        await _review(
            world, "SubjectAccessReview", {"user": _user(world), **_attributes(world, "list", "pods")}
        ),
        await _review(
            world, "SubjectAccessReview", {"user": _user(world), **_attributes(world, "list", "secrets")}
        ),
        await _review(
            world, "SubjectAccessReview", {"user": _user(world), **_attributes(world, "list", "pods")}, token
        ),
    ]


@case
async def users_and_groups_are_given_roles(world: World) -> object:
    await _given(world, _rule(["get"], ["secrets"]))
    user, group = world.named("ann"), world.named("team")
    for name, subject in (
        ("user", {"kind": "User", "apiGroup": GROUP, "name": user}),
        ("group", {"kind": "Group", "apiGroup": GROUP, "name": group}),
        ("all", {"kind": "Group", "apiGroup": GROUP, "name": f"system:serviceaccounts:{world.namespace}"}),
    ):
        await world.have(world.at("rolebindings", RBAC), _binding(name, f"role-{name}", subject))
        await world.have(world.at("roles", RBAC), _role(f"role-{name}", _rule(["get"], [name])))
    own = {"kind": "ServiceAccount", "name": "robot"}
    await world.have(world.at("rolebindings", RBAC), _binding("own", "role-own", own))
    await world.have(world.at("roles", RBAC), _role("role-own", _rule(["get"], ["own"])))
    subject = {"kind": "User", "apiGroup": GROUP, "name": user}
    everywhere = world.named("everywhere")
    await world.have(
        world.top("clusterroles", RBAC), _role(everywhere, _rule(["get"], ["nodes"]), kind="ClusterRole")
    )
    await world.have(
        world.top("clusterrolebindings", RBAC),
        _binding(everywhere, everywhere, subject, "ClusterRoleBinding", "ClusterRole"),
    )
    asked = (
        ({"user": user}, _attributes(world, "get", "user")),
        ({"user": "other", "groups": ["x", group]}, _attributes(world, "get", "group")),
        ({"user": "other", "groups": [f"system:serviceaccounts:{world.namespace}"]}, _attributes(world, "get", "all")),
        ({"user": _user(world)}, _attributes(world, "get", "own")),
        ({"user": user}, _attributes(world, "get", "nodes", namespace="")),
        ({"user": user}, _attributes(world, "get", "nodes")),
    )  # fmt: skip
    seen = [
        await _until(
            lambda who=who, what=what: _review(world, "SubjectAccessReview", {**who, **what}),
            lambda answer: answer["status"]["allowed"],
        )
        for who, what in asked
    ]
    return [
        [each["status"] for each in seen],
        pick(await _review(world, "SubjectAccessReview", {"user": "other", **asked[0][1]}), "status"),
    ]


@case
async def paths_are_reviewed(world: World) -> object:
    def spec(path: str, verb: str = "get", **who: Json) -> Object:
        return {"nonResourceAttributes": {"path": path, "verb": verb}, **who}

    people = {"groups": ["system:authenticated"]}
    return [
        pick(await _review(world, "SubjectAccessReview", spec(path, verb, **people)), "status")
        for path, verb in (
            ("/openapi/v3", "get"),
            ("/metrics", "get"),
            ("/apis", "post"),
            ("/apis/x/y", "get"),
        )
    ]


@case
async def a_local_review_stays_in_its_namespace(world: World) -> object:
    await _given(world, _rule(READ, ["pods"]))
    who = {"user": _user(world)}
    path = {"nonResourceAttributes": {"path": "/", "verb": "get"}}
    return [
        await _review(world, "LocalSubjectAccessReview", {**who, **_attributes(world, "list", "pods")}),
        verdict(
            await _review(
                world,
                "LocalSubjectAccessReview",
                {**who, **_attributes(world, "list", "pods", namespace="default")},
            )
        ),
        verdict(await _review(world, "LocalSubjectAccessReview", {**who, **path})),
    ]


def _sorted(rules: Sequence[Object]) -> list[Object]:
    return sorted(({key: sorted(values) for key, values in rule.items()} for rule in rules), key=str)


@case
async def all_rights_of_an_account_are_listed(world: World) -> object:
    token = await _given(
        world, _rule(READ, ["pods"]), _rule(["get"], ["configmaps"], resourceNames=["a"]), name="robot"
    )
    spec = {"namespace": world.namespace}
    answer = await _review(world, "SelfSubjectRulesReview", spec, token)
    # Every real server gives service accounts rights about kinds that are not served here.
    known = [
        rule for rule in answer["status"]["resourceRules"] if "certificates.k8s.io" not in rule["apiGroups"]
    ]
    return [
        answer.code,
        answer["spec"],
        _sorted(known),
        _sorted(answer["status"]["nonResourceRules"]),
        await _review(world, "SelfSubjectRulesReview", {}, token),
    ]


_ROLES = (
    "cluster-admin", "admin", "edit", "view", "system:aggregate-to-admin", "system:aggregate-to-edit",
    "system:aggregate-to-view", "system:auth-delegator", "system:basic-user", "system:discovery",
    "system:public-info-viewer", "system:service-account-issuer-discovery",
)  # fmt: skip


@case
async def a_cluster_begins_with_roles(world: World) -> object:
    def seen(answer: Answer) -> Object:
        labels = answer["metadata"]["labels"]
        return {
            "rules": answer["rules"],
            "gathers": answer.body.get("aggregationRule"),
            "labels": {key: labels[key] for key in labels if not key.startswith("olm")},
            "annotations": answer["metadata"]["annotations"],
        }

    return {name: seen(await world.get(world.top(f"clusterroles/{name}", RBAC))) for name in _ROLES}


@case
async def a_cluster_begins_with_bindings(world: World) -> object:
    bound = (
        "cluster-admin", "system:basic-user", "system:discovery", "system:public-info-viewer",
        "system:service-account-issuer-discovery",
    )  # fmt: skip
    return [
        pick(await world.get(world.top(f"clusterrolebindings/{name}", RBAC)), "roleRef", "subjects")
        for name in bound
    ]


@case
async def roles_are_gathered_by_their_labels(world: World) -> object:
    whole, part = world.named("whole"), world.named("part")
    place = world.top(f"clusterroles/{whole}", RBAC)
    rule = {"clusterRoleSelectors": [{"matchLabels": {world.tag: "yes"}}]}
    await world.have(world.top("clusterroles", RBAC), _role(whole, kind="ClusterRole", aggregationRule=rule))
    made = _role(part, _rule(["get"], ["pods"]), kind="ClusterRole")
    made["metadata"]["labels"] = {world.tag: "yes"}
    await world.have(world.top("clusterroles", RBAC), made)
    first = await world.until(place, lambda answer: bool(answer.body.get("rules")))
    await world.must(world.delete(world.top(f"clusterroles/{part}", RBAC)))
    last = await world.until(place, lambda answer: not answer.body.get("rules"))
    return [first["rules"], last.body.get("rules")]


@case
async def nobody_gives_away_what_they_do_not_have(world: World) -> object:
    token = await _bound(world, "admin")
    other = _robot(world, "other")

    async def bind(name: str, role: str, of: str) -> Answer:
        return await world.ask(
            "POST", world.at("rolebindings", RBAC), _binding(name, role, other, of=of), token=token
        )

    async def make(name: str, *rules: Object) -> Answer:
        return await world.ask("POST", world.at("roles", RBAC), _role(name, *rules), token=token)

    return [
        (await bind("view", "view", "ClusterRole")).code,
        await bind("all", "cluster-admin", "ClusterRole"),
        await bind("nothing", "nothing", "Role"),
        await bind("none", "nothing", "ClusterRole"),
        (await make("good", _rule(["get"], ["pods"]))).code,
        await make("nodes", _rule(["list", "get"], ["nodes", "pods"], ["", "x"])),
        await make("named", _rule(["get"], ["nodes"], resourceNames=["b", "a"])),
        await make("all", _rule(["*"], ["*"], ["*"])),
        await world.ask(
            "PATCH",
            world.at("roles/good", RBAC),
            {"rules": [_rule(["get"], ["nodes"])]},
            content=MERGE_PATCH,
            token=token,
        ),
        (
            await world.ask(
                "PATCH",
                world.at("roles/good", RBAC),
                {"metadata": {"finalizers": None}},
                content=MERGE_PATCH,
                token=token,
            )
        ).code,
    ]


@case
async def bind_and_escalate_are_verbs(world: World) -> object:
    token = await _given(
        world,
        _rule(["create"], ["roles", "rolebindings"], [GROUP]),
        _rule(["escalate"], ["roles"], [GROUP]),
        _rule(["bind"], ["clusterroles"], [GROUP], resourceNames=["view"]),
    )
    other = _robot(world, "other")
    path = world.at("rolebindings", RBAC)
    return [
        (await world.ask("POST", world.at("roles", RBAC), _role("all", _rule(["*"], ["*"], ["*"])), token=token)).code,
        (await world.ask("POST", path, _binding("view", "view", other, of="ClusterRole"), token=token)).code,
        (await world.ask("POST", path, _binding("all", "all", other), token=token)).code,
    ]  # fmt: skip


@case
async def to_gather_roles_is_to_have_everything(world: World) -> object:
    token = await _token(world)
    maker = world.named("maker")
    made = _role(maker, _rule(["create"], ["clusterroles"], [GROUP]), kind="ClusterRole")
    await world.have(world.top("clusterroles", RBAC), made)
    await world.have(
        world.top("clusterrolebindings", RBAC),
        _binding(maker, maker, _robot(world), "ClusterRoleBinding", "ClusterRole"),
    )
    gathers = {"clusterRoleSelectors": [{"matchLabels": {world.tag: "no"}}]}
    wanted = _role(world.named("x"), kind="ClusterRole", aggregationRule=gathers)
    path = world.top("clusterroles", RBAC)
    return await _until(
        lambda: world.ask("POST", path, wanted, token=token),
        lambda answer: "cannot create" not in answer.body.get("message", ""),
    )


@case
async def who_applies_something_new_must_be_allowed_to_make_it(world: World) -> object:
    token = await _given(
        world,
        _rule(["patch"], ["configmaps"]),
        _rule(["update"], ["leases"], ["coordination.k8s.io"]),
    )
    lease = thing("Lease", "a", "coordination.k8s.io/v1", spec={"holderIdentity": "x"})
    return [
        await world.ask(
            "PATCH",
            world.at("configmaps/a"),
            config("a"),
            content=APPLY_PATCH,
            token=token,
            fieldManager="robot",
        ),
        await world.ask("PUT", world.at("leases/a", "coordination.k8s.io/v1"), lease, token=token),
    ]


@case
async def an_administrator_speaks_for_an_account(world: World) -> object:
    await world.have(world.at("pods"), pod())
    await _given(world, _rule(READ, ["pods"]))
    headers = {"Impersonate-User": _user(world)}
    own = {"apiVersion": AUTHENTICATION, "kind": "SelfSubjectReview"}
    who = await world.ask("POST", world.top("selfsubjectreviews", AUTHENTICATION), own, headers=headers)
    return [
        who["status"]["userInfo"],
        names(await world.ask("GET", world.at("pods"), headers=headers)),
        await world.ask("GET", world.at("secrets"), headers=headers),
        await world.ask("GET", world.at("pods"), headers={"Impersonate-User": "someone"}),
        verdict(await world.ask("GET", world.at("pods"), headers={"Impersonate-Group": "system:masters"})),
    ]


@case
async def speaking_for_others_is_a_right(world: World) -> object:
    token = await _bound(world, "edit")
    groups = {"Impersonate-User": _user(world, "other"), "Impersonate-Group": "system:masters"}
    return [
        await world.ask("GET", world.at("pods"), token=token, headers={"Impersonate-User": "someone"}),
        await world.ask("GET", world.at("pods"), token=token, headers=groups),
        await world.ask(
            "GET", world.at("pods"), token=token, headers={"Impersonate-User": "system:serviceaccount:default:default"}
        ),
        await world.ask("GET", world.at("pods"), token=token, headers={"Impersonate-User": _user(world, "other")}),
    ]  # fmt: skip


@case
async def a_token_ends_with_its_account(world: World) -> object:
    token = await _given(world, _rule(READ, ["pods"]))
    before = await world.ask("GET", world.at("pods"), token=token)
    await world.must(world.delete(world.at("serviceaccounts/robot")))
    ended = await _until(
        lambda: world.ask("GET", world.at("pods"), token=token), lambda answer: answer.code != 200
    )
    return [before.code, ended]

"""What holds for all roles and bindings: the quick answer is the slow one, and nobody can give more than theirs.

The reference walks through everything there is, for every question anew, as the words of the documentation have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.identities import MASTERS, Person
from tangram.sandbox.apiserver.rights.authority import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    Authority,
)
from tangram.sandbox.apiserver.rights.policy import Rule, allows, missing
from tangram.sandbox.apiserver.rights.wanted import Wanted
from tangram.sandbox.apiserver.store import Spot, Store

NAMESPACES = ("a", "b")
_VERBS = st.sampled_from(["get", "list", "create", "*"])
_GROUPS = st.sampled_from(["", "apps", "*"])
_RESOURCES = st.sampled_from(["pods", "pods/log", "deployments", "deployments/scale", "*/scale", "*"])
_NAMES = st.sampled_from(["x", "y"])
_URLS = st.sampled_from(["/healthz", "/healthz/*", "/api*", "*"])


def _some(one: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(one, min_size=1, max_size=2, unique=True)


def _resource_rule(verbs: list[str], groups: list[str], resources: list[str], names: list[str]) -> Object:
    rule: Object = {"verbs": verbs, "apiGroups": groups, "resources": resources}
    return rule | ({"resourceNames": names} if names else {})


def _url_rule(verbs: list[str], urls: list[str]) -> Object:
    return {"verbs": verbs, "nonResourceURLs": urls}


def _subject(kind: str, name: str, namespace: str = "") -> Object:
    return {"kind": kind, "name": name, **({"namespace": namespace} if namespace else {})}


_RULES = st.one_of(
    st.builds(_resource_rule, _some(_VERBS), _some(_GROUPS), _some(_RESOURCES), st.just([]) | _some(_NAMES)),
    st.builds(_url_rule, _some(_VERBS), _some(_URLS)),
)
_SUBJECTS = st.one_of(
    st.builds(_subject, st.just("User"), st.sampled_from(["ann", "system:serviceaccount:a:bot"])),
    st.builds(_subject, st.just("Group"), st.sampled_from(["team", "all"])),
    st.builds(_subject, st.just("ServiceAccount"), st.just("bot"), st.sampled_from(["", *NAMESPACES])),
)
_PEOPLE = st.builds(
    Person,
    name=st.sampled_from(["ann", "bob", "system:serviceaccount:a:bot", "system:serviceaccount:b:bot"]),
    groups=st.lists(st.sampled_from(["team", "all", MASTERS]), max_size=2, unique=True).map(tuple),
)
_WANTED = st.one_of(
    st.builds(
        Wanted,
        verb=st.sampled_from(["get", "list", "create"]),
        group=st.sampled_from(["", "apps"]),
        resource=st.sampled_from(["pods", "deployments"]),
        subresource=st.sampled_from(["", "log", "scale"]),
        namespace=st.sampled_from(["", *NAMESPACES]),
        name=st.sampled_from(["", "x", "y", "z"]),
    ),
    st.builds(
        Wanted,
        verb=st.sampled_from(["get", "create"]),
        path=st.sampled_from(["/healthz", "/healthz/etcd", "/api/v1", "/"]),
    ),
)


@st.composite
def _things(draw: st.DrawFn) -> tuple[Spot, Object | None]:
    """A role or a binding that is written, or one that goes."""
    resource = draw(st.sampled_from([ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS]))
    namespace = draw(st.sampled_from(NAMESPACES)) if resource in (ROLES, ROLE_BINDINGS) else ""
    spot = Spot(resource, namespace, draw(st.sampled_from(["one", "two"])))
    if draw(st.integers(0, 4)) == 0:
        return spot, None
    metadata = {"name": spot.name, **({"namespace": namespace} if namespace else {})}
    if resource in (ROLES, CLUSTER_ROLES):
        return spot, {"metadata": metadata, "rules": draw(st.lists(_RULES, max_size=2))}
    kinds = ["Role", "ClusterRole"] if namespace else ["ClusterRole"]
    reference = {"kind": draw(st.sampled_from(kinds)), "name": draw(st.sampled_from(["one", "two", "three"]))}
    return spot, {
        "metadata": metadata,
        "roleRef": reference,
        "subjects": draw(st.lists(_SUBJECTS, max_size=2)),
    }


def _is(person: Person, subject: Object, namespace: str) -> bool:
    match subject["kind"]:
        case "User":
            return person.name == subject["name"]
        case "Group":
            return subject["name"] in person.groups
        case _:
            home = subject.get("namespace") or namespace
            return bool(home) and person.name == f"system:serviceaccount:{home}:{subject['name']}"


def _slow_rule(rule: Object, wanted: Wanted) -> bool:
    if wanted.verb not in rule["verbs"] and "*" not in rule["verbs"]:
        return False
    if wanted.path:
        return any(
            url == wanted.path or (url[-1] == "*" and wanted.path.startswith(url[:-1]))
            for url in rule.get("nonResourceURLs", ())
        )
    groups, names = rule.get("apiGroups", ()), rule.get("resourceNames", ())
    fitting = {"*", wanted.combined, f"*/{wanted.subresource}" if wanted.subresource else "*"}
    return (
        (wanted.group in groups or "*" in groups)
        and bool(fitting & set(rule.get("resources", ())))
        and (not names or wanted.name in names)
    )


def _slow(store: Store, person: Person, wanted: Wanted) -> bool:
    def rules() -> Iterator[Object]:
        for resource in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS):
            for binding in store.all(resource):
                namespace = binding["metadata"].get("namespace", "")
                if namespace and namespace != wanted.namespace:
                    continue
                if not any(_is(person, subject, namespace) for subject in binding["subjects"]):
                    continue
                own = binding["roleRef"]["kind"] == "Role"
                spot = Spot(
                    ROLES if own else CLUSTER_ROLES, namespace if own else "", binding["roleRef"]["name"]
                )
                yield from (store.get(spot) or {"rules": []})["rules"]

    return MASTERS in person.groups or any(_slow_rule(rule, wanted) for rule in rules())


@given(st.lists(st.tuples(_things(), _PEOPLE, st.lists(_WANTED, max_size=3)), max_size=12))
def test_the_answer_is_that_of_who_looks_through_everything_each_time(
    course: Sequence[tuple[tuple[Spot, Object | None], Person, Sequence[Wanted]]],
) -> None:
    store = Store()
    authority = Authority(store)
    for (spot, thing), person, questions in course:
        if thing is not None:
            store.put(spot, thing)
        elif store.get(spot) is not None:
            store.remove(spot)
        late = Authority(store)
        late.load()
        for wanted in questions:
            allowed = _slow(store, person, wanted)
            assert authority.decide(person, wanted).allowed == allowed
            assert late.decide(person, wanted) == authority.decide(person, wanted)


def _rule(thing: Object) -> Rule:
    return Rule(
        verbs=tuple(thing["verbs"]),
        groups=tuple(thing.get("apiGroups", ())),
        resources=tuple(thing.get("resources", ())),
        names=tuple(thing.get("resourceNames", ())),
        urls=tuple(thing.get("nonResourceURLs", ())),
    )


@given(st.lists(_RULES.map(_rule), max_size=3), st.lists(_RULES.map(_rule), max_size=3), _WANTED)
def test_who_lacks_nothing_of_what_they_give_may_do_all_of_it(
    held: Sequence[Rule], gift: Sequence[Rule], wanted: Wanted
) -> None:
    lacking = missing(held, gift)
    if any(allows(rule, wanted) for rule in gift):
        assert any(allows(rule, wanted) for rule in [*held, *lacking])
    assert missing([*held, *lacking], gift) == []
    assert missing(held, held) == []

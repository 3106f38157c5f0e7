"""The paths and operations of a kind in OpenAPI: where kubectl looks up whether the server validates fields, which
patches it takes, and which kind stands behind a path.

One neutral form of an operation (its verb, parameters, bodies) is said in the second or the third edition; nothing here
describes anything to people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.kinds import Kind, Subresource
from tangram.sandbox.apiserver.schemas.openapi_schemas import name_of_kind, reference

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
STATUS: Final = f"{_META}Status"
DELETE_OPTIONS: Final = f"{_META}DeleteOptions"
JSON: Final = "application/json"
FORMS: Final = (JSON, "application/yaml")
PATCHES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
)
STRATEGIC: Final = "application/strategic-merge-patch+json"

_WRITING: Final = (("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"))
_LISTING: Final = (
    ("allowWatchBookmarks", "boolean"), ("continue", "string"), ("fieldSelector", "string"),
    ("labelSelector", "string"), ("limit", "integer"), ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"), ("sendInitialEvents", "boolean"), ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
)  # fmt: skip
_DELETING: Final = (
    ("dryRun", "string"), ("gracePeriodSeconds", "integer"), ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
)  # fmt: skip
_LOGS: Final = (
    ("container", "string"), ("follow", "boolean"), ("limitBytes", "integer"), ("previous", "boolean"),
    ("sinceSeconds", "integer"), ("tailLines", "integer"), ("timestamps", "boolean"),
)  # fmt: skip
_METHODS: Final = {
    "get": "get", "list": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete",
    "deletecollection": "delete",
}  # fmt: skip
_ACTIONS: Final = {"create": "post", "update": "put"}
_WORDS: Final = {
    "get": "read", "list": "list", "create": "create", "update": "replace", "patch": "patch", "delete": "delete",
    "deletecollection": "deleteCollection",
}  # fmt: skip


class Operation(Struct, frozen=True, kw_only=True):
    method: str
    action: str
    identity: str
    kind: Object
    """Group, version and kind of what is sent and answered."""
    query: Sequence[tuple[str, str]] = ()
    consumes: Sequence[str] = ()
    sent: str = ""
    """The definition of the body; empty for a patch, which may be anything."""
    answered: str = ""


class Path(Struct, frozen=True, kw_only=True):
    address: str
    variables: tuple[str, ...]
    operations: tuple[Operation, ...]


def paths_of(kind: Kind) -> Iterator[Path]:
    """Every path of a kind, with what can be done there."""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    inside = f"{root}/namespaces/{{namespace}}" if kind.namespaced else root
    variables = ("namespace",) if kind.namespaced else ()
    if kind.namespaced:
        yield from _path(f"{root}/{kind.plural}", (), kind, ("list",), everywhere=True)
    collection = f"{inside}/{kind.plural}"
    yield from _path(collection, variables, kind, ("list", "create", "deletecollection"))
    yield from _path(
        f"{collection}/{{name}}", ("name", *variables), kind, ("get", "update", "patch", "delete")
    )
    for part in kind.subresources:
        yield from _part(f"{collection}/{{name}}/{part.name}", ("name", *variables), kind, part)


def list_name(kind: Kind) -> str:
    """What the definition of a list of a kind is called."""
    return f"{name_of_kind(kind)}List"


def _path(
    address: str, variables: tuple[str, ...], kind: Kind, verbs: Sequence[str], *, everywhere: bool = False
) -> Iterator[Path]:
    there = tuple(_operation(kind, verb, everywhere=everywhere) for verb in verbs if verb in kind.verbs)
    if there:
        yield Path(address=address, variables=variables, operations=there)


def _operation(kind: Kind, verb: str, *, everywhere: bool) -> Operation:
    name = name_of_kind(kind)
    sent = {"create": name, "update": name, "delete": DELETE_OPTIONS, "deletecollection": DELETE_OPTIONS}
    answered = {"list": list_name(kind), "delete": STATUS, "deletecollection": STATUS}
    queries = {
        "list": _LISTING, "create": _WRITING, "update": _WRITING, "patch": (*_WRITING, ("force", "boolean")),
        "delete": _DELETING, "deletecollection": (*_LISTING[1:7], *_DELETING),
    }  # fmt: skip
    return Operation(
        method=_METHODS[verb],
        action=_ACTIONS.get(verb, verb),
        identity=_identity(kind, verb, everywhere=everywhere),
        kind={"group": kind.group, "version": kind.version, "kind": kind.kind},
        query=queries.get(verb, ()),
        consumes=_patches(kind) if verb == "patch" else (),
        sent=sent.get(verb, ""),
        answered=answered.get(verb, name),
    )


def _part(address: str, variables: tuple[str, ...], kind: Kind, part: Subresource) -> Iterator[Path]:
    group, version, called = (
        (part.group, part.version, part.kind) if part.kind else (kind.group, kind.version, kind.kind)
    )
    definition = (
        f"io.k8s.api.{group.partition('.')[0] or 'core'}.{version}.{called}"
        if part.kind
        else name_of_kind(kind)
    )
    logs = part.name == "log"
    operations = tuple(
        Operation(
            method=_METHODS[verb],
            action=_ACTIONS.get(verb, verb),
            identity=_identity(kind, verb, part=part.name),
            kind={"group": group, "version": version, "kind": called},
            query=_LOGS if logs else _query_of_part(verb),
            consumes=_patches(kind) if verb == "patch" else (),
            sent=definition if verb in ("create", "update") else "",
            answered="" if logs else definition,
        )
        for verb in part.verbs
        if verb in _METHODS
    )
    yield Path(address=address, variables=variables, operations=operations)


def _query_of_part(verb: str) -> Sequence[tuple[str, str]]:
    if verb == "patch":
        return (*_WRITING, ("force", "boolean"))
    return () if verb == "get" else _WRITING


def _patches(kind: Kind) -> tuple[str, ...]:
    """A strategic merge patch needs to know more of a kind than people who define one can say."""
    return (*PATCHES, STRATEGIC) if kind.definition else PATCHES


def _identity(kind: Kind, verb: str, *, part: str = "", everywhere: bool = False) -> str:
    group = "".join(word.capitalize() for word in (kind.group.partition(".")[0] or "core").split("-"))
    where = "Namespaced" if kind.namespaced and not everywhere else ""
    tail = "ForAllNamespaces" if everywhere else part.capitalize()
    return f"{_WORDS[verb]}{group}{kind.version.capitalize()}{where}{kind.kind}{tail}"


def said_in(path: Path, edition: int) -> Object:
    """A path in one of the two editions."""
    item: Object = {each.method: _said(each, edition) for each in path.operations}
    parameters = [_parameter(name, "path", "string", edition) for name in path.variables]
    return item | ({"parameters": parameters} if parameters else {})


def _said(operation: Operation, edition: int) -> Object:
    group = str(operation.kind["group"]).partition(".")[0] or "core"
    said: Object = {"tags": [f"{group}_{operation.kind['version']}"], "operationId": operation.identity}
    parameters = [_parameter(name, "query", kind, edition) for name, kind in operation.query]
    takes = operation.consumes or FORMS
    body: Object = reference(operation.sent, edition) if operation.sent else {"type": "object"}
    has_body = bool(operation.sent or operation.consumes)
    answer: Object = reference(operation.answered, edition) if operation.answered else {"type": "string"}
    if edition == 2:
        if has_body:
            parameters.insert(0, {"name": "body", "in": "body", "schema": body})
        said |= {"consumes": list(takes) if has_body else ["*/*"], "produces": list(FORMS)}
        said["responses"] = {"200": {"description": "OK", "schema": answer}}
    else:
        if has_body:
            said["requestBody"] = {"content": {form: {"schema": body} for form in takes}}
        content = {form: {"schema": answer} for form in FORMS}
        said["responses"] = {"200": {"description": "OK", "content": content}}
    if parameters:
        said["parameters"] = parameters
    return said | {"x-kubernetes-action": operation.action, "x-kubernetes-group-version-kind": operation.kind}


def _parameter(name: str, place: str, kind: str, edition: int) -> Object:
    said: Object = {"name": name, "in": place}
    if place == "path":
        said["required"] = True
    typed: Object = {"type": kind, "uniqueItems": True}
    return said | (typed if edition == 2 else {"schema": typed})

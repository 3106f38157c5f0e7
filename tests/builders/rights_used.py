"""An API server in little that writes down which rights a caller would have needed, as RBAC counts them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from aiohttp import web

from builders.api_server import SmallApiServer, refusal

Object = dict[str, Any]

_VERBS = {"GET": "get", "POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}
NAMED = ("secrets", "leases", "mutatingwebhookconfigurations", "validatingwebhookconfigurations")
_REVIEWS = ("tokenreviews", "subjectaccessreviews")


class Right(NamedTuple):
    verb: str
    group: str
    resource: str
    """With its subresource, as RBAC writes it."""
    name: str = ""
    """Of kinds in `NAMED`: of what others have of these, nothing is any of the caller's business."""


class CountingApi(SmallApiServer):
    """Takes whatever it is asked; `rights` is what was needed for it."""

    def __init__(self) -> None:
        super().__init__()
        self.answer_first = self._answer

    def belongs(self, path: str, collection: str) -> bool:
        """Pods of every namespace are listed under one path."""
        folder, _, _ = path.rpartition("/")
        *_, resource = collection.split("/")
        return folder == collection or (
            folder.endswith(f"/{resource}") and "/namespaces/" in folder and "/namespaces/" not in collection
        )

    def _answer(self, request: web.Request) -> web.Response | None:
        body: Object = self.requests[-1][3]
        resource = request.path.rpartition("/")[2]
        if resource in _REVIEWS:
            status = {"authenticated": True, "user": {"username": "somebody"}, "allowed": True}
            return web.json_response({**body, "status": status}, status=201)
        if request.path == "/version":
            return web.json_response({"major": "1", "minor": "36"})
        if request.path == "/apis/scheduling.koordinator.sh/v1alpha1":
            return web.json_response({"resources": [{"name": "devices"}]})
        if request.method == "GET" and "/secrets/" in request.path and request.path not in self.objects:
            return refusal(404, "NotFound", f"{request.path} not found")
        return None

    @property
    def rights(self) -> set[Right]:
        found = (right_for(method, path, query) for method, path, query, _ in self.requests)
        return {right for right in found if right is not None}


def right_for(method: str, path: str, query: dict[str, str]) -> Right | None:
    """What RBAC asks for this request; None for what everybody may ask, such as the version."""
    words = path.strip("/").split("/")
    core = words[0] == "api"
    rest = words[2 if core else 3 :]
    if words[0] not in ("api", "apis") or not rest:
        return None
    group = "" if core else words[1]
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    resource, name = rest[0], rest[1] if len(rest) > 1 else ""
    verb = _VERBS[method]
    if verb == "get" and not name:
        verb = "watch" if query.get("watch") == "true" else "list"
        # Of a list of one object the authorizer sees that object's name.
        name = query.get("fieldSelector", "").partition("metadata.name=")[2]
    kind = "/".join([resource, *rest[2:]])
    return Right(verb, group, kind, name if kind in NAMED else "")


def granted(rules: Iterable[Object]) -> set[Right]:
    """What rules of a Role or ClusterRole give, one by one."""
    return {
        Right(verb, group, resource, name)
        for rule in rules
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
    }

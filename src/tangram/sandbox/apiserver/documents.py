"""What the server says of itself: which kinds there are, what they look like, its version and its health.

Made when first asked for and kept until the kinds change.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from tangram.sandbox.apiserver import discovery, schemas
from tangram.sandbox.apiserver.asking import JSON
from tangram.sandbox.apiserver.registry import Registry

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
AGGREGATED_BETA: Final = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
PROTOBUF_V2: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


_PATHS: Final = (
    "/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version",
)  # fmt: skip


class Document(msgspec.Struct, frozen=True):
    content: str
    body: bytes
    tag: str


class Documents:
    """`address` is where the server is reached, as `host:port`."""

    def __init__(self, registry: Registry, address: str) -> None:
        self._registry = registry
        self._address = address
        self._made: dict[str, Document] = {}
        self._edition = -1

    def find(self, path: str, accept: str) -> Document | None:
        """The document at a path, if there is one."""
        if self._edition != self._registry.edition:
            self._made.clear()
            self._edition = self._registry.edition
        path = path.rstrip("/") or "/"
        form = _form(path, accept)
        key = f"{path} {form}"
        if key not in self._made:
            made = self._make(path, form)
            if made is None:
                return None
            body = made if isinstance(made, bytes) else msgspec.json.encode(made)
            self._made[key] = Document(form, body, hashlib.sha256(body).hexdigest().upper())
        return self._made[key]

    def _make(self, path: str, form: str) -> object | None:
        match [part for part in path.split("/") if part]:
            case []:
                return {"paths": list(_PATHS)}
            case ["version"]:
                return msgspec.json.format(msgspec.json.encode(discovery.version_info()), indent=2)
            case ["openapi", *rest]:
                return self._openapi(rest, form)
            case parts:
                return self._discovery(parts, form)

    def _discovery(self, parts: list[str], form: str) -> object | None:
        kinds = self._registry.kinds
        match parts:
            case ["api" | "apis" as root] if form != JSON:
                version = "v2beta1" if form == AGGREGATED_BETA else "v2"
                return discovery.aggregated(kinds, core=root == "api", version=version)
            case ["api"]:
                return discovery.core_versions(self._address)
            case ["apis"]:
                return discovery.groups(kinds)
            case ["apis", group]:
                return discovery.group(kinds, group)
            case ["api", version]:
                return discovery.resources(kinds, "", version)
            case ["apis", group, version]:
                return discovery.resources(kinds, group, version)
            case _:
                return None

    def _openapi(self, rest: list[str], form: str) -> object | None:
        kinds, defined = self._registry.kinds, self._registry.schemas
        match rest:
            case ["v2"] if form == PROTOBUF_V2:
                return schemas.openapi_v2_protobuf(kinds, defined)
            case ["v2"]:
                return schemas.openapi_v2(kinds, defined)
            case ["v3"]:
                return schemas.openapi_v3_index(kinds, defined)
            case ["v3", "api", version] if self._registry.has_group_version("", version):
                return schemas.openapi_v3("", version, kinds, defined)
            case ["v3", "apis", group, version] if self._registry.has_group_version(group, version):
                return schemas.openapi_v3(group, version, kinds, defined)
            case _:
                return None


def _form(path: str, accept: str) -> str:
    wanted = accept.replace(" ", "")
    if path in ("/api", "/apis"):
        for form in (AGGREGATED, AGGREGATED_BETA):
            if form in wanted:
                return form
    if path == "/openapi/v2" and "proto-openapi.spec.v2" in wanted:
        return PROTOBUF_V2
    return JSON

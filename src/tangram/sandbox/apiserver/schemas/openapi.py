"""The OpenAPI documents of the server: one for every group and version (third edition), one for all (second).

They hold what kubectl needs to explain, to merge and to ask for validation, and no description of anything but what the
authors of a CustomResourceDefinition wrote. Whoever serves them keeps them: they change only when kinds do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.schemas.data import OBJECT_META, built_in, statement_digest
from tangram.sandbox.apiserver.schemas.openapi_paths import (
    DELETE_OPTIONS,
    STATUS,
    list_name,
    paths_of,
    said_in,
)
from tangram.sandbox.apiserver.schemas.openapi_protobuf import encoded
from tangram.sandbox.apiserver.schemas.openapi_schemas import (
    defined,
    definition,
    group_version_kind,
    name_of_kind,
    reference,
    used,
)
from tangram.sandbox.apiserver.shape import Shape

Schemas = Mapping[tuple[str, str, str], Object]
"""The schemas that people wrote, by group, version and plural."""

_LIST_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
_INFO: Final = {"title": "Kubernetes", "version": "v1.36.3"}


def openapi_v3_index(kinds: Sequence[Kind], schemas: Schemas | None = None) -> Object:
    """Where the documents are. The hash in an address changes with what stands there, so clients may keep it."""
    found: Object = {}
    for group, version in dict.fromkeys((kind.group, kind.version) for kind in kinds):
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        mine = [kind for kind in kinds if (kind.group, kind.version) == (group, version)]
        written = [(schemas or {}).get((kind.group, kind.version, kind.plural)) for kind in mine]
        digest = hashlib.sha256(statement_digest() + msgspec.json.encode([mine, written])).hexdigest().upper()
        found[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": dict(sorted(found.items()))}


def openapi_v3(group: str, version: str, kinds: Sequence[Kind], schemas: Schemas) -> Object:
    """The document of one group and version."""
    mine = [kind for kind in kinds if (kind.group, kind.version) == (group, version)]
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": _paths(mine, 3),
        "components": {
            "schemas": _definitions(mine, schemas, 3),
            "securitySchemes": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        },
    }


def openapi_v2(kinds: Sequence[Kind], schemas: Schemas) -> Object:
    """Everything in one document, in the older edition."""
    return {
        "swagger": "2.0",
        "info": _INFO,
        "paths": _paths(kinds, 2),
        "definitions": _definitions(kinds, schemas, 2),
    }


def openapi_v2_protobuf(kinds: Sequence[Kind], schemas: Schemas) -> bytes:
    """The same in the form that kubectl asks for."""
    return encoded(openapi_v2(kinds, schemas))


def _paths(kinds: Iterable[Kind], edition: int) -> Object:
    return dict(sorted((path.address, said_in(path, edition)) for kind in kinds for path in paths_of(kind)))


def _definitions(kinds: Sequence[Kind], schemas: Schemas, edition: int) -> Object:
    found: Object = {}
    roots = [built_in(name) for name in (STATUS, DELETE_OPTIONS, _LIST_META, OBJECT_META)]
    for kind in kinds:
        if kind.definition:
            roots.append(built_in(kind.definition))
        else:
            written = schemas.get((kind.group, kind.version, kind.plural)) or {"type": "object"}
            found[name_of_kind(kind)] = defined(written, kind, edition)
        if "list" in kind.verbs:
            found[list_name(kind)] = _list(kind, edition)
        roots += [built_in(name) for name in _names_of_parts(kind)]
    for shape in _reached(roots):
        found[shape.definition] = definition(shape, edition)
    for name, identities in _identities(kinds).items():
        found[name]["x-kubernetes-group-version-kind"] = identities
    return dict(sorted(found.items()))


def _reached(roots: Iterable[Shape]) -> Iterator[Shape]:
    """Every definition that can be reached, each once."""
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        shape = waiting.pop()
        if shape.definition:
            if shape.definition in seen:
                continue
            seen.add(shape.definition)
            shape = built_in(shape.definition)
            yield shape
        waiting.extend(used(shape))


def _names_of_parts(kind: Kind) -> Iterator[str]:
    for part in kind.subresources:
        if part.kind:
            yield f"io.k8s.api.{part.group.partition('.')[0] or 'core'}.{part.version}.{part.kind}"


def _identities(kinds: Iterable[Kind]) -> dict[str, list[Object]]:
    """Which group, version and kind a definition stands for, so that clients find it."""
    found: dict[str, list[Object]] = {
        STATUS: [{"group": "", "kind": "Status", "version": "v1"}],
        DELETE_OPTIONS: [],
    }
    for kind in kinds:
        if kind.definition:
            found[kind.definition] = [group_version_kind(kind)]
        options = {"group": kind.group, "kind": "DeleteOptions", "version": kind.version}
        if options not in found[DELETE_OPTIONS]:
            found[DELETE_OPTIONS].append(options)
        for part, name in zip(
            (each for each in kind.subresources if each.kind), _names_of_parts(kind), strict=True
        ):
            found[name] = [{"group": part.group, "kind": part.kind, "version": part.version}]
    return found


def _list(kind: Kind, edition: int) -> Object:
    def pointed(name: str) -> dict[str, Any]:
        return reference(name, edition)

    text = {"type": "string"}
    items = {"type": "array", "items": pointed(name_of_kind(kind))}
    return {
        "type": "object",
        "required": ["items"],
        "properties": {"apiVersion": text, "items": items, "kind": text, "metadata": pointed(_LIST_META)},
        "x-kubernetes-group-version-kind": [
            {"group": kind.group, "kind": kind.list_kind, "version": kind.version}
        ],
    }

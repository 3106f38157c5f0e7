r"""The shapes of Kubernetes' own objects, asked of a real API server and written down small.

The sandbox's API server knows its built-in kinds from this statement alone. It holds what a program needs (names,
types, enums, defaults, how lists merge) in a form that reads well in a diff, and no sentence of anybody's manual. How a
field is written:

    "ports": "[]ContainerPort list=map keys=containerPort,protocol merge=containerPort strategy=merge"
    "protocol": "string default=\"TCP\" enum=[\"SCTP\",\"TCP\",\"UDP\"]"

The first word is the type: `string`, `integer:int32`, `[]X` for a list, `{}X` for a map, the name of another
definition (in full, or its last word inside its own package). `required`, `atomic` and `granular` stand alone; `of` is
the enum of what a list or map holds. A definition that is no object is one such text by itself; `*` among the fields
says something of the object as a whole.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.kinds import Kind
from testbed.api import Api
from testbed.cluster import Cluster
from testbed.errors import BedError
from testbed.options import Options

Schema = Mapping[str, Any]
Statement = dict[str, str | dict[str, str]]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
ALWAYS: Final = (f"{_META}Status", f"{_META}DeleteOptions", f"{_META}ListMeta")
"""Sent and answered, whatever the kind."""
_EXTENSIONS: Final = {
    "x-kubernetes-list-type": "list",
    "x-kubernetes-list-map-keys": "keys",
    "x-kubernetes-patch-merge-key": "merge",
    "x-kubernetes-patch-strategy": "strategy",
}
_UNDERSTOOD: Final = {
    *_EXTENSIONS, "$ref", "additionalProperties", "allOf", "default", "description", "enum", "format", "items", "oneOf",
    "properties", "required", "type", "x-kubernetes-group-version-kind", "x-kubernetes-map-type", "x-kubernetes-unions",
}  # fmt: skip


async def state(api: Api, kinds: Iterable[Kind] = BUILT_IN) -> str:
    """The statement, as this server describes the kinds."""
    known = tuple(kinds)
    groups = sorted({_document(kind.group, kind.version) for kind in known})
    documents = await asyncio.gather(*(api.get(f"/openapi/v3/{each}") for each in groups))
    return written(documents, roots(known))


async def ask() -> str:
    """The statement of the test bed's own Kubernetes, from a cluster started for this."""
    async with Cluster.open(Options(nodes=0, controllers=False)) as cluster:
        return await state(cluster.api)


def roots(kinds: Iterable[Kind]) -> set[str]:
    """The definitions that everything else is reached from."""
    found: set[str] = {*ALWAYS}
    for kind in kinds:
        found.add(kind.definition)
        for each in kind.subresources:
            if each.kind:
                found.add(definition_of(each.group, each.version, each.kind))
    return found


def definition_of(group: str, version: str, kind: str) -> str:
    """What the definition of a kind of Kubernetes' own API packages is called."""
    return f"io.k8s.api.{group.partition('.')[0] or 'core'}.{version}.{kind}"


def written(documents: Iterable[Schema], wanted: Iterable[str]) -> str:
    """The statement of every definition that can be reached: sorted, one field on a line."""
    schemas: dict[str, Schema] = {}
    for document in documents:
        schemas.update(document["components"]["schemas"])
    stated: Statement = {}
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name in stated:
            continue
        if name not in schemas:
            raise BedError(f"the API server describes no '{name}': the sandbox must not offer it")
        stated[name] = _definition(name, schemas[name])
        waiting.extend(_references(schemas[name]))
    return json.dumps(stated, indent=1, sort_keys=True) + "\n"


def _definition(name: str, schema: Schema) -> str | dict[str, str]:
    _refuse_unknown(name, schema)
    package = name.rpartition(".")[0]
    if "properties" not in schema:
        return _type(schema, package)
    required = set(schema.get("required", ()))
    fields = {
        field: _field(f"{name}.{field}", described, package, required=field in required)
        for field, described in schema["properties"].items()
    }
    if schema.get("x-kubernetes-map-type") == "atomic":
        fields["*"] = "atomic"
    return fields


def _field(where: str, schema: Schema, package: str, *, required: bool) -> str:
    _refuse_unknown(where, schema)
    words = [_type(schema, package)]
    if required:
        words.append("required")
    if "x-kubernetes-map-type" in schema:
        words.append(schema["x-kubernetes-map-type"])
    # Every field that Go cannot leave out has the zero value of its type for a default, which says nothing.
    if schema.get("default"):
        words.append(f"default={_compact(schema['default'])}")
    if "enum" in schema:
        words.append(f"enum={_compact(schema['enum'])}")
    inside = _inside(schema)
    if inside is not None:
        _refuse_unknown(f"{where}[]", inside)
        if "enum" in inside:
            words.append(f"of={_compact(inside['enum'])}")
    for extension, word in _EXTENSIONS.items():
        if extension in schema:
            value = schema[extension]
            words.append(f"{word}={value if isinstance(value, str) else ','.join(value)}")
    return " ".join(words)


def _type(schema: Schema, package: str) -> str:
    reference = _reference(schema)
    if reference:
        own = reference.rpartition(".")[0] == package
        return reference.rpartition(".")[2] if own else reference
    if "items" in schema:
        return f"[]{_type(schema['items'], package)}"
    if "additionalProperties" in schema:
        return f"{{}}{_type(schema['additionalProperties'], package)}"
    if "oneOf" in schema:
        return "|".join(each["type"] for each in schema["oneOf"])
    plain = schema.get("type", "any")
    return f"{plain}:{schema['format']}" if "format" in schema else plain


def _inside(schema: Schema) -> Schema | None:
    """What a list or a map is made of, down to what is neither."""
    within = schema.get("items") or schema.get("additionalProperties")
    return (_inside(within) or within) if within is not None else None


def _reference(schema: Schema) -> str:
    """The definition a schema points at, directly or wrapped beside a default; empty where it points at none."""
    pointed: str = schema.get("$ref") or next((each["$ref"] for each in schema.get("allOf", ())), "")
    return pointed.rpartition("/")[2]


def _references(schema: Schema) -> list[str]:
    found = [_reference(schema)] if _reference(schema) else []
    inside = [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for each in [*inside, *schema.get("properties", {}).values()]:
        found.extend(_references(each))
    return found


def _refuse_unknown(where: str, schema: Schema) -> None:
    """A word this module does not know might be one the sandbox must obey."""
    unknown = sorted(set(schema) - _UNDERSTOOD)
    if unknown:
        raise BedError(
            f"the schema of '{where}' uses {', '.join(unknown)}, which the statement has no word for"
        )


def _compact(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"))
    if " " in text:
        raise BedError(f"the value {text} holds a space, and spaces separate the words of the statement")
    return text


def _document(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"

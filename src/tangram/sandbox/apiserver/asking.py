"""What a request asks for: its path taken apart, who asks, and which form of answer is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from tangram.sandbox.apiserver.identities import Person
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.refusals import Refused, bad_request
from tangram.sandbox.apiserver.registry import Registry

JSON: Final = "application/json"
YAML: Final = "application/yaml"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
TABLE: Final = "Table"
PARTIAL: Final = "PartialObjectMetadata"
PARTIAL_LIST: Final = "PartialObjectMetadataList"

_OF_NAMESPACES: Final = frozenset({"status", "finalize"})
_FORMS: Final = {"application/json": JSON, "application/yaml": YAML, "*/*": JSON}


class Target(Struct, frozen=True):
    """A kind, perhaps one namespace, perhaps one object, perhaps one part of it."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Form(Struct, frozen=True):
    media: str = JSON
    view: str = ""
    """Table, PartialObjectMetadata or PartialObjectMetadataList; empty: the object itself."""
    pretty: bool = False
    """Written for people, over many lines."""


class Ask(Struct, frozen=True, kw_only=True):
    method: str
    target: Target
    query: Mapping[str, str]
    person: Person
    form: Form = Form()
    content: str = JSON
    """The media type of the body."""
    agent: str = ""
    """The client's name for itself, which owns fields if no manager is named."""
    part: str = ""
    """Of a change that came by way of a part of the object, such as its scale: under which its owner is noted."""

    @property
    def manager(self) -> str:
        return self.query.get("fieldManager") or self.agent.partition("/")[0][:128] or "unknown"

    @property
    def dry_run(self) -> bool:
        return bool(self.query.get("dryRun"))

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() in ("1", "true", "t")


def locate(registry: Registry, path: str) -> Target | None:
    """What a path under /api or /apis names; None for what nobody serves."""
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["api", version, *rest]:
            group = ""
        case ["apis", group, version, *rest]:
            pass
        case _:
            return None
    namespace = ""
    # `namespaces/NAME/status` is a part of a namespace; with anything else in its place it leads into one.
    if len(rest) > 2 and rest[0] == "namespaces" and not (group == "" and rest[2] in _OF_NAMESPACES):
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return None
    plural, *rest = rest
    kind = registry.find(group, version, plural)
    if kind is None or len(rest) > 2 or (namespace and not kind.namespaced):
        return None
    name, subresource = [*rest, "", ""][:2]
    if subresource and kind.subresource(subresource) is None:
        return None
    if name and kind.namespaced and not namespace:
        return None
    return Target(kind, namespace, name, subresource)


def read_accept(header: str) -> Form:
    """The first form asked for that there is. Raises `Refused` when there is none."""
    if not header:
        return Form()
    for clause in header.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        given = dict(part.split("=", 1) for part in parameters if "=" in part)
        view = given.get("as", "")
        if media not in _FORMS or view not in ("", TABLE, PARTIAL, PARTIAL_LIST):
            continue
        if view and (given.get("g"), given.get("v")) not in (
            ("meta.k8s.io", "v1"),
            ("meta.k8s.io", "v1beta1"),
        ):
            continue
        return Form(_FORMS[media], view)
    raise Refused(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json, application/yaml",
    )


def version_number(query: Mapping[str, str]) -> int | None:
    """The resourceVersion asked for; None when none is. Raises `Refused`."""
    text = query.get("resourceVersion", "")
    if not text:
        return None
    if not text.isdigit():
        raise bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text:.80}": '
            f'strconv.ParseUint: parsing "{text:.80}": invalid syntax'
        )
    return int(text)

"""From the bytes of a request to an object that may be worked with, and the faults of reading it.

A field nobody knows is dropped, warned of or refused, as the client asked by `fieldValidation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import APPLY_PATCH, JSON, JSON_PATCH, YAML, Ask
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.protobuf import MEDIA, Unreadable, read_protobuf
from tangram.sandbox.apiserver.refusals import Refused, bad_request
from tangram.sandbox.apiserver.schemas import read_json, read_yaml, unknown_fields, wrong_types
from tangram.sandbox.apiserver.shape import Shape

LARGEST: Final = 3 * 1024 * 1024
_READ: Final = (JSON, YAML, MEDIA)
STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"


class Body(msgspec.Struct):
    thing: Object
    warnings: list[str] = []


def read_body(ask: Ask, body: bytes, kind: Kind, shape: Shape) -> Body:
    """A whole object of a kind. Raises `Refused`."""
    if ask.content == MEDIA:
        thing, duplicates = _from_protobuf(body, kind.definition), list[str]()
    elif ask.content in (JSON, YAML):
        thing, duplicates = _parsed(body, kind.kind, as_yaml=ask.content == YAML)
    else:
        raise unsupported(ask.content, _READ)
    check_type(thing, kind)
    return Body(thing, check_fields(ask, thing, duplicates, kind, shape))


def read_patch(ask: Ask, body: bytes) -> tuple[Any, list[str]]:
    """What a PATCH carries, and fields it says twice. Raises `Refused`."""
    if ask.content == JSON_PATCH:
        try:
            return msgspec.json.decode(body), []
        except msgspec.DecodeError as error:
            raise bad_request(f"error decoding patch: {error}") from None
    return _parsed(body, ask.target.kind.kind, as_yaml=ask.content == APPLY_PATCH)


def check_fields(ask: Ask, thing: Object, duplicates: Sequence[str], kind: Kind, shape: Shape) -> list[str]:
    """Warnings about fields nobody knows. Raises `Refused` where the client wants it strict, and for wrong types."""
    wrong = wrong_types(thing, shape, kind)
    if wrong:
        raise bad_request(wrong)
    manner = ask.query.get("fieldValidation") or WARN
    if manner == IGNORE:
        return []
    found = [*duplicates, *unknown_fields(thing, shape)]
    if found and manner == STRICT:
        raise bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
            f"strict decoding error: {', '.join(found)}"
        )
    return found


def check_type(thing: Object, kind: Kind) -> None:
    """That an object says it is of the kind asked for; what it does not say is filled in. Raises `Refused`."""
    said, version = thing.get("kind") or "", thing.get("apiVersion") or ""
    if kind.definition:
        thing.setdefault("kind", kind.kind)
        thing.setdefault("apiVersion", kind.api_version)
    elif not said:
        raise bad_request("Object 'Kind' is missing in '{}'")
    if said and said != kind.kind and kind.definition:
        raise bad_request(
            f"{said} in version {version or kind.api_version!s} cannot be handled as a {kind.kind}: "
            f"no kind match for {kind.api_version}, Kind={said}"
        )
    if (version and version != kind.api_version) or (said and said != kind.kind):
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        )


def unsupported(content: str, legal: Sequence[str]) -> Refused:
    """A body in a form the server does not read."""
    return Refused(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(legal)}"
        if content
        else "the request has no content type",
    )


def read_options(ask: Ask, body: bytes, definition: str) -> Object:
    """What a request says of itself, such as DeleteOptions; nothing where it says nothing. Raises `Refused`."""
    if not body.strip():
        return {}
    if ask.content == MEDIA:
        return _from_protobuf(body, definition)
    return _parsed(body, definition.rpartition(".")[2], as_yaml=ask.content == YAML)[0]


def _from_protobuf(body: bytes, definition: str) -> Object:
    if not definition:
        raise unsupported(MEDIA, [JSON, YAML])
    try:
        return read_protobuf(body, definition)
    except Unreadable as error:
        raise bad_request(f"the body cannot be read as protobuf: {error}") from None


def _parsed(body: bytes, kind: str, *, as_yaml: bool) -> tuple[Object, list[str]]:
    return read_yaml(body, kind) if as_yaml else read_json(body, kind)

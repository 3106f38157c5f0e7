"""Manifests that somebody pasted, read without trusting them: YAML or JSON, one document or several.

The text comes from a browser and may be anything. It is bounded before it is parsed, its depth is bounded before it is
built, and what aliases would make of it is counted before anybody writes it out again: a page of them can stand for
more than a machine can hold. Whatever cannot be read ends in one sentence with its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

import msgspec
import yaml

from tangram.daemon.json_text import json_values
from tangram.daemon.yaml_text import MOST_DEPTH, StrictLoader, line_too_deep, line_too_many, problem_of
from tangram.kube.objects import Object
from tangram.units.ids import IdError, namespace
from tangram.wire import loose
from tangram.wire.errors import shown
from tangram.wire.workloads import TEMPLATES

MOST_BYTES: Final = 1 << 20
MOST_PODS: Final = 20
"""The scheduler looks at no more in one question."""
MOST_DOCUMENTS: Final = 200
MOST_VALUES: Final = 50_000
"""Values in all documents, an alias counted as what it stands for. Some thousands are a large manifest."""
_LIST: Final = "List"


class Unreadable(Exception):  # noqa: N818 - says what is the case
    """Why there is nothing to ask about: a key of words, and what belongs into them."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key = key
        self.values = values


class Pasted(NamedTuple):
    workloads: tuple[Object, ...]
    """Each makes one pod, and each has a namespace."""
    passed_over: int
    """Objects that make no pods."""


def read_pasted(text: str, home: str) -> Pasted:
    """What makes pods in it, in namespace `home` where it names none. Raises `Unreadable`."""
    if len(text) > MOST_BYTES or len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise Unreadable("explain.bad.long", most=f"{MOST_BYTES // 1024:,}")
    documents = [document for document in _documents(text) if document is not None]
    if not documents:
        raise Unreadable("explain.bad.empty")
    _check_size(documents)
    _check_values(documents)
    workloads: list[Object] = []
    passed_over = 0
    for thing in _objects(documents):
        if loose.text(thing.get("kind")) in TEMPLATES:
            workloads.append(_placed(thing, home))
        else:
            passed_over += 1
    if not workloads:
        kinds = sorted({shown(thing.get("kind")) for thing in _objects(documents)})
        raise Unreadable("explain.bad.kind", kinds=", ".join(kinds)[:200], legal=", ".join(TEMPLATES))
    if len(workloads) > MOST_PODS:
        raise Unreadable("explain.bad.many", count=len(workloads), most=MOST_PODS)
    return Pasted(tuple(workloads), passed_over)


def _documents(text: str) -> list[object]:
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json_values(text)
        except (ValueError, RecursionError):
            # Braces begin YAML too, and its parser tells the line.
            pass
    try:
        # This one looks no further than it has to, and so bounds what everything after it costs.
        line = line_too_many(text, MOST_VALUES)
        if line is not None:
            raise Unreadable("explain.bad.values", line=line, most=f"{MOST_VALUES:,}")
        line = line_too_deep(text)
        if line is not None:
            raise Unreadable("explain.bad.deep", line=line, most=MOST_DEPTH)
        found: list[object] = []
        for document in yaml.load_all(text, Loader=StrictLoader):
            found.append(document)
            if len(found) > MOST_DOCUMENTS:
                raise Unreadable("explain.bad.documents", most=MOST_DOCUMENTS)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
        raise Unreadable(
            "explain.bad.yaml", line=line, column=column, problem=f"{problem_of(error):.200}"
        ) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Unreadable("explain.bad.character", line=line) from None
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise Unreadable("explain.bad.yaml", line=1, column=1, problem=f"{problem:.200}") from None
    except (ValueError, OverflowError, RecursionError):
        raise Unreadable("explain.bad.number") from None
    return found


def _objects(documents: Iterable[object]) -> Iterator[Object]:
    """Lists are taken apart, also those in lists; whatever is no object is refused."""
    waiting = [(document, "") for document in reversed(list(documents))]
    while waiting:
        document, kind = waiting.pop()
        if not isinstance(document, dict):
            raise Unreadable("explain.bad.object", read=shown(document))
        thing = cast("Object", document)
        named = loose.text(thing.get("kind")) or kind
        if named.endswith(_LIST) and loose.is_list(thing.get("items")):
            # The members of a typed list such as PodList do not repeat their kind.
            inner = named.removesuffix(_LIST)
            waiting += [(member, inner) for member in reversed(loose.elements(thing.get("items")))]
        else:
            yield thing if thing.get("kind") else {**thing, "kind": named}


def _placed(thing: Object, home: str) -> Object:
    metadata = dict(loose.members(thing.get("metadata")))
    written = metadata.get("namespace")
    if written in (None, ""):
        metadata["namespace"] = home
    else:
        try:
            metadata["namespace"] = namespace(loose.text(written))
        except IdError:
            raise Unreadable("explain.bad.namespace", read=shown(written)) from None
    return {**thing, "metadata": metadata}


def _check_size(documents: list[object]) -> None:
    """Count everything as it would be written out. What bites its own tail has no end."""
    sizes: dict[int, int] = {}
    under_way: set[int] = set()

    def size(value: object, depth: int) -> int:
        if value is None or isinstance(value, str | bool | int | float):
            return 1
        if not isinstance(value, dict | list):
            # Of the sets, bytes and pairs that YAML has, everybody else knows nothing.
            raise Unreadable("explain.bad.number")
        if depth > MOST_DEPTH:
            raise Unreadable("explain.bad.deep", line=1, most=MOST_DEPTH)
        key = id(cast("object", value))
        if key in under_way:
            raise Unreadable("explain.bad.alias")
        if key not in sizes:
            under_way.add(key)
            sizes[key] = 1 + sum(size(each, depth + 1) for each in _inside(cast("Any", value)))
            under_way.discard(key)
        return sizes[key]

    if sum(size(document, 1) for document in documents) > MOST_VALUES:
        raise Unreadable("explain.bad.alias")


def _check_values(documents: list[object]) -> None:
    """Halves of characters and numbers without end cannot be sent on."""
    try:
        msgspec.json.encode(documents)
    except (ValueError, OverflowError, TypeError, RecursionError):
        raise Unreadable("explain.bad.number") from None


def _inside(value: Mapping[object, object] | list[object]) -> Iterator[object]:
    if isinstance(value, list):
        yield from value
        return
    for key, member in value.items():
        if not isinstance(key, str):
            raise Unreadable("explain.bad.key", read=shown(key))
        yield member

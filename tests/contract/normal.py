"""What was observed, without what differs between two runs on one and the same server."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from contract.world import JSON, Answer, Json, World

_PATTERNS: Final[Sequence[tuple[re.Pattern[str], str]]] = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"https://(?:\d+\.\d+\.\d+\.\d+|localhost):\d+/"), "https://HOOKS/"),
    (re.compile(r"(ResourceVersion in (?:precondition|object meta): )\d+"), r"\1VERSION"),
    (re.compile(r"kube-api-access-[a-z0-9]{5}\b"), "kube-api-access-XXXXX"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "ADDRESS"),
)
_OPAQUE: Final = {"resourceVersion": "VERSION", "continue": "TOKEN", "caBundle": "BUNDLE", "token": "SECRET"}
"""Fields whose value only the server that wrote it understands. Empty and "0" mean the same everywhere, and stay."""
_BULKY: Final = "managedFields"
"""Left out wherever it comes by the way; the cases about owners of fields look at them under another name."""


def normal(world: World, seen: Json) -> Json:
    """The observation as JSON that two servers can be compared by."""
    if isinstance(seen, Answer):
        return normal(world, _told(seen))
    if isinstance(seen, Mapping):
        fields = cast("Mapping[str, Any]", seen)
        return {
            _text(world, key): _opaque(key, value) or normal(world, value)
            for key, value in fields.items()
            if key != _BULKY
        }
    if isinstance(seen, str):
        return _text(world, seen)
    if isinstance(seen, Sequence):
        return [normal(world, each) for each in cast("Sequence[Any]", seen)]
    return seen


def _told(answer: Answer) -> dict[str, Any]:
    told: dict[str, Any] = {"code": answer.code, "body": answer.body}
    if answer.content != JSON:
        told["content"] = answer.content
    if answer.warnings:
        told["warnings"] = answer.warnings
    if answer.retry_after:
        told["retryAfter"] = answer.retry_after
    return told


def _opaque(key: str, value: object) -> str:
    if key in _OPAQUE and isinstance(value, str) and value not in {"", "0"}:
        return _OPAQUE[key]
    return ""


def _text(world: World, text: str) -> str:
    text = text.replace(world.tag, "TAG")
    for pattern, word in _PATTERNS:
        text = pattern.sub(word, text)
    return text


# -- what cases look at -----------------------------------------------------------------------------------------------


def pick(answer: Answer, *paths: str) -> dict[str, Any]:
    """Only these fields of an answer that is no refusal; the whole of one that is."""
    if answer.code >= 300 or not isinstance(answer.body, Mapping):
        return {"code": answer.code, "body": answer.body}
    body = cast("Mapping[str, Any]", answer.body)
    return {"code": answer.code, **{path: field(body, path) for path in paths}}


def verdict(answer: Answer) -> dict[str, Any]:
    """Code and reason alone: for refusals whose sentence is the decoder of one language speaking."""
    reason = (
        cast("Mapping[str, Any]", answer.body).get("reason") if isinstance(answer.body, Mapping) else None
    )
    return {"code": answer.code, "reason": reason}


def faults(answer: Answer) -> Json:
    """Every fault of a refusal, sorted and once.

    Some rules of the real server walk through maps, whose order is chance, and some are asked twice.
    """
    if answer.code != 422:
        return answer
    causes: list[dict[str, str]] = answer.body["details"]["causes"]
    told = sorted({(each.get("field", ""), each["reason"], each["message"]) for each in causes})
    return {"code": answer.code, "reason": answer.body["reason"], "causes": told}


def places(answer: Answer) -> Json:
    """Where the faults of a refusal are, for those whose sentence prints a structure of the server's own language."""
    if answer.code != 422:
        return answer
    causes: list[dict[str, str]] = answer.body["details"]["causes"]
    told = sorted({(each.get("field", ""), each["reason"]) for each in causes})
    return {"code": answer.code, "reason": answer.body["reason"], "causes": told}


def field(thing: Json, path: str) -> Json:
    """The value at a dotted path; None where there is none."""
    for word in path.split("."):
        if isinstance(thing, Mapping):
            thing = cast("Mapping[str, Any]", thing).get(word)
        elif isinstance(thing, Sequence) and not isinstance(thing, str) and word.isdigit():
            items = cast("Sequence[Any]", thing)
            thing = items[int(word)] if int(word) < len(items) else None
        else:
            return None
    return thing


def names(answer: Answer) -> Json:
    """The names in a list, in its order; a refusal as it is."""
    if answer.code >= 300:
        return answer
    return [each["metadata"]["name"] for each in answer.body["items"]]


def events(
    seen: Sequence[Mapping[str, Any]], what: Callable[[Mapping[str, Any]], Any] | None = None
) -> list[Any]:
    """A watch as (type, name) and what else is asked for."""
    told: list[Any] = []
    for event in seen:
        thing = cast("Mapping[str, Any]", event.get("object", {}))
        line: list[Any] = [event.get("type"), thing.get("metadata", {}).get("name") or thing.get("kind")]
        told.append([*line, what(thing)] if what else line)
    return told


def owners(answer: Answer) -> list[Any]:
    """Who owns which fields, by name: the server orders them by the second in which each last wrote."""
    if answer.code >= 300:
        return [answer]
    entries: list[dict[str, Any]] = answer.body["metadata"].get("managedFields", [])
    return sorted(
        ({key: value for key, value in entry.items() if key != "time"} for entry in entries),
        key=lambda entry: (entry["operation"], entry["manager"], entry.get("subresource", "")),
    )


def rows(answer: Answer) -> Json:
    """The cells of a table by column; how old something is depends on the moment of asking."""
    if answer.code >= 300:
        return answer
    headings = [column["name"] for column in answer.body["columnDefinitions"]]
    return [
        {
            name: "AGE" if name in {"Age", "Created At", "Last Seen"} and cell != "<unknown>" else cell
            for name, cell in zip(headings, row["cells"], strict=True)
        }
        for row in answer.body["rows"]
    ]

"""Whose an object is, by the names its makers give it and by what the API server keeps about its writers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tangram.wire import loose
from tangram.wire.managed_fields import managers_of

Object = Mapping[str, Any]

OURS: Final = "tangram"
HAMI: Final = "hami"
KOORDINATOR: Final = "koordinator"

OUR_AGENT: Final = "tangram-gpu-device"
KOORDLET: Final = "koordlet"
"""What the two that write Devices call themselves to the API server."""

_SIGNED: Final = {"koordinator-manager": "koord-manager"}
"""Who signs with another name than people know it by."""


def name_of(thing: Object) -> str:
    """What the object is called, with its namespace where it has one."""
    metadata = loose.members(thing.get("metadata"))
    namespace, name = loose.text(metadata.get("namespace")), loose.text(metadata.get("name"))
    return f"{namespace}/{name}" if namespace else name


def annotations_of(thing: Object) -> dict[str, str]:
    """The object's annotations."""
    return loose.text_map(loose.members(thing.get("metadata")).get("annotations"))


def labels_of(thing: Object) -> dict[str, str]:
    """The object's labels."""
    return loose.text_map(loose.members(thing.get("metadata")).get("labels"))


def webhooks_of(configuration: Object) -> list[Mapping[str, object]]:
    """The entries of a webhook configuration."""
    return [loose.members(each) for each in loose.elements(configuration.get("webhooks"))]


def belongs_to(configuration: Object, word: str) -> bool:
    """Whether a webhook configuration, or an entry of it, carries the word in its name."""
    names = [name_of(configuration), *(loose.text(each.get("name")) for each in webhooks_of(configuration))]
    return any(word in name for name in names)


def some_of(names: list[str], most: int = 3) -> str:
    """A few of the names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def counted(count: int, thing: str) -> str:
    """A number with its noun: 1 node, 2 nodes."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def written_by(thing: Object, *path: str) -> str:
    """Who wrote a field, for a sentence and with a blank before; empty where nobody is known."""
    writers = sorted(_SIGNED.get(name, name) for name in managers_of(thing, *path) if name)
    return f" (written by {' and '.join(writers)})" if writers else ""

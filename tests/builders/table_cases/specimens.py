"""The objects of `specimens.yaml`, and the kinds they are of."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import yaml

from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.kinds import STATUS, Column, Kind, Subresource

Object = dict[str, Any]

_FILE = Path(__file__).with_name("specimens.yaml")
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


@dataclass(frozen=True, slots=True)
class Specimen:
    kind: Kind
    thing: Object
    gone: bool

    @property
    def folder(self) -> str:
        return folder_of(self.kind)


def specimens(now: datetime) -> list[Specimen]:
    """All of them, their times counted from now."""
    kinds = {(kind.api_version, kind.kind): kind for kind in all_kinds()}
    return [
        Specimen(
            kinds[thing["apiVersion"], thing["kind"]], dated(_without(thing, "gone"), now), "gone" in thing
        )
        for thing in _written()
    ]


@functools.cache
def all_kinds() -> Sequence[Kind]:
    """Those built in, and those the specimens define."""
    definitions = [thing for thing in _written() if thing["kind"] == "CustomResourceDefinition"]
    return [*BUILT_IN, *(kind for definition in definitions for kind in defined(definition))]


@functools.cache
def _written() -> list[Object]:
    return yaml.safe_load(_FILE.read_text("utf-8"))


def folder_of(kind: Kind) -> str:
    """The address of all objects of a kind."""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    return f"{root}/namespaces/default/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"


def defined(definition: Object) -> list[Kind]:
    """The kinds of a definition, one for each version."""
    spec = definition["spec"]
    names = spec["names"]
    return [
        Kind(
            group=spec["group"],
            version=version["name"],
            kind=names["kind"],
            plural=names["plural"],
            singular=names["singular"],
            namespaced=spec["scope"] == "Namespaced",
            short=tuple(names.get("shortNames", ())),
            categories=tuple(names.get("categories", ())),
            verbs=_CUSTOM_VERBS,
            subresources=tuple(_subresource(name) for name in version.get("subresources", ())),
            columns=tuple(_column(one) for one in version.get("additionalPrinterColumns", ())),
        )
        for version in spec["versions"]
    ]


def _subresource(name: str) -> Subresource:
    return STATUS if name == "status" else Subresource(name=name, kind="Scale", group="autoscaling")


def _column(one: Object) -> Column:
    return Column(
        name=one["name"],
        type=one["type"],
        path=one["jsonPath"],
        format=one.get("format", ""),
        description=one.get("description", ""),
        priority=one.get("priority", 0),
    )


def dated(value: Any, now: datetime) -> Any:  # noqa: ANN401 - whatever stands in an object
    """With times in the place of `ago 300`."""
    if isinstance(value, dict):
        return {key: dated(inside, now) for key, inside in cast("Object", value).items()}
    if isinstance(value, list):
        return [dated(inside, now) for inside in cast("list[Any]", value)]
    if isinstance(value, str) and value.startswith("ago "):
        _, seconds, *micro = value.split()
        moment = now - timedelta(seconds=int(seconds))
        return f"{moment:%Y-%m-%dT%H:%M:%S}{'.000000' if micro else ''}Z"
    return value


def _without(thing: Object, field: str) -> Object:
    return {key: value for key, value in thing.items() if key != field}

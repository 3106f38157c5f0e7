"""The kinds of object the server knows, built in or defined by people, and what may be done with each."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

EVERY_VERB: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Subresource(Struct, frozen=True, kw_only=True):
    name: str
    kind: str = ""
    """Of what is sent and answered; empty: the resource's own."""
    group: str = ""
    version: str = "v1"
    verbs: tuple[str, ...] = ("get", "patch", "update")


STATUS: Final = Subresource(name="status")
SCALE: Final = Subresource(name="scale", kind="Scale", group="autoscaling")


class Column(Struct, frozen=True, kw_only=True):
    """A column of `kubectl get` that a CustomResourceDefinition asks for."""

    name: str
    type: str
    path: str
    format: str = ""
    description: str = ""
    priority: int = 0


class Kind(Struct, frozen=True, kw_only=True):
    group: str = ""
    version: str = "v1"
    kind: str
    plural: str
    singular: str = ""
    namespaced: bool = True
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = EVERY_VERB
    subresources: tuple[Subresource, ...] = ()
    definition: str = ""
    """The name of its built-in schema, such as io.k8s.api.core.v1.Pod; empty for those defined by people."""
    columns: tuple[Column, ...] | None = None
    """Only of those defined by people."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> tuple[str, str]:
        """What its objects are stored under, whatever the version asked for."""
        return self.group, self.plural

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    def subresource(self, name: str) -> Subresource | None:
        return next((each for each in self.subresources if each.name == name), None)
